"""What compiled code writes to standard error behind Python's back."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

from mmdbounds.errors import DataError

STDERR = 2


@contextmanager
def held_stderr() -> Iterator[None]:
    """Hold standard error back; drop it if a `DataError` says the same in one line, else show it.

    A damaged Parquet file makes polars print the stack of its threads before it raises.
    """
    with ExitStack() as stack:
        try:
            held = stack.enter_context(_somewhere())
            shown: int | None = os.dup(STDERR)
        except OSError:  # nowhere to hold it, or closed: nothing to keep clean
            shown = None
        if shown is None:
            yield
            return
        os.dup2(held.fileno(), STDERR)
        explained = False
        try:
            yield
        except DataError:
            explained = True
            raise
        finally:
            os.dup2(shown, STDERR)
            os.close(shown)
            if not explained:
                held.seek(0)
                _pass_on(held.read())


def _somewhere() -> IO[bytes]:
    """Return a file without a name: in memory where the system has that, else in the temporary folder."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("stderr"), "w+b")
    return tempfile.TemporaryFile()


def _pass_on(text: bytes) -> None:
    while text:
        try:
            text = text[os.write(STDERR, text) :]
        except OSError:
            return
