"""What is known of single rows, against an enumeration that knows nothing of orders and slices."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from mmdbounds.errors import DataError, MmdBoundsError, VerifiedWarning
from mmdbounds.results import BoundsResult
from problems import naive_mmd2
from tolerances import of_mmd2

TOLERANCE = of_mmd2(12, smallest=2, columns=2)


@dataclass
class Case:
    """A small problem with knowledge: entries for the rows of X, then for those of Y."""

    Z: np.ndarray
    p: int
    truth: list[str]  # "X", "Y", or "" where nothing was looked up
    may_move: list[bool]
    strata: list[str]
    limits: dict[str, float] | None
    moved: tuple[int, int]  # of Y, of X
    at_most: bool
    estimator: str

    @property
    def filed(self) -> list[str]:
        return ["X" if i < self.p else "Y" for i in range(len(self.Z))]

    @property
    def labels(self) -> list[str]:
        """The groups once rows that were looked up are where they belong."""
        return [truth or filed for truth, filed in zip(self.truth, self.filed, strict=True)]

    def halves(self, entries: list[Any]) -> tuple[list[Any], list[Any]]:
        return entries[: self.p], entries[self.p :]

    def contamination(self) -> Contamination:
        return Contamination(
            n_moved=self.moved[0],
            n_moved_of_x=self.moved[1],
            may_move=self.halves(self.may_move),
            strata=None if self.limits is None else self.halves(self.strata),
            limits=self.limits,
        )

    def bounds(self, method: Any = "exhaustive", **options: Any) -> BoundsResult:
        X, Y = self.Z[: self.p], self.Z[self.p :]
        given = {"kernel": "rbf", "bandwidth": 1.0, "rng": 0, "verified": self.halves(self.truth), **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VerifiedWarning)
            return mb.mmd_bounds(
                X,
                Y,
                self.contamination(),
                method=method,
                exactly=not self.at_most,
                estimator=self.estimator,
                **given,
            )

    def matrix(self) -> np.ndarray:
        gaps = self.Z[:, None] - self.Z[None]
        return np.exp(-(gaps**2).sum(axis=-1) / 2)

    def value(self, moved: Any) -> float:
        in_x = np.array([(label == "X") != (i in moved) for i, label in enumerate(self.labels)])
        return naive_mmd2(self.matrix(), in_x, self.estimator)

    def has_enough_rows(self) -> bool:
        """Whether two rows are left in each group, whatever moves."""
        return self.labels.count("X") - self.moved[1] >= 2 and self.labels.count("Y") - self.moved[0] >= 2

    def may(self, letter: str) -> list[int]:
        """The rows of a group that may be misfiled."""
        rows = range(len(self.Z))
        return [i for i in rows if self.labels[i] == letter and not self.truth[i] and self.may_move[i]]

    def sets_of(self, letter: str, count: int) -> list[tuple[int, ...]]:
        return [c for c in itertools.combinations(self.may(letter), count) if self.obeys(c, letter)]

    def obeys(self, moved: tuple[int, ...], letter: str) -> bool:
        for stratum, limit in (self.limits or {}).items():
            rows = [i for i, s in enumerate(self.strata) if s == stratum and self.labels[i] == letter]
            most = limit if isinstance(limit, int) else math.floor(limit * len(rows) + 1e-9)
            if sum(self.strata[i] == stratum for i in moved) > most:
                return False
        return True

    def values(self) -> dict[frozenset[int], float]:
        """The statistic of every admissible labelling, by the rows that move."""
        counts = [range(m + 1) if self.at_most else [m] for m in self.moved]
        every = [
            frozenset(of_y + of_x)
            for m, m_d in itertools.product(*counts)
            for of_y in self.sets_of("Y", m)
            for of_x in self.sets_of("X", m_d)
        ]
        return {moved: self.value(moved) for moved in every}


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    p, q = int(rng.integers(4, 6)), int(rng.integers(6, 8))
    n = p + q
    looked_up = rng.random(n) < rng.choice([0.0, 0.2, 0.4])
    wrong = rng.random(n) < 0.3
    truth = [("XY"[(i >= p) ^ bool(wrong[i])] if looked_up[i] else "") for i in range(n)]
    share = rng.choice([0.6, 1.0])
    limits = None
    if rng.random() < 0.7:
        limits = {"a": int(rng.integers(0, 3)), "b": [1, 0.5, 0.34][rng.integers(3)]}
        limits = dict(list(limits.items())[: rng.integers(1, 3)])
    return Case(
        Z=rng.normal(size=(n, 2)),
        p=p,
        truth=truth,
        may_move=[bool(flag) for flag in rng.random(n) < share],
        strata=["a", "b", *rng.choice(["a", "b", "c"], n - 2).tolist()],
        limits=limits,
        moved=(int(rng.integers(1, 4)), int(rng.integers(0, 2))),
        at_most=bool(rng.random() < 0.6),
        estimator=str(rng.choice(["unbiased", "biased"])),
    )


def check_case(case: Case) -> bool:
    """Compare bounds with the enumeration; return whether there was anything to compare."""
    if not case.has_enough_rows():
        return False
    values = case.values()
    if not values:
        with pytest.raises(MmdBoundsError, match="can be misfiled"):
            case.bounds()
        return False
    least, most = min(values.values()), max(values.values())
    exhaustive, sharp = case.bounds(), case.bounds("sharp")
    for result in (exhaustive, sharp):
        assert result.lower.certified <= least + TOLERANCE
        assert result.upper.certified >= most - TOLERANCE
        for side in (result.lower, result.upper):
            moved = frozenset([*(case.p + side.rows).tolist(), *side.rows_of_x.tolist()])
            assert values[moved] == pytest.approx(side.value, abs=TOLERANCE)  # also: it is admissible
    assert exhaustive.lower.value == pytest.approx(least, abs=TOLERANCE)
    assert exhaustive.upper.value == pytest.approx(most, abs=TOLERANCE)
    check_table(case, sharp)
    return True


def check_table(case: Case, result: BoundsResult) -> None:
    """Whatever is said of rows is said of those that may be misfiled, in the order of the user."""
    assert result.n_samples_X == case.labels.count("X")
    wanted = [i - case.p for i in case.may("Y") if i >= case.p]
    if result.knowledge is None:
        assert wanted == list(range(len(case.Z) - case.p))
        return
    assert result.places_of_y.tolist() == wanted
    assert result.knowledge.n_may_move_y == len(case.may("Y"))
    table = result.row_table() if result.n_moved else {"row": wanted}
    of_y = [
        row for row, group in zip(table["row"], table.get("group", ["Y"] * 99), strict=False) if group == "Y"
    ]
    assert sorted(of_y) == wanted


def test_bounds_are_those_of_the_enumeration():
    assert sum(check_case(random_case(seed)) for seed in range(15)) >= 8


def check_test(case: Case) -> bool:
    """Compare the floors of a test with the enumeration, count by count."""
    if not case.has_enough_rows() or not (values := case.values()):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerifiedWarning)
        tested = mb.robust_test(
            case.Z[: case.p],
            case.Z[case.p :],
            case.contamination(),
            exactly=not case.at_most,
            estimator=case.estimator,
            verified=case.halves(case.truth),
            bandwidth=1.0,
            n_permutations=19,
            rng=0,
        )
    assert tested.is_valid
    of_y = {i for i, label in enumerate(case.labels) if label == "Y"}
    for count in tested.counts:
        sizes = count.n_moved, count.n_moved_of_x
        same = [v for moved, v in values.items() if (len(moved & of_y), len(moved - of_y)) == sizes]
        assert count.certified <= min(same) + TOLERANCE
        assert count.lower >= min(same) - TOLERANCE
    return True


def test_floors_of_a_test_are_those_of_the_enumeration():
    assert sum(check_test(random_case(seed)) for seed in range(12)) >= 8


@pytest.mark.parametrize("seed", [522, 732, 806])
def test_a_pair_that_moves_rows_of_x_alone_is_not_the_filing(seed: int):
    case = random_case(seed)  # two-way, at most one row each: the smallest true X comes first
    assert case.at_most
    assert case.moved == (1, 1)
    assert check_case(case)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_many_are_those_of_the_enumeration(first: int):
    cases = [random_case(seed) for seed in range(first, first + 100)]
    assert sum(map(check_case, cases)) >= 50
    assert sum(map(check_test, cases)) >= 50


# Laws


def ends(result: BoundsResult) -> tuple[float, float]:
    """What labellings reach: proofs end a little further out."""
    return result.lower.value, result.upper.value


def two_groups(seed: int = 0, p: int = 12, q: int = 16) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(p, 2)), rng.normal(0.7, 1.0, size=(q, 2))


def looked_up(X: np.ndarray, Y: np.ndarray) -> tuple[list[str], list[str]]:
    """Some rows of both groups, one of each wrong."""
    of_x = ["Y" if i == 2 else "X" if i % 4 == 0 else "" for i in range(len(X))]
    of_y = ["X" if i in (3, 7) else "Y" if i % 3 == 0 else "" for i in range(len(Y))]
    return of_x, of_y


def test_without_knowledge_nothing_changes():
    X, Y = two_groups()
    plain = mb.mmd_bounds(X, Y, 0.2, rng=0)
    everybody = Contamination(0.2, may_move=np.ones(len(Y), dtype=bool))
    for result in (
        mb.mmd_bounds(X, Y, everybody, rng=0),
        mb.mmd_bounds(X, Y, 0.2, rng=0, verified=(np.arange(len(X)) < 3, None)),  # one-way: X cannot move
    ):
        assert result.interval == plain.interval
        assert result.knowledge is None
        np.testing.assert_array_equal(result.lower.rows, plain.lower.rows)
        np.testing.assert_array_equal(result.upper.effects, plain.upper.effects)


def test_refiling_is_what_moving_the_rows_by_hand_is():
    X, Y = two_groups()
    of_x, of_y = looked_up(X, Y)
    wrong_x, wrong_y = np.array(of_x) == "Y", np.array(of_y) == "X"
    by_hand = np.concatenate([X[~wrong_x], Y[wrong_y]]), np.concatenate([X[wrong_x], Y[~wrong_y]])
    known = np.concatenate([[True], np.array(of_y)[~wrong_y] == "Y"])  # the row from X first
    result = mb.mmd_bounds(X, Y, 0.2, method="exhaustive", verified=(of_x, of_y))
    other = mb.mmd_bounds(*by_hand, Contamination(0.2, may_move=~known), method="exhaustive")
    assert ends(result) == pytest.approx(ends(other), abs=of_mmd2(28, columns=2))
    assert (result.n_samples_X, result.n_samples_Y) == (13, 15)
    assert result.observed == pytest.approx(mb.mmd2(*by_hand), abs=of_mmd2(28, columns=2))
    facts = result.knowledge
    assert (facts.n_refiled_to_x, facts.n_refiled_to_y) == (2, 1)
    assert (facts.n_verified_x, facts.n_verified_y) == (5, 6)
    assert facts.n_may_move_y == 15 - 6
    assert set(result.lower.rows.tolist()) <= {i for i, each in enumerate(of_y) if not each}


def test_a_matrix_of_kernel_values_is_put_into_order_too():
    X, Y = two_groups()
    verified, known = looked_up(X, Y), {"strata": list("ab" * 8), "limits": {"a": 1}}
    rows = mb.mmd_bounds(X, Y, Contamination(0.2, **known), rng=0, bandwidth=1.0, verified=verified)
    Z = np.concatenate([X, Y])
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=-1) / 2)
    matrix = mb.mmd_bounds(
        K[:12], K[12:], Contamination(0.2, **known), rng=0, kernel="precomputed", verified=verified
    )
    assert ends(matrix) == pytest.approx(ends(rows), abs=of_mmd2(28, columns=2))
    np.testing.assert_array_equal(matrix.lower.rows, rows.lower.rows)


def test_the_more_is_known_the_narrower():
    X, Y = two_groups(1)
    order = np.random.default_rng(0).permutation(len(Y))
    every = []
    for n in (0, 3, 6, 12, 16):
        may_move = ~np.isin(np.arange(len(Y)), order[:n])
        stated = Contamination(n_moved=3, may_move=may_move)
        every.append(ends(mb.mmd_bounds(X, Y, stated, method="exhaustive")))
    slack = of_mmd2(28, columns=2)
    for wide, narrow in itertools.pairwise(every):
        assert wide[0] <= narrow[0] + slack
        assert wide[1] >= narrow[1] - slack
    assert every[-1] == pytest.approx([mb.mmd2(X, Y)] * 2, abs=slack)


def test_an_amount_can_be_left_to_the_limits():
    X, Y = two_groups()
    strata = ["a"] * 10 + ["b"] * 6
    stated = Contamination(strata=strata, limits={"a": 2, "b": 0.34})
    result = mb.mmd_bounds(X, Y, stated, rng=0)
    assert result.n_moved == 4
    whole = mb.mmd_bounds(X, Y, Contamination(n_moved=9, strata=strata, limits={"a": 2, "b": 2}), rng=0)
    assert whole.interval == result.interval
    assert whole.knowledge.n_moved_asked == 9
    assert result.knowledge.n_moved_asked is None


@pytest.mark.parametrize("names", [("MI", "healthy"), ("1", "0")])
def test_groups_may_be_named(names: tuple[str, str]):
    X, Y = two_groups()
    of_x, of_y = looked_up(X, Y)
    letters = mb.mmd_bounds(X, Y, 0.2, rng=0, verified=(of_x, of_y))
    x, y = (mb.Group(rows, name=name) for rows, name in zip((X, Y), names, strict=True))
    word = {"X": names[0], "Y": names[1], "": None}
    if names == ("1", "0"):
        word = {"X": 1.0, "Y": 0.0, "": math.nan}
    named = mb.mmd_bounds(
        x, y, 0.2, rng=0, verified=([word[e] for e in of_x], np.array([word[e] for e in of_y]))
    )
    assert named.interval == letters.interval
    assert "Refiled, as verified: 2 rows from " in named.summary()


def test_a_test_and_a_curve_know_the_same():
    X, Y = two_groups()
    verified, limits = looked_up(X, Y), {"a": 1, "b": 1}
    strata = list("ab" * 8)
    bounds = mb.mmd_bounds(
        X, Y, Contamination(n_moved=2, strata=strata, limits=limits), rng=0, verified=verified
    )
    tested = mb.robust_test(
        X, Y, Contamination(n_moved=2, strata=strata, limits=limits), exactly=True, rng=0, verified=verified
    )
    assert tested.counts[0].lower == pytest.approx(bounds.lower.value, abs=of_mmd2(28, columns=2))
    assert tested.knowledge == bounds.knowledge
    which = Contamination(strata=strata, limits=limits)
    curve = mb.sweep(X, Y, which=which, rng=0, verified=verified, n_permutations=19)
    last = curve.points[-1]
    assert last.n_moved == curve.most_moved == 2
    assert last.lower == pytest.approx(bounds.lower.value, abs=of_mmd2(28, columns=2))
    assert last.upper == pytest.approx(bounds.upper.value, abs=of_mmd2(28, columns=2))
    assert curve.knowledge == bounds.knowledge
    table = bounds.row_table()
    moved = sorted(row for row, inside in zip(last.rows["row"], last.rows["in_lower"], strict=True) if inside)
    assert moved == bounds.lower.rows.tolist()
    assert sorted(last.rows["row"]) == sorted(table["row"].tolist())
    several = mb.robust_test(
        X,
        Y,
        Contamination(n_moved=2, strata=strata, limits=limits),
        exactly=True,
        rng=0,
        verified=verified,
        bandwidth=[1.0, 2.0],
    )
    assert several.knowledge == bounds.knowledge
    [count] = several.counts
    free = mb.robust_test(
        X, Y, Contamination(n_moved=2), exactly=True, rng=0, verified=verified, bandwidth=[1.0, 2.0]
    )
    assert count.lower > free.counts[0].lower  # limits are obeyed


def test_units_are_drawn_from_refiled_rows():
    X, Y = two_groups()
    verified = looked_up(X, Y)
    units = [f"x{i}" for i in range(len(X))], [f"y{i}" for i in range(len(Y))]
    plain = mb.robust_test(X, Y, 0.1, rng=0, verified=verified)
    drawn = mb.robust_test(X, Y, 0.1, rng=0, verified=verified, unit=units)
    assert (drawn.pvalue, drawn.statistic, drawn.knowledge) == (
        plain.pvalue,
        plain.statistic,
        plain.knowledge,
    )


def test_what_is_known_of_a_row_is_known_of_its_unit():
    X, Y = two_groups()
    twice, units = np.concatenate([Y, Y + 0.1]), [f"y{i}" for i in range(len(Y))] * 2
    once = ["Y" if i % 3 == 0 else "" for i in range(16)] + [""] * 16  # one of both rows, whichever is drawn
    may_move = np.arange(32) % 16 != 1
    may_move[1] = True
    drawn = mb.robust_test(
        X,
        twice,
        Contamination(0.1, may_move=may_move),
        rng=0,
        n_permutations=19,
        verified=(None, once),
        unit=([f"x{i}" for i in range(len(X))], units),
    )
    assert (drawn.n_samples_Y, drawn.knowledge.n_verified_y, drawn.knowledge.n_may_move_y) == (16, 6, 9)


def test_a_unit_is_refiled_as_a_whole():
    X, Y = two_groups()
    units = ["a", "a", *(f"y{i}" for i in range(14))]
    with pytest.raises(
        DataError, match="every unit must be filed under one group; got rows under both X and Y for a"
    ):
        mb.robust_test(
            X,
            Y,
            0.1,
            verified=(None, ["X"] + [""] * 15),
            unit=([f"x{i}" for i in range(len(X))], units),
        )


def test_it_is_kept_in_numbers():
    X, Y = two_groups()
    stated = Contamination(0.2, strata=list("ab" * 8), limits={"a": 1})
    result = mb.mmd_bounds(X, Y, stated, rng=0, verified=looked_up(X, Y))
    again = BoundsResult.from_dict(json.loads(result.to_json()))
    assert again.knowledge == result.knowledge
    assert again.row_table()["row"].tolist() == result.row_table()["row"].tolist()
    assert result.provenance.misfiling == {"x_in_y": 0.2, "limits": {"a": 1}}
    assert "none of the 6 verified, at most 1 from a." in result.summary().replace("\n", " ")
    curve = mb.sweep(X, Y, epsilons=[0.1], rng=0, n_permutations=19, verified=looked_up(X, Y))
    assert type(curve).from_dict(json.loads(curve.to_json())).knowledge == curve.knowledge


# Slips


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"may_move": [True, False]}, "`may_move` must have one entry for each of the 16 rows of `Y`; got 2"),
        ({"may_move": [0, 1] * 8}, "`may_move` must be True or False for each row; got 0"),
        ({"may_move": [True, None] * 8}, "`may_move` must be True or False for each row; got None"),
        ({"may_move": np.ones((16, 1), dtype=bool)}, r"a mask, for the rows of `Y` .* of shape \(16, 1\)"),
        ({"may_move": {3, 4}}, "`may_move` must be a mask, for the rows of `Y` .*; got set"),
        (
            {"may_move": ([True], None)},
            "`may_move` must have one entry for each of the 12 rows of `X`; got 1",
        ),
        (
            {"may_move": "tested"},
            "names the column 'tested', which these rows do not have. Read it with `groups",
        ),
        ({"strata": ["a"] * 16}, "`strata` says nothing without limits"),
        ({"limits": {"a": 5}}, "`limits` needs the stratum of each row of `Y`. Give `strata=`"),
        ({"strata": ["a"] * 15, "limits": {"a": 5}}, "`strata` must have one entry for each of the 16 rows"),
        (
            {"strata": ["a", None] * 8, "limits": {"a": 5}},
            r"every row that may be misfiled needs a stratum; Y\[1\] has none",
        ),
        (
            {"strata": ["site_A", "site B"] * 8, "limits": {"site_a": 5}},
            "no stratum of the rows. Did you mean 'site_A'. The strata are 'site B', 'site_A'",
        ),
    ],
)
def test_slips_about_rows(stated: dict[str, Any], message: str):
    X, Y = two_groups()
    with pytest.raises(MmdBoundsError, match=message):
        mb.mmd_bounds(X, Y, Contamination(0.2, **stated))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "must be a dict such as .*; got an empty dict"),
        ([5], "must be a dict such as .*; got list"),
        ({"a": -1}, "the limit of 'a' must be a number of rows .* or a share of its rows .*; got -1"),
        ({"a": 1.0}, "got 1.0. For one row write 1; where all rows may be misfiled, leave the stratum out"),
        ({"a": 5.0}, "got 5.0. Did you mean 5"),
        ({"a": "10%"}, "got '10%'"),
        ({"a": True}, "got True"),
        ({"a": math.nan}, "got nan"),
        ({1: 2, "1": 3}, "`limits` must name each stratum once; got 1, '1'"),
    ],
)
def test_slips_about_limits(limits: Any, message: str):
    with pytest.raises(MmdBoundsError, match=message):
        Contamination(0.2, limits=limits)


@pytest.mark.parametrize(
    ("verified", "error", "message"),
    [
        (
            ["Y"] * 16,
            MmdBoundsError,
            "`verified` must be a pair: what was looked up of the rows of `X`, and of `Y`",
        ),
        (
            (None, ["Y"] * 3),
            DataError,
            r"`verified\[1\]` must have one entry for each of the 16 rows of `Y`; got 3",
        ),
        (
            (None, ["Z"] * 16),
            DataError,
            r"`verified\[1\]` says 'Z' in row 0 of `Y` \(and 15 rows more\), which is",
        ),
        ((["Y"] * 12, None), DataError, "`verified` verifies every row of 'X' as the other group"),
    ],
)
def test_slips_about_verified_rows(verified: Any, error: type[Exception], message: str):
    X, Y = two_groups()
    with pytest.raises(error, match=message):
        mb.mmd_bounds(X, Y, 0.2, verified=verified)


def test_all_confirmed_is_suspicious_and_none_says_nothing():
    X, Y = two_groups()
    with pytest.warns(VerifiedWarning, match="`verified` confirms all 16 rows of 'Y' as filed"):
        result = mb.mmd_bounds(X, Y, 0.2, verified=(None, ["Y"] * 16), rng=0)
    assert result.n_moved == 0
    assert "what is known of the rows admits no more" in result.summary().replace("\n", " ")
    with pytest.warns(VerifiedWarning, match="`verified` verifies no row: it is blank everywhere"):
        mb.mmd_bounds(X, Y, 0.2, verified=(None, [None] * 16), rng=0)


def test_limits_that_admit_fewer_rows_than_exactly_needs():
    X, Y = two_groups()
    stated = Contamination(n_moved=4, strata=["a"] * 16, limits={"a": 3})
    with pytest.raises(MmdBoundsError, match=r"at most 3 rows can be misfiled.*; 4 were asked for"):
        mb.mmd_bounds(X, Y, stated, exactly=True)
    assert mb.mmd_bounds(X, Y, stated, rng=0).n_moved == 3


def test_a_curve_says_how_many_itself():
    X, Y = two_groups()
    with pytest.raises(
        MmdBoundsError, match=r"which rows can be misfiled, and not how many; got one with an amount"
    ):
        mb.sweep(X, Y, which=Contamination(0.1, limits={"a": 1}))
    with pytest.raises(MmdBoundsError, match=r"`which` must be a Contamination .*; got dict"):
        mb.sweep(X, Y, which={"a": 1})


def test_functions_that_do_not_know_rows_refuse():
    X, Y = two_groups()
    stated = Contamination(0.1, may_move=np.ones(16, dtype=bool))
    with pytest.raises(MmdBoundsError, match=r"`limits` are for `mmd_bounds`, .* Leave them out here"):
        mb.confidence_interval(X, Y, stated, bandwidth=1.0)
    known = mb.Group(Y, verified=["confirmed", *[""] * 15])
    for function, how in (
        (mb.confidence_interval, {"epsilon": 0.1, "fixed_kernel": True}),
        (mb.odds_sweep, {"epsilons": [0.1]}),
    ):
        with pytest.raises(MmdBoundsError, match=rf"^`{function.__name__}` does not know which rows can be"):
            function(X, known, bandwidth=1.0, **how)


def test_an_amount_is_shown_without_rows():
    stated = Contamination(0.1, may_move=[True, False], strata=["a", "b"], limits={"a": 1})
    assert repr(stated) == "Contamination(x_in_y=0.1, may_move=..., strata=..., limits={'a': 1})"
    assert stated == Contamination(
        0.1, may_move=np.array([True, False]), strata=np.array(["a", "b"]), limits={"a": 1}
    )
    assert stated != Contamination(0.1, may_move=[True, True], strata=["a", "b"], limits={"a": 1})
