"""The study of the readings of BIO: its book-keeping on made-up rows, its numbers by hand."""

import json

import numpy as np
import pytest

import mmdbounds as mb
from lab.paper import printed
from lab.studies import bio_reading
from lab.studies.bio_reading import Reading, Setting

BEST = Reading("normal scores", "ALL", "47 + 25", "unbiased", "unbiased", "plain", 0.05, "one step", False)


@pytest.fixture
def few(monkeypatch):
    """Rows with three columns in place of the gene expressions, and one answer to most questions."""
    rng = np.random.default_rng(0)
    ALL, AML = rng.normal(size=(47, 3)), rng.normal(0.8, 1, size=(25, 3))
    monkeypatch.setattr(
        bio_reading, "groups", lambda values, hidden, _: (ALL, AML) if hidden == "ALL" else (AML, ALL)
    )
    for name, chosen in (("VALUES", ("raw",)), ("CONTAMINATED", ("AML",)), ("DRAWN", ("47 + 25",))):
        monkeypatch.setattr(bio_reading, name, chosen)


@pytest.mark.usefixtures("few")
def test_a_stopped_run_resumes_and_ends_the_same(tmp_path):
    path = tmp_path / "records.jsonl"
    words = ["--records", str(path), "--trials", "2", "--searched", "1", "--processes", "1"]
    assert bio_reading.main(words) == 0
    kept, page = path.read_bytes().splitlines(keepends=True), path.with_suffix(".md").read_text()
    assert [json.loads(line)["trial"] for line in kept] == [0, 0, 1, 1]
    path.write_bytes(kept[0] + kept[1] + kept[2][:20])
    assert bio_reading.main(words) == 0
    assert path.read_bytes().splitlines(keepends=True) == kept
    table = [line for line in page.splitlines() if line.startswith("| ")]
    assert table == [line for line in path.with_suffix(".md").read_text().splitlines() if line[:2] == "| "]
    assert len(table) == 1 + bio_reading.SHOWN + 1 + 12


@pytest.mark.usefixtures("few")
def test_a_trial_is_what_the_package_says(tmp_path):
    setting = Setting("raw", "AML", "47 + 25", "nonrandom")
    record = bio_reading.run_trial(None, 1, (setting, 0))
    filed = bio_reading.filed_groups(setting, 0, None)
    assert (len(filed.X), len(filed.Y), filed.n_moved) == (20, 52, 5)
    for estimator in bio_reading.ESTIMATORS:
        here = record["found"][estimator]
        true_x = np.concatenate([filed.X, filed.Y[filed.rows_of_y]])
        true_y = np.delete(filed.Y, filed.rows_of_y, axis=0)
        truth = mb.mmd2(true_x, true_y, kernel=filed.kernel, estimator=estimator)
        np.testing.assert_allclose(here["truth"], truth, rtol=0, atol=1e-12)
        wanted = {
            label for reading in bio_reading.readings() for label in bio_reading.labels(reading).values()
        }
        assert set(here["ends"]) == wanted
        bounds = mb.mmd_bounds(
            filed.X, filed.Y, filed.contamination, kernel=filed.kernel, estimator=estimator, method="s-sd"
        )
        ends = [bounds.lower.value, bounds.upper.value]
        np.testing.assert_allclose(here["ends"]["S-SD gradient"], ends, rtol=0, atol=1e-12)


def trial(truth, lower, upper, other_truth=0.0):
    ends = {label: [lower, upper] for label in bio_reading.labels(BEST).values()}
    return {
        "unbiased": {"truth": truth, "ends": ends},
        "biased": {"truth": other_truth, "ends": ends},
    }


def test_a_rate_by_hand():
    trials = [trial(0.5, 0.0, 1.0, 2.0), trial(1.5, 0.0, 1.0), trial(0.5, 1.0, 0.0), trial(0.0, 0.0, 2.0)]
    found = bio_reading.rate(trials, "Bootstrap", "unbiased", "unbiased")
    assert found == (0.5, 0.05, 1.25, 4)  # one too narrow, one crossed; the error is that of 100 trials
    assert bio_reading.rate(trials, "Bootstrap", "unbiased", "biased").fcr == 0.5
    with_label_once = [trials[0], {"unbiased": {"truth": 0.5, "ends": {}}}]
    assert bio_reading.rate(with_label_once, "Bootstrap", "unbiased", "unbiased").n_trials == 1


def test_exchanged_columns_are_compared_with_the_other_table():
    trials_of = {
        Setting(*BEST[:3], mechanism).name: [trial(0.0, 0.0, 0.036)] for mechanism in bio_reading.MECHANISMS
    }
    for exchanged, first in ((False, printed.MAIN), (True, printed.RANDOM)):
        pairs = bio_reading.rates(BEST._replace(exchanged=exchanged), trials_of)
        assert len(pairs) == 12
        assert pairs["nonrandom", "SM"][0] == first.cells["SM", "BIO"]
    agree, distance = bio_reading.score(bio_reading.rates(BEST, trials_of))
    assert agree == 0
    assert distance < 0


def test_there_are_some_thousand_readings():
    every = bio_reading.readings()
    assert len(every) == len(set(every)) == 4 * 2 * 2 * 2 * 2 * 3 * 3 * 3 * 2
    assert BEST in every
    assert len(bio_reading.settings()) == 32


def test_wrong_numbers_are_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        bio_reading.main(["--trials", "2", "--searched", "3"])
    assert "--searched must be at least 1" in capsys.readouterr().err
