"""Logits of a classifier in a file: written where the images are, read here.

The file is an ``.npz`` without pickles; docs/data.md, "Logits of your own", lists its arrays.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lab.datasets.cards import Card
from lab.datasets.clean_groups import CleanGroups, clean_groups
from lab.datasets.files import PathLike, as_path, read_bytes
from lab.datasets.loaders import LOGIT_COLUMNS
from mmdbounds.atomic_write import write_whole
from mmdbounds.checks import check_flag, check_option
from mmdbounds.errors import DataError

FORMAT = "mmdbounds logits 1"  # stored in every file; a later layout gets another number
UNKNOWN_PATIENTS = "Patients are not identified: rows may not be exchangeable."
NEEDED = ("title", "source", "licence", "logits", "y", "group", "group_names", "record")


def packed(given: Mapping[str, Any]) -> bytes:
    """Return the bytes of a file with these arrays; groups may be names, the record a mapping."""
    try:
        record = json.dumps(dict(given["record"]))
    except (TypeError, ValueError):
        msg = f"`record` must be a mapping that fits into JSON; got {type(given['record']).__name__}."
        raise DataError(msg) from None
    named = {**given, "group": _codes(given["group"], _array(given["group_names"])), "record": record}
    contents: dict[str, Any] = {"format": np.array(FORMAT), **_checked(named, "")}
    file = io.BytesIO()
    np.savez_compressed(file, **contents)
    return file.getvalue()


def _codes(group: Any, names: NDArray[Any]) -> Any:
    """Return group names as indices into `names`; an unknown name becomes -1, to be refused."""
    values = _array(group)
    if values.dtype.kind != "U":
        return values
    places = {str(name): place for place, name in enumerate(names.ravel().tolist())}
    return np.array([places.get(str(value), -1) for value in values.ravel()]).reshape(values.shape)


def unpacked(data: bytes, name: str) -> dict[str, NDArray[Any]]:
    """Return the checked arrays of a file."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {each: file[each] for each in file.files}
    except MemoryError:
        raise
    except Exception as error:  # not a zip file, a damaged one, a pickle, an array without a name
        reason = f"NumPy cannot read it as .npz without pickles ({type(error).__name__})"
        msg = f"{name} is not a file of logits: {reason}. Write it with `write_logits`."
        raise DataError(msg) from None
    found = str(arrays.pop("format", ""))[:40]
    missing = [each for each in NEEDED if each not in arrays]
    if found != FORMAT or missing:
        lacks = f"; it lacks {', '.join(missing)}" if missing else ""
        msg = f"{name} is not a file of logits in the format {FORMAT!r}; got {found!r}{lacks}."
        raise DataError(msg)
    return _checked(arrays, f"{name}: ")


def _checked(given: Mapping[str, Any], where: str) -> dict[str, NDArray[Any]]:
    """Return the arrays with the right types, or say what is wrong with them."""
    names = _array(given["group_names"])
    if names.dtype.kind != "U" or names.ndim != 1 or not 2 <= len(set(names.tolist())) == len(names) < 256:
        msg = f"{where}`group_names` must be two or more different names; got {_seen(names)}."
        raise DataError(msg)
    logits = _logits(given["logits"], where)
    arrays = {
        **{name: _text(given[name], name, where) for name in ("title", "source", "licence", "record")},
        "logits": logits,
        "y": _places(given["y"], "y", 2, len(logits), where),
        "group": _places(given["group"], "group", len(names), len(logits), where),
        "group_names": names,
    }
    if "patient" in given:
        patient = _array(given["patient"])
        if patient.dtype.kind not in "iuU" or patient.shape != (len(logits),):
            wanted = f"a number or a name for each of the {len(logits):,} rows"
            msg = f"{where}`patient` must be {wanted}; got {_seen(patient)}."
            raise DataError(msg)
        arrays["patient"] = patient
    return arrays


def _logits(given: Any, where: str) -> NDArray[np.float32]:
    values = _array(given)
    if values.dtype.kind not in "fiu" or values.ndim != 2 or values.shape[1] != 2:
        msg = f"{where}`logits` must be numbers of shape (rows, 2); got {_seen(values)}."
        raise DataError(msg)
    with np.errstate(over="ignore"):
        logits = values.astype(np.float32)
    if n_bad := np.count_nonzero(~np.isfinite(logits)):
        msg = f"{where}`logits` must be finite in float32; {n_bad:,} of {logits.size:,} are not."
        raise DataError(msg)
    return logits


def _places(given: Any, name: str, n_known: int, n_rows: int, where: str) -> NDArray[np.uint8]:
    """Return classes or groups, whole numbers below `n_known`."""
    values = _array(given)
    if values.dtype.kind not in "iub" or values.shape != (n_rows,):
        msg = f"{where}`{name}` must be a whole number for each of the {n_rows:,} rows; got {_seen(values)}."
        raise DataError(msg)
    if outside := np.count_nonzero((values < 0) | (values >= n_known)):
        what = "classes" if name == "y" else "groups"
        msg = f"{where}`{name}` must be one of {n_known} {what}; {outside:,} of {n_rows:,} rows are not."
        raise DataError(msg)
    return values.astype(np.uint8)


def _text(given: Any, name: str, where: str) -> NDArray[np.str_]:
    """Return one line of text; the title must not be empty."""
    text = _array(given)
    if text.dtype.kind != "U" or text.ndim or not str(text).isprintable():
        msg = f"{where}`{name}` must be one line of text; got {_seen(text)}."
        raise DataError(msg)
    if name == "title" and not str(text).strip():
        msg = f"{where}`title` must not be empty: results are reported under it."
        raise DataError(msg)
    return text


def _array(given: Any) -> NDArray[Any]:
    """Return any array-like as an array; an empty object array if NumPy cannot convert it."""
    try:
        array = np.asarray(given)
    except MemoryError:
        raise
    except Exception:  # lists of different lengths, or a broken array-like
        return np.empty((), dtype=object)
    # pandas stores text as objects, which could only be written as pickles.
    is_text = array.dtype.kind == "O" and all(isinstance(each, str) for each in array.ravel())
    return array.astype(np.str_) if is_text else array


def _seen(array: NDArray[Any]) -> str:
    """Return type and shape of an array in words, without its values."""
    return f"{array.dtype} of shape {array.shape}"


def write_logits(
    path: PathLike,
    logits: ArrayLike,
    group: ArrayLike,
    y: ArrayLike,
    *,
    title: str,
    group_names: Sequence[str],
    patient: ArrayLike | None = None,
    source: str = "",
    licence: str = "",
    record: Mapping[str, Any] | None = None,
) -> None:
    """Write logits for `load_logits`, whole or not at all.

    Parameters
    ----------
    path
        The file, usually ``.npz``; an existing one is replaced.
    logits : array-like of shape (n, 2)
        Logits of the classes 0 and 1, for rows that the classifier was not fitted to. Stored as float32.
    group : array-like of shape (n,)
        The group of each row: its name, or its index into `group_names`.
    y : array-like of shape (n,)
        The class of each row, 0 or 1.
    title : str
        The name under which results are reported: what these data are, not what they stand for.
    group_names : sequence of str
        First the group whose rows get misfiled, then the one that they are filed under, then others.
    patient : array-like of shape (n,), optional
        The patient of each row: whole numbers or names.
    source, licence : str, optional
        For the card.
    record : mapping, optional
        How the logits were made: settings, counts, versions; anything that fits into JSON.

    Raises
    ------
    MmdBoundsError
        If the rows cannot be used as they are, or the file cannot be written.
    """
    place = as_path(path, "`path`")
    given: dict[str, Any] = {"title": title, "source": source, "licence": licence, "logits": logits, "y": y}
    given |= {"group": group, "group_names": group_names, "record": {} if record is None else record}
    write_whole(place, packed(given if patient is None else {**given, "patient": patient}))


def load_logits(
    path: PathLike, *, hidden: str | None = None, among: str | None = None, one_row_per_patient: bool = True
) -> CleanGroups:
    """Load logits that `write_logits` wrote, such as those of the MIMIC-CXR pipeline.

    Parameters
    ----------
    path
        The file.
    hidden, among : str, optional
        The group that becomes X, whose rows get misfiled, and the one that becomes Y; by default the first
        and the second group of the file.
    one_row_per_patient : bool, default=True
        Keep the first row of each patient, if the file identifies patients; see `load_standin`.

    Returns
    -------
    CleanGroups
        Two columns, float32. The card comes from the file; `record` says how the logits were made.

    Raises
    ------
    DataError
        If the file is missing or not in this format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> logits, groups = [[0.5, -0.5], [1.0, 0.0], [0.2, 0.1]], ["Black", "White", "White"]
    >>> names = {"title": "Made-up logits", "group_names": ["Black", "White"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "logits.npz"
    ...     write_logits(path, logits, groups, [0, 0, 1], **names)
    ...     load_logits(path)
    CleanGroups('Made-up logits', X = Black (1 x 2), Y = White (2 x 2))
    """
    check_flag(one_row_per_patient, "one_row_per_patient")
    place = as_path(path, "`path`")
    arrays = unpacked(data := read_bytes(place), place.name)
    known = [str(name) for name in arrays["group_names"]]
    x = known[0] if hidden is None else check_option(hidden, "hidden", known)
    y = known[1] if among is None else check_option(among, "among", known)
    if x == y:
        msg = f"`hidden` and `among` must be two groups; got {x!r} for both. The file holds {known}."
        raise DataError(msg)
    in_x, in_y = (arrays["group"] == known.index(name) for name in (x, y))
    try:
        record = dict(json.loads(str(arrays["record"])))
    except (TypeError, ValueError):
        msg = f"{place.name}: `record` must be a JSON object; got other text."
        raise DataError(msg) from None
    return clean_groups(
        arrays["logits"],
        in_x,
        in_y,
        names=(x, y),
        columns=LOGIT_COLUMNS,
        card=_card(arrays, (x, y), (in_x, in_y), place.name, hashlib.sha256(data).hexdigest()),
        prepared=f"read from {place.name}",
        patients=arrays.get("patient"),
        outcomes=arrays["y"],
        record=record,
        one_row_per_patient=one_row_per_patient,
    )


def _card(
    arrays: Mapping[str, NDArray[Any]],
    names: tuple[str, str],
    members: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    file: str,
    sha256: str,
) -> Card:
    """Return the card of a file of logits, for two of its groups."""
    patients, n_patients = arrays.get("patient"), None
    if patients is not None:
        n_patients = len(np.unique(patients[members[0]])), len(np.unique(patients[members[1]]))
    return Card(
        title=str(arrays["title"]),
        hidden=names[0],
        among=names[1],
        n_x=int(np.count_nonzero(members[0])),
        n_y=int(np.count_nonzero(members[1])),
        n_patients=n_patients,
        columns="2: logits of the classes 0 and 1.",
        notes=UNKNOWN_PATIENTS if patients is None else "",
        source=str(arrays["source"]),
        licence=str(arrays["licence"]),
        file=file,
        sha256=sha256,
    )
