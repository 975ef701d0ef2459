"""How much is misfiled: shares into counts, counts into true sizes, one-way and two-way.

Notation (docs/notation.md): p and q rows are filed under X and Y; m rows of Y truly belong to X, m_D rows of
X to Y; the true sizes are n_X = p + m - m_D and n_Y = q - m + m_D. One-way misfiling has m_D = 0.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Self

from mmdbounds.checks import check_count, check_flag, check_rate, check_share
from mmdbounds.errors import MmdBoundsError

SLACK = 1e-9  # added before rounding down: 0.2 x 40 / 0.8 is 10 rows, not 9
Share = float | tuple[float, float]


@dataclass(frozen=True)
class Counts:
    """One admissible pair of counts, and the true sizes that follow."""

    n_moved: int  # rows of Y that belong to X (m)
    n_moved_of_x: int  # rows of X that belong to Y (m_D)
    n_x: int  # true sizes of the groups
    n_y: int
    # The share that the user stated, if it was one; rounding down to whole rows makes it a little less.
    stated: Fraction | None = field(default=None, compare=False, repr=False)

    @property
    def epsilon(self) -> Fraction:
        """Share of the true X that was filed under Y, exactly."""
        return Fraction(self.n_moved, self.n_x)

    @property
    def stated_epsilon(self) -> Fraction:
        """The share as stated, else the exact one."""
        return self.epsilon if self.stated is None else self.stated


@dataclass(frozen=True)
class Contamination:
    """How many rows were filed under the wrong group.

    Exactly one of `x_in_y`, `n_moved` and `share_of_y` says how many rows of Y truly belong
    to X; `y_in_x` or `n_moved_of_x` makes the misfiling two-way.

    Parameters
    ----------
    x_in_y
        Share of the true X that was filed under Y, epsilon (1 - sensitivity of the filing).
        A pair ``(low, high)`` stands for every share in between.
    y_in_x
        Share of the true Y that was filed under X (1 - specificity). Needs `x_in_y`.
    n_moved
        The number of rows of Y that belong to X, where it is known.
    n_moved_of_x
        The number of rows of X that belong to Y. Needs `n_moved`.
    share_of_y
        Share of the rows filed under Y that belong to X.
    exactly
        Whether exactly this many rows are misfiled, the paper's model. `False`: at most this many, which is
        what `None` means unless the function that is called says otherwise (its own `exactly`).

    Examples
    --------
    >>> Contamination(0.2).counts(p=40, q=60)
    Counts(n_moved=10, n_moved_of_x=0, n_x=50, n_y=50)
    >>> Contamination(0.2, y_in_x=0.2).counts(p=100, q=40)
    Counts(n_moved=24, n_moved_of_x=4, n_x=120, n_y=20)
    """

    x_in_y: Share | None = None
    y_in_x: float = 0.0
    n_moved: int | None = None
    n_moved_of_x: int = 0
    share_of_y: float | None = None
    exactly: bool | None = None

    def __post_init__(self) -> None:
        checks = {"x_in_y": _check_epsilon, "n_moved": check_count, "share_of_y": check_share}
        given = [name for name in checks if getattr(self, name) is not None]
        if len(given) != 1:
            came = " and ".join(f"`{name}`" for name in given) or "none"
            msg = f"exactly one of `x_in_y` (epsilon), `n_moved` and `share_of_y` must be given; got {came}."
            raise MmdBoundsError(msg)
        amount = given[0]
        for name, check in ((amount, checks[amount]), ("n_moved_of_x", check_count), ("y_in_x", check_share)):
            object.__setattr__(self, name, check(getattr(self, name), name))
        self._check_two_way()
        self._check_exactly()

    def _check_exactly(self) -> None:
        if self.exactly is None:
            return
        object.__setattr__(self, "exactly", check_flag(self.exactly, "exactly"))
        if self.exactly and isinstance(self.x_in_y, tuple):
            low, high = self.x_in_y
            msg = (
                f"`exactly` must be left out where `epsilon` is a pair, which stands for every share from "
                f"{low:g} to {high:g}; got True. Give one share, or leave `exactly=` out."
            )
            raise MmdBoundsError(msg)

    def _check_two_way(self) -> None:
        if self.y_in_x and not isinstance(self.x_in_y, float):
            msg = "`y_in_x` is a share. Give it together with a single share `x_in_y` (epsilon)."
            raise MmdBoundsError(msg)
        if self.n_moved_of_x and self.n_moved is None:
            msg = "`n_moved_of_x` is a count. Give it together with the count `n_moved`."
            raise MmdBoundsError(msg)
        if isinstance(self.x_in_y, float) and self.x_in_y + self.y_in_x >= 1:
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
        Contamination(x_in_y=0.1, y_in_x=0.02, n_moved=None, n_moved_of_x=0, share_of_y=None, exactly=None)
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

    def stated(self) -> dict[str, Share | int]:
        """Return what was given, by name: enough to make the same again; that it is a limit goes unsaid."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {name: value for name, value in given.items() if name != "exactly" or value}

    @property
    def is_two_way(self) -> bool:
        """Whether rows of X may belong to Y too."""
        return self.y_in_x > 0 or self.n_moved_of_x > 0

    @property
    def is_range(self) -> bool:
        """Whether an interval of shares is meant rather than one share."""
        return isinstance(self.x_in_y, tuple)

    def n_moved_for(self, p: int) -> int:
        """Return how many rows a one-way share is when `p` rows are filed under X."""
        return math.floor(self._highest_share * p / (1 - self._highest_share) + SLACK)

    def counts(self, p: int, q: int) -> Counts:
        """Return the counts for groups of `p` and `q` rows; for an interval of shares at its upper end."""
        counts = _sized(*self._numbers(p, q), p, q)
        if isinstance(self.x_in_y, float):  # 0.2 is meant as one fifth, not as the nearest binary number
            return replace(counts, stated=Fraction(repr(self.x_in_y)))
        return counts

    def admissible(self, p: int, q: int) -> list[Counts]:
        """Return every admissible pair of counts, those that move the fewest rows of Y first.

        With `exactly` just one; for an interval all in it; otherwise all whose shares are no larger.
        """
        largest = self.counts(p, q)
        if self.exactly:
            return [largest]
        if self.is_two_way:
            return self._pairs(p, q)
        return [_sized(m, 0, p, q) for m in range(self._fewest(p, largest.n_moved), largest.n_moved + 1)]

    def _fewest(self, p: int, most: int) -> int:
        """Return the smallest one-way count: none, or the lower end of an interval of shares."""
        if not isinstance(self.x_in_y, tuple):
            return 0
        low, high = self.x_in_y
        fewest = math.ceil(low * p / (1 - low) - SLACK)
        if fewest > most:
            none = f"no number of misfiled rows has a share between {low:g} and {high:g}"
            msg = f"{none} of the true X when {p} rows are filed under it. Give a wider interval."
            raise MmdBoundsError(msg)
        return fewest

    def _numbers(self, p: int, q: int) -> tuple[int, int]:
        if self.n_moved is not None:
            return self.n_moved, self.n_moved_of_x
        if self.share_of_y is not None:
            return math.floor(self.share_of_y * q + SLACK), 0
        high = self._highest_share
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

    @property
    def _highest_share(self) -> float:
        return self.x_in_y[1] if isinstance(self.x_in_y, tuple) else self.x_in_y or 0.0

    def _pairs(self, p: int, q: int) -> list[Counts]:
        """Return all pairs of counts with both shares (or both counts) no larger than stated."""
        if self.n_moved is not None:
            every = itertools.product(range(self.n_moved + 1), range(self.n_moved_of_x + 1))
            return [_sized(m, m_d, p, q) for m, m_d in every]
        x_in_y, y_in_x = self._highest_share, self.y_in_x
        return [
            _sized(m, m_d, p, q)
            for m in range(self.n_moved_for(p) + 1)
            for m_d in range(math.floor(y_in_x * max(q - m, 0) / (1 - y_in_x) + SLACK) + 1)
            if m <= x_in_y * (p + m - m_d) + SLACK
        ]


def as_contamination(epsilon: Share | Contamination, exactly: bool | None = None) -> Contamination:
    """Return what `epsilon` stands for, wherever a function takes one; whether exactly that is decided.

    Either of the two may say `exactly`; if neither does, the amount is a limit.
    """
    amount = epsilon if isinstance(epsilon, Contamination) else Contamination(epsilon)
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


def _sized(m: int, m_d: int, p: int, q: int) -> Counts:
    """Return the counts with the true sizes; refuse more misfiled rows than there are."""
    if m > q or m_d > p:
        group, rows, count = ("Y", q, m) if m > q else ("X", p, m_d)
        msg = f"{count} misfiled rows cannot be among the {rows} rows of `{group}`. Give a smaller amount."
        raise MmdBoundsError(msg)
    return Counts(m, m_d, p + m - m_d, q - m + m_d)


def check_sizes(counts: Counts, p: int, q: int, *, unbiased: bool) -> None:
    """Refuse counts that leave too few rows in a group for the estimator."""
    kind, fewest = ("unbiased", 2) if unbiased else ("biased", 1)
    for group, size in (("X", counts.n_x), ("Y", counts.n_y)):
        if size >= fewest:
            continue
        has = f"`{group}` has"
        if counts.n_moved or counts.n_moved_of_x:
            back = f" and {counts.n_moved_of_x} of the {p} rows of `X` moved to `Y`"
            moved = f"{counts.n_moved} of the {q} rows of `Y` moved to `X`"
            has = f"with {moved}{back if counts.n_moved_of_x else ''}, the true `{group}` would have"
        rows = f"{size} row{'' if size == 1 else 's'}"
        msg = f"{has} {rows}; the {kind} estimator needs at least {fewest}."
        raise MmdBoundsError(msg)


def _check_epsilon(value: Any, name: str) -> Share:
    """Return a share, or a pair (low, high) of shares; users know them as epsilon."""
    if not isinstance(value, tuple | list):
        return check_share(value, "epsilon")
    if len(value) != 2:
        msg = f"`epsilon` must be a share or a pair (low, high); got {len(value)} numbers."
        raise MmdBoundsError(msg)
    low, high = (check_share(v, "epsilon") for v in value)
    if low > high:
        msg = f"`epsilon` must be a pair (low, high) with low <= high; got ({low:g}, {high:g})."
        raise MmdBoundsError(msg)
    return low, high
