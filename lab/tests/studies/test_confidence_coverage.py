"""The study of the confidence intervals: its book-keeping on tiny settings."""

import json
import math

import numpy as np
import pytest

import mmdbounds as mb
from lab.studies import confidence_coverage as study
from lab.studies import records

TINY = (study.Setting(0.0, "lowest", 12, 1, 0.1), study.Setting(2.0, "random", 12, 2, 0.1))


def run(path, *arguments, trials=2, processes=1):
    options = ["--records", str(path), "--trials", str(trials), "--processes", str(processes)]
    return study.main([*options, *arguments], chosen=TINY)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def in_order(found):
    return sorted(found, key=study.key)


def test_the_study_of_the_issue_has_six_settings_of_500_trials():
    assert len({setting.name for setting in study.SETTINGS}) == 6
    assert study.parse([]).trials == 500
    assert {bool(s.shift) for s in study.SETTINGS} == {True, False}
    assert {s.mechanism for s in study.SETTINGS} == {"random", "nonrandom", "lowest"}
    assert {s.n_rows for s in study.SETTINGS} == {50, 100, 200}
    assert {1, 20} <= {s.n_columns for s in study.SETTINGS}


def test_a_run_that_was_stopped_continues(tmp_path):
    whole, stopped = tmp_path / "whole.jsonl", tmp_path / "stopped.jsonl"
    assert run(whole) == 0
    kept = whole.read_bytes().splitlines(keepends=True)
    assert len(kept) == 4
    stopped.write_bytes(b"".join(kept[:2]) + kept[2][:-5])  # killed while it wrote the third line
    assert run(stopped) == 0
    assert in_order(lines(stopped)) == in_order(lines(whole))
    before = stopped.read_bytes()
    assert run(stopped) == 0
    assert stopped.read_bytes() == before
    assert "added 0 of the trials" in stopped.with_suffix(".md").read_text()


def test_one_and_two_processes_give_the_same(tmp_path):
    found = []
    for processes in (1, 2):
        path = tmp_path / f"{processes}.jsonl"
        assert run(path, processes=processes) == 0
        found.append(in_order(lines(path)))
    assert found[0] == found[1]


def test_any_trial_can_be_run_again_alone(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    run(path)
    wanted = lines(path)[-1]
    capsys.readouterr()
    assert run(path, "--again", wanted["setting"], str(wanted["trial"])) == 0
    assert in_order([json.loads(capsys.readouterr().out)]) == in_order([wanted])
    with pytest.raises(SystemExit, match="2"):
        run(path, "--again", "no such setting", "1")


def test_the_truth_follows_the_bandwidth_of_the_interval(tmp_path):
    record = study.run_trial(study.Job(TINY[1], 3))
    truths = {name: each["truth"] for name, each in record["runs"].items()}
    assert truths["fixed"] == study.true_root_mmd(TINY[1], 2.0)  # root of 2 d
    assert truths["held out"] != truths["fixed"]
    assert [each["label"] for each in record["runs"].values()] == ["proved"] * 3
    assert truths["any variance"] == truths["fixed"]
    # By hand: shift 2, d = 2, h = 4: 2 (4/6) (1 - exp(-4/12))
    assert truths["fixed"] == pytest.approx(math.sqrt(4 / 3 * (1 - math.exp(-1 / 3))), abs=1e-12)


def test_for_any_variance_the_radius_is_that_of_the_sizes():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 1)), rng.normal(2, 1, size=(300, 1))
    amount = mb.Contamination(n_moved=2, exactly=True)
    result = mb.confidence_interval(X, Y, amount, bandwidth=1.5, fixed_kernel=True, rng=0)
    wide, (part,) = study.for_any_variance(result), result.parts
    radius = math.sqrt(1 / 302 + 1 / 298) * (1 + math.sqrt(math.log(20)))
    by_hand = math.sqrt(part.lower) - radius, math.sqrt(part.upper) + radius
    assert wide.interval == pytest.approx(by_hand, abs=1e-12)
    assert wide.low < result.low < result.high < wide.high


def test_lowest_moves_the_lowest():
    filed = study.draw(TINY[0], np.random.default_rng(0))
    assert filed.n_moved == 1
    assert filed.Y[filed.rows_of_y, 0].max() <= filed.X[:, 0].min()


def made_up(setting, trial, low):
    each = {"low": low, "high": 1.0, "truth": 0.5, "label": "proved"}
    return {
        "setting": setting.name,
        "trial": trial,
        "seed": 1,
        "m": 1,
        "runs": dict.fromkeys(study.INTERVALS, each),
        "version": "1",
    }


def test_the_table_and_the_verdict_by_hand(tmp_path):
    setting = TINY[0]
    found = [made_up(setting, trial, 0.25 if trial < 3 else 0.75) for trial in range(4)]
    assert study.row(setting, found) == (
        f"| {setting.name} | 1 | 4 | 0.500 {'| 75.0 ± 21.7 % | 0.375 to 1.000 ' * 3}|"
    )
    assert not study.is_too_low([made_up(setting, t, 0.75 if t < 7 else 0.0) for t in range(100)], "fixed")
    assert not study.is_too_low([made_up(setting, t, 0.75 if t < 10 else 0.0) for t in range(100)], "fixed")
    assert study.is_too_low([made_up(setting, t, 0.75 if t < 11 else 0.0) for t in range(100)], "fixed")
    path = tmp_path / "records.jsonl"
    for trial in range(2):
        for each in TINY:
            records.append(path, made_up(each, trial, 0.75))
    assert run(path) == 1


def test_refusals(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        run(tmp_path / "records.jsonl", trials=0)
    assert "--trials and --processes must be at least 1" in capsys.readouterr().err
