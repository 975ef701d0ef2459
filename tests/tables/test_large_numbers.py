"""Whole numbers beyond 2^53 keep their digits or are refused; large numbers close together keep theirs."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError
from mmdbounds.tables import Group, groups
from mmdbounds.tables.scaling import TABLE_SCALES, standardise

RNG = np.random.default_rng(1)
SMALL = RNG.integers(0, 9, size=(20, 2))
DX = ["a"] * 9 + ["b"] * 11


def split(text: str, **options: object) -> tuple[Group, Group]:
    return groups(io.BytesIO(text.encode()), "g", **{"hidden": "a", "among": "b", **options})


def csv(offset: int, missing: str = "") -> str:
    lines = [f"{g},{int(u) + offset},{v}" for g, (u, v) in zip(DX, SMALL, strict=True)]
    return "\n".join(["g,u,v", *lines, *([f"a,{missing},1"] if missing else [])])


def json_lines(offset: int) -> str:
    return "\n".join(
        f'{{"g": "{g}", "u": {int(u) + offset}, "v": {v}}}' for g, (u, v) in zip(DX, SMALL, strict=True)
    )


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_arrays_are_refused_in_one_line(kind: type):
    shifted = SMALL.astype(kind) + kind(2**62)
    for X, Y, argument in ((shifted[:9], SMALL[9:], "X"), (SMALL[:9], shifted[9:], "Y")):
        with pytest.raises(
            DataError, match=rf"^`{argument}` has whole numbers beyond 2\^53, which float64 would"
        ):
            mb.mmd2(X, Y)
    with pytest.raises(DataError, match=r"^`values` has whole numbers beyond 2\^53"):
        Group(shifted)
    for front in (mb.MMDBounds(0.1, hidden="a"), mb.RobustTest(0.1, hidden="a")):
        with pytest.raises(DataError, match=r"^`X` has whole numbers beyond 2\^53"):
            front.fit(shifted, DX)


@pytest.mark.parametrize("scale", [scale for scale in TABLE_SCALES if scale != "none"])
@pytest.mark.parametrize("offset", [2**52, 2**53, -(2**53) - 5, 2**62, 10**18, 2**64, -(2**100)])
@pytest.mark.parametrize("written", [csv, json_lines], ids=["csv", "json"])
def test_a_shift_changes_nothing(written, offset: int, scale: str):
    expected, found = (split(written(by), scale=scale, columns=["u", "v"]) for by in (0, offset))
    for one, other in zip(expected, found, strict=True):
        # Differences of small whole numbers are exact; sums of 20 of them over the deviation are not.
        np.testing.assert_allclose(other.values, one.values, rtol=0, atol=100 * 2**-52)


def test_a_word_for_a_missing_cell_costs_no_digits():
    for missing in ("drop", "impute"):
        expected, found = (
            split(csv(by, "unknown"), missing=missing, na="unknown", columns=["u", "v"])[0]
            for by in (0, 2**62)
        )
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=100 * 2**-52)


@pytest.mark.parametrize("written", [csv, json_lines], ids=["csv", "json"])
def test_unscaled_they_are_refused(written):
    message = r"'u' \(whole numbers beyond 2\^53, which float64 would round\)\. .* subtract"
    with pytest.raises(DataError, match=message):
        split(written(2**62), scale="none", columns=["u", "v"])
    X, _ = split(written(2**62), scale="none", columns="v")
    assert X.shape == (9, 1)


@pytest.mark.full
def test_frames_of_all_libraries():
    import pandas as pd
    import polars as pl

    frame = pl.DataFrame({"g": DX, "u": SMALL[:, 0] + 2**62, "v": SMALL[:, 1]})
    expected = mb.mmd2(*split(csv(0), columns=["u", "v"]))
    gaps = pd.DataFrame({**frame.to_pandas(), "u": pd.array(frame["u"].to_list(), dtype="Int64")})
    decimal = frame.with_columns(pl.col("u").cast(pl.Decimal(38, 2)))
    for data in (frame, frame.to_pandas(), frame.to_arrow(), gaps, decimal):
        found = mb.mmd2(*groups(data, "g", hidden="a", among="b", columns=["u", "v"]))
        assert found == pytest.approx(expected, rel=0, abs=1e-13)  # values of at most 1, moved by 100 * 2^-52


def test_two_tables_with_other_offsets_are_not_on_the_same_scale():
    (X, _), (_, Y) = (split(csv(by), columns=["u", "v"]) for by in (2**62, 2**62 + 1))
    with pytest.raises(DataError, match=r"scaled over different rows in 1 column: 'u'"):
        mb.mmd2(X, Y)


@pytest.mark.parametrize("large", [2.0**53 - 16, -(2.0**53) + 16, 2.0**60, 1e300])
def test_large_numbers_close_together_by_exact_arithmetic(large: float):
    step = abs(float(np.spacing(large)))
    column = large + step * RNG.integers(0, 9, size=31)
    exact = [Fraction(cell) for cell in column.tolist()]
    mean = sum(exact) / len(exact)
    variance = sum((cell - mean) ** 2 for cell in exact) / len(exact)
    wanted = [
        float((cell - mean) / Fraction(step)) / float(variance / Fraction(step) ** 2) ** 0.5 for cell in exact
    ]
    # The mean of 31 differences and the deviation, each rounded 31 times at most, of values below 4.
    np.testing.assert_allclose(standardise(column[:, None])[:, 0], wanted, rtol=0, atol=4 * 31 * 2**-52)
