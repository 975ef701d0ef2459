"""The coverage study: its book-keeping on made-up rows, and the study itself on the real ones."""

import json
import os

import numpy as np
import pytest

import mmdbounds as mb
from lab.studies import coverage, drawing, records
from tolerances import of_mmd2

TINY = {drawing.MADE_UP: 12}
N_SETTINGS = len(coverage.MECHANISMS) * len(coverage.EPSILONS)
EXACT = ["--methods", "exhaustive", "s-sd"]


def study(path, *arguments, trials=2, processes=1):
    """Run the study on made-up rows, so few that every labelling can be tried."""
    options = ["--records", str(path), "--trials", str(trials), "--processes", str(processes)]
    return coverage.main([*options, *EXACT, *arguments], groups=TINY)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_seconds(found):
    for record in found:
        for run in record["runs"]:
            run["seconds"] = 0.0
    return sorted(found, key=coverage.key)


@pytest.fixture
def counted(monkeypatch):
    """The trials that were run, as they are run."""
    ran = []
    original = coverage.run_trial

    def run_trial(job):
        ran.append((job.setting.name, job.trial))
        return original(job)

    monkeypatch.setattr(coverage, "run_trial", run_trial)
    return ran


def test_every_trial_of_every_setting_is_run_once(tmp_path, counted):
    path = tmp_path / "new folder" / "records.jsonl"
    assert study(path) == 0
    expected = [(s.name, t) for t in range(2) for s in coverage.settings(TINY)]
    assert len(expected) == 2 * N_SETTINGS
    assert counted == expected
    assert [(r["setting"], r["trial"]) for r in lines(path)] == expected


def test_the_study_of_the_issue_has_48_settings():
    chosen = coverage.settings()
    assert len(chosen) == len({s.name for s in chosen}) == 48
    assert coverage.parse([]).trials == 200


def test_a_run_that_was_stopped_continues(tmp_path, counted):
    whole, stopped = tmp_path / "whole.jsonl", tmp_path / "stopped.jsonl"
    study(whole)
    kept = whole.read_bytes().splitlines(keepends=True)
    stopped.write_bytes(b"".join(kept[:7]) + kept[7][:-5])  # killed while it wrote the eighth line
    counted.clear()
    assert study(stopped) == 0
    assert len(counted) == 2 * N_SETTINGS - 7
    assert counted[0] == (json.loads(kept[7])["setting"], 0)
    assert without_seconds(lines(stopped)) == without_seconds(lines(whole))


def test_a_finished_run_is_not_repeated_and_more_trials_are_added(tmp_path, counted):
    path = tmp_path / "records.jsonl"
    study(path)
    counted.clear()
    before = path.read_bytes()
    study(path)
    assert (counted, path.read_bytes()) == ([], before)
    study(path, trials=3)
    assert {trial for _, trial in counted} == {2}
    assert len(counted) == N_SETTINGS


def test_records_of_other_methods_are_left_alone(tmp_path, counted):
    path = tmp_path / "records.jsonl"
    study(path, trials=1)
    counted.clear()
    study(path, "--methods", "s-sd", "s-sd", trials=1)
    assert len(counted) == N_SETTINGS
    assert len(lines(path)) == 2 * N_SETTINGS
    assert "| 0 of 0 |" in path.with_suffix(".md").read_text()


def test_one_and_two_processes_give_the_same_table(tmp_path):
    before = dict(os.environ)
    found, rows = [], []
    for processes in (1, 2):
        path = tmp_path / f"{processes}.jsonl"
        assert study(path, processes=processes) == 0
        found.append(without_seconds(lines(path)))
        page = path.with_suffix(".md").read_text()
        rows.append([line.rsplit("|", 2)[0] for line in page.splitlines() if line.startswith("|")])
    assert found[0] == found[1]
    assert rows[0] == rows[1]
    assert len(rows[0]) == N_SETTINGS + 2
    assert dict(os.environ) == before


def test_any_trial_can_be_run_again_alone(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    study(path)
    wanted = lines(path)[-1]
    capsys.readouterr()
    assert study(path, "--again", wanted["setting"], str(wanted["trial"])) == 0
    again = json.loads(capsys.readouterr().out)
    assert without_seconds([again]) == without_seconds([wanted])


def test_seeds_differ_between_trials_settings_and_studies():
    names = [
        (study, s.name, t) for study in ("coverage", "gaps") for s in coverage.settings() for t in range(50)
    ]
    assert len({records.seed_of(*name) for name in names}) == len(names)
    # Written down, because records kept for months must stay reproducible.
    assert records.seed_of("coverage", "BIO, N = 72, random, epsilon = 0.1", 3) == 156_368_308_825_194


def test_a_record_says_what_the_definition_says(tmp_path):
    setting = coverage.Setting(drawing.MADE_UP, 12, "nonrandom", 0.5)
    record = coverage.run_trial(coverage.Job(setting, 4, ("exhaustive", "s-sd"), None))
    rng = np.random.default_rng(record["seed"])
    X, Y = drawing.draw(drawing.MADE_UP, None, 12, rng)
    filed = mb.simulate(X, Y, n_moved=3, rng=rng)
    assert record["m"] == 3
    np.testing.assert_allclose(record["truth"], mb.mmd2(X, Y), rtol=0, atol=of_mmd2(12))
    for run, method in zip(record["runs"], ("exhaustive", "s-sd"), strict=True):
        result = mb.mmd_bounds(filed.X, filed.Y, filed.contamination, method=method)
        assert (run["lower"], run["upper"]) == (result.lower.value, result.upper.value)
        assert (run["lower_certified"], run["upper_certified"]) == (
            result.lower.certified,
            result.upper.certified,
        )
    assert record["runs"][1]["lower_certified"] is None


@pytest.mark.parametrize(
    ("truth", "proved", "violated"),
    [
        (0.5, (0.4, 0.6), False),
        (0.4, (0.4, 0.6), False),
        (np.nextafter(0.4, 0), (0.4, 0.6), True),  # no tolerance
        (np.nextafter(0.6, 1), (0.4, 0.6), True),
        (0.7, (0.4, None), False),
        (0.3, (0.4, None), True),  # one proved side is enough to be wrong
        (0.7, (None, 0.6), True),
        (0.7, (None, None), False),
        (float("nan"), (0.4, 0.6), True),
    ],
)
def test_violations(truth, proved, violated):
    run = {"lower_certified": proved[0], "upper_certified": proved[1]}
    assert coverage.is_violated({"truth": truth, "runs": [run]}) is violated


def test_a_violation_is_reported_and_fails(tmp_path):
    path = tmp_path / "records.jsonl"
    study(path)
    found = lines(path)
    found[5]["truth"] = found[5]["runs"][0]["upper_certified"] + 0.25
    path.write_text("".join(json.dumps(record) + "\n" for record in found))
    assert study(path) == 1
    page = path.with_suffix(".md").read_text()
    assert f"the truth lies -0.25 inside the certified interval in trial 0 of '{found[5]['setting']}'" in page
    assert "outside what is proved in 1 of all trials" in page
    assert page.count("| 1 of 2 |") == 1


def test_the_table_by_hand():
    setting = coverage.Setting("here", 10, "random", 0.25)
    base = {"setting": setting.name, "m": 2, "methods": ["a", "b"], "version": "1"}
    proved = {
        "lower": 1.0,
        "upper": 2.0,
        "lower_certified": 0.5,
        "upper_certified": 2.0 + 1e-10,
        "seconds": 3.0,
    }
    solved = {
        "lower": 1.0,
        "upper": 4.0,
        "lower_certified": 1.0,
        "upper_certified": 4.0 + 1e-10,
        "seconds": 1.0,
    }
    beside = {"lower": 1.5, "upper": 1.75, "lower_certified": None, "upper_certified": None, "seconds": 9.0}
    crossed = beside | {"lower": 1.75, "upper": 1.5}
    found = [
        base | {"trial": 0, "truth": 1.5 - 1e-14, "runs": [proved, beside]},
        base | {"trial": 1, "truth": 1.6, "runs": [solved, crossed]},  # a crossed interval covers nothing
    ]
    assert coverage.row(setting, found) == (
        "| here, N = 10 | random | 0.25 | 2 | 2 | 0 of 2 | 50.0 ± 35.4 % | 2.2500 | 2.0000 | 0.2500 | 2.00 |"
    )
    assert "above the upper one: 1." in coverage.totals(found, ("a", "b"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trials", "0"], "--trials and --processes must be at least 1"),
        (["--again", "no such setting", "1"], "no trial '1' of a setting 'no such setting'"),
        (["--methods", "sharpest", "s-sd"], "`method` must be one of"),
    ],
)
def test_refusals(tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit, match=r"^2$"):
        study(tmp_path / "records.jsonl", *arguments)
    assert message in capsys.readouterr().err


def test_missing_data_are_refused_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("MMDBOUNDS_DATA", raising=False)
    records_file = str(tmp_path / "records.jsonl")
    for arguments, message in (
        ([], "name the folder with the data"),
        (["--data", str(tmp_path)], "does not hold forest_covertype.npz"),
    ):
        with pytest.raises(SystemExit, match=r"^2$"):
            coverage.main([*arguments, "--records", records_file])
        assert message in capsys.readouterr().err


def test_stopping_keeps_what_was_done(tmp_path, capsys, monkeypatch):
    path = tmp_path / "records.jsonl"
    original = coverage.run_trial

    def run_trial(job):
        if job.trial == 1:
            raise KeyboardInterrupt
        return original(job)

    monkeypatch.setattr(coverage, "run_trial", run_trial)
    assert study(path) == 130
    assert len(lines(path)) == N_SETTINGS
    assert "stopped; the same command resumes from" in capsys.readouterr().err


@pytest.fixture
def data():
    folder = os.environ.get("MMDBOUNDS_DATA")
    if folder is None:
        pytest.skip("MMDBOUNDS_DATA does not name the folder with the data")
    return folder


def whole_study(data, path, trials):
    """Run the study of the issue; every interval must be certified, and hold the truth."""
    assert coverage.main(["--data", data, "--records", str(path), "--trials", str(trials)]) == 0
    found = lines(path)
    assert len(found) == 48 * trials
    assert all(records.is_certified(record["runs"][0]) for record in found)
    assert not any(coverage.is_violated(record) for record in found)


@pytest.mark.data
def test_the_truth_is_inside_in_a_few_trials(data, tmp_path):
    whole_study(data, tmp_path / "records.jsonl", trials=3)


@pytest.mark.data
@pytest.mark.slow
def test_the_truth_is_inside_in_every_trial(data, tmp_path):
    whole_study(data, tmp_path / "records.jsonl", trials=200)
