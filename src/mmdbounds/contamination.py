"""What is assumed of the misfiling: how many rows, stated as shares or numbers, and which rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Self

from mmdbounds.checks import (
    check_chance,
    check_count,
    check_epsilon,
    check_flag,
    check_number,
    check_one_or_pair,
    check_rate,
    check_share,
)
from mmdbounds.counts import SLACK, Counts, Movable, limited, sized
from mmdbounds.errors import AmountWarning, MmdBoundsError, warn
from mmdbounds.number_limits import (
    allowed_error,
    anytime_limits,
    check_audit,
    fixed_limits,
    prevalence_limit,
)
from mmdbounds.which_rows import Limit, check_limits, check_may_move, check_strata

MOST_ODDS = 1e6
OF_ROWS = ("may_move", "strata")  # fields that say something of single rows


@dataclass(frozen=True)
class Contamination:
    """How many rows were filed under the wrong group, and which rows these can be.

    Exactly one of `x_in_y`, `n_moved`, `share_of_y`, `n_checked` (with `n_found`) and `prevalence` says how
    many rows of Y truly belong to X; `y_in_x` or `n_moved_of_x` makes the misfiling two-way. `may_move`,
    `strata` and `limits` say which rows they can be. With these alone any number of rows is meant that they
    admit.

    Parameters
    ----------
    x_in_y
        Share of the true X that was filed under Y, epsilon (1 - sensitivity of the filing).
    y_in_x
        Share of the true Y that was filed under X (1 - specificity). Needs `x_in_y`.
    n_moved
        The number of rows of Y that belong to X; a limit, unless `exactly`.
    n_moved_of_x
        The number of rows of X that belong to Y. Needs `n_moved`.
    share_of_y
        Share of the rows filed under Y that belong to X.
    exactly
        Whether exactly this many rows are misfiled, the paper's model. `False`: at most this many, which is
        what `None` means unless the function that is called says otherwise (its own `exactly`).
    may_move
        Whether each row of Y could be misfiled at all: a mask, or a pair of masks for the rows of X (in
        two-way misfiling) and of Y, `None` where every row could. Or the name of the column that `groups`
        has read as its `may_move`.
    strata
        The stratum (a site, a year) of each row of Y, or a pair for the rows of X and of Y. Or the name of
        the column that `groups` has read as its `strata`; those are used if nothing is said here.
    limits
        At most how many rows of a stratum are misfiled, by its name: a number of rows, or a share (below 1)
        of the stratum's rows. Strata without a limit are free. Rows of X and rows of Y are counted apart.
    n_checked, n_found
        So many rows of Y were drawn at random and looked up, and so many of these belong to X; see
        `from_audit`.
    prevalence, prevalence_error
        Share of X in the population that the rows came from, and its standard error; see `from_prevalence`.
    confidence
        Confidence of the limit that an audit or a prevalence gives.
    anytime
        Whether the limit of an audit may be looked at after every row.
    odds
        A limit on how far from random misfiling is: the odds of being misfiled lie within this factor of one
        value, for every row of X. Bounds are then an estimated range for the populations (docs: "Misfiled at
        random, or nearly"). `None`: the misfiled rows may be any.

    Examples
    --------
    >>> Contamination(0.2).counts(p=40, q=60)
    Counts(n_moved=10, n_moved_of_x=0, n_x=50, n_y=50)
    >>> Contamination(0.2, y_in_x=0.2).counts(p=100, q=40)
    Counts(n_moved=24, n_moved_of_x=4, n_x=120, n_y=20)
    """

    x_in_y: float | None = None
    y_in_x: float = 0.0
    n_moved: int | None = None
    n_moved_of_x: int = 0
    share_of_y: float | None = None
    exactly: bool | None = None
    may_move: Any = None
    strata: Any = None
    limits: dict[str, Limit] | None = None
    n_checked: int | None = None
    n_found: int = 0
    prevalence: float | tuple[float, float] | None = None
    prevalence_error: float = 0.0
    confidence: float = 0.95
    anytime: bool = False
    odds: float | None = None

    def __post_init__(self) -> None:
        for name, check_rows in (
            ("may_move", check_may_move),
            ("strata", check_strata),
            ("limits", check_limits),
        ):
            object.__setattr__(self, name, check_rows(getattr(self, name)))
        checks: dict[str, Callable[[Any, str], Any]] = {  # users know `x_in_y` as epsilon
            "x_in_y": lambda value, name: check_epsilon(value),
            "n_moved": check_count,
            "share_of_y": check_share,
            "n_checked": check_count,
            "prevalence": lambda value, name: check_one_or_pair(value, name, check_chance),
        }
        given = [name for name in checks if getattr(self, name) is not None]
        if len(given) > 1 or not (given or self.says_which):
            came = " and ".join(f"`{name}`" for name in given) or "none"
            ways = "`x_in_y` (epsilon), `n_moved`, `share_of_y`, `n_checked` and `prevalence`"
            msg = f"exactly one of {ways} must be given; got {came}."
            raise MmdBoundsError(msg)
        amount = [(name, checks[name]) for name in given]
        for name, check in (*amount, ("n_moved_of_x", check_count), ("y_in_x", check_share)):
            object.__setattr__(self, name, check(getattr(self, name), name))
        self._check_two_way()
        self._check_limit()
        self._check_exactly()
        self._check_odds()

    def _check_odds(self) -> None:
        if self.odds is None:
            return
        object.__setattr__(self, "odds", check_odds(self.odds))
        if self.is_two_way or self.says_which:
            what = "two-way misfiling" if self.is_two_way else "`may_move`, `strata` or `limits`"
            msg = f"`odds` cannot be combined with {what}: it is about how rows of X get filed under Y."
            raise MmdBoundsError(msg)

    def _check_limit(self) -> None:
        """Check what makes a limit of an audit or of a prevalence, and refuse it where there is neither."""
        object.__setattr__(self, "anytime", check_flag(self.anytime, "anytime"))
        object.__setattr__(self, "confidence", check_chance(self.confidence, "confidence"))
        error = check_share(self.prevalence_error, "prevalence_error")
        object.__setattr__(self, "prevalence_error", error)
        if self.n_checked is not None:
            check_audit(self.n_checked, self.n_found)
        elif check_count(self.n_found, "n_found") or self.anytime:
            name = "n_found" if self.n_found else "anytime"
            msg = f"`{name}` belongs to an audit. Give it together with `n_checked`."
            raise MmdBoundsError(msg)
        if error and not isinstance(self.prevalence, float):
            msg = "`prevalence_error` is a standard error. Give it together with a single `prevalence`."
            raise MmdBoundsError(msg)

    def _check_exactly(self) -> None:
        if self.exactly is None:
            return
        object.__setattr__(self, "exactly", check_flag(self.exactly, "exactly"))
        if self.exactly and (self.is_limit or not self.says_how_many):
            how = "an audit or a prevalence gives a limit" if self.is_limit else "no amount is given"
            msg = f"`exactly` must be left out where {how}; got True."
            raise MmdBoundsError(msg)

    def _check_two_way(self) -> None:
        if self.y_in_x and self.x_in_y is None:
            msg = "`y_in_x` is a share. Give it together with the share `x_in_y` (epsilon)."
            raise MmdBoundsError(msg)
        if self.n_moved_of_x and self.n_moved is None:
            msg = "`n_moved_of_x` is a count. Give it together with the count `n_moved`."
            raise MmdBoundsError(msg)
        if self.x_in_y is not None and self.x_in_y + self.y_in_x >= 1:
            msg = (
                "`epsilon` and `y_in_x` must add up to less than 1, or the labels carry no information; "
                f"got {self.x_in_y:g} and {self.y_in_x:g}."
            )
            raise MmdBoundsError(msg)

    @classmethod
    def from_sensitivity(cls, sensitivity: float, *, specificity: float = 1.0) -> Self:
        """Return the misfiling of a procedure whose error rates are known.

        Rates of a procedure are probabilities; the shares in one sample scatter around them. They stand for
        "at most" unless the function that is called is told ``exactly=True``; a lower sensitivity is safer.

        Parameters
        ----------
        sensitivity
            Share of the true X that is filed under X: 1 - epsilon.
        specificity
            Share of the true Y that is filed under Y; below 1 the misfiling is two-way.

        Examples
        --------
        >>> Contamination.from_sensitivity(0.9, specificity=0.98)
        Contamination(x_in_y=0.1, y_in_x=0.02)
        """
        rates = [check_rate(sensitivity, "sensitivity"), check_rate(specificity, "specificity")]
        # In decimals: 1 - 0.9 is meant as 0.1, not as 0.09999999999999998.
        missed = [float(1 - Fraction(repr(rate))) for rate in rates]
        if sum(missed) >= 1:
            msg = (
                "`sensitivity` and `specificity` must add up to more than 1, or the labels carry no "
                f"information; got {rates[0]:g} and {rates[1]:g}."
            )
            raise MmdBoundsError(msg)
        return cls(missed[0], y_in_x=missed[1])

    @classmethod
    def from_audit(cls, n_checked: int, n_found: int, level: float = 0.95, *, anytime: bool = False) -> Self:
        """Return the limit that follows from rows of Y that were drawn at random and looked up.

        It is exact: if the rows were drawn at random, without replacement, from all rows of Y as filed, the
        limit is exceeded with a probability of at most 1 - `level`, however the rows were misfiled. It
        counts all misfiled rows of Y, those that were found too, so hand in the groups as they were filed.
        Tests add 1 - `level` to their p-values.

        Parameters
        ----------
        n_checked
            Rows of Y that were drawn and looked up.
        n_found
            How many of them belong to X.
        level
            Confidence of the limit.
        anytime
            Whether somebody looked at the limit before all of these rows were checked, and could have
            stopped then. If the number of rows was fixed in advance, the limit is smaller.

        Examples
        --------
        >>> Contamination.from_audit(60, 2).counts(p=212, q=357).n_moved
        34
        >>> Contamination.from_audit(60, 2, anytime=True).counts(p=212, q=357).n_moved
        57
        """
        allowed_error(level)
        return cls(n_checked=n_checked, n_found=n_found, confidence=level, anytime=anytime)

    @classmethod
    def from_prevalence(
        cls, prevalence: float | tuple[float, float], error: float = 0.0, level: float = 0.95
    ) -> Self:
        """Return the limit that follows from how frequent X is in the population.

        Assumed are three things: the rows of both groups together are independent draws from one population
        (all cases and some controls are not), `prevalence` is the share of X in that population, and no row
        of X belongs to Y. The true rows of X are then binomial, and those beyond the p rows filed under X
        are misfiled. This is the difference of two numbers that are nearly equal, and so a weak source.
        Tests add 1 - `level` to their p-values.

        Parameters
        ----------
        prevalence
            Share of X in the population. A pair ``(low, high)`` is taken to hold it for certain.
        error
            Standard error of a single `prevalence`, taken as that of a normal estimate: half of 1 - `level`
            is then for the prevalence, the other half for these rows.
        level
            Confidence of the limit.

        Examples
        --------
        >>> Contamination.from_prevalence(0.373, level=0.99).counts(p=191, q=378).n_moved
        48
        """
        allowed_error(level)
        return cls(prevalence=prevalence, prevalence_error=error, confidence=level)

    def stated(self) -> dict[str, Any]:
        """Return what was given, by name, without what is said of single rows: this is kept with results."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        if not self.exactly:  # that it is a limit goes unsaid
            given.pop("exactly", None)
        return {name: each for name, each in given.items() if name not in OF_ROWS or isinstance(each, str)}

    def __repr__(self) -> str:
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        shown = [
            f"{name}={'...' if name in OF_ROWS and each else repr(each)}" for name, each in given.items()
        ]
        return f"Contamination({', '.join(shown)})"

    @property
    def says_which(self) -> bool:
        """Whether it says which rows can be misfiled."""
        return any(each is not None for each in (self.may_move, self.strata, self.limits))

    @property
    def says_how_many(self) -> bool:
        """Whether it says how many rows are misfiled."""
        return self.is_limit or any(each is not None for each in (self.x_in_y, self.n_moved, self.share_of_y))

    def how_many(self) -> Contamination:
        """Return the amount alone."""
        return replace(self, may_move=None, strata=None, limits=None) if self.says_which else self

    @property
    def beta(self) -> float:
        """Probability that more rows are misfiled than an audit or a prevalence allows; else 0."""
        return float(allowed_error(self.confidence)) if self.is_limit else 0.0

    @property
    def is_limit(self) -> bool:
        """Whether the number is a limit by its origin: an audit or a prevalence."""
        return self.n_checked is not None or self.prevalence is not None

    @property
    def is_two_way(self) -> bool:
        """Whether rows of X may belong to Y too."""
        return self.y_in_x > 0 or self.n_moved_of_x > 0

    def n_moved_for(self, p: int) -> int:
        """Return how many rows a one-way share is when `p` rows are filed under X."""
        share = self.x_in_y or 0.0
        return math.floor(share * p / (1 - share) + SLACK)

    def counts(self, p: int, q: int) -> Counts:
        """Return the counts for groups of `p` and `q` rows."""
        counts = sized(*self._numbers(p, q), p, q)
        if self.x_in_y is not None:  # 0.2 is meant as one fifth, not as the nearest binary number
            return replace(counts, stated=Fraction(repr(self.x_in_y)))
        return counts

    def admissible(self, p: int, q: int) -> list[Counts]:
        """Return every admissible pair of counts, those that move the fewest rows of Y first.

        With `exactly` just one, otherwise all whose shares are no larger.
        """
        if self.says_which:
            known = "`mmd_bounds`, `robust_test`, `sweep` and `column_table`"
            msg = f"`may_move`, `strata` and `limits` are for {known}. Leave them out here."
            raise MmdBoundsError(msg)
        if self.exactly:
            return [self.counts(p, q)]
        if self.is_two_way:
            return self._pairs(p, q)
        return [sized(m, 0, p, q) for m in range(self.counts(p, q).n_moved + 1)]

    def possible(self, p: int, q: int, movable: Movable | None) -> list[Counts]:
        """Return the admissible counts that rows which may move can reach; all of them without an amount."""
        amount, most = self, q if movable is None else movable.most_of_y
        if not self.says_how_many:
            amount = Contamination(n_moved=most)
        every = amount.how_many().admissible(p, q)
        return every if movable is None else limited(every, movable)

    def warn_of_nothing(self, p: int, q: int) -> None:
        """Warn of a share that is not 0 and less than one row: an interval then has no width."""
        least = {"epsilon": (self.x_in_y, 1 / (p + 1)), "share_of_y": (self.share_of_y, 1 / q)}
        for name, (share, of_one) in least.items():
            if share and share < of_one:  # what is known of rows may admit none of a larger one
                what = f"`{name}` of {share:g} is less than one row in groups of {p:,} and {q:,} rows"
                unit = 10.0 ** (math.floor(math.log10(of_one)) - 2)  # three digits, rounded up
                one = f"One row is {math.ceil(of_one / unit) * unit:.3g}"
                warn(f"{what}, so nothing is taken as mislabelled. {one}.", AmountWarning)

    def _numbers(self, p: int, q: int) -> tuple[int, int]:
        if self.n_moved is not None:
            return self.n_moved, self.n_moved_of_x
        if self.share_of_y is not None:
            return math.floor(self.share_of_y * q + SLACK), 0
        if self.is_limit:
            return self._limit(p, q), 0
        high = self.x_in_y or 0.0
        if not self.y_in_x:
            return self.n_moved_for(p), 0
        rest = 1 - high - self.y_in_x
        n_x = ((1 - self.y_in_x) * p - self.y_in_x * q) / rest
        n_y = ((1 - high) * q - high * p) / rest
        if n_x <= 0 or n_y <= 0:
            shares = f"shares of {high:g} and {self.y_in_x:g} do not fit groups of {p} and {q} rows"
            msg = f"{shares}: the true sizes would be {n_x:.4g} and {n_y:.4g}. Give smaller shares."
            raise MmdBoundsError(msg)
        return math.floor(high * n_x + SLACK), math.floor(self.y_in_x * n_y + SLACK)

    def _limit(self, p: int, q: int) -> int:
        """Return the largest number of misfiled rows that an audit or a prevalence allows."""
        alpha = allowed_error(self.confidence)
        if self.n_checked is not None:
            audit = check_audit(self.n_checked, self.n_found, n_rows=q)
            return (anytime_limits if self.anytime else fixed_limits)(q, *audit, alpha)[1]
        most = prevalence_limit(p + q, self.prevalence or 0.0, self.prevalence_error, alpha)
        if most < p:
            msg = (
                f"`prevalence` allows at most {most:,} of the {p + q:,} rows to belong to `X`, but {p:,} are "
                "filed under it. The rows are no random draw from that population, or rows of `X` belong to "
                "`Y`."
            )
            raise MmdBoundsError(msg)
        return min(most - p, q)

    def _pairs(self, p: int, q: int) -> list[Counts]:
        """Return all pairs of counts with both shares (or both counts) no larger than stated.

        Pairs that take more rows than there are, or leave a group without any, are none.
        """
        if self.n_moved is not None:
            most = range(min(self.n_moved, q) + 1), range(min(self.n_moved_of_x, p) + 1)
            return [sized(m, m_d, p, q) for m, m_d in itertools.product(*most) if 0 < p + m - m_d < p + q]
        x_in_y, y_in_x = self.x_in_y or 0.0, self.y_in_x
        return [
            sized(m, m_d, p, q)
            for m in range(min(self.n_moved_for(p), q) + 1)
            for m_d in range(min(math.floor(y_in_x * (q - m) / (1 - y_in_x) + SLACK), p) + 1)
            if m <= x_in_y * (p + m - m_d) + SLACK and 0 < p + m - m_d < p + q
        ]


def as_contamination(
    epsilon: float | Contamination, exactly: bool | None = None, *, takes_odds: bool = False
) -> Contamination:
    """Return what `epsilon` stands for, wherever a function takes one; whether exactly that is decided.

    Either of the two may say `exactly`; if neither does, the amount is a limit.
    """
    amount = epsilon if isinstance(epsilon, Contamination) else Contamination(epsilon)
    if amount.odds is not None and not takes_odds:
        msg = f"`odds` is for `mmd_bounds`; got {amount.odds:g} here. Leave it out: any row may be misfiled."
        raise MmdBoundsError(msg)
    if exactly is None:
        return replace(amount, exactly=bool(amount.exactly))
    exactly = check_flag(exactly, "exactly")
    if amount.exactly is not None and amount.exactly != exactly:
        msg = (
            f"`exactly` must not contradict the Contamination; got {exactly}, "
            f"and Contamination(..., exactly={amount.exactly}). Leave one of them out."
        )
        raise MmdBoundsError(msg)
    return replace(amount, exactly=exactly)


def check_odds(value: Any) -> float:
    """Return a factor of odds."""
    where = f"a number from 1 (misfiled at random) to {MOST_ODDS:,.0f}"
    return check_number(value, "odds", where, lambda factor: 1 <= factor <= MOST_ODDS)
