"""How many rows of each group are misfiled, the true sizes that follow, and which rows these can be.

Notation (docs/notation.md): p and q rows are filed under X and Y; m rows of Y truly belong to X, m_D rows of
X to Y; the true sizes are n_X = p + m - m_D and n_Y = q - m + m_D. One-way misfiling has m_D = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from mmdbounds.errors import MmdBoundsError, counted

SLACK = 1e-9  # added before rounding down: 0.2 x 40 / 0.8 is 10 rows, not 9
Stratum = tuple[int, int]  # consecutive rows, and how many of them may move at the most


@dataclass(frozen=True)
class Movable:
    """Which rows may move: the last rows of X and the first of Y, and how many of each stratum of them.

    Limits count each direction by itself: rows of Y that move, and rows of X that move.
    """

    of_x: int  # how many of the last rows of X may move
    of_y: int  # how many of the first rows of Y may move
    # The rows that may move, stratum after stratum; empty: no limits.
    strata_of_x: tuple[Stratum, ...] = ()
    strata_of_y: tuple[Stratum, ...] = ()

    def __post_init__(self) -> None:
        for rows, strata in ((self.of_x, self.strata_of_x), (self.of_y, self.strata_of_y)):
            if strata and sum(n for n, _ in strata) != rows:
                msg = f"strata of {sum(n for n, _ in strata)} rows do not hold the {rows} rows that may move."
                raise MmdBoundsError(msg)

    @property
    def most_of_x(self) -> int:
        """How many rows of X can move at once."""
        return sum(map(min, self.strata_of_x)) if self.strata_of_x else self.of_x

    @property
    def most_of_y(self) -> int:
        """How many rows of Y can move at once."""
        return sum(map(min, self.strata_of_y)) if self.strata_of_y else self.of_y


@dataclass(frozen=True)
class Counts:
    """One admissible pair of counts, and the true sizes that follow."""

    n_moved: int  # rows of Y that belong to X (m)
    n_moved_of_x: int  # rows of X that belong to Y (m_D)
    n_x: int  # true sizes of the groups
    n_y: int
    # The share that the user stated, if it was one; rounding down to whole rows makes it a little less.
    stated: Fraction | None = field(default=None, compare=False, repr=False)
    movable: Movable | None = field(default=None, repr=False)  # None: every row may move, without limits

    def may_move(self, p: int, q: int) -> slice:
        """Return the pooled rows that may move, for groups of `p` and `q` rows: around the border of both."""
        of_x, of_y = (p, q) if self.movable is None else (self.movable.of_x, self.movable.of_y)
        return slice(p - of_x if self.n_moved_of_x else p, p + of_y)

    def limits(self) -> list[tuple[slice, int]]:
        """Return the strata, places among the rows that may move, and how many of each may move at the most.

        They hold all rows that may move, those of X first; a group without limits is one stratum. Where no
        limit is less than what its group moves anyway, there are none.
        """
        if self.movable is None:
            return []
        groups = [(self.n_moved, self.movable.of_y, self.movable.strata_of_y)]
        if self.n_moved_of_x:
            groups.insert(0, (self.n_moved_of_x, self.movable.of_x, self.movable.strata_of_x))
        strata, start, binds = [], 0, False
        for quota, n_rows, own in groups:
            for n, most in own or ((n_rows, n_rows),):
                if n:
                    strata.append((slice(start, start + n), min(n, most)))
                start, binds = start + n, binds or most < min(n, quota)
        return strata if binds else []

    @property
    def epsilon(self) -> Fraction:
        """Share of the true X that was filed under Y, exactly."""
        return Fraction(self.n_moved, self.n_x)

    @property
    def stated_epsilon(self) -> Fraction:
        """The share as stated, else the exact one."""
        return self.epsilon if self.stated is None else self.stated


def sized(m: int, m_d: int, p: int, q: int) -> Counts:
    """Return the counts with the true sizes; refuse more misfiled rows than there are."""
    if m > q or m_d > p:
        group, rows, count = ("Y", q, m) if m > q else ("X", p, m_d)
        to_do = _largest(p, q) if m > q and not m_d else "Give a smaller amount."
        msg = f"{count} misfiled rows cannot be among the {rows} rows of `{group}`. {to_do}"
        raise MmdBoundsError(msg)
    return Counts(m, m_d, p + m - m_d, q - m + m_d)


def _largest(p: int, q: int) -> str:
    """Say which one-way amount is the largest for `p` and `q` rows; two rows must stay in Y."""
    if q < 3:
        return "Give a smaller amount."
    share, rows = _typed_share(q - 2, p), counted(q - 2, "row")
    return f"The largest `epsilon` for groups of {p} and {q} rows is {share} ({rows})."


def _typed_share(m: int, p: int) -> str:
    """Return the shortest share that stands for `m` rows beside `p` others: one that is rounded up."""
    digits = 3
    while True:
        share = -(-(10**digits) * m // (p + m)) / 10**digits
        if share == m / (p + m) or share * p < (m + 1) * (1 - share):
            return f"{share:.{digits}f}".rstrip("0").rstrip(".")
        digits += 1


def limited(admissible: list[Counts], movable: Movable) -> list[Counts]:
    """Return the counts that the rows which may move can reach, with these rows; refuse if there are none."""
    known = [replace(counts, movable=movable) for counts in admissible]
    possible = [counts for counts in known if _is_possible(counts)]
    if not possible:
        _refuse(known[0])
    return possible


def _is_possible(counts: Counts) -> bool:
    rows = counts.movable
    return rows is None or (counts.n_moved <= rows.most_of_y and counts.n_moved_of_x <= rows.most_of_x)


def _refuse(counts: Counts) -> None:
    """Refuse counts that move more rows than may move."""
    rows = counts.movable or Movable(0, 0)
    of_y = counts.n_moved > rows.most_of_y
    group, most, count = (
        ("Y", rows.most_of_y, counts.n_moved) if of_y else ("X", rows.most_of_x, counts.n_moved_of_x)
    )
    can = f"of `{group}` at most {most} row{'' if most == 1 else 's'} can be misfiled"
    msg = f"{can}, given what is verified and limited; {count} were asked for. Give a smaller amount."
    raise MmdBoundsError(msg)


def check_sizes(counts: Counts, p: int, q: int, *, unbiased: bool) -> None:
    """Refuse counts that move more rows than may move, or leave too few in a group for the estimator."""
    if not _is_possible(counts):
        _refuse(counts)
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
        to_do = f" {_largest(p, q)}" if counts.n_moved and not counts.n_moved_of_x else ""
        msg = f"{has} {rows}; the {kind} estimator needs at least {fewest}.{to_do}"
        raise MmdBoundsError(msg)
