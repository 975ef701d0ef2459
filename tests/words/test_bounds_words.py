"""The sentences, word for word."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace
from typing import Any

import pytest

from made import LOWER, MADE, RESULT, UPPER, bound, result
from mmdbounds.contamination import Contamination
from mmdbounds.words import bounds as words
from mmdbounds.words import phrases


def settings_of(found):
    """Return the last paragraph of the summary, on one line."""
    return " ".join(found.summary().split("\n\n")[-1].split())


def test_summary_of_an_attained_result():
    assert RESULT.summary().splitlines() == [
        "Assumed: exactly 20 % of the true MI rows are misfiled, that is exactly 2 of the 1,234 rows filed",
        "under healthy.",
        "Depending on which rows they are, the squared MMD of the true groups can be as small as 0.276 or as",
        "large as 0.3974; as filed it is 0.3837. Labellings reach both values; that none lies beyond them is",
        "not proved. If more or fewer rows are misfiled, it can lie outside this range.",
        "",
        "  smallest found         0.276   2 steps; nothing proved",
        "    moves 2 rows filed under healthy: Y[6], Y[14]",
        "  as filed              0.3837",
        "  largest found         0.3974   2 steps; nothing proved",
        "    moves 2 rows filed under healthy: Y[0], Y[1]",
        "",
        "Method s-sd (schedule=even); kernel rbf, bandwidth 6.38208; unbiased estimator; float64, matrix on",
        "cpu; 323,761 kernel values in 0.084 s; mmdbounds 1.0.",
    ]


@pytest.mark.parametrize(
    ("value", "side", "text"),
    [
        (0.123449, "lower", "0.1234"),
        (0.123401, "upper", "0.1235"),
        (-0.123401, "lower", "-0.1235"),
        (-0.123449, "upper", "-0.1234"),
        (1e-9, "lower", "1e-09"),
        (0.0, "upper", "0"),
    ],
)
def test_proved_numbers_are_rounded_outwards(value: float, side: Any, text: str):
    assert phrases.proved_number(value, side) == text


MANY = "20 % of the true MI rows are misfiled, that is"
WHERE = "of the 1,234 rows filed under healthy"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, f"exactly {MANY} exactly 2 {WHERE}."),
        ({"exactly": False}, f"at most {MANY} at most 2 {WHERE}."),
        (
            {"n_moved_of_x": 1},
            f"exactly {MANY} exactly 2 {WHERE}; exactly 1 of the 8 rows filed under MI belongs to healthy.",
        ),
        (
            {"n_moved_of_x": 3, "exactly": False},
            f"at most {MANY} at most 2 {WHERE}; at most 3 of the 8 rows filed under MI belong to healthy.",
        ),
    ],
)
def test_assumption(changes: dict[str, Any], sentence: str):
    assert phrases.assumption(result(**changes)) == f"Assumed: {sentence}"


def test_nothing_misfiled():
    none = result(
        n_moved=0,
        epsilon=0.0,
        share_of_y=0.0,
        lower=bound(LOWER, rows=[], value=0.3837),
        upper=bound(UPPER, rows=[], value=0.3837),
    )
    assert words.finding(none) == "Nothing is misfiled, so the squared MMD is 0.3837."
    text = none.summary()
    assert "found" not in text
    assert "\n  as filed              0.3837\n" in text


def test_printed_schedule_bounds_nothing():
    text = words.finding(result(upper=bound(UPPER, kind="resized labelling")))
    assert text == (
        "These are the paper's printed quantile steps: they move another number of rows than were misfiled, "
        "so the values below bound nothing."
    )


def test_sides_that_cross():
    crossed = result(lower=bound(LOWER, value=0.5))
    assert words.finding(crossed).startswith("The two sides cross: ")
    proved = result(lower=bound(LOWER, value=0.5, certified=0.1), upper=bound(UPPER, certified=0.6))
    assert "between 0.1 and 0.6 (proved)" in words.finding(proved)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, "Y[6], Y[14]"),
        ({"ids": ["a", "b"]}, "a, b"),
        ({"file_rows": [7, 15]}, "row 7, row 15"),
        ({"ids": ["a", "b"], "file_rows": [7, 15]}, "a (row 7), b (row 15)"),
        ({"rows": range(8)}, "Y[0], Y[1], Y[2], Y[3], Y[4], Y[5], Y[6], Y[7]"),
        ({"rows": range(9)}, "Y[0], Y[1], Y[2], Y[3], Y[4], Y[5], Y[6], Y[7] and 1 more"),
        ({"ids": ["x\x1b[31m", "b\nc"]}, r"'x\x1b[31m', 'b\nc'"),
        ({"rows": [6], "ids": ["i" * 70]}, "i" * 57 + "..."),
    ],
)
def test_rows_are_named(changes: dict[str, Any], names: str):
    moved = bound(LOWER, **{**changes, "rows": list(changes.get("rows", [6, 14]))})
    count = "1 row" if moved.n_moved == 1 else f"{moved.n_moved} rows"
    assert words.side_lines(moved, RESULT)[1:] == [f"    moves {count} filed under healthy: {names}"]


def test_rows_that_move_both_ways():
    both = bound(LOWER, rows_of_x=[3], ids_of_x=["q"], file_rows_of_x=[4], ids=["a", "b"], file_rows=[7, 15])
    assert words.side_lines(both, RESULT)[1:] == [
        "    moves 2 rows filed under healthy: a (row 7), b (row 15)",
        "    moves 1 row filed under MI: q (row 4)",
    ]


def test_no_line_is_longer_than_a_hundred_columns():
    ids = [f"patient-with-a-long-name-{i}" for i in range(30)]
    long = result(
        lower=bound(LOWER, rows=list(range(30)), ids=ids),
        name_y="healthy volunteers of the second hospital",
        n_moved_of_x=5,
    )
    lines = long.summary().splitlines()
    assert max(map(len, lines)) <= 100
    text = " ".join(line.strip() for line in lines)
    assert ", ".join(ids[:8]) + " and 22 more" in text
    named = next(i for i, line in enumerate(lines) if line.startswith("    moves 30"))
    assert lines[named + 1].startswith("      patient-with")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, "Method s-sd; kernel"),
        (
            {"n_steps": 5, "schedule": "even", "weights": "sums"},
            "Method s-sd (n_steps=5, schedule=even); kernel",
        ),
        (
            {"n_steps": None, "schedule": "paper", "weights": "means"},
            "(schedule=paper, weights=means); kernel",
        ),
        (
            {"n_starts": 16, "certify": False, "gap": 0.001},
            "Method s-sd (n_starts=16, certify=False, gap=0.001); kernel",
        ),
    ],
)
def test_options_that_matter(options: dict[str, Any], shown: str):
    made = dataclasses.replace(MADE, options=options)
    assert shown in settings_of(result(provenance=made))


@pytest.mark.parametrize(("seconds", "text"), [(0.0841, "0.084 s"), (9.87, "9.9 s"), (1234.5, "1,234 s")])
def test_seconds(seconds: float, text: str):
    assert f" in {text};" in settings_of(result(provenance=dataclasses.replace(MADE, seconds=seconds)))


@pytest.mark.parametrize(("seed", "text"), [(0, "); seed 0; kernel"), (None, "); kernel")])
def test_seed(seed: int | None, text: str):
    assert text in settings_of(result(provenance=dataclasses.replace(MADE, seed=seed)))


def test_kernel_without_bandwidth():
    made = dataclasses.replace(MADE, kernel="linear", bandwidth=None)
    assert "; kernel linear; " in settings_of(result(provenance=made))


def test_group_names_cannot_break_the_terminal():
    text = result(name_x="a\nb\x1b[31m").summary()
    assert "\x1b" not in text
    assert r"true 'a\nb\x1b[31m' rows" in text


@pytest.mark.parametrize(
    ("share", "text"), [(0.2, "20 %"), (0.035, "3.5 %"), (0.00123, "0.123 %"), (0, "0 %")]
)
def test_percent(share: float, text: str):
    assert phrases.percent(share) == text


@pytest.mark.parametrize("p", [1, 2, 6, 50, 99, 190, 12345])
def test_the_smallest_share_that_is_named_is_a_row(p: int):
    made = SimpleNamespace(misfiling={"x_in_y": 1e-6})
    stub = SimpleNamespace(provenance=made, name_x="X", name_y="Y", n_samples_X=p, n_samples_Y=9)
    least = float(re.search(r"the smallest that is one is (\S+) \(1 of", phrases._less_than_a_row(stub))[1])
    assert Contamination(least).counts(p, 9).n_moved == 1
    assert Contamination(least * 0.98).counts(p, 9).n_moved == 0
