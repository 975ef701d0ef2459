"""From what is known of single rows to what a search takes, and back.

Rows that were looked up and belong to the other group are refiled first. Then the rows are put into the
order that searches expect: rows of X that cannot move, rows of X that may, rows of Y that may (one stratum
after the other), rows of Y that cannot. So the rows that may move are one slice of the pooled rows, and so is
each stratum.
Results name rows by their places in the groups that the user gave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.contamination import Contamination
from mmdbounds.counts import Movable, Stratum
from mmdbounds.errors import DataError, MmdBoundsError, did_you_mean, quoted, quoted_list
from mmdbounds.kernels import is_precomputed
from mmdbounds.results.provenance import Knowledge, Limits
from mmdbounds.tables import Group, as_groups
from mmdbounds.tables.group import NOT_LOOKED_UP, REFILED, entries_of, joined
from mmdbounds.tables.group_column import match_key
from mmdbounds.tables.verified import (
    AS_FILED,
    BLANK,
    OF_X,
    OF_Y,
    TwoNames,
    refile,
    require_filed,
    true_groups,
    warn_of_verified,
)
from mmdbounds.which_rows import is_pair, limit_in_rows
from mmdbounds.words.phrases import row_name

Indices = NDArray[np.intp]
FROM_OTHER = -1  # the place of a row that the user has in the other group


@dataclass(frozen=True, eq=False)
class Refiled:
    """The groups with what is known of their rows, and where each row stood; `None`: where it stands."""

    X: Any
    Y: Any
    unit: Any = None  # of the rows, where units were named
    places_of_x: Indices | None = None
    places_of_y: Indices | None = None


@dataclass(frozen=True, eq=False)
class Places:
    """Where the rows of a group, in the order of the search, stand in the group that the user gave."""

    of_rows: Indices | None = None  # `None`: in the same places; `FROM_OTHER` for a row that cannot move
    first: int = 0  # the rows that may move: from here
    stop: int | None = None  # up to here

    def in_order(self, rows: Indices) -> Indices:
        """Return rows in the user's order."""
        return rows if self.of_rows is None else rows[np.argsort(self.of_rows[rows], kind="stable")]

    def back(self, rows: Indices) -> Indices:
        """Return the places of rows in the user's group."""
        return rows if self.of_rows is None else self.of_rows[rows]

    def listed(self) -> Indices | None:
        """Return the rows that may move, in the user's order; `None` if all may, and stand in it."""
        if self.of_rows is None:
            return None
        return self.in_order(np.arange(len(self.of_rows))[self.first : self.stop])

    def some(self, numbers: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Return numbers of all rows for those `listed`."""
        listed = self.listed()
        return numbers if numbers is None or listed is None else numbers[listed]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of groups in the order of a search: which rows may move, and the way back."""

    movable: Movable | None = None  # `None`: every row of Y, without limits
    of_x: Places = Places()
    of_y: Places = Places()
    facts: Knowledge | None = None  # in numbers

    def fields_for(self, contamination: Contamination, sizes: tuple[int, int], most: int) -> dict[str, Any]:
        """Return the field of a result about at most `most` misfiled rows, if anything is known."""
        if self.facts is None:
            return {}
        every = contamination.how_many().admissible(*sizes) if contamination.says_how_many else []
        return self.fields(max((counts.n_moved for counts in every), default=None), most)

    def fields(self, asked: int | None, most: int) -> dict[str, Any]:
        """Return the field of a result: the facts, and how many rows were asked for if fewer are possible."""
        if self.facts is None:
            return {}
        return {"knowledge": replace(self.facts, n_moved_asked=None if asked == most else asked)}


NOTHING_KNOWN = Known()


def known_rows(
    X: Any, Y: Any, contamination: Contamination, verified: Any, kernel: object
) -> tuple[Any, Any, Known]:
    """Return the groups as a search takes them, once rows are where they are known to belong."""
    return in_search_order(refiled(X, Y, contamination, verified, kernel), contamination, kernel)


def refuse_known(X: Any, Y: Any, function: str) -> None:
    """Refuse groups of which single rows are known, where a function would not heed it."""
    for group in (X, Y):
        if isinstance(group, Group) and not _may_move(group).all():
            msg = (
                f"`{function}` does not know which rows can be misfiled (verified rows, `may_move`). Read "
                "the table without them, or use `mmd_bounds`."
            )
            raise MmdBoundsError(msg)


def refiled(
    X: Any, Y: Any, contamination: Contamination, verified: Any, kernel: object, unit: Any = None
) -> Refiled:
    """Put to the rows what is known of them, and move those that were looked up to where they belong."""
    if verified is None and not contamination.says_which:
        return Refiled(X, Y, unit)
    groups = as_groups(X, Y)
    x, y = (_with_facts(group, contamination, i) for i, group in enumerate(groups))
    if verified is None:
        return Refiled(x, y, unit)
    names = TwoNames(x.name, y.name, _codes(x.name, y.name))
    truth = np.concatenate(_truth(verified, (x, y), names))
    filed = np.arange(len(x)), np.arange(len(x), len(x) + len(y))
    warn_of_verified(truth, filed, names, "`verified`")
    found = refile(filed, truth)
    require_filed(found, names, "`verified`")
    if unit is not None:
        unit = _with_rows(unit, (x, y), found.rows)
    x, y = map(_with_status, _taken(x, y, *found.rows, kernel), found.verified)
    of_x, of_y = found.rows
    return Refiled(
        x,
        y,
        unit,
        np.where(of_x < filed[1][0], of_x, FROM_OTHER),
        np.where(of_y >= filed[1][0], of_y - filed[1][0], FROM_OTHER),
    )


def _with_status(group: Group, status: NDArray[np.str_]) -> Group:
    """Return a group with what was looked up now; what was known before stays where nothing was."""
    if group.verified is not None:
        status = np.where(status == NOT_LOOKED_UP, group.verified, status)
    return replace(group, verified=status)


def _with_facts(group: Group, contamination: Contamination, which: int) -> Group:
    """Return a group with the masks and the strata that were stated for its rows."""
    letter = "XY"[which]
    known: dict[str, Any] = {}
    for name in ("may_move", "strata"):
        given = getattr(contamination, name)
        if isinstance(given, str):
            if group.record.get(f"{name}_column") != given:
                to_do = f"Read it with `groups(..., {name}={given!r})`"
                msg = f"`{name}` names the column {quoted(given)}, which these rows do not have. {to_do}."
                raise MmdBoundsError(msg)
        elif given is not None and given[which] is not None:
            known[name] = np.array(entries_of(group, given[which], name, "", f"`{letter}`"))
    if "may_move" in known and group.may_move is not None:
        known["may_move"] &= group.may_move
    return replace(group, **known) if known else group


def _codes(x: str, y: str) -> dict[Any, int]:
    """Return the values that stand for X and for Y: their names, and the letters if no group is called so."""
    pairs = (("X", OF_X), ("Y", OF_Y), (x, OF_X), (y, OF_Y))
    return {key: code for name, code in pairs if (key := match_key(name)) is not None}


def _truth(verified: Any, groups: tuple[Group, Group], names: TwoNames) -> list[Indices]:
    """Return what was looked up of the rows of X and of Y, as codes."""
    if not is_pair(verified):
        wanted = "a pair: what was looked up of the rows of `X`, and of `Y`"
        msg = f"`verified` must be {wanted} (None where nothing was); got {type(verified).__name__}."
        raise MmdBoundsError(msg)
    return [
        _looked_up(given, group, names, i)
        for i, (given, group) in enumerate(zip(verified, groups, strict=True))
    ]


def _looked_up(given: Any, group: Group, names: TwoNames, which: int) -> Indices:
    """Return what was looked up of the rows of one group, as codes."""
    if given is None:
        return np.full(len(group), BLANK, dtype=np.intp)
    name, of = f"verified[{which}]", f"`{'XY'[which]}`"
    cells = entries_of(group, given, name, "must say what was looked up of each row", of)
    if all(isinstance(cell, bool) for cell in cells):  # a mask, whatever the groups are called
        return np.where(cells, AS_FILED, BLANK)
    return true_groups(cells, names, f"`{name}`", lambda i: f"row {i} of {of}")


def units_of(group: Group, given: Any, argument: str, letter: str) -> list[Any]:
    """Return the unit of each row of a group."""
    return entries_of(group, given, argument, "must name the unit of each row", f"`{letter}`")


def _with_rows(unit: Any, groups: tuple[Group, Group], found: tuple[Indices, Indices]) -> Any:
    """Return the units of the refiled rows; what is not a list for each group is refused later."""
    if not is_pair(unit) or any(part is None for part in unit):
        return unit
    pooled = [
        name for i, each in enumerate(groups) for name in units_of(each, unit[i], f"unit[{i}]", "XY"[i])
    ]
    return tuple([pooled[i] for i in each] for each in found)


def _taken(x: Group, y: Group, of_x: Indices, of_y: Indices, kernel: object) -> tuple[Group, Group]:
    """Return two groups made of these pooled rows; in a matrix of kernel values columns are rows, too."""
    pooled = joined(x, y)
    if is_precomputed(kernel):
        order = np.concatenate([of_x, of_y])
        columns = None if pooled.columns is None else tuple(pooled.columns[i] for i in order)
        pooled = replace(pooled, values=pooled.values[:, order], columns=columns)
    return pooled[of_x], replace(pooled[of_y], name=y.name, record=y.record)


def in_search_order(filed: Refiled, contamination: Contamination, kernel: object) -> tuple[Any, Any, Known]:
    """Return the groups as a search takes them; without knowledge they stay as they are."""
    if not (isinstance(filed.X, Group) or isinstance(filed.Y, Group)):
        return filed.X, filed.Y, NOTHING_KNOWN
    x, y = as_groups(filed.X, filed.Y)
    free_x, free_y = (_may_move(group) for group in (x, y))
    limits_x, limits_y = _limits(x, y, free_x, free_y, contamination)
    facts = _facts(x, y, free_x, free_y, (limits_x, limits_y), contamination)
    if facts is None:
        return filed.X, filed.Y, NOTHING_KNOWN
    if contamination.n_checked is not None and (facts.n_refiled_to_x or facts.n_refiled_to_y):
        as_filed = "`n_checked` counts the rows as they were filed, but some of these were refiled"
        msg = f"{as_filed}. Use `audit`, which does both."
        raise MmdBoundsError(msg)
    order_x = np.concatenate([np.flatnonzero(~free_x), _by_stratum(x, free_x, limits_x)])
    order_y = np.concatenate([_by_stratum(y, free_y, limits_y), np.flatnonzero(~free_y)])
    new_x, new_y = _taken(x, y, order_x, len(x) + order_y, kernel)
    movable = Movable(
        int(free_x.sum()), int(free_y.sum()), _strata(free_x, limits_x), _strata(free_y, limits_y)
    )
    of_x = order_x if filed.places_of_x is None else filed.places_of_x[order_x]
    of_y = order_y if filed.places_of_y is None else filed.places_of_y[order_y]
    places = Places(of_x, len(x) - movable.of_x), Places(of_y, 0, movable.of_y)
    return new_x, new_y, Known(movable, *places, facts)


def _may_move(group: Group) -> NDArray[np.bool_]:
    """Return which rows may be misfiled: not looked up, and not excluded."""
    free = np.ones(len(group), dtype=np.bool_) if group.may_move is None else group.may_move.copy()
    return free if group.verified is None else free & (group.verified == NOT_LOOKED_UP)


def _limits(
    x: Group, y: Group, free_x: NDArray[np.bool_], free_y: NDArray[np.bool_], contamination: Contamination
) -> tuple[Limits, Limits]:
    """Return the limits of the strata of X (two-way) and of Y in rows, or say what is wrong with them."""
    limits = contamination.limits
    if limits is None:
        if contamination.strata is not None:
            msg = "`strata` says nothing without limits. Give `limits=`, such as {'site A': 5}."
            raise MmdBoundsError(msg)
        return (), ()
    if y.strata is None:
        msg = "`limits` needs the stratum of each row of `Y`. Give `strata=`."
        raise MmdBoundsError(msg)
    every = [group.strata.tolist() for group in (x, y) if group.strata is not None]
    known = sorted({name for strata in every for name in strata} - {""})
    for name in limits:
        if name not in known:
            hint = f"{did_you_mean(name, known)} The strata are {quoted_list(known, 10)}."
            msg = f"`limits` names {quoted(name)}, which is no stratum of the rows.{hint}"
            raise MmdBoundsError(msg)
    two_way = contamination.is_two_way and x.strata is not None
    return (_in_rows(x, free_x, limits, "X") if two_way else ()), _in_rows(y, free_y, limits, "Y")


def _in_rows(group: Group, free: NDArray[np.bool_], limits: dict[str, Any], letter: str) -> Limits:
    """Return name, rows that may be misfiled, and limit in rows for each stratum with a limit."""
    strata = group.strata if group.strata is not None else np.full(len(group), "")
    if len(unnamed := np.flatnonzero((strata == "") & free)):
        i = int(unnamed[0])
        row = row_name(letter, i, None, None if group.file_rows is None else int(group.file_rows[i]))
        to_do = "Fill it in, or say with `may_move=` that the row cannot be misfiled"
        msg = f"every row that may be misfiled needs a stratum; {row} has none. {to_do}."
        raise DataError(msg)
    found = []
    for name, limit in limits.items():
        here = strata == name
        found.append((name, int((here & free).sum()), limit_in_rows(limit, int(here.sum()))))
    return tuple(found)


def _by_stratum(group: Group, free: NDArray[np.bool_], limits: Limits) -> Indices:
    """Return the rows that may move: stratum after stratum in the order of the limits, then all others."""
    places = np.flatnonzero(free)
    if not limits or group.strata is None:
        return places
    rank = {name: i for i, (name, _, _) in enumerate(limits)}
    keys = [rank.get(name, len(rank)) for name in group.strata[places].tolist()]
    return places[np.argsort(keys, kind="stable")]


def _strata(free: NDArray[np.bool_], limits: Limits) -> tuple[Stratum, ...]:
    """Return the strata in that order: how many rows of each may move at all, and at once."""
    if not limits:
        return ()
    others = int(free.sum()) - sum(n for _, n, _ in limits)
    strata = [(n, limit) for _, n, limit in limits if n]
    return tuple(strata + [(others, others)] * bool(others))


def _facts(
    x: Group,
    y: Group,
    free_x: NDArray[np.bool_],
    free_y: NDArray[np.bool_],
    limits: tuple[Limits, Limits],
    contamination: Contamination,
) -> Knowledge | None:
    """Return what is known in numbers; `None` if nothing is that concerns a search."""
    unknown = [np.full(len(group), NOT_LOOKED_UP) for group in (x, y)]
    both = [
        each if group.verified is None else group.verified
        for group, each in zip((x, y), unknown, strict=True)
    ]
    looked_up = [status != NOT_LOOKED_UP for status in both]
    n_refiled = [int((status == REFILED).sum()) for status in both]
    if free_y.all() and not (limits[1] or any(n_refiled)) and (free_x.all() or not contamination.is_two_way):
        return None
    of_record = contamination.strata is None or isinstance(contamination.strata, str)
    return Knowledge(
        n_verified_x=int(looked_up[0].sum()),
        n_verified_y=int(looked_up[1].sum()),
        n_refiled_to_x=n_refiled[0],
        n_refiled_to_y=n_refiled[1],
        n_may_move_x=int(free_x.sum()),
        n_may_move_y=int(free_y.sum()),
        is_restricted=bool((~free_y & ~looked_up[1]).any()),
        is_restricted_x=contamination.is_two_way and bool((~free_x & ~looked_up[0]).any()),
        limits_of_x=limits[0],
        limits_of_y=limits[1],
        strata_column=str(y.record.get("strata_column") or "") if of_record and limits[1] else "",
    )
