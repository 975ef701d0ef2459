"""The file behind a checkpoint: sums over pairs, finished or under way, and whose they are.

It is a journal (`mmdbounds.journal`) of one text and the values of each sum; nothing in it is unpickled. It
holds sums and digests, no row's values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mmdbounds import journal
from mmdbounds._version import __version__
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel
from mmdbounds.kernels.registry import is_shipped
from mmdbounds.sums.pairs import kernel_matrix
from mmdbounds.sums.protocol import Float64s, Rows

TYPE, SCHEMA = "mmdbounds checkpoint", 2

HASHED_ROWS = 1 << 14
"""Rows that are hashed at a time, so that they need not be copied whole."""

PROBED_ROWS = 16
"""Rows whose kernel values tell one function from another."""


@dataclass(eq=False)
class Kept:
    """One sum, K[A, B] @ W, finished or under way.

    Attributes
    ----------
    values
        What has been added up.
    done, n_strips
        Strips added so far, in their order, and in all.
    n_pairs
        Kernel values that the whole sum takes.
    is_torn
        Whether a strip has been added in part.
    """

    values: Float64s
    done: int
    n_strips: int
    n_pairs: int
    is_torn: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether all strips have been added."""
        return self.done == self.n_strips


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


def file_content(of: dict[str, Any], sums: dict[str, Kept]) -> Iterator[bytes | memoryview]:
    """Yield the content of a file with these sums, in parts that are not copies of them."""
    about = {
        key: {
            "done": kept.done,
            "n_strips": kept.n_strips,
            "n_pairs": kept.n_pairs,
            "shape": list(kept.values.shape),
        }
        for key, kept in sums.items()
    }
    header = json.dumps({"type": TYPE, "schema": SCHEMA, "of": of, "sums": about}).encode()
    values = (np.ascontiguousarray(kept.values, dtype="<f8").ravel().data for kept in sums.values())
    yield from journal.framed([header, *values])


def read_kept(path: Path) -> tuple[dict[str, Any] | None, dict[str, Kept]]:
    """Return whose sums a file has, and the sums; `None` and none if it is not there, or empty."""
    found = journal.read_journal(path)
    if found is None:
        return None, {}
    try:
        if found.is_torn:  # it is written whole: something has cut it
            raise journal.damaged(path)
        return _parsed(found.records)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise journal.damaged(path) from None


def _parsed(records: list[memoryview]) -> tuple[dict[str, Any], dict[str, Kept]]:
    header = json.loads(bytes(records[0]))
    if (header["type"], header["schema"]) != (TYPE, SCHEMA):
        msg = "something else"
        raise ValueError(msg)
    pairs = zip(header["sums"].items(), records[1:], strict=True)
    return dict(header["of"]), {key: _one_sum(record, about) for (key, about), record in pairs}


def _one_sum(record: memoryview, about: dict[str, Any]) -> Kept:
    done, n_strips, n_pairs = (int(about[name]) for name in ("done", "n_strips", "n_pairs"))
    n_rows, n_columns = about["shape"]
    if not 0 <= done <= n_strips:
        msg = "no sum"
        raise ValueError(msg)
    # A copy, which can be added to.
    values = np.frombuffer(record, dtype="<f8").reshape(n_rows, n_columns).astype(np.float64)
    return Kept(values, done, n_strips, n_pairs)
