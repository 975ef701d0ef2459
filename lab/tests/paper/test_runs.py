"""`reproduce` runs what an experiment needs, once, keeps it, and resumes where it stopped."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import mmdbounds as mb
from lab.paper import results, runs
from lab.paper.experiments import EXPERIMENTS, SOURCES, protocol
from lab.paper.presets import SHARP
from lab.paper.results import Line
from lab.paper.runs import reproduce
from mmdbounds.errors import MmdBoundsError
from mmdbounds.evaluation import evaluate
from mmdbounds.journal import read_journal
from mmdbounds.plotting import canvas

TRIALS = 2


def small_run(name, out, **options):
    return reproduce(name, out=out, n_trials=TRIALS, n_processes=1, progress=False, **options)


def without_times(place):
    """What a run wrote, without what depends on the clock."""
    texts = {path.name: path.read_text() for path in place.glob("*.csv")}
    page = (place / "index.md").read_text()
    return texts | {"page": page[: page.index("## How it was made")]}


@pytest.mark.usefixtures("no_pictures")
def test_a_table_is_what_evaluate_says(one_setting, tmp_path):
    assert small_run("main", tmp_path) == tmp_path / "index.md"
    document = json.loads((tmp_path / "main.json").read_text())
    lines = [Line.from_dict(each) for each in document["lines"]]
    assert len(lines) == 2 * (6 + 7)  # six methods in the paper's protocol, one more in ours
    for source in ("FOREST", "BIO"):
        for name in ("paper", "ours"):
            how = protocol(name, SOURCES[source])
            X, Y = SOURCES[source].load(None)
            if source == "FOREST":  # the other group is contaminated than the paper says
                X, Y = Y, X
            found = evaluate(
                X,
                Y,
                0.2,
                sizes=(20, 12) if source == "BIO" else (20, 20),
                replace=source == "BIO",
                n_trials=TRIALS,
                rng=0,
                estimator=how.estimator,
                scale=how.scale,
                methods=how.methods,
            )
            for row in how.methods:
                (line,) = (x for x in lines if (x.source, x.protocol, x.method) == (source, name, row))
                said = found[row]
                assert line.fcr == said.false_coverage_rate
                np.testing.assert_allclose(line.miw, said.mean_interval_width, rtol=1e-12)
                np.testing.assert_allclose(
                    line.miw_error, said.mean_interval_width_error, rtol=1e-9, atol=1e-15
                )
                np.testing.assert_allclose(line.truth, found.mean_truth, rtol=1e-12)
                np.testing.assert_allclose(line.observed, found.mean_observed, rtol=1e-12)
    assert all(line.n_certified == TRIALS for line in lines if line.method == SHARP)
    assert {path.suffix for path in tmp_path.glob("main.*")} == {".json", ".csv", ".png", ".svg"}
    assert document["rng"] == 0
    assert document["version"] == mb.__version__
    assert document["core_seconds"] >= 0


@pytest.mark.usefixtures("no_pictures", "one_setting")
def test_a_run_that_was_stopped_goes_on_and_ends_the_same(tmp_path, monkeypatch):
    small_run("main", tmp_path / "whole")
    calls, real = [], runs.evaluate

    def stopped(*arguments, **options):
        calls.append(options["checkpoint"].name)
        if len(calls) == 2:
            real(*arguments, **(options | {"n_trials": 1}))  # a trial is kept, then comes Ctrl-C
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(runs, "evaluate", stopped)
    with pytest.raises(KeyboardInterrupt):
        small_run("main", tmp_path / "stopped")
    paths = list((tmp_path / "stopped" / results.CHECKPOINTS).iterdir())
    kept = {path.name: path.read_bytes() for path in paths}
    assert sorted(len(read_journal(path).records) for path in paths) == [1 + 1, 1 + TRIALS]
    monkeypatch.setattr(runs, "evaluate", real)
    small_run("main", tmp_path / "stopped")
    assert without_times(tmp_path / "stopped") == without_times(tmp_path / "whole")
    for name, before in kept.items():  # what was there is still there, to the letter
        assert (tmp_path / "stopped" / results.CHECKPOINTS / name).read_bytes().startswith(before)


@pytest.mark.usefixtures("no_pictures")
def test_what_two_experiments_share_is_run_once(small, tmp_path, monkeypatch):
    main = [s for s in small["main"].settings if s.source == "FOREST"]
    figure = [s for s in small["forest-epsilons"].settings if s.epsilon == 0.2]
    assert main == figure
    for name, settings in (("main", main), ("forest-epsilons", figure)):
        monkeypatch.setitem(
            EXPERIMENTS, name, dataclasses.replace(small[name], settings=tuple(settings), inferred=())
        )
    small_run("main", tmp_path)
    (path,) = (tmp_path / results.CHECKPOINTS).iterdir()
    before = path.read_bytes()
    monkeypatch.setattr("mmdbounds.evaluation.run.run_trial", lambda design, trial: pytest.fail("not again"))
    small_run("forest-epsilons", tmp_path)
    assert path.read_bytes() == before
    rows = [(tmp_path / f"{name}.csv").read_text() for name in ("main", "forest-epsilons")]
    assert rows[0] == rows[1]


@pytest.mark.usefixtures("no_pictures", "one_setting")
def test_as_printed_the_groups_are_as_the_paper_says(tmp_path):
    page = small_run("main", tmp_path, preset="paper-as-printed").read_text()
    lines = [Line.from_dict(each) for each in json.loads((tmp_path / "main.json").read_text())["lines"]]
    how = protocol("paper-as-printed", SOURCES["FOREST"])
    found = evaluate(
        *SOURCES["FOREST"].load(None),
        0.2,
        sizes=(20, 20),
        n_trials=TRIALS,
        rng=0,
        estimator=how.estimator,
        methods={"S-SD": how.methods["S-SD"]},
    )
    (line,) = (x for x in lines if (x.source, x.method) == ("FOREST", "S-SD"))
    np.testing.assert_allclose(line.miw, found["S-SD"].mean_interval_width, rtol=1e-12)
    assert "| method | FOREST printed: FCR | MIW | formulas as printed: FCR | MIW | verdict |" in page


@pytest.mark.usefixtures("no_pictures", "one_setting")
@pytest.mark.parametrize("preset", ["paper", "ours"])
def test_one_protocol_alone_gives_the_same_numbers(preset, tmp_path):
    small_run("main", tmp_path / "both")
    small_run("main", tmp_path / "one", preset=preset)
    both, one = ((tmp_path / name / "main.csv").read_text().splitlines() for name in ("both", "one"))
    assert one[1:] == [line for line in both[1:] if f",{preset}," in line]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "mian"}, "Did you mean 'main'"),
        ({"preset": "theirs"}, "must be one of 'paper', 'paper-as-printed', 'ours', 'both'; got"),
        ({"n_trials": 0}, "`n_trials` must be a whole number from 1; got 0"),
        ({"n_processes": 0}, "`n_processes` must be a whole number from 1; got 0"),
        ({"rng": -1}, "`rng` must be a whole number from 0; got -1"),
        ({"progress": "yes"}, "`progress` must be True or False"),
    ],
)
def test_refusals(options, message, tmp_path):
    with pytest.raises(MmdBoundsError, match=message):
        reproduce(**{"name": "main", "out": tmp_path} | options)


def test_missing_data_are_found_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(canvas, "check_available", lambda: None)
    monkeypatch.delenv("MMDBOUNDS_DATA", raising=False)
    for data in (None, tmp_path):
        with pytest.raises(MmdBoundsError, match=r"mimic_standin_nih_cxr14\.npz"):
            reproduce("main", out=tmp_path / "out", data=data)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("small")
def test_a_missing_extra_is_found_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MmdBoundsError, match=r"need matplotlib.*mmdbounds\[plot\]"):
        reproduce("main", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("small", "no_pictures")
def test_a_folder_that_cannot_be_written_is_found_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("something else")
    monkeypatch.setattr(runs, "evaluate", None)
    with pytest.raises(MmdBoundsError, match="cannot write results to"):
        reproduce("main", out=tmp_path / "file")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "random.json").write_text("something else")
    with pytest.raises(MmdBoundsError, match=r"random\.json' does not hold the results"):
        reproduce("main", out=tmp_path / "old")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(MmdBoundsError, match="permission denied"):
        reproduce("main", out=tmp_path / "other")


@pytest.mark.usefixtures("no_pictures", "one_setting")
def test_progress_says_what_comes_and_how_long_it_takes(tmp_path, capsys):
    reproduce("main", out=tmp_path, n_trials=1, n_processes=1, progress=True)
    said = capsys.readouterr().err
    assert "FOREST, N = 40, epsilon = 0.2, nonrandom, 1 trial\n" in said
    assert "BIO, N = 40, epsilon = 0.2, nonrandom, 1 trial; about 1 min left\n" in said
    reproduce("main", out=tmp_path, n_trials=1, n_processes=1, progress=True)
    assert "FOREST" not in capsys.readouterr().err  # nothing was left to do


ALIKE = {"random", "typical", "standin-epsilons", "random-sizes", "random-epsilons"}
"""Experiments that differ from others in names only."""


@pytest.fixture(scope="module")
def one_place(tmp_path_factory):
    """A folder for all experiments, where they find what they share."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in ALIKE else []) for name in EXPERIMENTS]
)
def test_every_experiment_runs(name, small, one_place):
    page = small_run(name, one_place).read_text()
    document = json.loads((one_place / f"{name}.json").read_text())
    lines = [Line.from_dict(each) for each in document["lines"]]
    assert {line.n_trials for line in lines} == {TRIALS}
    for setting in small[name].all_settings:
        for preset in ("paper", "ours"):
            methods = protocol(preset, SOURCES[setting.source], small[name].family).methods
            here = [
                line.method
                for line in lines
                if (line.source, line.n_rows, line.epsilon, line.mechanism, line.protocol)
                == (setting.source, setting.n_rows, setting.epsilon, setting.mechanism, preset)
            ]
            assert here == list(methods)
    assert (one_place / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (one_place / f"{name}.svg").read_bytes()
    assert f"]({name}.png)" in page
    assert all(np.isfinite([line.fcr, line.miw, line.lower, line.upper]).all() for line in lines)


@pytest.mark.data
@pytest.mark.full
def test_real_data(tmp_path, monkeypatch):
    """Two trials of two settings on the real rows: names of files, columns and sizes fit."""
    main = EXPERIMENTS["main"]
    settings = tuple(s for s in main.settings if s.source in ("FOREST", "NIH ChestX-ray14"))
    monkeypatch.setitem(EXPERIMENTS, "main", dataclasses.replace(main, settings=settings, inferred=()))
    small_run("main", tmp_path)
    lines = json.loads((tmp_path / "main.json").read_text())["lines"]
    assert {(line["n_x"], line["n_y"], line["n_moved"]) for line in lines} == {(50, 50, 10)}
    assert all(line["fcr"] == 0 for line in lines if line["method"] == SHARP)
