"""How results hold and keep their fields: read-only arrays, plain data for JSON, and back."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.errors import DataError

SCHEMA = 2  # number of the layout of `to_dict`; raised whenever a reader would have to change

KINDS = {np.str_: ("U", "text"), np.float64: ("fiu", "numbers"), np.intp: ("iu", "whole numbers")}
"""NumPy kinds and words for the arrays that results hold, by their annotation."""

field_types = functools.cache(get_type_hints)


def read_only(values: Any, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return `values` as an array that cannot be changed."""
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def _array(given: Any, dtype: type[np.generic], name: str) -> NDArray[Any]:
    """Return row numbers, names or effects as a read-only array; an empty list has its type, too."""
    kinds, what = KINDS[dtype]
    array = np.asarray(given)
    if array.dtype.kind == "O" and "f" in kinds:  # None, JSON's word for a number that there is not
        array = np.array([np.nan if value is None else value for value in array.ravel()]).reshape(array.shape)
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        msg = f"`{name}` must be a list of {what}; got {array.dtype} of shape {array.shape}."
        raise DataError(msg)
    return read_only(array, dtype)


def _needed(annotation: Any) -> Any:
    """Return an annotation without the `None` that it allows."""
    if isinstance(annotation, types.UnionType):
        return next(each for each in get_args(annotation) if each is not types.NoneType)
    return annotation


def _held(given: Any, annotation: Any, name: str) -> Any:
    """Return a field as its annotation says: arrays read-only, in tuples plain Python numbers."""
    needed = _needed(annotation)
    if given is not None and get_origin(needed) is np.ndarray:
        return _array(given, get_args(get_args(needed)[1])[0], name)
    if given is not None and get_origin(needed) is tuple:
        holds = get_args(needed)
        is_list = isinstance(given, list | tuple | np.ndarray)
        if not is_list or (holds[-1] is not Ellipsis and len(given) != len(holds)):
            what = "a list" if holds[-1] is Ellipsis else f"a list of {len(holds)} values"
            msg = f"`{name}` must be {what}; got {given!r:.60}."
            raise DataError(msg)
        return tuple(_held(each, holds[0], name) for each in given)
    return given.item() if isinstance(given, np.generic) else given


class Held:
    """A frozen dataclass whose arrays are read-only and whose tuples are tuples, however they are given."""

    __slots__ = ()

    __dataclass_fields__: ClassVar[dict[str, Any]]  # all who inherit are dataclasses

    def __post_init__(self) -> None:
        made: Any = type(self)
        for field in dataclasses.fields(self):
            annotation = field_types(made)[field.name]
            if get_origin(_needed(annotation)) in (np.ndarray, tuple):
                held = _held(getattr(self, field.name), annotation, field.name)
                object.__setattr__(self, field.name, held)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)

    def __eq__(self, other: object) -> bool:
        """Whether two say the same: after a pickle, a copy or JSON they do."""
        if type(self) is not type(other):
            return NotImplemented
        return bool(plain(dataclasses.asdict(self)) == plain(dataclasses.asdict(other)))

    def __hash__(self) -> int:
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]
        return hash((type(self), *(v for v in values if isinstance(v, int | float | str) and v == v)))  # noqa: PLR0124


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


def _require(kind: Any, what: str, saved: Any, where: str) -> None:
    if not isinstance(saved, kind):
        msg = f"`{where.rstrip('.')}` of the saved result must be {what}; got {type(saved).__name__}."
        raise DataError(msg)


def saved_fields(cls: type[Any], saved: Any, where: str) -> dict[str, Any]:
    """Return the fields of `cls` from saved data, or say which are missing or unknown."""
    _require(Mapping, "a mapping", saved, where)
    known = {f.name: f for f in dataclasses.fields(cls)}
    required = {name for name, f in known.items() if f.default is f.default_factory is dataclasses.MISSING}
    for what, names in (("lacks", required - saved.keys()), ("has the unknown field", saved.keys() - known)):
        if names:
            msg = f"the saved result {what} {', '.join(f'`{where}{name}`' for name in sorted(names))}."
            raise DataError(msg)
    return dict(saved)


def rebuilt(annotation: Any, saved: Any, where: str) -> Any:
    """Return saved data as their annotation says: a dataclass, a list or mapping of such, or as they are."""
    made = _needed(annotation)
    if saved is None and made is not annotation:
        return None
    if isinstance(made, type) and dataclasses.is_dataclass(made):
        fields, of = saved_fields(made, saved, where), field_types(made)
        return made(**{name: rebuilt(of[name], value, f"{where}{name}.") for name, value in fields.items()})
    holds = get_args(made)
    if get_origin(made) is tuple and dataclasses.is_dataclass(holds[0]):
        _require(list | tuple, "a list", saved, where)
        return [rebuilt(holds[0], each, where) for each in saved]
    if get_origin(made) is Mapping and dataclasses.is_dataclass(holds[1]):
        _require(Mapping, "a mapping", saved, where)
        return {name: rebuilt(holds[1], each, f"{where}{name}.") for name, each in saved.items()}
    return saved


class Saved(Held):
    """Plain data of a frozen dataclass, and the way back; also for pickles and copies."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python data; `from_dict` is the way back."""
        return {"schema": SCHEMA, "type": type(self).__name__, **plain(dataclasses.asdict(self))}

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a result from `to_dict` (or from parsed `to_json`)."""
        result: Self = rebuilt(cls, require_schema(data, cls, SCHEMA), "")
        return result
