"""The convergence study: what a sample says, what a method tends to, and that it resumes where it stopped."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import mmdbounds as mb
from lab.studies import convergence, convergence_page, records
from lab.studies.convergence import Job, run_trial
from lab.studies.population import POPULATION_A, POPULATION_B, POPULATIONS, sharp_bounds

SIZES = (10, 20)


@pytest.fixture
def quick(monkeypatch):
    """A smaller sample in exact proportions, and pictures in name only."""
    monkeypatch.setattr(convergence, "EXACT_SIZE", 100)
    monkeypatch.setattr(convergence, "check_available", lambda: None)
    monkeypatch.setattr(convergence_page, "drawn", lambda document: {"png": b"a picture"})


def study(folder, trials=2, processes=1):
    folder.mkdir(exist_ok=True)
    options = ["--trials", str(trials), "--processes", str(processes)]
    code = convergence.main(["--records", str(folder / "convergence.jsonl"), *options], sizes=SIZES)
    assert code == 0
    return json.loads((folder / "convergence.json").read_text())


def test_a_sample_is_what_mmd_bounds_says():
    found = run_trial(Job(1, 20, 3))
    streams = np.random.SeedSequence(0, spawn_key=(1, 20, 3)).spawn(2)
    X, Y = POPULATION_B.draw(16, 24, np.random.default_rng(streams[0]))
    assert (len(X), len(Y)) == (16, 24)
    r = mb.mmd_bounds(X, Y, 0.2, method="s-sd", kernel=mb.kernels.RBF(1.5), estimator="biased")
    assert r.n_moved == 4
    np.testing.assert_allclose(
        found["roots"]["S-SD"], [math.sqrt(r.lower.value), math.sqrt(r.upper.value)], rtol=1e-12
    )
    assert run_trial(Job(1, 20, 3))["roots"] == found["roots"]
    assert run_trial(Job(1, 20, 4))["roots"] != found["roots"]


@pytest.mark.usefixtures("quick")
def test_errors_are_distances_to_the_bounds_of_the_population(tmp_path):
    document = study(tmp_path)
    assert len(document["lines"]) == 2 * 2 * 4 * len(SIZES)
    truth = math.sqrt(sharp_bounds(POPULATION_A, 0.2)[1])
    errors = [abs(run_trial(Job(0, 20, trial))["roots"]["QNO"][1] - truth) for trial in range(2)]
    (line,) = (
        x
        for x in document["lines"]
        if (x["population"], x["side"], x["method"], x["n"]) == ("Population A", "upper", "QNO", 20)
    )
    np.testing.assert_allclose(line["mean_error"], np.mean(errors), rtol=1e-9)
    np.testing.assert_allclose(line["mean_error_error"], abs(errors[0] - errors[1]) / 2, rtol=1e-9)
    assert (line["n_moved"], line["n_trials"]) == (4, 2)
    # b0 + sqrt(b1 log(40) / n) of the propositions, by hand.
    log, n, e, m = math.log(40), 20, 0.2, 4
    b1 = 2 * ((1 - e) * (1 - e + e * m) ** 2 + (1 + e) * (1 + e + e * m) ** 2)
    np.testing.assert_allclose(
        line["radius_proposition_1"], 4 * (n**-0.5 + e * m) + math.sqrt(b1 * log / n), rtol=1e-12
    )
    b1 = 2 * ((1 - e) ** 3 + (1 + e) * (1 + 3 * e) ** 2)
    np.testing.assert_allclose(
        line["radius_proposition_3"], 4 * n**-0.5 * (1 + e) + math.sqrt(b1 * log / n), rtol=1e-12
    )


def test_what_the_methods_tend_to():
    """SD stays away from both bounds, S-SD from the upper one of B; the sharp method arrives."""
    for population, s_sd_upper in ((POPULATION_A, 0.0), (POPULATION_B, 0.0668)):
        known = convergence.described(population)
        off = {name: np.abs(np.subtract(both, known["bounds"])) for name, both in known["limits"].items()}
        assert off["Sharp"].max() < 1e-4
        assert off["SD"].min() > 0.04
        np.testing.assert_allclose(off["S-SD"][1], s_sd_upper, rtol=0, atol=1e-4)
        assert off["S-SD"][0] < 0.003
        assert off["QNO"][0] > 0.01  # free points are not rows


@pytest.mark.usefixtures("quick")
def test_a_study_that_was_stopped_resumes_and_ends_the_same(tmp_path, monkeypatch, capsys):
    study(tmp_path / "whole")
    done, real = [], run_trial

    def stopped(job):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(job)
        return real(job)

    monkeypatch.setattr(convergence, "run_trial", stopped)
    (tmp_path / "stopped").mkdir()
    path = tmp_path / "stopped" / "convergence.jsonl"
    assert convergence.main(["--records", str(path), "--trials", "2", "--processes", "1"], SIZES) == 130
    assert f"the same command resumes from {path}" in capsys.readouterr().err
    assert len(records.load(path)) == 3
    with path.open("ab") as file:
        file.write(b'{"population": 0, "n"')  # killed while it wrote
    again = []
    monkeypatch.setattr(convergence, "run_trial", lambda job: again.append(job) or real(job))
    study(tmp_path / "stopped")
    assert len(again) == len(POPULATIONS) * len(SIZES) * 2 - 3
    csv = [(tmp_path / name / "convergence.csv").read_text() for name in ("whole", "stopped")]
    assert csv[0] == csv[1]


@pytest.mark.usefixtures("quick")
def test_the_page(tmp_path):
    document = study(tmp_path)
    text = (tmp_path / "convergence.md").read_text()
    assert text == convergence_page.page(document)
    assert (tmp_path / "convergence.png").read_bytes() == b"a picture"
    (line,) = (
        x
        for x in document["lines"]
        if (x["population"], x["side"], x["method"], x["n"]) == ("Population B", "lower", "SD", 10)
    )
    assert f"{line['mean_error']:.4f} ± {line['mean_error_error']:.4f}" in text
    assert "**Population B, upper bound** (root MMD 0.4220 in the population)" in text
    assert "the mean error of SD is within the radius of Proposition 3" in text
    line["mean_error"] = 9.0
    radius = f"{line['radius_proposition_3']:.3f}"
    assert f"(Population B, lower, n = 10: 9.000 against {radius})" in convergence_page.page(document)


def test_rates_are_slopes_of_logarithms():
    base = {
        "population": "here",
        "side": "lower",
        "n_trials": 1,
        "mean_error_error": 0.0,
        "radius_proposition_1": 1.0,
        "radius_proposition_3": 100.0,
    }
    lines = [
        base | {"method": method, "n": n, "mean_error": error}
        for n, errors in ((50, (7.0, 7.0)), (100, (1.0, 2.0)), (400, (0.5, 2.0)), (1600, (0.25, 2.0)))
        for method, error in zip(("Sharp", "SD"), errors, strict=True)
    ]
    population = {"name": "here", "bounds": [0.1, 0.2], "limits": {"Sharp": [0.1, 0.2], "SD": [0.3, 0.2]}}
    made = {
        "title": "t",
        "rng": 0,
        "version": "1",
        "machine": "here",
        "core_seconds": 90.0,
        "delta": 0.05,
        "populations": [population],
        "lines": lines + [line | {"side": "upper"} for line in lines],
    }
    text = convergence_page.page(made)
    assert "in 1.5 core minutes; here." in text
    assert "| rate | -0.50 | 0.00 |" in text.replace("-0.00", "0.00")
    assert "| tends to | 0.0000 | 0.2000 |" in text


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_two_processes_draw_the_same_samples(tmp_path):
    texts = []
    for processes in (1, 2):
        study(tmp_path / str(processes), processes=processes)
        texts.append((tmp_path / str(processes) / "convergence.csv").read_text())
    assert texts[0] == texts[1]


@pytest.mark.full
def test_the_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(convergence, "EXACT_SIZE", 100)
    made = study(tmp_path)
    assert (tmp_path / "convergence.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "convergence.svg").read_text()
    for words in (
        "Population A",
        "Population B",
        "radius of Proposition 1",
        "radius of Proposition 3",
        "Sharp",
    ):
        assert words in text
    assert convergence_page.drawn(made)["svg"].decode() == text


def test_wrong_calls_are_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        convergence.main(["--trials", "0"])
    assert "--trials and --processes must be at least 1" in capsys.readouterr().err
