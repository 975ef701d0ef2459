"""The program that compares estimates with what calls take."""

from __future__ import annotations

import dataclasses

import pytest

from lab.benchmarks import estimates


def test_twelve_calls_of_every_kind():
    assert len(estimates.CALLS) == 12
    assert {call.what for call in estimates.CALLS} == {"bounds", "test", "sweep"}
    assert {call.method for call in estimates.CALLS} == {"sharp", "s-sd", "sd"}
    at_most = {(call.what, call.method) for call in estimates.CALLS if not call.exactly}
    assert at_most == {("bounds", "sharp"), ("sweep", "sharp")}  # the default of both
    assert [min(call.n_rows for call in estimates.CALLS), max(call.n_rows for call in estimates.CALLS)] == [
        1000,
        100_000,
    ]


@pytest.mark.parametrize(
    "call", [call for call in estimates.CALLS if call.rows.isdecimal()], ids=lambda call: call.words
)
def test_each_is_estimated_and_made(call, monkeypatch):
    """On few rows; those of FOREST need the data."""
    monkeypatch.setattr(estimates, "N_PERMUTATIONS", 9)
    small = dataclasses.replace(call, n_rows=60)
    expected, asking, seconds = estimates.compared(small, *estimates.groups(small, None))
    assert min(expected, asking, seconds) > 0


def test_what_is_at_most_says_so():
    [sweep] = [call.words for call in estimates.CALLS if call.what == "sweep" and not call.exactly]
    assert sweep == "sweep, at most, raw"


def test_the_table_marks_what_is_off():
    call = estimates.CALLS[0]
    assert estimates.line(call, 101.0, 0.5, 100.0) == (
        "| bounds, sharp, standardised | 1,000 | 101 | 100 | 1.01 | 0.5 |"
    )
    assert "| 4.04 **!** |" in estimates.line(call, 101.0, 0.5, 25.0)
    assert "| 0.24 **!** |" in estimates.line(call, 101.0, 0.5, 420.0)
