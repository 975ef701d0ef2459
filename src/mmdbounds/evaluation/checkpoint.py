"""A file of trials that survives being stopped: what was asked in its first record, then one trial each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from mmdbounds import journal
from mmdbounds.atomic_write import check_writable
from mmdbounds.checks import check_path
from mmdbounds.errors import DataError
from mmdbounds.evaluation.asked import Asked
from mmdbounds.results.evaluation import Trial

TYPE, SCHEMA = "mmdbounds evaluation trials", 2


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
        self._path = check_path(path, "checkpoint")
        self._header: dict[str, Any] = {"type": TYPE, "schema": SCHEMA, "asked": asked.fingerprint()}
        self._labels = set(asked.methods)
        self._kept: journal.Contents | None = None

    def load(self) -> dict[int, Trial]:
        """Return the trials that are there, by their numbers; one that is half written counts for nothing."""
        self._kept = journal.read_journal(self._path)
        if self._kept is None or not self._kept.records:
            return {}
        first, *others = self._kept.records
        self._check_header(_parsed(first))
        trials: dict[int, Trial] = {}
        for record in others:
            trial = self._trial(_parsed(record))
            trials.setdefault(trial.trial, trial)
        return trials

    def begin(self) -> None:
        """Get ready to keep trials: drop a half-written one, write the first record of a new file."""
        check_writable(self._path, is_read=True)
        if self._kept is not None and self._kept.is_torn:
            journal.drop_torn(self._path, self._kept.n_bytes)
        if self._kept is None or not self._kept.records:
            journal.append(self._path, _content(self._header))

    def keep(self, trial: Trial) -> None:
        """Write one trial, whole and at once, so that a run that is stopped loses nothing."""
        journal.append(self._path, _content(trial.to_dict()))

    def _check_header(self, header: Any) -> None:
        """Refuse a file that is something else, or has trials of another problem."""
        if not isinstance(header, Mapping) or header.get("type") != TYPE:
            raise journal.damaged(self._path)
        if header == self._header:
            return
        theirs, ours = header.get("asked"), self._header["asked"]
        known = theirs if isinstance(theirs, Mapping) else {}
        differs = [name for name in ours if known.get(name) != ours[name]] or ["schema"]
        raise journal.other_problem(self._path, "trials", differs)

    def _trial(self, saved: Any) -> Trial:
        try:
            trial = Trial.from_dict(saved)
        except DataError:
            trial = None
        if trial is None or not isinstance(trial.trial, int) or set(trial.bounds) != self._labels:
            raise journal.damaged(self._path)
        return trial


def _content(data: dict[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False).encode()


def _parsed(record: memoryview) -> Any:
    try:
        return json.loads(bytes(record))
    except ValueError:
        return None
