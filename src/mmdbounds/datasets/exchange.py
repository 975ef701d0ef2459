"""Logits of a classifier in a file: how a pipeline that sees the images hands its outputs over.

The file is an ``.npz`` without pickles, whole or not there at all. Its arrays:

==============  ==========================================================================================
``format``      the text ``mmdbounds logits 1``
``title``       the name under which results on these data are reported
``source``      where they come from; may be empty
``licence``     who may use them; may be empty
``logits``      float32, shape (n, 2): classes 0 and 1, on rows that the classifier was not fitted to
``y``           uint8, shape (n,): the class, 0 or 1
``group``       uint8, shape (n,): places in ``group_names``
``group_names`` text: first the group whose rows get misfiled, then the one that they are filed under;
                further ones are left alone
``patient``     whole numbers or text, shape (n,); not there if nobody knows
``record``      how the logits were made, a JSON object as text; ``{}`` if nothing is recorded
==============  ==========================================================================================
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError

FORMAT = "mmdbounds logits 1"
"""Stands in every file; a later layout gets another number."""

NEEDED = ("title", "source", "licence", "logits", "y", "group", "group_names", "record")


def packed(given: Mapping[str, Any]) -> bytes:
    """Return the bytes of a file with these arrays; groups may be given by name, the record as a mapping."""
    try:
        record = json.dumps(dict(given["record"]))
    except (TypeError, ValueError):
        msg = f"`record` must be a mapping that JSON can hold; got {type(given['record']).__name__}."
        raise DataError(msg) from None
    named = {**given, "group": _codes(given["group"], _array(given["group_names"])), "record": record}
    contents: dict[str, Any] = {"format": np.array(FORMAT), **_checked(named, "")}
    file = io.BytesIO()
    np.savez_compressed(file, **contents)
    return file.getvalue()


def unpacked(data: bytes, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, in their types."""
    return _checked(_read(data, name), f"{name}: ")


def recorded(text: NDArray[Any], name: str) -> dict[str, Any]:
    """Return a file's record."""
    try:
        return dict(json.loads(str(text)))
    except (TypeError, ValueError):
        msg = f"{name}: `record` must be a JSON object; got other text."
        raise DataError(msg) from None


def _codes(group: Any, names: NDArray[Any]) -> Any:
    """Return groups given by name as places in `names`; an unknown name becomes -1, to be refused."""
    values = _array(group)
    if values.dtype.kind != "U":
        return values
    places = {str(name): place for place, name in enumerate(names.ravel().tolist())}
    return np.array([places.get(str(value), -1) for value in values.ravel()]).reshape(values.shape)


def _read(data: bytes, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file in this format."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {each: file[each] for each in file.files}
    except MemoryError:
        raise
    except Exception as error:  # not a zip file, a damaged one, a pickle, an array without a name
        msg = (
            f"{name} is not a file of logits: NumPy cannot read it as .npz without pickles "
            f"({type(error).__name__}). `write_logits` writes one."
        )
        raise DataError(msg) from None
    found = str(arrays.pop("format", ""))[:40]
    missing = [each for each in NEEDED if each not in arrays]
    if found != FORMAT or missing:
        lacks = f"; it lacks {', '.join(missing)}" if missing else ""
        msg = f"{name} is not a file of logits in the format {FORMAT!r}; got {found!r}{lacks}."
        raise DataError(msg)
    return arrays


def _checked(given: Mapping[str, Any], where: str) -> dict[str, NDArray[Any]]:
    """Return the arrays in their types, or say what is wrong with them."""
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
            msg = (
                f"{where}`patient` must be a number or a name for each of the {len(logits):,} rows; "
                f"got {_seen(patient)}."
            )
            raise DataError(msg)
        arrays["patient"] = patient
    return arrays


def _logits(given: Any, where: str) -> NDArray[np.float32]:
    values = _array(given)
    if values.dtype.kind in "fiu" and values.ndim == 2 and values.shape[1] == 2:
        with np.errstate(over="ignore"):
            logits = values.astype(np.float32)
        if np.isfinite(logits).all():
            return logits
        n_bad = int(np.count_nonzero(~np.isfinite(logits)))
        msg = f"{where}`logits` must be finite in float32; {n_bad:,} of {logits.size:,} are not."
    else:
        msg = f"{where}`logits` must be numbers of shape (rows, 2); got {_seen(values)}."
    raise DataError(msg)


def _places(given: Any, name: str, n_known: int, n_rows: int, where: str) -> NDArray[np.uint8]:
    """Return classes or groups, each a whole number below `n_known`."""
    values = _array(given)
    if values.dtype.kind not in "iub" or values.shape != (n_rows,):
        msg = f"{where}`{name}` must be a whole number for each of the {n_rows:,} rows; got {_seen(values)}."
        raise DataError(msg)
    if outside := np.count_nonzero((values < 0) | (values >= n_known)):
        what = "classes" if name == "y" else "groups"
        msg = f"{where}`{name}` must be one of {n_known} {what}; {outside:,} of {n_rows:,} rows are of none."
        raise DataError(msg)
    return values.astype(np.uint8)


def _text(given: Any, name: str, where: str) -> NDArray[np.str_]:
    """Return one line of text; a title may not be empty, since results are reported under it."""
    text = _array(given)
    if text.dtype.kind != "U" or text.ndim or not str(text).isprintable():
        msg = f"{where}`{name}` must be one line of text; got {_seen(text)}."
        raise DataError(msg)
    if name == "title" and not str(text).strip():
        msg = f"{where}`title` must not be empty: results are reported under it."
        raise DataError(msg)
    return text


def _array(given: Any) -> NDArray[Any]:
    """Return an array of whatever type and shape; an object on its own where NumPy makes none of it."""
    try:
        array = np.asarray(given)
    except MemoryError:
        raise
    except Exception:  # lists of different lengths, and whatever an array-like does wrong
        return np.empty((), dtype=object)
    # pandas keeps text as objects; a pickle would be needed to write them.
    is_text = array.dtype.kind == "O" and all(isinstance(each, str) for each in array.ravel())
    return array.astype(np.str_) if is_text else array


def _seen(array: NDArray[Any]) -> str:
    """Say what an array is, without its cells."""
    return f"{array.dtype} of shape {array.shape}"
