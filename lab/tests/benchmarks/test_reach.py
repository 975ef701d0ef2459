"""The program that measures what the default call reaches: every call on few rows, and its table."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from lab.benchmarks import reach

KEYS = {
    "sharp": {"lower", "upper", "lower_gap", "upper_gap", "backend"},
    "robust_test": {"pvalue", "is_valid", "backend"},
    "sweep": {"breakdown", "is_valid"},
    "frontier": {"frontier", "is_valid"},
}
OF_ALL = {"name", "seconds", "mib", "before", "machine"}


@pytest.fixture
def tiny(monkeypatch):
    """The calls, with 30 rows in place of all others."""
    groups = reach.gaussian(12)[0], reach.gaussian(18)[1]
    some = {name: call._replace(groups=lambda: groups) for name, call in reach.calls(None).items()}
    monkeypatch.setattr(reach, "calls", lambda folder: some)
    return some


def old(name, seconds=1.0, gaps=(0.001, 0.005)):
    """Return a record as the first ones were."""
    found = {"lower": 0.001, "upper": 0.04, "lower_gap": gaps[0], "upper_gap": gaps[1], "backend": "matrix"}
    return {"name": name, "seconds": seconds, "mib": 288, "before": 288, **found}


def test_every_call_is_made_and_shown(tiny):
    made, records = {}, {}
    for name, call in tiny.items():
        which = repr(call.compute)  # many lines differ in their rows alone
        if which not in made:
            made[which] = json.loads(json.dumps(reach.measure(name, None)))
        records[name] = made[which]
        assert set(records[name]) == OF_ALL | KEYS[name.split(",")[0]]
    shown = reach.table(records, None)
    for name, record in records.items():
        assert f"\n| {name} | {record['seconds']:.1f}" in shown
        assert f" | {reach.attained(record)} | {record['mib']:,} |" in shown
    assert shown.count(", valid |") == 6


def test_goals_that_are_missed_are_marked():
    name = "sharp, standardised, N = 1,000"
    shown = reach.table({name: old(name)}, None)
    assert "| 1.0 | 1.5 |  | 0.50% | 3.0% | 0.100% | 0.2% |" in shown
    assert shown.endswith("\n\nEvery goal is reached.")
    shown = reach.table({name: old(name, 1.6, (0.003, 0.04))}, None)
    assert "| 1.6* | 1.5 |  | 4.00%* | 3.0% | 0.300%* | 0.2% |" in shown
    assert shown.endswith("\n\nMarked `*`: misses what is to be reached.")


def test_at_most_is_compared_with_exactly():
    exactly, at_most = (f"sharp, {word}, N = 5,000" for word in ("exactly", "at most"))
    records = {exactly: old(exactly, 2.0), at_most: old(at_most, 3.0)}
    assert f"| {at_most} | 3.0 |  | 1.50 |" in reach.table(records, None)
    assert f"| {exactly} | 2.0 |  |  |" in reach.table(records, None)
    assert f"| {at_most} | 3.0 |  |  |" in reach.table({at_most: records[at_most]}, None)


def test_what_is_not_proved_has_no_gap():
    name = "sharp, standardised, N = 1,000"
    assert "| 1.0 | 1.5 |  |  | 3.0% |  | 0.2% |" in reach.table({name: old(name, gaps=(None, None))}, None)


def test_a_run_that_is_stopped_leaves_a_table(monkeypatch, tmp_path):
    first, second = list(reach.calls(None))[:2]

    def run(command, **_):
        if command[command.index("--call") + 1] == second:
            raise KeyboardInterrupt
        return subprocess.CompletedProcess(command, 0, stdout=json.dumps(old(first)))

    records = tmp_path / "reach.jsonl"
    monkeypatch.setattr(reach.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["reach", "--records", str(records)])
    with pytest.raises(KeyboardInterrupt):
        reach.main()
    assert reach.read_records(records) == {first: old(first)}
    page = (tmp_path / "reach.md").read_text(encoding="utf-8")
    assert f"| {first} | 1.0 |" in page
    assert f"| {second} |" not in page
    assert reach.machine() in page


def test_at_most_that_takes_more_than_twice_as_long_is_marked():
    exactly, at_most = (f"sharp, {word}, N = 300" for word in ("exactly", "at most"))
    for seconds, shown in ((1.9, "| 1.90 |"), (2.1, "| 2.10* |")):
        table = reach.table({exactly: old(exactly), at_most: old(at_most, seconds)}, None)
        assert shown in table
        assert table.endswith("Every goal is reached.") == (seconds < 2)
