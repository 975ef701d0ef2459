"""A file of trials that survives being stopped: what was asked in its first line, then one trial a line."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.evaluation.asked import Asked
from mmdbounds.evaluation.records import Trial

TYPE, SCHEMA = "mmdbounds evaluation trials", 1


class Checkpoint:
    """The trials of one question, kept in a file.

    Parameters
    ----------
    path
        The file; made when the first trial is to be kept.
    asked
        The question; a file with trials of another one is refused, and never changed.
    """

    def __init__(self, path: str | os.PathLike[str], asked: Asked) -> None:
        self._path = _checked_path(path)
        self._header: dict[str, Any] = {"type": TYPE, "schema": SCHEMA, "asked": asked.fingerprint()}
        self._labels = set(asked.methods)
        self._whole = 0

    def load(self) -> dict[int, Trial]:
        """Return the trials that are there, by their numbers; a half-written last line counts for nothing."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            msg = f"cannot read {self._path}: {error.strerror or error}."
            raise MmdBoundsError(msg) from error
        if _line(self._header).startswith(content):  # killed before the first trial was there, or before that
            content = b""
        self._whole = content.rfind(b"\n") + 1
        first, *others = content[: self._whole].splitlines() or [b""]
        if content:
            self._check_header(first)
        trials: dict[int, Trial] = {}
        for number, line in enumerate(others, start=2):
            trial = self._trial(line, number)
            trials.setdefault(trial.trial, trial)
        return trials

    def begin(self) -> None:
        """Get ready to keep trials: drop a half-written last line, write the first line of a new file."""
        try:
            with self._path.open("ab") as file:
                file.truncate(self._whole)
            if not self._whole:
                self._append(_line(self._header))
        except OSError as error:
            self._refuse(error)

    def keep(self, trial: Trial) -> None:
        """Write one trial, whole and at once, so that a run that is stopped loses nothing."""
        try:
            self._append(_line(trial.to_dict()))
        except OSError as error:
            self._refuse(error)

    def _append(self, line: bytes) -> None:
        with self._path.open("ab", buffering=0) as file:
            written = file.write(line)
            if written != len(line):  # the disk is full
                file.truncate(file.tell() - (written or 0))
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _refuse(self, error: OSError) -> None:
        msg = f"cannot write {self._path}: {error.strerror or error}."
        raise MmdBoundsError(msg) from error

    def _check_header(self, line: bytes) -> None:
        """Refuse a file that is something else, or has trials of another question."""
        header = _parsed(line)
        if not isinstance(header, Mapping) or header.get("type") != TYPE:
            msg = f"{self._path} is no file of trials. Name another file for `checkpoint`."
            raise MmdBoundsError(msg)
        if header == self._header:
            return
        theirs, ours = header.get("asked"), self._header["asked"]
        known = theirs if isinstance(theirs, Mapping) else {}
        differs = [name for name in ours if known.get(name) != ours[name]] or ["schema"]
        msg = (
            f"{self._path} has trials of another question: it differs in {', '.join(differs)}. "
            "Name another file for `checkpoint`, or remove this one."
        )
        raise MmdBoundsError(msg)

    def _trial(self, line: bytes, number: int) -> Trial:
        try:
            trial = Trial.from_dict(_parsed(line))
        except DataError:
            trial = None
        if trial is None or not isinstance(trial.trial, int) or set(trial.bounds) != self._labels:
            msg = f"line {number} of {self._path} is no trial. Remove that line, and the trial is run again."
            raise MmdBoundsError(msg)
        return trial


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _checked_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not str(path):
        msg = f"`checkpoint` must be the name of a file; got {path!r}."
        raise MmdBoundsError(msg)
    return Path(path)
