"""How results hold and keep their fields: read-only arrays, plain data for JSON, and back."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.errors import DataError

SCHEMA = 2  # number of the layout of `to_dict`; raised whenever a reader would have to change

KINDS: dict[str, tuple[type[np.generic], str, str]] = {
    "ids": (np.str_, "U", "text"),
    "effects": (np.float64, "fiu", "numbers"),
    "weights": (np.float64, "fiu", "numbers"),
}
"""Type, NumPy kinds and words for the fields whose names begin so; all others hold row numbers."""


def read_only(values: Any, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return `values` as an array that cannot be changed."""
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def row_array(given: Any, name: str) -> NDArray[Any]:
    """Return row numbers, names or effects as a read-only array; an empty list has its type, too."""
    dtype, kinds, what = KINDS.get(name.partition("_")[0], (np.intp, "iu", "whole numbers"))
    array = np.asarray(given)
    if array.dtype.kind == "O" and "f" in kinds:  # None, JSON's word for a number that there is not
        array = np.array([np.nan if value is None else value for value in array.ravel()]).reshape(array.shape)
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        msg = f"`{name}` must be a list of {what}; got {array.dtype} of shape {array.shape}."
        raise DataError(msg)
    return read_only(array, dtype)


def hold_rows(result: Any, names: tuple[str, ...]) -> None:
    """Turn these fields of a frozen result into read-only arrays, where they are given."""
    for name in names:
        if (given := getattr(result, name)) is not None:
            object.__setattr__(result, name, row_array(given, name))


def hold_labellings(result: Any) -> None:
    """Take as many labellings as were asked for, where their number is not stated."""
    if not result.n_labellings:
        object.__setattr__(result, "n_labellings", result.n_permutations)


def hold_tuples(result: Any, names: tuple[str, ...]) -> None:
    """Turn these fields of a frozen result into tuples, where they are given: from JSON they are lists."""
    for name in names:
        if (given := getattr(result, name)) is not None:
            object.__setattr__(result, name, tuple(given))


def from_fields(result: Any) -> tuple[Any, ...]:
    """Return what `__reduce__` should: pickled or copied as they are, arrays would come back writeable."""
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    make: Callable[..., Any] = type(result)
    return functools.partial(make, **fields), ()


def plain(value: Any) -> Any:
    """Turn arrays and mappings into lists and dicts that JSON can hold; a missing number becomes `None`."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.where(np.isnan(value), np.array(None), value.astype(object)).tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def require_schema(data: Any, cls: type[Any], schema: int) -> dict[str, Any]:
    """Return saved data without their heading, if they are a `cls` in this layout."""
    if not isinstance(data, Mapping):
        msg = f"expected a saved {cls.__name__}, a mapping; got {type(data).__name__}."
        raise DataError(msg)
    if data.get("schema") != schema or data.get("type") != cls.__name__:
        msg = (
            f"expected a saved {cls.__name__} with schema {schema}; "
            f"got type {data.get('type')!r} with schema {data.get('schema')!r}."
        )
        raise DataError(msg)
    return {name: value for name, value in data.items() if name not in ("schema", "type")}


def saved_fields(cls: type[Any], saved: Any, where: str) -> dict[str, Any]:
    """Return the fields of `cls` from saved data, or say which are missing or unknown."""
    if not isinstance(saved, Mapping):
        msg = f"`{where.rstrip('.')}` of the saved result must be a mapping; got {type(saved).__name__}."
        raise DataError(msg)
    known = {f.name: f for f in dataclasses.fields(cls)}
    required = {name for name, f in known.items() if f.default is f.default_factory is dataclasses.MISSING}
    for what, names in (("lacks", required - saved.keys()), ("has the unknown field", saved.keys() - known)):
        if names:
            msg = f"the saved result {what} {', '.join(f'`{where}{name}`' for name in sorted(names))}."
            raise DataError(msg)
    return dict(saved)


def _part(made: type[Any], saved: Any, where: str) -> Any:
    """Rebuild a part of a saved result; one with parts of its own knows how."""
    if hasattr(made, "from_dict"):
        return made.from_dict(saved, where)
    return made(**saved_fields(made, saved, where))


class Saved:
    """Plain data of a frozen dataclass, and the way back; also for pickles and copies.

    A class names the fields that are dataclasses themselves in `PARTS`, and lists of such in `LISTS`.
    """

    __slots__ = ()

    __dataclass_fields__: ClassVar[dict[str, Any]]  # all who inherit are dataclasses
    PARTS: ClassVar[Mapping[str, type[Any]]] = {}
    LISTS: ClassVar[Mapping[str, type[Any]]] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python data; `from_dict` is the way back."""
        return {"schema": SCHEMA, "type": type(self).__name__, **plain(dataclasses.asdict(self))}

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a result from `to_dict` (or from parsed `to_json`)."""
        values = saved_fields(cls, require_schema(data, cls, SCHEMA), "")
        defaults = {f.name: f.default for f in dataclasses.fields(cls)}
        for name, made in cls.PARTS.items():
            if name in values and not (values[name] is None and defaults[name] is None):
                values[name] = _part(made, values[name], f"{name}.")
        for name, made in cls.LISTS.items():
            if not isinstance(listed := values.get(name, []), list | tuple):
                msg = f"`{name}` of the saved result must be a list; got {type(listed).__name__}."
                raise DataError(msg)
            if name in values:
                values[name] = [_part(made, each, f"{name}.") for each in listed]
        return cls(**values)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)
