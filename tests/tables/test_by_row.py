"""What is said of single rows finds its row by name, or is refused: it is never taken by place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError
from mmdbounds.tables import Group

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.full
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(12, 2)), index=[f"x{i}" for i in range(12)])
Y = pd.DataFrame(RNG.normal(1, 1, size=(20, 2)), index=[f"y{i}" for i in range(20)])
Z = pd.concat([X, Y])
HOW: dict[str, Any] = {"bandwidth": 1.0, "rng": 0}
MAY_MOVE = pd.Series(RNG.random(20) < 0.5, index=Y.index)
SITE = pd.Series(RNG.choice(["a", "b"], 20), index=Y.index)
TRUTH = pd.Series(np.where(RNG.random(20) < 0.3, "X", ""), index=Y.index)
LABELS = pd.Series(RNG.choice(["u", "v"], 32), index=Z.index)
UNITS_X, UNITS_Y = (
    pd.Series([f"{name}{i // 2}" for i in range(len(g))], g.index)
    for name, g in zip("pq", (X, Y), strict=True)
)


def interval(of_y: Any, **options: Any) -> tuple[float, float]:
    return mb.mmd_bounds(X, of_y, **{**HOW, **options}).interval


# Each function hands in something that is said of rows, and returns what comes out.
SAID: dict[str, tuple[pd.Series, Callable[[Any], Any]]] = {
    "may_move": (MAY_MOVE, lambda s: interval(Y, epsilon=mb.Contamination(n_moved=3, may_move=s))),
    "strata": (
        SITE,
        lambda s: interval(Y, epsilon=mb.Contamination(n_moved=3, strata=s, limits={"a": 1, "b": 1})),
    ),
    "verified": (TRUTH, lambda s: interval(Y, epsilon=0.2, verified=(None, s))),
    "mask of verified": (MAY_MOVE, lambda s: interval(Y, epsilon=0.2, verified=(None, s))),
    "audit": (TRUTH, lambda s: mb.audit(X, Y, verified=(None, s), **HOW).pvalue),
    "labels": (LABELS, lambda s: mb.hsic(Z, s, bandwidth=1.0)),
    "labels bounded": (LABELS, lambda s: mb.hsic_bounds(Z, s, n_moved=2, **HOW).upper.value),
    "unit": (
        UNITS_Y,
        lambda s: mb.robust_test(X, Y, 0.2, unit=(UNITS_X, s), n_permutations=9, **HOW).statistic,
    ),
    "units_y": (UNITS_Y, lambda s: mb.one_row_each(X, Y, UNITS_X, s, rng=1).rows_of_y.tolist()),
    "unit of refiled rows": (
        UNITS_Y,
        lambda s: (
            mb.robust_test(
                X, Y, 0.2, unit=(UNITS_X, s), verified=(None, UNITS_Y == "q3"), n_permutations=9, **HOW
            ).statistic
        ),
    ),
    "mask of a group": (MAY_MOVE, lambda s: Group(Y.to_numpy(), ids=Y.index.to_numpy())[s].ids.tolist()),
    "field of a group": (SITE, lambda s: Group(Y.to_numpy(), ids=list(Y.index), strata=s).strata.tolist()),
    "field of a frame": (SITE, lambda s: Group(Y, strata=s).strata.tolist()),
    "labels of fit": (LABELS, lambda s: mb.MMDBounds(0.2, hidden="u", **HOW).fit(Z, s).interval_),
    "verified of fit": (
        LABELS,
        lambda s: mb.MMDBounds(0.2, hidden="u", **HOW).fit(Z, LABELS, verified=s == "u").interval_,
    ),
    "unit of fit": (
        pd.concat([UNITS_X, UNITS_Y]),
        lambda s: (
            mb.RobustTest(0.2, hidden=1, n_permutations=9, **HOW)
            .fit(Z, np.repeat([1, 0], [12, 20]), unit=s)
            .statistic_
        ),
    ),
}


@pytest.fixture(params=list(SAID), ids=list(SAID))
def said(request: pytest.FixtureRequest) -> tuple[pd.Series, Callable[[Any], Any]]:
    return SAID[request.param]


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.VerifiedWarning")
def test_an_index_in_another_order_changes_nothing(said: tuple[pd.Series, Callable[[Any], Any]]):
    series, ask = said
    expected = ask(series.to_numpy())  # by place, which is right here
    assert ask(series) == expected
    assert ask(series.iloc[::-1]) == expected
    assert ask(series.sort_values(kind="stable")) == expected
    with_others = pd.concat([pd.Series([series.iloc[0]] * 3, ["other", "more", "rows"]), series])
    assert ask(with_others) == expected


def test_an_index_without_some_rows_is_refused(said: tuple[pd.Series, Callable[[Any], Any]]):
    series, ask = said
    other = series.set_axis([*series.index[:-1], "another"])
    with pytest.raises(
        DataError, match=r"^the index of `.*` lacks 1 of the \d+ rows of .* as `\.to_numpy\(\)`"
    ):
        ask(other)


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.VerifiedWarning")
def test_an_index_with_a_name_twice_is_refused(said: tuple[pd.Series, Callable[[Any], Any]]):
    series, ask = said
    with pytest.raises(DataError, match=r"cannot be brought to the rows of .* by name: names of .* repeat"):
        ask(pd.concat([series.iloc[1:], series]))


def test_rows_without_names_take_an_index_only_if_it_counts_them():
    mask = MAY_MOVE.reset_index(drop=True)
    amount = mb.Contamination(n_moved=3, may_move=mask)
    expected = interval(Y, epsilon=mb.Contamination(n_moved=3, may_move=mask.tolist()))
    assert mb.mmd_bounds(X.to_numpy(), Y.to_numpy(), amount, **HOW).interval == expected
    sorted_mask = mb.Contamination(n_moved=3, may_move=mask.sort_values(kind="stable"))
    with pytest.raises(
        DataError, match="`may_move` has an index, but the rows of `Y` have no names to find it by"
    ):
        mb.mmd_bounds(X.to_numpy(), Y.to_numpy(), sorted_mask, **HOW)


def test_labels_of_a_pipeline_may_have_an_index_that_its_rows_lost():
    rows, labels = Z.to_numpy(), LABELS
    found = mb.MMDBounds(0.2, hidden="u", **HOW)
    expected = found.fit(rows, labels.to_numpy(), verified=(labels == "u").to_numpy()).interval_
    # The labels name the rows then: what was looked up is found by these names.
    assert found.fit(rows, labels, verified=(labels == "u").iloc[::-1]).interval_ == expected
    with pytest.raises(DataError, match="`verified` has an index, but the rows of `X` have no names"):
        found.fit(rows, labels.to_numpy(), verified=(labels == "u").iloc[::-1])


@pytest.mark.parametrize(
    "as_given",
    [
        list,
        tuple,
        np.array,
        pd.array,
        pd.Index,
        lambda s: s.reset_index(drop=True),
        lambda s: s.astype("category"),
    ],
    ids=["list", "tuple", "array", "pandas array", "Index", "Series", "categories"],
)
def test_lists_of_every_kind_are_the_same(as_given: Callable[[Any], Any]):
    site = as_given(SITE.reset_index(drop=True))
    assert Group(Y.to_numpy(), strata=site).strata.tolist() == SITE.tolist()


@pytest.mark.full
def test_other_libraries_have_no_index():
    import polars
    import pyarrow
    import torch

    for as_given in (polars.Series, pyarrow.array, lambda s: pyarrow.chunked_array([s])):
        assert Group(Y.to_numpy(), strata=as_given(SITE.tolist())).strata.tolist() == SITE.tolist()
    mask = torch.tensor(MAY_MOVE.tolist())
    assert Group(Y.to_numpy(), may_move=mask).may_move.tolist() == MAY_MOVE.tolist()
