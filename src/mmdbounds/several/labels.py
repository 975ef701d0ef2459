"""What is said about the labels, checked: the group of each row, how many are wrong, and which way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.checks import check_count, check_flag, check_share, is_list
from mmdbounds.counts import SLACK
from mmdbounds.errors import (
    DataError,
    MmdBoundsError,
    counted,
    did_you_mean,
    quoted,
    quoted_list,
    shown_value,
)
from mmdbounds.objective import Indices, Mask
from mmdbounds.search.protocol import NO_ROWS, largest
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables.group import Group, entries_of
from mmdbounds.tables.group_column import GroupColumn, match_key

MOST_GROUPS = 100
ANY = "any"
UNNAMED = ("<NA>", "NaT")  # how pandas prints missing values of its own


@dataclass(frozen=True, eq=False)
class Labels:
    """The group of each row as recorded; groups are numbered in the order of their names."""

    names: tuple[str, ...]
    codes: Indices  # the number of each row's group

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.names)

    @property
    def sizes(self) -> Indices:
        """Rows recorded under each group."""
        return np.bincount(self.codes, minlength=self.n_groups)


def checked_labels(labels: Any, group: Group) -> Labels:
    """Return the labels of the rows of a group; values match as they are printed (see `mmdbounds.groups`)."""
    cells = entries_of(
        group, labels, "labels", "must be a list or 1-D array with the group of each row", "`Z`"
    )
    column = GroupColumn([None if str(cell) in UNNAMED else cell for cell in cells], "labels")
    if alike := column.alike():
        msg = f"`labels` holds {alike}: these differ only in case or blanks. Give each group one label."
        raise DataError(msg)
    if column.n_missing:
        msg = f"`labels` must name the group of every row; {counted(column.n_missing, 'label')} missing."
        raise DataError(msg)
    if len(column.labels) == 1:
        msg = f"`labels` must name at least two groups; got only {column.described()}."
        raise DataError(msg)
    if len(column.labels) > MOST_GROUPS:
        msg = f"`labels` must name at most {MOST_GROUPS} groups; got {len(column.labels):,}. Are they groups?"
        raise DataError(msg)
    codes = np.empty(len(group), dtype=np.intp)
    keys = sorted(column.labels)
    for number, key in enumerate(keys):
        codes[column.rows(key)] = number
    return Labels(tuple(column.labels[key] for key in keys), codes)


def allowed_moves(transitions: Any, labels: Labels) -> Mask:
    """Return which true group (column) each recorded group (row) may stand for, itself not among them."""
    if transitions is None or (isinstance(transitions, str) and transitions == ANY):
        return ~np.eye(labels.n_groups, dtype=np.bool_)
    allowed = np.zeros((labels.n_groups, labels.n_groups), dtype=np.bool_)
    numbers = {match_key(name): i for i, name in enumerate(labels.names)}
    for pair in _pairs(transitions):
        places = [numbers.get(match_key(name)) for name in pair]
        for name, place in zip(pair, places, strict=True):
            if place is None:
                hint = did_you_mean(str(name), labels.names)
                there = f"The groups are {quoted_list(labels.names, 10)}"
                msg = f"`transitions=` names {quoted(name)}, which no row is labelled with.{hint} {there}."
                raise MmdBoundsError(msg)
        recorded, true = places
        if recorded == true:
            msg = f"`transitions=` must lead to another group; got {quoted(pair[0])} to itself."
            raise MmdBoundsError(msg)
        allowed[recorded, true] = True
    return allowed


def _pairs(transitions: Any) -> list[tuple[Any, Any]]:
    """Return the pairs (recorded, true) that were given."""
    wanted = "'any' or pairs (recorded group, true group), such as [('A', 'B')]"
    given = transitions if is_list(transitions) else []
    pairs = [tuple(each) if isinstance(each, tuple | list) else (each,) for each in given]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        msg = f"`transitions` must be {wanted}; got {shown_value(transitions)}."
        raise MmdBoundsError(msg)
    return [(recorded, true) for recorded, true in pairs]


@dataclass(frozen=True, eq=False)
class Moves:
    """Which rows may carry a wrong label, which group each may truly belong to, and how many do."""

    recorded: Indices  # the number of each row's group as recorded
    targets: Mask  # shape (N, G): the other groups that each row may belong to
    n_moved: int  # rows with a wrong label: at most so many, or exactly
    exactly: bool

    def best(self, worth: Float64s, tie_width: float = 0.0) -> tuple[Indices, Indices]:
        """Return the rows that should move, and where to, if row i is worth ``worth[i, g]`` in group g.

        For each row its best target, then the rows that gain most, in order. Unless so many must move, those
        that gain nothing stay.
        """
        if not self.n_moved:
            return NO_ROWS, NO_ROWS
        masked = np.where(self.targets, worth, -np.inf)
        gain = masked.max(axis=1) - worth[np.arange(len(worth)), self.recorded]
        rows = largest(gain, self.n_moved, np.isfinite(gain), tie_width)
        rows = rows if self.exactly else rows[gain[rows] > 0]
        return rows, np.argmax(masked[rows], axis=1)

    def top_sum(self, gains: Float64s) -> float:
        """Return the largest sum of the rows' gains; a row that cannot move has -inf."""
        some = np.sort(gains)[::-1][: self.n_moved]
        return float(some.sum() if self.exactly else np.maximum(some, 0.0).sum())


def checked_moves(
    labels: Labels, n_moved: Any, epsilon: Any, transitions: Any, exactly: Any
) -> tuple[Moves, Mask]:
    """Return what is misfiled, from a number of rows or a share of all rows, and the allowed moves."""
    if (n_moved is None) == (epsilon is None):
        given = "neither" if n_moved is None else "both"
        msg = f"give `n_moved=` (a number of rows) or `epsilon=` (a share of all rows); got {given}."
        raise MmdBoundsError(msg)
    n = len(labels.codes)
    exactly = check_flag(exactly, "exactly")
    m = math.floor(check_share(epsilon, "epsilon") * n + SLACK) if n_moved is None else n_moved
    m, allowed = check_count(m, "n_moved"), allowed_moves(transitions, labels)
    targets = allowed[labels.codes]
    movable = int(np.count_nonzero(targets.any(axis=1)))
    if m > movable:
        to_do = "Give a smaller number, or allow more in `transitions=`"
        msg = f"at most {counted(movable, 'row')} can carry a wrong label; got {m:,}. {to_do}."
        raise MmdBoundsError(msg)
    return Moves(labels.codes, targets, m, exactly), allowed
