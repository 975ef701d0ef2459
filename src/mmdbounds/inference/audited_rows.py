"""The rows of Y as they were filed, before those that belong to X were refiled, and what is known of each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.contamination import Contamination
from mmdbounds.errors import DataError, VerifiedWarning
from mmdbounds.inference.audit_state import (
    BELONGS_TO_X,
    BELONGS_TO_Y,
    NOT_LOOKED_UP,
    AuditState,
    audit_order,
    order_digest,
)
from mmdbounds.knowledge import refiled
from mmdbounds.objective import Indices
from mmdbounds.tables import Group, as_groups
from mmdbounds.tables.group import CONFIRMED, REFILED


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
    number_of: Mapping[str, int]
    order_digest: str
    n_filed_x: int
    n_refiled_to_y: int


def audited_rows(X: Any, Y: Any, verified: Any, kernel: object, seed: int) -> AuditedRows:
    """Return the rows of Y as filed, with the order in which `seed` has them checked."""
    given = as_groups(X, Y)
    x, y = (replace(group, ids=_tags(letter, len(group))) for letter, group in zip("xy", given, strict=True))
    with warnings.catch_warnings():  # an audit begins with nothing looked up
        warnings.simplefilter("ignore", VerifiedWarning)
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
        {tag: i for i, tag in enumerate(tags.tolist())},
        order_digest(names, order),
        len(now.X) - n_to_x + n_to_y,
        n_to_y,
    )


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
