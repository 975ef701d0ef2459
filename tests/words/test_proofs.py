"""What is proved, what is reached and what is only found: each state in its own words."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made import LOWER, MADE, UPPER, bound, result
from mmdbounds.results import BoundsResult
from mmdbounds.words import bounds as words

CONVERSE = "If more or fewer rows are misfiled, it can"


def settings_of(found):
    """Return the last paragraph of the summary, on one line."""
    return " ".join(found.summary().split("\n\n")[-1].split())


def proved(low: float | None, high: float | None, **changes: Any) -> BoundsResult:
    """0.27602 and 0.39744 are reached, 0.12142 apart; `low` and `high` are proved."""
    return result(lower=bound(LOWER, certified=low), upper=bound(UPPER, certified=high), **changes)


def side_line(which: BoundsResult, side: str) -> str:
    return words.side_lines(getattr(which, side), which)[0]


def test_both_sides_proved():
    both = proved(0.27539, 0.39801)
    # Rounded outwards, or the printed numbers would not be proved.
    assert both.summary().splitlines()[2:12] == [
        "Whichever rows they are, the squared MMD of the true groups is between 0.2753 and 0.3981 (proved);",
        "as filed it is 0.3837. If more or fewer rows are misfiled, it can lie outside this range.",
        "",
        "  at least              0.2753 (proved); a labelling reaches 0.276; 2 steps",
        "    moves 2 rows filed under healthy: Y[6], Y[14]",
        "  as filed              0.3837",
        "  at most               0.3981 (proved); a labelling reaches 0.3974; 2 steps",
        "    moves 2 rows filed under healthy: Y[0], Y[1]",
        "",
        "Method s-sd (schedule=even); kernel rbf, bandwidth 6.38208; unbiased estimator; float64, matrix on",
    ]


def test_up_to_so_many_rows():
    assert words.finding(proved(0.27539, 0.39801, exactly=False)).endswith(
        " If more rows are misfiled, it can lie outside this range."
    )


def test_large_gaps_are_said():
    far = proved(0.27129, 0.40011)  # off by 0.00473 and 0.00267
    assert words.finding(far) == (
        "Whichever rows they are, the squared MMD of the true groups is between 0.2712 and 0.4002 (proved); "
        "as filed it is 0.3837. "
        "The smallest possible value is between 0.2712 and 0.276, a gap of 3.9 % of the width. "
        "The largest possible value is between 0.3974 and 0.4002, a gap of 2.2 % of the width. "
        f"{CONVERSE} lie outside this range."
    )
    one = proved(0.27529, 0.40011)  # off by 0.6 % below
    assert "smallest possible" not in words.finding(one)
    assert "The largest possible value is between 0.3974 and 0.4002, a gap of 2.2 %" in words.finding(one)


def test_lower_side_alone_is_proved():
    half = proved(0.27539, None)
    assert words.finding(half) == (
        "Whichever rows they are, the squared MMD of the true groups is at least 0.2753 (proved); "
        "as filed it is 0.3837. "
        "The largest value found is 0.3974: a labelling reaches it, but that "
        "none gives a larger value is not proved. "
        f"{CONVERSE} be smaller."
    )
    assert side_line(half, "lower") == (
        "  at least              0.2753 (proved); a labelling reaches 0.276; 2 steps"
    )
    assert side_line(half, "upper") == "  largest found         0.3974   2 steps; nothing proved"
    assert half.interval == (LOWER.value, UPPER.value)


def test_upper_side_alone_is_proved():
    half = proved(None, 0.41, exactly=False)
    assert words.finding(half) == (
        "Whichever rows they are, the squared MMD of the true groups is at most 0.41 (proved); "
        "as filed it is 0.3837. "
        "The smallest value found is 0.276: a labelling reaches it, but that "
        "none gives a smaller value is not proved. "
        "The largest possible value is between 0.3974 and 0.41, a gap of 10.3 % of the width. "
        "If more rows are misfiled, it can be larger."
    )
    assert side_line(half, "lower") == "  smallest found         0.276   2 steps; nothing proved"
    assert side_line(half, "upper") == (
        "  at most                 0.41 (proved); a labelling reaches 0.3974; 2 steps"
    )


def test_nothing_proved():
    none = proved(None, None)
    assert "that none lies beyond them is not proved." in words.finding(none)
    assert "(proved)" not in none.summary()
    assert "at least" not in none.summary()


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("", "nothing proved"),
        ("10 steps", "10 steps; nothing proved"),
        ("too many rows", "too many rows; nothing proved"),
    ],
)
def test_that_nothing_is_proved_is_said_once(status: str, text: str):
    found = bound(UPPER, status=status)
    line = words.side_lines(found, result(upper=found))[0]
    assert line == f"  largest found         0.3974   {text}"


def test_proved_to_be_the_extreme():
    equal = proved(0.27602 - 4e-12, 0.39744 + 4e-12)
    assert side_line(equal, "lower") == (
        "  smallest               0.276   proved: no labelling gives a smaller value; 2 steps"
    )
    assert side_line(equal, "upper") == (
        "  largest               0.3975   proved: no labelling gives a larger value; 2 steps"
    )
    # The sentence shows the same digits.
    assert "is between 0.276 and 0.3975 (proved);" in words.finding(equal)
    assert "gap" not in words.finding(equal)


def test_equal_in_the_digits_shown():
    alike = result(
        lower=bound(LOWER, certified=0.27601), upper=bound(UPPER, value=0.39998, certified=0.39999)
    )
    assert side_line(alike, "lower").startswith(
        "  smallest               0.276   proved: no labelling gives a smaller value (to the digits shown); 2"
    )
    assert "proved: no labelling gives a larger value (to the digits shown); 2" in side_line(alike, "upper")
    assert "is between 0.276 and 0.4 (proved);" in words.finding(alike)


def test_digits_that_differ_when_rounded_outwards_are_both_shown():
    apart = proved(0.27599, 0.39741)
    assert side_line(apart, "lower") == (
        "  at least              0.2759 (proved); a labelling reaches 0.276; 2 steps"
    )


def test_equal_digits_do_not_hide_a_gap_of_a_narrow_interval():
    narrow = result(
        lower=bound(LOWER, value=0.39741, certified=0.397401), upper=bound(UPPER, certified=0.39744 + 1e-14)
    )
    assert side_line(narrow, "lower") == (
        "  at least              0.3974 (proved); a labelling reaches 0.3974; 2 steps"
    )
    assert "between 0.3974 and 0.3974, a gap of 30 % of the width." in words.finding(narrow)


def test_a_value_near_zero_is_equal_but_for_rounding():
    zero = result(lower=bound(LOWER, value=1.2e-13, certified=-3e-12), upper=bound(UPPER, certified=0.4))
    assert side_line(zero, "lower").startswith(
        "  smallest          -3.001e-12   proved: no labelling gives a smaller value"
    )


def test_one_labelling_has_no_width():
    only = result(
        lower=bound(LOWER, value=0.39744, certified=0.39744 - 1e-12), upper=bound(UPPER, certified=0.39999)
    )
    assert side_line(only, "lower").startswith(
        "  smallest              0.3974   proved: no labelling gives a smaller value"
    )
    assert side_line(only, "upper").startswith(
        "  at most                  0.4 (proved); a labelling reaches 0.3974"
    )
    assert "gap" not in words.finding(only)


def test_long_lines_of_the_table_are_wrapped():
    status = "too many rows to check that the kernel is positive definite"
    lines = bound(LOWER, status=status)
    assert words.side_lines(lines, result(lower=lines))[0].splitlines() == [
        "  smallest found         0.276   too many rows to check that the kernel is positive definite;",
        "    nothing proved",
    ]


# The rows to check first.


def with_effects(lower: list[float], upper: list[float], **changes: Any) -> BoundsResult:
    n = len(lower)
    return result(
        lower=bound(LOWER, rows=[0], effects=lower),
        upper=bound(UPPER, rows=[1 % n], effects=upper),
        n_samples_Y=n,
        **changes,
    )


def test_rows_to_check_first():
    some = with_effects([0.01, 0.30001, 0.2, np.nan], [-0.4, -0.1, -0.2, np.nan])
    assert words.top_rows(some) == (
        "Rows to check first: Y[1], Y[2] and Y[0]. Knowing the true group of one of them can raise the lower "
        "bound by up to 0.3 (`row_table()` lists all rows in this order). They need not be misfiled."
    )
    lines = some.summary().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Rows to check first"))
    assert (lines[start - 1], lines[start + 2]) == ("", "")
    assert lines[start + 3].startswith("Method ")
    named = with_effects([0.3, 0.2], [-0.3, -0.4], ids_of_y=["a", "b\n"], file_rows_of_y=[4, 7])
    assert words.top_rows(named).startswith("Rows to check first: a (row 4) and 'b\\n' (row 7). ")


def test_one_row_to_check():
    assert words.top_rows(with_effects([0.1, np.nan], [-0.2, np.nan])) == (
        "Row to check first: Y[0]. Knowing its true group can raise the lower bound by up to 0.1 "
        "(`row_table()` lists all rows in this order). It need not be misfiled."
    )


def test_a_proved_bound_rises_by_the_gap_more():
    some = with_effects([0.1, 0.05], [-0.2, -0.1])
    lower = dataclasses.replace(some.lower, certified=some.lower.value - 0.02)
    assert "can raise the lower bound by up to 0.1201 (" in words.top_rows(
        dataclasses.replace(some, lower=lower)
    )


def test_rows_of_x_to_check():
    two_way = dataclasses.replace(
        with_effects([0.1, 0.2], [-0.1, -0.1], n_samples_X=2, n_moved_of_x=1),
        lower=bound(LOWER, rows=[1], rows_of_x=[0], effects=[0.1, 0.2], effects_of_x=[0.4, 0.3]),
    )
    assert words.top_rows(two_way).startswith("Rows to check first: X[0], X[1] and Y[1]. ")


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ([-0.01, 0.2], [-0.1, -0.1]),  # an exchange that the search has missed
        ([-0.3, 0.2], [-0.1, -0.1]),  # the largest of all
        ([0.0, 0.0], [-0.1, -0.1]),  # equal rows
        ([np.nan, np.nan], [-0.1, -0.1]),
    ],
)
def test_rows_are_not_named_where_the_numbers_do_not_say_it(lower: list[float], upper: list[float]):
    some = with_effects(lower, upper)
    assert words.top_rows(some) == ""
    assert "to check first" not in some.summary()


def test_next_to_nothing_is_no_missed_exchange():
    assert words.top_rows(with_effects([-1e-5, 0.2], [0.1, -0.1])).startswith("Rows to check first")


def test_settings_of_sharp():
    made = dataclasses.replace(
        MADE, method="sharp", options={"n_starts": 16, "certify": "auto", "gap": 0.001}, seed=7
    )
    assert settings_of(result(provenance=made)).startswith(
        "Method sharp (n_starts=16, certify=auto, gap=0.001); seed 7; kernel rbf, bandwidth 6.38208; "
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.floats(0.01, 0.4), st.floats(0, 0.01), st.floats(0, 0.01))
def test_sentence_and_table_show_the_same_digits(value: float, below: float, above: float):
    """A proved end is rounded outwards; 0.06855 in the sentence must not be 0.06856 in the table."""
    low = bound(LOWER, value=value, certified=value - below)
    high = bound(UPPER, value=value + 0.3, certified=value + 0.3 + above)
    sentences, table = result(lower=low, upper=high).summary().split("\n\n")[:2]
    found = re.search(r"is between (\S+) and (\S+) \(proved\)", " ".join(sentences.split()))
    for end in found.groups():
        assert re.search(rf"(?m)^  (at least|smallest|at most|largest) +{re.escape(end)}( |$)", table)
