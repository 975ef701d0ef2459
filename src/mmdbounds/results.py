"""What the functions return: frozen, read-only, self-describing; no numerics here.

Every result knows how it was made (`Provenance`), prints in one line, turns into
plain data (`to_dict`, `to_json`) and back (`from_dict`), and computes nothing when printed.
"""

from __future__ import annotations

import dataclasses
import functools
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.errors import DataError

Side = Literal["lower", "upper"]
Estimator = Literal["unbiased", "biased"]

SCHEMA = 1
"""Number of the layout of `to_dict`; raised whenever a reader would have to change."""


def read_only(values: Any, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return `values` as an array that nobody can change any more."""
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Provenance:
    """How a result was made: enough to make it again.

    Attributes
    ----------
    method, options
        Name and options of the search.
    kernel, kernel_options, bandwidth
        Name of the kernel, its options (degree, ...) and its length, `None` for a kernel that has none.
    estimator
        ``"unbiased"`` (U-statistic) or ``"biased"`` (V-statistic).
    backend, device, dtype
        Where the pairs were computed, and in which precision.
    seed
        Seed of a random search; `None` where nothing is left to chance.
    n_pairs
        Kernel values computed.
    seconds
        Wall-clock time.
    version
        Version of mmdbounds.
    data
        What was done to a table before it became rows (`mmdbounds.groups`), if anything.
    """

    method: str
    options: Mapping[str, Any]
    kernel: str
    kernel_options: Mapping[str, Any] = field(default_factory=dict)
    bandwidth: float | None
    estimator: Estimator
    backend: str
    device: str
    dtype: str
    seed: int | None
    n_pairs: int
    seconds: float
    version: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Copies, so that a result does not change with the options or the table's record.
        for name in ("options", "data"):
            object.__setattr__(self, name, _plain(getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bound:
    """One side of the interval.

    Attributes
    ----------
    side
        ``"lower"`` or ``"upper"``.
    value
        The squared MMD reached by the rows below (attained), for ``kind="labelling"``.
    certified
        A number proved to lie beyond every labelling, or `None` where nothing was proved.
    fractional
        The same for labellings that may split rows, which is the paper's Claim 1: all distributions of
        the misfiled rows within Y. Known for the biased estimator and one-way misfiling.
    rows
        Positions in `Y`, from 0, of the rows that are moved to X to reach `value`.
    rows_of_x
        Positions in `X` of the rows moved to Y (two-way misfiling only).
    ids, ids_of_x
        Names of these rows where the data have names.
    file_rows, file_rows_of_x
        Their numbers in the file, the first row below the header being 1.
    kind
        ``"labelling"``: the value of one labelling with the stated counts.
        ``"resized labelling"``: the value of a labelling that moves another number of
        rows than stated (``schedule="paper"``), which bounds nothing.
    status
        In words how the search ended.
    """

    side: Side
    value: float
    certified: float | None = None
    fractional: float | None = None
    rows: NDArray[np.intp]
    rows_of_x: NDArray[np.intp]
    ids: NDArray[np.str_] | None = None
    ids_of_x: NDArray[np.str_] | None = None
    file_rows: NDArray[np.intp] | None = None
    file_rows_of_x: NDArray[np.intp] | None = None
    kind: str = "labelling"
    status: str = ""

    def __post_init__(self) -> None:
        for name in _ROW_FIELDS:
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, _row_array(given, name))

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled or copied as they are, arrays would come back writeable.
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return functools.partial(Bound, **fields), ()

    @property
    def n_moved(self) -> int:
        """Rows moved from Y to X."""
        return len(self.rows)

    @property
    def n_moved_of_x(self) -> int:
        """Rows moved from X to Y."""
        return len(self.rows_of_x)

    @property
    def gap(self) -> float | None:
        """Distance between the proved and the attained value, `None` without a proof."""
        return None if self.certified is None else abs(self.certified - self.value)


_ROW_FIELDS = ("rows", "rows_of_x", "ids", "ids_of_x", "file_rows", "file_rows_of_x")


def _row_array(given: Any, name: str) -> NDArray[Any]:
    """Return row numbers or names as a read-only array; an empty list has its type, too."""
    dtype, kinds, what = (
        (np.str_, "U", "text") if name.startswith("ids") else (np.intp, "iu", "whole numbers")
    )
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        msg = f"`{name}` must be a list of {what}; got {array.dtype} of shape {array.shape}."
        raise DataError(msg)
    return read_only(array, dtype)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundsResult:
    """The smallest and the largest squared MMD that the misfiling allows.

    Attributes
    ----------
    lower, upper
        The two sides, see `Bound`.
    observed
        Squared MMD of the groups as filed.
    n_samples_X, n_samples_Y
        Rows of the groups as filed.
    n_moved, n_moved_of_x
        Rows assumed to be misfiled: rows of Y that belong to X, and rows of X that belong to Y.
        With `at_most` (or an interval of shares) the largest numbers considered.
    n_moved_range
        For an interval of shares the smallest and largest number of misfiled rows of Y considered,
        if they differ. Otherwise `None`.
    at_most
        Whether every smaller number of misfiled rows was considered too.
    epsilon
        Share of the true X that was filed under Y, ``n_moved / (n_samples_X + n_moved - n_moved_of_x)``;
        where several counts were considered, the largest share.
    share_of_y
        Share of the rows of Y that are misfiled, ``n_moved / n_samples_Y``.
    name_x, name_y
        What the groups are called in the table they came from.
    provenance
        How the result was made.
    """

    lower: Bound
    upper: Bound
    observed: float
    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    n_moved: int
    n_moved_of_x: int = 0
    n_moved_range: tuple[int, int] | None = None
    at_most: bool = False
    epsilon: float
    share_of_y: float
    name_x: str = "X"
    name_y: str = "Y"
    provenance: Provenance

    def __post_init__(self) -> None:
        if self.n_moved_range is not None:  # a list, if it comes from JSON
            fewest, most = self.n_moved_range
            object.__setattr__(self, "n_moved_range", (int(fewest), int(most)))

    @property
    def is_certified(self) -> bool:
        """Whether both ends of `interval` are proved."""
        return self.lower.certified is not None and self.upper.certified is not None

    @property
    def interval(self) -> tuple[float, float]:
        """Both sides certified if both are proved, else both attained: never one of each."""
        if self.lower.certified is not None and self.upper.certified is not None:
            return self.lower.certified, self.upper.certified
        return self.lower.value, self.upper.value

    @property
    def width(self) -> float:
        """Attained width, ``upper.value - lower.value``."""
        return self.upper.value - self.lower.value

    def summary(self) -> str:
        """Return the result in plain words: statement first, numbers second, settings last."""
        from mmdbounds.words import bounds_summary

        return bounds_summary(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python data; `from_dict` is the way back."""
        return {"schema": SCHEMA, "type": type(self).__name__, **_plain(dataclasses.asdict(self))}

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a result from `to_dict` (or from parsed `to_json`)."""
        if not isinstance(data, Mapping):
            msg = f"expected a saved {cls.__name__}, a mapping; got {type(data).__name__}."
            raise DataError(msg)
        if data.get("schema") != SCHEMA or data.get("type") != cls.__name__:
            msg = (
                f"expected a saved {cls.__name__} with schema {SCHEMA}; "
                f"got type {data.get('type')!r} with schema {data.get('schema')!r}."
            )
            raise DataError(msg)
        values = _saved_fields(cls, {k: v for k, v in data.items() if k not in ("schema", "type")}, "")
        for name, part in (("lower", Bound), ("upper", Bound), ("provenance", Provenance)):
            values[name] = part(**_saved_fields(part, values[name], f"{name}."))
        return cls(**values)

    def __repr__(self) -> str:
        low, high = self.interval
        proof = "certified" if self.is_certified else "attained"
        how = "at most" if self.at_most else "exactly"
        count = f"{how} {self.n_moved}"
        if self.n_moved_range is not None and not self.at_most:
            count = "{} to {}".format(*self.n_moved_range)
        other = f" and {how} {self.n_moved_of_x} of {self.n_samples_X} rows of X" if self.n_moved_of_x else ""
        return (
            f"BoundsResult(mmd2 in [{low:.6g}, {high:.6g}] {proof}, observed {self.observed:.6g}, "
            f"{count} of {self.n_samples_Y} rows of Y{other} misfiled, method {self.provenance.method!r})"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


def _saved_fields(cls: type[Any], saved: Any, where: str) -> dict[str, Any]:
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


def _plain(value: Any) -> Any:
    """Turn arrays and mappings into lists and dicts that JSON can hold."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
