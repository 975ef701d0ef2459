"""Sums over pairs that survive being stopped, and the file that holds them.

All the time of a search goes into a few long sums; everything else is soon done again. Each sum is found by
a digest of what it sums, so nothing depends on the order in which two threads ask, and another method or
share on the same rows finds there what it needs. Strips are added in a fixed order (`cpu.blocked`), so a sum
that continues from where it stopped ends with the same bits.

The file is a journal (`mmdbounds.journal`) of one text and the values of each sum; nothing in it is
unpickled. It holds sums and digests, no row's values.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from mmdbounds import journal
from mmdbounds._version import __version__
from mmdbounds.atomic_write import check_writable, write_whole
from mmdbounds.checks import check_path
from mmdbounds.errors import MmdBoundsError, MmdBoundsWarning, warn
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel
from mmdbounds.kernels.registry import is_shipped
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.points import kernel_matrix
from mmdbounds.sums.protocol import Float64s, Rows, n_selected

TYPE, SCHEMA = "mmdbounds checkpoint", 2

WORTH = 200_000_000  # kernel values from which on a sum is kept: fewer are computed again in a second
INTERVAL, PAUSE = 20.0, 50.0  # seconds between two writings, and how many times as long as the last one took
ROOM = 0.25  # share of the memory budget for what is kept; beyond, sums of the fewest pairs are dropped
HASHED_ROWS = 1 << 14  # rows that are hashed at a time, so that they need not be copied whole
PROBED_ROWS = 16  # rows whose kernel values tell one function from another


@dataclass(eq=False)
class PartialSum:
    """One sum, K[A, B] @ W, finished or under way."""

    values: Float64s
    done: int  # strips, which are added in their order
    n_strips: int
    n_pairs: int  # kernel values that the whole sum takes
    is_torn: bool = False  # a strip has been added in part

    @property
    def is_finished(self) -> bool:
        """Whether all strips have been added."""
        return self.done == self.n_strips


class Checkpoint:
    """A file of sums over the pairs of one set of rows with one kernel, made when there is one worth keeping.

    Use it as a context: at the end, and when something goes wrong, it is written once more.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = check_path(path, "checkpoint")
        check_writable(self._path, is_read=True)
        self._theirs, self._sums = read_sums(self._path)
        self._of: dict[str, Any] | None = None
        self._room = 0.0
        self._lock = threading.Lock()
        self._is_changed = self._has_failed = False
        self._next = time.monotonic() + INTERVAL

    def attach(self, of: dict[str, Any], working_memory: float) -> None:
        """Say whose sums are to be kept (`fingerprint`); a file with those of others is refused."""
        theirs = of if self._theirs is None else self._theirs
        if differs := [name for name in of if theirs.get(name) != of[name]]:
            raise journal.other_problem(self._path, "sums", differs)
        self._of, self._room = of, ROOM * working_memory * MIB

    def sums(
        self, A: Rows, B: Rows, W: Float64s, order: tuple[Any, ...], n_strips: int, n_pairs: int
    ) -> PartialSum | None:
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
                found = self._sums[key] = PartialSum(np.zeros(shape), 0, n_strips, n_pairs)
            return found

    def recalled(self, key: str, shape: tuple[int, int]) -> Float64s | None:
        """Return what was kept under a digest of all that decides it, `None` if it is not there."""
        with self._lock:
            found = self._sums.get(key)
        return None if found is None or found.values.shape != shape else found.values.copy()

    def remember(self, key: str, values: Float64s, n_pairs: int) -> None:
        """Keep values that took about `n_pairs` kernel values to compute."""
        kept = PartialSum(values.copy(), 0, 1, n_pairs)
        if self._of is not None and n_pairs >= WORTH and values.nbytes <= self._room:
            with self.adding(kept):
                self._sums[key] = kept

    @contextmanager
    def adding(self, kept: PartialSum) -> Iterator[None]:
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


def fingerprint(Z: Float64s, kernel: Kernel, dtype: str) -> dict[str, Any]:
    """Return what decides the kernel values of the pooled rows `Z`, as plain data."""
    options: dict[str, Any] = {"name": kernel.name, **kernel.options()}
    if isinstance(kernel, FunctionKernel | PairKernel) and not is_shipped(kernel):
        # Its name says little, what it returns for a few rows nearly all.
        some = Z[:: max(1, len(Z) // PROBED_ROWS)]
        options["values"] = digest_of_rows(kernel_matrix(some, kernel)[0])
    return {
        "rows": digest_of_rows(Z),
        "kernel": options,
        "bandwidth": kernel.length,
        "dtype": dtype,
        "version": __version__,
    }


def digest_of_rows(Z: Float64s) -> str:
    """Return the SHA-256 of rows; -0 and 0 are the same value."""
    digest = hashlib.sha256(repr(Z.shape).encode())
    for start in range(0, len(Z), HASHED_ROWS):
        digest.update(np.ascontiguousarray(Z[start : start + HASHED_ROWS] + 0.0).data)
    return digest.hexdigest()


def key_of(A: Rows, B: Rows, W: Float64s, order: tuple[Any, ...]) -> str:
    """Return the digest of a sum K[A, B] @ W and of the order in which it is added up."""
    digest = hashlib.sha256(repr((order, W.shape)).encode())
    for rows in (A, B):
        digest.update(repr(rows).encode() if isinstance(rows, slice) else np.ascontiguousarray(rows).data)
    digest.update(np.ascontiguousarray(W).data)
    return digest.hexdigest()


def file_content(of: dict[str, Any], sums: dict[str, PartialSum]) -> Iterator[bytes | memoryview]:
    """Yield the content of a file with these sums, in parts that are not copies of them."""
    counts = ("done", "n_strips", "n_pairs")
    about = {
        key: {**{name: getattr(kept, name) for name in counts}, "shape": list(kept.values.shape)}
        for key, kept in sums.items()
    }
    header = json.dumps({"type": TYPE, "schema": SCHEMA, "of": of, "sums": about}).encode()
    values = (np.ascontiguousarray(kept.values, dtype="<f8").ravel().data for kept in sums.values())
    yield from journal.framed([header, *values])


def read_sums(path: Path) -> tuple[dict[str, Any] | None, dict[str, PartialSum]]:
    """Return whose sums a file has, and the sums; `None` and none if it is not there, or empty."""
    found = journal.read_journal(path)
    if found is None:
        return None, {}
    try:
        if found.is_torn:  # it is written whole: something has cut it
            raise journal.damaged(path)
        return _parsed_sums(found.records)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise journal.damaged(path) from None


def _parsed_sums(records: list[memoryview]) -> tuple[dict[str, Any], dict[str, PartialSum]]:
    header = json.loads(bytes(records[0]))
    if (header["type"], header["schema"]) != (TYPE, SCHEMA):
        msg = "something else"
        raise ValueError(msg)
    pairs = zip(header["sums"].items(), records[1:], strict=True)
    return dict(header["of"]), {key: _parsed_sum(record, about) for (key, about), record in pairs}


def _parsed_sum(record: memoryview, about: dict[str, Any]) -> PartialSum:
    done, n_strips, n_pairs = (int(about[name]) for name in ("done", "n_strips", "n_pairs"))
    n_rows, n_columns = about["shape"]
    if not 0 <= done <= n_strips:
        msg = "no sum"
        raise ValueError(msg)
    # A copy, which can be added to.
    values = np.frombuffer(record, dtype="<f8").reshape(n_rows, n_columns).astype(np.float64)
    return PartialSum(values, done, n_strips, n_pairs)
