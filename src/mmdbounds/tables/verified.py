"""What is known of single rows: the true group of those that were looked up, and which rows can be misfiled.

The functions take cells, whether they come from a column of a table or from arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, VerifiedWarning, counted, did_you_mean, quoted, warn
from mmdbounds.tables.group import CONFIRMED, NOT_LOOKED_UP, REFILED
from mmdbounds.tables.group_column import Key, as_text, match_key
from mmdbounds.tables.text_numbers import is_missing

Rows = NDArray[np.intp]
RowName = Callable[[int], str]  # what a message calls a cell's row
OF_X, OF_Y, AS_FILED, BLANK = 0, 1, 2, -1  # what a cell says of its row's true group
_ANSWERS = {"yes": True, "no": False}
FLAGS = "true or false, yes or no, 1 or 0"


def keys_of(cells: Sequence[Any], na: Collection[str] = ()) -> list[Key | None]:
    """Return what the cells match by (`match_key`), `None` for blank ones and words for missing cells."""
    # Few values are repeated many times; True and 1 are one key of a dict, hence the type.
    seen: dict[tuple[type, Any], Key | None] = {}
    keys = []
    for cell in cells:
        given = (type(cell), cell if isinstance(cell, Hashable) else str(cell))
        if given not in seen:
            seen[given] = None if is_missing(as_text(cell), na) else match_key(cell)
        keys.append(seen[given])
    return keys


def flag(key: Key) -> bool | None:
    """Return whether a value says yes or no, `None` if it says neither."""
    kind, value = key
    if kind == "truth" or (kind == "number" and value in (0, 1)):
        return bool(value)
    return _ANSWERS.get(str(value).casefold()) if kind == "text" else None


@dataclass(frozen=True)
class TwoNames:
    """The names of X and of Y, and the values that stand for them."""

    x: str
    y: str
    codes: Mapping[Key, int]  # `OF_X` or `OF_Y`

    @property
    def both(self) -> str:
        """The names in words."""
        return f"{quoted(self.x)} nor {quoted(self.y)}"


def true_groups(
    cells: Sequence[Any], names: TwoNames, subject: str, row: RowName, na: Collection[str] = ()
) -> Rows:
    """Return what each cell says of its row: `OF_X`, `OF_Y`, `AS_FILED` or `BLANK`.

    Cells hold the true group, or all of them yes and no: then yes means that the row was looked up and
    belongs where it is filed, and no that it was not looked up.
    """
    # A group called "NA" or "." is no missing cell.
    keys = [
        key if key is not None or (own := match_key(cell)) not in names.codes else own
        for cell, key in zip(cells, keys_of(cells, na), strict=True)
    ]
    found = {key for key in keys if key is not None}
    answers = {key: flag(key) for key in found}
    if found and not found & names.codes.keys() and None not in answers.values():
        codes = {key: AS_FILED if yes else BLANK for key, yes in answers.items()}
    elif wrong := [i for i, key in enumerate(keys) if key is not None and key not in names.codes]:
        raise DataError(_neither(as_text(cells[wrong[0]]), wrong, names, subject, row))
    else:
        codes = dict(names.codes)
    return np.array([BLANK if key is None else codes[key] for key in keys], dtype=np.intp)


def _neither(given: str, wrong: Sequence[int], names: TwoNames, subject: str, row: RowName) -> str:
    """Return the message about rows that are verified as another group than the two."""
    more = f" (and {counted(len(wrong) - 1, 'row')} more)" if len(wrong) > 1 else ""
    hint = did_you_mean(given, (names.x, names.y))
    to_do = "Leave rows of other groups out; where nothing was looked up, leave the cell blank."
    what = f"{subject} says {quoted(given)} in {row(wrong[0])}{more}"
    return f"{what}, which is neither {names.both}.{hint} {to_do}"


def flags(
    cells: Sequence[Any], subject: str, row: RowName, na: Collection[str] = ()
) -> NDArray[np.bool_] | None:
    """Return which cells say yes; `None` if all of them are blank, and an error if only some are."""
    answers = [None if key is None else (key, flag(key)) for key in keys_of(cells, na)]
    if all(answer is None for answer in answers):
        return None
    for i, answer in enumerate(answers):
        if answer is None or answer[1] is None:
            got = "nothing" if answer is None else quoted(as_text(cells[i]))
            msg = f"{subject} must say {FLAGS} for each row; got {got} in {row(i)}."
            raise DataError(msg)
    return np.array([bool(answer and answer[1]) for answer in answers])


class Refiled(NamedTuple):
    """The rows of X and of Y once those that were looked up are where they belong."""

    rows: tuple[Rows, Rows]  # ascending
    verified: tuple[NDArray[np.str_], NDArray[np.str_]]  # see `Group.verified`

    @property
    def n_refiled(self) -> list[int]:
        """Rows that came to X, and to Y."""
        return [int(np.count_nonzero(status == REFILED)) for status in self.verified]


def refile(filed: Sequence[Rows], truth: Rows) -> Refiled:
    """Move rows that belong to the other group; `truth` has a code for each row, by its number in `filed`."""
    rows, verified = [], []
    for own, other in ((OF_X, OF_Y), (OF_Y, OF_X)):
        stay, come = filed[own][truth[filed[own]] != other], filed[other][truth[filed[other]] == own]
        together = np.sort(np.concatenate([stay, come]))
        status = np.where(truth[together] == BLANK, NOT_LOOKED_UP, CONFIRMED).astype("U9")
        status[np.isin(together, come)] = REFILED
        rows.append(together)
        verified.append(status)
    return Refiled((rows[0], rows[1]), (verified[0], verified[1]))


def require_filed(refiled: Refiled, names: TwoNames, subject: str) -> None:
    """Refuse verified rows that leave a group empty."""
    for name, rows in zip((names.x, names.y), refiled.rows, strict=True):
        if not len(rows):
            msg = (
                f"{subject} verifies every row of {quoted(name)} as the other group, so no row of it is left."
            )
            raise DataError(msg)


NO_ROW = "verifies no row"


def warn_of_verified(truth: Rows, filed: Sequence[Rows], names: TwoNames, subject: str) -> None:
    """Warn if no row was looked up, or if no row can be misfiled because all are confirmed."""
    if all((truth[rows] == BLANK).all() for rows in filed):
        warn(f"{subject} {NO_ROW}: it is blank everywhere, so nothing changes.", VerifiedWarning)
        return
    of_y = truth[filed[OF_Y]]
    as_filed = bool(np.isin(of_y, (OF_Y, AS_FILED)).all()) and not (truth[filed[OF_X]] == OF_Y).any()
    if as_filed:
        n = counted(len(of_y), "row")
        warn(
            f"{subject} confirms all {n} of {quoted(names.y)} as filed, so none of them can be misfiled. Was "
            "it filled in from the group column? Then it verifies nothing: leave `verified=` out.",
            VerifiedWarning,
        )
