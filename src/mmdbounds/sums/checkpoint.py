"""Sums over pairs that survive being stopped.

All the time of a search goes into a few long sums; whatever else it does is soon done again. Each of
them goes by a digest of what was asked, so nothing hangs on the order in which two threads ask, and
another method or share on the same rows finds there what it needs. Strips are added in a fixed order
(`blocked.py`), so a sum that goes on from where it was ends with the same bits.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np

from mmdbounds.atomic_write import check_writable, write_whole
from mmdbounds.checks import check_path
from mmdbounds.errors import MmdBoundsError, MmdBoundsWarning, warn
from mmdbounds.journal import other_problem
from mmdbounds.sums.kept import Kept, file_content, key_of, read_kept
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import Float64s, Rows, n_selected

WORTH = 200_000_000
"""Kernel values from which on a sum is kept: fewer are computed again in a second."""

INTERVAL, PAUSE = 20.0, 50.0
"""Seconds between two writings at the least, and how many times as long as the last one took."""

ROOM = 0.25
"""Share of the memory budget for what is kept; beyond that the sums of the fewest pairs are dropped."""


class Checkpoint:
    """A file of sums over the pairs of one set of rows with one kernel.

    Use it as a context: at the end, and when something goes wrong, it is written once more.

    Parameters
    ----------
    path
        The file; made when there is something worth keeping.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = check_path(path, "checkpoint")
        check_writable(self._path, is_read=True)
        self._theirs, self._sums = read_kept(self._path)
        self._of: dict[str, Any] | None = None
        self._room = 0.0
        self._lock = threading.Lock()
        self._is_changed = self._has_failed = False
        self._next = time.monotonic() + INTERVAL

    def attach(self, of: dict[str, Any], working_memory: float) -> None:
        """Say whose sums are to be kept (`kept.fingerprint`); a file with those of others is refused."""
        theirs = of if self._theirs is None else self._theirs
        if differs := [name for name in of if theirs.get(name) != of[name]]:
            raise other_problem(self._path, "sums", differs)
        self._of, self._room = of, ROOM * working_memory * MIB

    def sums(
        self, A: Rows, B: Rows, W: Float64s, order: tuple[Any, ...], n_strips: int, n_pairs: int
    ) -> Kept | None:
        """Return K[A, B] @ W as far as it has come, `None` if it is not worth keeping.

        `order` is all else that decides how kernel values are computed and in which order they are added.
        """
        shape = n_selected(A), W.shape[1]
        if self._of is None or n_pairs < WORTH or 8 * math.prod(shape) > self._room:
            return None
        key = key_of(A, B, W, order)
        with self._lock:
            found = self._sums.get(key)
            if found is None or found.values.shape != shape or found.n_strips != n_strips:
                found = self._sums[key] = Kept(np.zeros(shape), 0, n_strips, n_pairs)
            return found

    @contextmanager
    def adding(self, kept: Kept) -> Iterator[None]:
        """Add a strip to a sum while no other thread does; now and then, write the file."""
        with self._lock:
            kept.is_torn = True  # a Ctrl-C in the middle leaves it so
            yield
            kept.done += 1
            kept.is_torn = False
            self._is_changed = True
            if kept.is_finished:
                self._make_room()
            if time.monotonic() >= self._next:
                self._write()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            # What was written last is better than a torn sum.
            if self._is_changed and not any(kept.is_torn for kept in self._sums.values()):
                self._write()
            self._next = math.inf  # a thread that has not ended yet must not write any more

    def _make_room(self) -> None:
        """Drop finished sums, those of the fewest pairs first, until the others fit."""
        finished = [key for key, kept in self._sums.items() if kept.is_finished]
        finished.sort(key=lambda key: self._sums[key].n_pairs, reverse=True)
        while finished and sum(kept.values.nbytes for kept in self._sums.values()) > self._room:
            del self._sums[finished.pop()]

    def _write(self) -> None:
        started = time.monotonic()
        try:
            write_whole(self._path, file_content(self._of or {}, self._sums))
            self._is_changed = False
        except MmdBoundsError as error:
            if not self._has_failed:  # the sums are worth more than the file
                self._has_failed = True
                warn(f"{error} The work continues, but cannot be resumed if it is stopped.", MmdBoundsWarning)
        now = time.monotonic()
        self._next = now + max(INTERVAL, PAUSE * (now - started))
