"""Where an audit stands: the rows of Y as filed, what is known of each, and which were drawn at random.

The rows of Y as filed have one order, drawn from a seed and their names: a hash of both decides where a row
stands, so that it depends neither on the other rows nor on what was looked up. The rows drawn at random
are the first ones in this order, as far as all of them have been looked up; whoever fills in more of them
continues the same audit. Rows beyond them were chosen by somebody. Their truth counts, but they say nothing
about the rest.

This is right however the chosen rows were chosen, and whenever: the limits after 1, 2, 3, ... rows of a
random order all hold together (`anytime_limits`), so it does not matter how far it was followed, and why. A
chosen row that the order comes to later is one of its rows, without any more work.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import is_number
from mmdbounds.contamination import Contamination
from mmdbounds.errors import DataError, MmdBoundsError, VerifiedWarning, shown_value
from mmdbounds.knowledge import refiled
from mmdbounds.number_limits import Limits, anytime_limits
from mmdbounds.objective import Indices
from mmdbounds.results.audit import By
from mmdbounds.tables import Group, as_groups
from mmdbounds.tables.group import CONFIRMED, REFILED, entries_of
from mmdbounds.tables.verified import NO_ROW

NOT_LOOKED_UP, BELONGS_TO_Y, BELONGS_TO_X = -1, 0, 1
"""What is known of a row of Y as filed."""


def audit_order(names: Sequence[str], seed: int) -> Indices:
    """Return the rows in the order in which they are to be checked, the same for the same names and seed."""
    keys = [hashlib.sha256(f"{seed}\n{name}".encode(errors="surrogatepass")).digest() for name in names]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def order_digest(names: Sequence[str], order: Indices) -> str:
    """Return what tells one order from another, to be noted before the first row is looked up."""
    listed = "\n".join(names[row] for row in order)
    return hashlib.sha256(listed.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, eq=False)
class AuditState:
    """What has been looked up, in a recorded order.

    Attributes
    ----------
    order
        The rows of Y as filed, in the order in which they are to be checked.
    truth
        What is known of each row (in the order of Y): `BELONGS_TO_X`, `BELONGS_TO_Y` or `NOT_LOOKED_UP`.
    """

    order: Indices
    truth: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        """Rows of Y as filed."""
        return len(self.order)

    @property
    def n_random(self) -> int:
        """The first rows in the order, as far as all of them were looked up."""
        unknown = np.flatnonzero(self.truth[self.order] == NOT_LOOKED_UP)
        return int(unknown[0]) if len(unknown) else self.n_rows

    @property
    def found_at_random(self) -> Indices:
        """How many belong to X among the first one, two, three, ... of these rows."""
        return np.cumsum(self.truth[self.order[: self.n_random]] == BELONGS_TO_X)

    @property
    def n_found_random(self) -> int:
        """How many of them belong to X."""
        return int((self.truth[self.order[: self.n_random]] == BELONGS_TO_X).sum())

    @property
    def n_chosen(self) -> int:
        """Rows that were looked up out of order."""
        return int((self.truth[self.order[self.n_random :]] != NOT_LOOKED_UP).sum())

    @property
    def n_found_chosen(self) -> int:
        """How many of them belong to X."""
        return int((self.truth[self.order[self.n_random :]] == BELONGS_TO_X).sum())

    @property
    def n_found(self) -> int:
        """Rows that belong to X, however they were come upon."""
        return int((self.truth == BELONGS_TO_X).sum())

    @property
    def n_unknown(self) -> int:
        """Rows that were not looked up."""
        return int((self.truth == NOT_LOOKED_UP).sum())

    def misfiled(self, alpha: Fraction) -> Limits:
        """Return the fewest and the most rows of Y that belong to X, wrong with at most `alpha`.

        What was looked up is certain. Limits that it contradicts have failed, and it alone is left.
        """
        known = self.n_found, self.n_found + self.n_unknown
        if not self.n_random:
            return known
        low, high = anytime_limits(self.n_rows, np.arange(1, self.n_random + 1), self.found_at_random, alpha)
        if low > known[1] or high < known[0]:
            return known
        return max(low, known[0]), min(high, known[1])

    def next_rows(self, count: int) -> Indices:
        """Return the next rows to look up in the recorded order."""
        return np.asarray(self.order[self.truth[self.order] == NOT_LOOKED_UP][:count])

    def n_unknown_before(self, place: int) -> int:
        """Return how many of the first `place` rows in the order were not looked up."""
        return int((self.truth[self.order[:place]] == NOT_LOOKED_UP).sum())


@dataclass(frozen=True, eq=False)
class AuditedRows:
    """The groups once rows are where they are known to belong, and the rows of Y as filed.

    Attributes
    ----------
    X, Y
        The groups; each row has a name of its own, by which it is found again.
    state
        What was looked up of the rows of Y as filed, in the recorded order.
    places, ids, file_rows
        Of the rows of Y as filed: the place in the group given (of refiled rows in X), name and row in the
        file.
    by_order
        The numbers of an order that was handed in, of the rows of Y as filed; `None` without one.
    number_of
        Where a row of the groups, by its name there, is among the rows of Y as filed.
    order_digest
        Tells the recorded order from any other.
    n_filed_x, n_refiled_to_y
        Rows filed under X, and how many of them belong to Y.
    """

    X: Group
    Y: Group
    state: AuditState
    places: Indices
    ids: NDArray[np.str_] | None
    file_rows: Indices | None
    by_order: NDArray[np.float64] | None
    number_of: Mapping[str, int]
    order_digest: str
    n_filed_x: int
    n_refiled_to_y: int

    def next_by_order(self, count: int) -> Indices:
        """Return the next rows to look up in the order that was handed in; of equal ones as recorded."""
        unknown = self.state.next_rows(self.state.n_rows)
        if self.by_order is None:
            return unknown[:count]
        return unknown[np.argsort(self.by_order[unknown], kind="stable")][:count]


def audited_rows(X: Any, Y: Any, verified: Any, kernel: object, seed: int) -> AuditedRows:
    """Return the rows of Y as filed, with the order in which `seed` has them checked."""
    given = as_groups(X, Y)
    x, y = (replace(group, ids=_tags(letter, len(group))) for letter, group in zip("xy", given, strict=True))
    with nothing_looked_up_yet():
        now = refiled(x, y, Contamination(n_moved=0), verified, kernel)
    statuses = [_status(group) for group in (now.X, now.Y)]
    tags = np.concatenate([now.X.ids[statuses[0] == REFILED], now.Y.ids[statuses[1] != REFILED]])
    confirmed = statuses[1][statuses[1] != REFILED] == CONFIRMED
    truth = np.concatenate(
        [
            np.full(int((statuses[0] == REFILED).sum()), BELONGS_TO_X),
            np.where(confirmed, BELONGS_TO_Y, NOT_LOOKED_UP),
        ]
    )
    places = np.array([int(tag[1:]) for tag in tags], dtype=np.intp)
    of_y = np.array([tag[0] == "y" for tag in tags])
    ids, file_rows = (_of_rows(given, name, of_y, places) for name in ("ids", "file_rows"))
    names = _names(ids, file_rows, tags, is_table=bool(given[1].record))
    order = audit_order(names, seed)
    n_to_x, n_to_y = (int((status == REFILED).sum()) for status in statuses)
    return AuditedRows(
        now.X,
        now.Y,
        AuditState(order, truth),
        places,
        ids,
        file_rows,
        _by_order(tags, now.Y),
        {tag: i for i, tag in enumerate(tags.tolist())},
        order_digest(names, order),
        len(now.X) - n_to_x + n_to_y,
        n_to_y,
    )


def with_order(X: Any, Y: Any, order: Any) -> tuple[Group, Group]:
    """Return the groups, and with the rows of Y the number by which each is to be looked up."""
    x, y = as_groups(X, Y)
    if order is None:
        return x, y
    if y.order is not None:
        msg = "`order` must be handed in once; got one here, and one that `groups` has read. Leave one out."
        raise MmdBoundsError(msg)
    wanted = "must have one number for each row of `Y`, the first to look up the smallest"
    given = entries_of(y, order, "order", wanted, "`Y`")
    for place, number in enumerate(given):
        if not is_number(number) or not math.isfinite(number):
            got = f"{shown_value(number)} for row {place}"
            msg = f"`order` must be a finite number for each row of `Y`; got {got}."
            raise DataError(msg)
    numbers = np.array(given, dtype=np.float64)
    places = np.arange(len(y))
    if np.array_equal(np.sort(numbers), places) and not np.array_equal(numbers[numbers.astype(int)], places):
        what = f"holds each of 0 to {len(y) - 1} once, and may be a list of places"
        msg = f"`order` {what}. Hand in a number for each row: scores, or ranks from 1."
        raise DataError(msg)
    return x, replace(y, order=numbers)


def chosen_by(by: By, Y: Any) -> By:
    """Return how rows are chosen: by the order that was handed in with the rows of Y, if there is one."""
    if not isinstance(Y, Group) or Y.order is None:
        return by
    if by == "effect":
        msg = "`by='effect'` and `order` name different rows first. Leave one of them out."
        raise MmdBoundsError(msg)
    return "order"


@contextmanager
def nothing_looked_up_yet() -> Iterator[None]:
    """Do not warn of a column that verifies no row: an audit begins with that."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f".*{NO_ROW}", VerifiedWarning)
        yield


def _by_order(tags: NDArray[np.str_], y: Group) -> NDArray[np.float64] | None:
    """Return the numbers of the order for rows with these tags; NaN for those that have moved to X."""
    if y.order is None or y.ids is None:
        return None
    numbers = dict(zip(y.ids.tolist(), y.order.tolist(), strict=True))
    return np.array([numbers.get(tag, np.nan) for tag in tags.tolist()])


def _tags(letter: str, count: int) -> NDArray[np.str_]:
    return np.array([f"{letter}{i}" for i in range(count)], dtype=np.str_)


def _status(group: Group) -> NDArray[np.str_]:
    return np.full(len(group), "") if group.verified is None else group.verified


def _of_rows(groups: tuple[Group, Group], name: str, of_y: NDArray[np.bool_], places: Indices) -> Any:
    """Return what the groups say of these rows, `None` if one of them says nothing."""
    of_x, own = (getattr(group, name) for group in groups)
    if own is None or (of_x is None and not of_y.all()):
        return None
    return np.array([own[i] if is_y else of_x[i] for is_y, i in zip(of_y, places, strict=True)])


def _names(ids: Any, file_rows: Any, tags: NDArray[np.str_], *, is_table: bool) -> list[str]:
    """Return names by which the rows are told apart: their own, else rows of the file, else places."""
    if ids is not None and len(set(ids.tolist())) == len(ids) and "" not in ids:
        return [str(name) for name in ids]
    if file_rows is None and is_table:  # places change once rows are refiled
        msg = "an audit must find the rows again: name the column with a different name for each row (`id=`)."
        raise DataError(msg)
    return [str(row) for row in (tags if file_rows is None else file_rows)]
