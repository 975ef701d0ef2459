"""Logits of a classifier, written by whoever sees the images and read here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mmdbounds.atomic_write import write_whole
from mmdbounds.checks import check_flag, check_option
from mmdbounds.datasets.cards import Card
from mmdbounds.datasets.clean import CleanGroups, clean_groups
from mmdbounds.datasets.exchange import packed, recorded, unpacked
from mmdbounds.datasets.local import PathLike, as_path, read_bytes
from mmdbounds.datasets.standins import LOGIT_COLUMNS
from mmdbounds.errors import DataError

UNKNOWN_PATIENTS = "Nothing tells the patients apart: rows may not be exchangeable."


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
    """Write logits for `load_logits`, the whole file or nothing.

    Parameters
    ----------
    path
        The file, by custom ``.npz``; an old one is replaced.
    logits : array-like of shape (n, 2)
        Logits of the classes 0 and 1, of rows that the classifier was not fitted to. Kept as float32.
    group : array-like of shape (n,)
        The group of each row: its name, or its place in `group_names`.
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
        How the logits were made: settings, counts, versions; whatever JSON can hold.

    Raises
    ------
    MmdBoundsError
        If the rows cannot be used as they are, or the file cannot be written.
    """
    place = as_path(path, "`path`")
    given: dict[str, Any] = {
        "title": title,
        "source": source,
        "licence": licence,
        "logits": logits,
        "y": y,
        "group": group,
        "group_names": group_names,
        "record": {} if record is None else record,
    }
    if patient is not None:
        given["patient"] = patient
    write_whole(place, packed(given))


def load_logits(
    path: PathLike,
    *,
    hidden: str | None = None,
    among: str | None = None,
    one_row_a_patient: bool = True,
) -> CleanGroups:
    """Load logits that `write_logits` has written, such as those of the MIMIC-CXR pipeline.

    Parameters
    ----------
    path
        The file.
    hidden, among : str, optional
        The group that becomes X, whose rows get misfiled, and the one that becomes Y; without them
        the first and the second group of the file.
    one_row_a_patient : bool, default=True
        Keep the first row of each patient, where the file tells patients apart; see `load_standin`.

    Returns
    -------
    CleanGroups
        Two columns, float32. The card is made of what the file says about itself; `record` is how the
        logits were made.

    Raises
    ------
    DataError
        If there is no such file, or it is not in this format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "logits.npz"
    ...     write_logits(
    ...         path,
    ...         [[0.5, -0.5], [1.0, 0.0], [0.2, 0.1]],
    ...         ["Black", "White", "White"],
    ...         [0, 0, 1],
    ...         title="Made-up logits",
    ...         group_names=["Black", "White"],
    ...     )
    ...     load_logits(path)
    CleanGroups('Made-up logits', X = Black (1 x 2), Y = White (2 x 2))
    """
    check_flag(one_row_a_patient, "one_row_a_patient")
    place = as_path(path, "`path`")
    data = read_bytes(place)
    arrays = unpacked(data, place.name)
    known = [str(name) for name in arrays["group_names"]]
    names = _pair(known, hidden, among)
    in_x, in_y = (arrays["group"] == known.index(name) for name in names)
    patients = arrays.get("patient")
    card = Card(
        title=str(arrays["title"]),
        hidden=names[0],
        among=names[1],
        n_x=int(np.count_nonzero(in_x)),
        n_y=int(np.count_nonzero(in_y)),
        n_patients=None if patients is None else (_distinct(patients[in_x]), _distinct(patients[in_y])),
        columns="2: logits of the classes 0 and 1.",
        notes=UNKNOWN_PATIENTS if patients is None else "",
        source=str(arrays["source"]),
        licence=str(arrays["licence"]),
        file=place.name,
        sha256=hashlib.sha256(data).hexdigest(),
    )
    return clean_groups(
        arrays["logits"],
        in_x,
        in_y,
        names=names,
        columns=LOGIT_COLUMNS,
        card=card,
        prepared=f"read from {place.name}",
        patients=patients,
        outcomes=arrays["y"],
        record=recorded(arrays["record"], place.name),
        one_row_a_patient=one_row_a_patient,
    )


def _pair(known: Sequence[str], hidden: str | None, among: str | None) -> tuple[str, str]:
    """Return the names of X and Y."""
    x = known[0] if hidden is None else check_option(hidden, "hidden", known)
    y = known[1] if among is None else check_option(among, "among", known)
    if x == y:
        msg = f"`hidden` and `among` must be two groups; got {x!r} for both. The file holds {known}."
        raise DataError(msg)
    return x, y


def _distinct(patients: NDArray[Any]) -> int:
    return len(np.unique(patients))
