"""The rows of one group, checked; and how what a user passes as `X` and `Y` becomes two groups."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.checks import MOST, is_number, is_whole
from mmdbounds.errors import DataError, counted, listed, quoted, quoted_list, repeated, shown_value
from mmdbounds.results.serialize import from_fields, read_only
from mmdbounds.tables import frames
from mmdbounds.tables.by_row import ByRow, index_of
from mmdbounds.tables.cells import EXACT_UP_TO, n_rounded

Names = tuple[str, str]  # of the arguments that hold the two groups, for the messages
OF_ROWS = {
    "ids": np.str_,
    "file_rows": np.intp,
    "verified": np.str_,
    "may_move": np.bool_,
    "strata": np.str_,
    "order": np.float64,
}
"""The fields of a group that have one entry for each row beside its values, and their types."""
ENTRIES: dict[type[np.generic], tuple[str, Callable[[Any], bool]]] = {
    np.str_: ("names, one for each row", lambda entry: isinstance(entry, str) or is_number(entry)),
    np.intp: ("whole numbers, one for each row", lambda entry: is_whole(entry) and 0 <= entry <= MOST),
    np.bool_: ("True or False for each row", lambda entry: isinstance(entry, bool)),
    np.float64: ("numbers, one for each row", is_number),
}
NOT_LOOKED_UP, CONFIRMED, REFILED = "", "confirmed", "refiled"  # what `Group.verified` says of a row
VERIFIED = {NOT_LOOKED_UP, CONFIRMED, REFILED}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """The rows of one group.

    Attributes
    ----------
    values
        The rows, float64, C-contiguous and read-only, shape (n, d). An array that is float64
        and contiguous already is not copied.
    name
        ``"X"``, ``"Y"`` or what the group is called in the table.
    ids
        Names of the rows as text, `None` where the data have none.
    file_rows
        Numbers of the rows in the file, where the first row below the header is 1;
        `None` for DataFrames and arrays.
    columns
        Names of the columns, `None` for arrays.
    record
        What was done to the table, ready for JSON; empty where nothing was done. Two groups can be compared
        only if the scaling of their columns in it is the same.
    verified
        What is known of the true group of each row: ``""`` (not looked up), ``"confirmed"`` (looked up, it
        belongs here) or ``"refiled"`` (looked up, and moved here from the other group). `None` if no row was
        looked up. Verified rows are not misfiled.
    may_move
        Whether each row could be misfiled at all; `None` if every row could.
    strata
        The stratum (site, year) of each row as text, empty where it is missing; `None` if there are none.
    order
        In which order `audit` names the rows, the smallest number first (NaN where none is needed); `None` if
        none was handed in.

    Subscripted with a mask, a slice or a list of row numbers, it returns these rows with all that belongs to
    them.
    """

    values: NDArray[np.float64]
    name: str = "X"
    ids: NDArray[np.str_] | None = None
    file_rows: NDArray[np.intp] | None = None
    columns: tuple[str, ...] | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    verified: NDArray[np.str_] | None = None
    may_move: NDArray[np.bool_] | None = None
    strata: NDArray[np.str_] | None = None
    order: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        # A view, so that the user's own array stays writeable.
        given = _as_array(self.values, "values")
        if given.ndim != 2:
            msg = f"`values` must be 2-D; got shape {given.shape}."
            raise DataError(msg)
        floats = _as_floats(given, "values") if given.size else np.empty(given.shape)
        values = np.ascontiguousarray(floats).view()
        require_exact(given, "`values`")
        values.flags.writeable = False
        names = index_of(self.values)
        object.__setattr__(self, "values", values)
        for name, dtype in OF_ROWS.items():  # `ids` first: they name the rows for all others
            if (given := getattr(self, name)) is not None:
                entries = _field_of_rows(given, name, dtype, names, len(values))
                object.__setattr__(self, name, entries)
                names = entries.tolist() if name == "ids" else names
        self._check_fields()

    def _check_fields(self) -> None:
        if self.columns is not None:
            names_of_columns = ByRow.of(self.columns, "`columns` must be a list of names").entries
            object.__setattr__(self, "columns", tuple(map(str, names_of_columns)))
        if self.columns is not None and len(self.columns) != self.shape[1]:
            msg = f"`columns` must have length {self.shape[1]}, like `values`; got {len(self.columns)}."
            raise DataError(msg)
        if self.verified is not None and not set(self.verified.tolist()) <= VERIFIED:
            msg = f"`verified` of a group must hold {', '.join(map(repr, sorted(VERIFIED)))}."
            raise DataError(msg)
        if self.columns is not None and (names := repeated(self.columns)):
            msg = f"columns must have different names; got more than one {names}. Rename them."
            raise DataError(msg)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.values.shape[0], self.values.shape[1]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Group:
        chosen = _row_numbers(rows, self)
        known = {name: given[chosen] for name in OF_ROWS if (given := getattr(self, name)) is not None}
        return replace(self, values=self.values[chosen], **known)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        # Without this Python would iterate by subscripts, and each row would be a group.
        return iter(self.values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def _repr_html_(self) -> str:
        from mmdbounds.words.notebook import group_html

        return group_html(self)

    def __repr__(self) -> str:
        names = "with" if self.ids is not None else "without"
        return f"Group({self.name!r}, {self.shape[0]} rows x {self.shape[1]} columns, {names} row names)"


def _field_of_rows(
    given: Any, name: str, dtype: type[np.generic], names: Sequence[str] | None, n_rows: int
) -> NDArray[Any]:
    """Return what a field of a group says of each row, as a read-only array of its type."""
    if (
        isinstance(given, np.ndarray)
        and given.shape == (n_rows,)
        and given.dtype.kind == np.dtype(dtype).kind
    ):
        return read_only(given, dtype)
    what, is_one = ENTRIES[dtype]
    entries = ByRow.of(given, f"`{name}` must be a list of {what}").for_rows(names, n_rows, name, "`values`")
    if wrong := [each for each in entries if not is_one(each)]:
        msg = f"`{name}` must be a list of {what}; got {shown_value(wrong[0])}."
        raise DataError(msg)
    return read_only(entries, dtype)


def _row_numbers(rows: Any, group: Group) -> NDArray[np.intp]:
    """Return the numbers of the rows that a mask, a slice or a list of row numbers names."""
    n = len(group)
    if isinstance(rows, slice):
        return np.arange(n)[rows]
    if index_of(rows) is not None and np.asarray(rows).dtype.kind == "b":
        rows = entries_of(group, rows, "mask", "must have one dimension", "the group")
    chosen = np.asarray(rows)
    if chosen.ndim == 1 and not chosen.size:
        return np.empty(0, dtype=np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        wanted = "by a mask, a slice or a list of row numbers"
        msg = f"rows of a group are chosen {wanted}; got {shown_value(rows)}."
        raise DataError(msg)
    if chosen.dtype.kind == "b":
        if len(chosen) != n:
            wanted = f"one entry for each of the {counted(n, 'row')} of the group"
            msg = f"a mask must have {wanted}; got {len(chosen):,}."
            raise DataError(msg)
        return np.flatnonzero(chosen)
    if int(chosen.max()) >= n or int(chosen.min()) < -n:
        wrong = next(row for row in chosen.tolist() if not -n <= row < n)
        msg = f"the group has {counted(n, 'row')}, numbered from 0; got row number {wrong:,}."
        raise DataError(msg)
    return np.where(chosen < 0, chosen.astype(np.intp) + n, chosen.astype(np.intp))


def entries_of(group: Group, given: Any, argument: str, wanted: str, of: str) -> list[Any]:
    """Return what was given for the rows of a group, one entry for each, in their order (see `ByRow`).

    A message calls it `argument`, what it must be `wanted`, and the group `of`.
    """
    return ByRow.of(given, f"`{argument}` {wanted}").for_rows(group.ids, len(group), argument, of)


def group_fields(x: Group, y: Group) -> dict[str, Any]:
    """Return the fields of a result that say how many rows the groups have, and their names."""
    return {"n_samples_X": len(x), "n_samples_Y": len(y), "name_x": x.name, "name_y": y.name}


def joined(first: Group, second: Group) -> Group:
    """Return the rows of two groups one below the other; names, columns and record are those of the first."""
    # What a group without such a field means by it.
    unsaid = {"verified": "", "may_move": True, "strata": "", "order": np.nan}
    known: dict[str, Any] = {}
    for name in OF_ROWS:
        both = [(group, getattr(group, name)) for group in (first, second)]
        if all(given is None for _, given in both) or any(
            given is None and name not in unsaid for _, given in both
        ):
            known[name] = None
        else:
            parts = [np.full(len(group), unsaid[name]) if given is None else given for group, given in both]
            known[name] = np.concatenate(parts)
    return replace(first, values=np.concatenate([first.values, second.values]), **known)


def require_finite(
    values: NDArray[np.float64],
    names: Sequence[str] | None,
    subject: str,
    advice: str = "Drop or fill them first.",
    what: str = "missing or infinite",
) -> None:
    """Refuse missing and infinite values, saying in which columns (numbered from 0 without `names`)."""
    # The sum is almost always finite, and needs no array of the size of the data.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    n_bad = {j: len(values) - int(np.count_nonzero(np.isfinite(column))) for j, column in enumerate(values.T)}
    bad = {f"column {j}" if names is None else quoted(names[j]): n for j, n in n_bad.items() if n}
    if bad:
        msg = f"{subject} has {what} values in {_in_columns(bad, values.shape[1])}. {advice}"
        raise DataError(msg)


def require_exact(array: NDArray[Any], subject: str) -> None:
    """Refuse whole numbers that float64 does not hold; masked cells do not count."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return
    whole = np.ma.getdata(array)
    if int(whole.max()) <= EXACT_UP_TO and int(whole.min()) >= -EXACT_UP_TO:
        return
    # Two's complement in unsigned numbers, because the smallest int64 has no positive counterpart.
    size = np.where(whole < 0, ~whole.astype(np.uint64) + np.uint64(1), whole.astype(np.uint64))
    lowest_bit = size & (~size + np.uint64(1))
    is_rounded = size // np.maximum(lowest_bit, np.uint64(1)) > np.uint64(EXACT_UP_TO)
    counts = np.count_nonzero(is_rounded & ~np.ma.getmaskarray(array), axis=0)
    rounded = {f"column {j}": int(counts[j]) for j in np.flatnonzero(counts)}
    _refuse_rounded(rounded, array.shape[1], subject)


def _refuse_rounded(rounded: Mapping[str, int], n_columns: int, subject: str) -> None:
    """Refuse whole numbers that float64 would round, given their number of rows by column."""
    if not rounded:
        return
    what = f"whole numbers beyond 2^53, which float64 would round, in {_in_columns(rounded, n_columns)}"
    to_do = "Subtract the same number from that column in both groups first; if the last digits do not matter"
    msg = f"{subject} has {what}. {to_do}, convert it to float64."
    raise DataError(msg)


def _in_columns(n_rows: Mapping[str, int], n_columns: int) -> str:
    """Return ``"1 of 3 columns: 'age' (2 rows)"`` from the rows concerned in each column."""
    parts = [f"{label} ({counted(n, 'row')})" for label, n in n_rows.items()]
    return f"{len(n_rows):,} of {counted(n_columns, 'column')}: {listed(parts)}"


def as_group(data: Any, argument: str) -> Group:
    """Return `data`, the argument of this name, as a `Group`; nothing is scaled, encoded or dropped.

    It may be a `Group` (returned as it is), an array, a nested list, a torch tensor or a DataFrame of numbers
    and booleans. Dask collections are computed. pandas index labels become `ids`.
    """
    if isinstance(data, Group):
        return data
    if hasattr(type(data), "__dask_graph__"):
        data = data.compute()
    if frames.is_frame(data):
        return _frame_group(data, argument)
    array = _as_array(data, argument)
    if array.ndim == 1 and index_of(data) is not None:
        msg = f"`{argument}` must be 2-D, rows by columns; got a {type(data).__name__}. Use `.to_frame()`."
        raise DataError(msg)
    values = _as_floats(array, argument)
    require_exact(array, f"`{argument}`")
    require_finite(values, None, f"`{argument}`")
    return Group(values, name=argument)


def _is_masked(data: Any) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return whether `data` is a masked array; where there is one, NumPy has loaded what it is made of."""
    return "numpy.ma" in sys.modules and np.ma.isMaskedArray(data)


def _as_array(data: Any, argument: str) -> NDArray[Any]:
    """Return `data` as an array of whatever type and shape it has."""
    if isinstance(data, str | bytes) or data is None or hasattr(data, "__fspath__"):
        wanted = f"an array or a DataFrame; got {type(data).__name__}"
        msg = f"`{argument}` must be {wanted}. For a file use `mmdbounds.groups`."
        raise DataError(msg)
    if hasattr(data, "toarray") and not hasattr(data, "__array__"):
        msg = f"`{argument}` must be dense; got {type(data).__name__}. Call `.toarray()` first."
        raise DataError(msg)
    try:
        if isinstance(data, list | tuple):
            data = [_without_torch(each) for each in data]
        data = _without_torch(data)
        return data if _is_masked(data) else np.asarray(data)
    except MemoryError:
        raise
    except Exception as error:
        # An array-like can fail in any way. Its message may quote cells, so only its type is shown.
        got = f"{type(data).__name__} that NumPy cannot turn into an array ({type(error).__name__})"
        msg = f"`{argument}` must be a 2-D array of numbers; got {got}. Are all rows of the same length?"
        raise DataError(msg) from None


def _without_torch(data: Any) -> Any:
    """Return a tensor as an array, which NumPy does not of a GPU, with a gradient or in bfloat16."""
    if not hasattr(data, "detach"):
        return data
    tensor = data.detach().cpu()
    return np.asarray(tensor.double() if tensor.is_floating_point() else tensor)


def _as_floats(array: NDArray[Any], argument: str) -> NDArray[np.float64]:
    """Return a 2-D array of numbers and booleans as float64, masked cells as NaN; refuse any other."""
    if array.ndim != 2 or not array.size:
        got = f"got shape {array.shape}."
        if array.ndim >= 1 and array.shape[0] == 0:
            msg = f"`{argument}` has no rows; {got}"
        elif array.ndim != 2:
            name = argument if argument.isidentifier() else "x"
            hint = f" For one column use `{name}.reshape(-1, 1)`." if array.ndim == 1 else ""
            if array.ndim > 2:  # images, say
                hint = f" To compare all numbers of a row use `{name}.reshape({len(array)}, -1)`."
            msg = f"`{argument}` must be 2-D, rows by columns; {got}{hint}"
        else:
            msg = f"`{argument}` has no columns; {got}"
        raise DataError(msg)
    if array.dtype.kind not in "biuf":
        hint = " Use a DataFrame, or convert it with `.astype(float)`." if array.dtype.kind in "OUSTV" else ""
        msg = f"`{argument}` must hold real numbers; got dtype {str(array.dtype)[:40]}.{hint}"
        raise DataError(msg)
    with np.errstate(over="ignore"):  # what is beyond float64 becomes infinite, and is refused as that
        floats = array.astype(np.float64, copy=False)
    if _is_masked(floats):
        return np.asarray(floats.filled(np.nan), dtype=np.float64)
    return np.asarray(floats)


def _frame_group(data: Any, argument: str) -> Group:
    """Return a DataFrame of numbers and booleans as a `Group`, nothing scaled."""
    frame = frames.as_frame(data, argument)
    names = tuple(frame.columns)
    if not len(frame) or not names:
        msg = f"`{argument}` has no {'rows' if names else 'columns'}; got shape {tuple(frame.shape)}."
        raise DataError(msg)
    columns = frames.as_columns(frame)
    if wrong := {name: cells.type_name for name, cells in columns.items() if not cells.is_number}:
        parts = listed([f"{quoted(name)} ({type_name})" for name, type_name in wrong.items()])
        which = f"{counted(len(wrong), 'column')} that {'is' if len(wrong) == 1 else 'are'}"
        to_do = "Drop or encode such columns first, or use `mmdbounds.groups`"
        msg = f"`{argument}` has {which} not numeric: {parts}. {to_do}."
        raise DataError(msg)
    values, rounded = np.empty((len(frame), len(names))), {}
    for j, (name, cells) in enumerate(columns.items()):
        floats = values[:, j] = cells.floats()
        if cells.may_lose_digits(floats) and (n := n_rounded(cells.given(), floats)):
            rounded[quoted(name)] = n
    _refuse_rounded(rounded, len(names), f"`{argument}`")
    require_finite(values, names, f"`{argument}`")
    return Group(values, name=argument, ids=frames.index_labels(frame), columns=names)


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """Which columns a group has."""

    n_columns: int
    columns: tuple[str, ...] | None = None  # their names, `None` for arrays
    scaling: Mapping[str, Any] = field(default_factory=dict)  # what `groups` did to each, if anything

    @classmethod
    def of(cls, group: Group) -> Identity:
        """Return the identity of a group's columns."""
        return cls(group.shape[1], group.columns, group.record.get("scaling", {}))


def as_groups(X: Any, Y: Any, arguments: Names = ("X", "Y")) -> tuple[Group, Group]:
    """Return `X` and `Y`, which `as_group` takes, as groups with the same columns in the order of `X`.

    Columns with names on both sides are matched by name; if one side is an array, by position.
    """
    x, y = as_group(X, arguments[0]), as_group(Y, arguments[1])
    order = column_order(Identity.of(x), Identity.of(y), arguments)
    if order is not None:
        y = replace(y, values=y.values[:, order], columns=x.columns)
    return x, y


def column_order(x: Identity, y: Identity, arguments: Names = ("X", "Y")) -> NDArray[np.intp] | None:
    """Return where in Y the columns of X are, `None` if they are in their places; refuse other columns."""
    both = " and ".join(f"`{name}`" for name in arguments)
    if x.columns is None or y.columns is None:
        if x.n_columns != y.n_columns:
            got = f"got {x.n_columns} and {y.n_columns}. Each must be an array of shape (rows, columns)"
            msg = f"{both} must have the same columns; {got}."
            raise DataError(msg)
        return None
    if x.columns != y.columns and (differences := _differences(x.columns, y.columns, arguments)):
        to_do = "Rename them or leave them out. To match columns by position, pass arrays"
        msg = f"{both} must have the same columns; {differences}. {to_do}."
        raise DataError(msg)
    _check_scaling(x, y, arguments)
    if x.columns == y.columns:
        return None
    place = {name: j for j, name in enumerate(y.columns)}
    return np.array([place[name] for name in x.columns], dtype=np.intp)


def _differences(of_x: Sequence[str], of_y: Sequence[str], arguments: Names) -> str:
    """Say which columns only one side has; nothing if both have the same ones."""
    in_x, in_y = set(of_x), set(of_y)
    only = [[name for name in of_x if name not in in_y], [name for name in of_y if name not in in_x]]
    pairs = zip(arguments, only, strict=True)
    return " and ".join(f"only `{argument}` has {quoted_list(names)}" for argument, names in pairs if names)


def _check_scaling(x: Identity, y: Identity, arguments: Names) -> None:
    """Refuse columns that `groups` scaled in one call for X and in another one for Y."""
    if not (differing := [name for name in x.columns or () if x.scaling.get(name) != y.scaling.get(name)]):
        return
    which = f"{counted(len(differing), 'column')}: {quoted_list(differing)}"
    if x.scaling and y.scaling:
        how = f"`{arguments[0]}` and `{arguments[1]}` were scaled over different rows in {which}"
    else:
        scaled, plain = arguments if x.scaling else arguments[::-1]
        how = f"`{scaled}` was scaled by `groups` and `{plain}` was not, in {which}"
    msg = f"{how}. Call `groups` once, on one table with all rows, or use scale='none' in both calls."
    raise DataError(msg)
