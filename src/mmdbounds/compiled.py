"""The one way to compile a loop; without numba it stays Python.

numba caches what it has compiled in a folder. If none can be written to (a read-only installation, a full
disk), each process compiles the loops again, which takes a few seconds and changes nothing else.

Only `entry` functions, which Python calls, are cached. A `part`, which compiled code calls, is inlined into
every entry that calls it. Compiled by itself it would exist twice, in its own library and, optimised once
more, in that of the entry. The loader takes whichever it meets first: one in a process that compiles, the
other in one that finds the entry on disk. Where the compiler may order a sum, they differ in the last bit.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

Decorator = Callable[[Callable[..., Any]], Any]


def numba_is_there() -> bool:
    """Return whether loops are compiled."""
    return sys.modules.get("numba") is not None or importlib.util.find_spec("numba") is not None


def entry(fastmath: Collection[str] = (), sources: Iterable[Path] = ()) -> Decorator:
    """Return a decorator that compiles functions which Python calls, to run without the interpreter lock.

    `fastmath` are LLVM's flags. They are stated in the file of the function, because numba looks only there
    for changes. `sources` are other files whose functions become a part of the code.
    """
    stamp = tuple((path.name, path.stat().st_mtime, path.stat().st_size) for path in sorted(sources))
    return lambda function: _cached(function, fastmath, stamp)


def part(fastmath: Collection[str] = ()) -> Decorator:
    """Return a decorator that compiles functions which compiled functions call, inlined into each of them."""
    return lambda function: _compiled(function, fastmath, forceinline=True)


def _compiled(function: Callable[..., Any], fastmath: Collection[str], **options: Any) -> Any:
    try:
        from numba import njit
    except ImportError:  # slower, not wrong
        return function
    return njit(nogil=True, error_model="numpy", fastmath=set(fastmath), **options)(function)


def _cached(function: Callable[..., Any], fastmath: Collection[str], stamp: tuple[Any, ...]) -> Any:
    """Compile, and cache the code on disk if possible."""
    try:
        dispatcher = _compiled(function, fastmath, cache=True)
    except (RuntimeError, OSError):  # no folder can be written to
        return _compiled(function, fastmath)
    if hasattr(dispatcher, "_cache"):
        if stamp:
            file = dispatcher._cache._cache_file
            file._source_stamp = (file._source_stamp, stamp)
        dispatcher._cache = _Forgiving(dispatcher._cache)
    return dispatcher


class _Forgiving:
    """numba's cache of one function; what it cannot read or write is compiled again, silently."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature, `None` if it is missing or damaged."""
        try:
            found = self._cache.load_overload(signature, context)
        except Exception:  # unpickling what is left of a file can raise anything
            with suppress(OSError):
                self._cache.flush()
            return None
        # Two processes that write at the same moment can leave one's index and the other's code.
        is_right = found is not None and tuple(found.signature.args) == tuple(signature)
        return found if is_right else None

    def save_overload(self, signature: Any, found: Any) -> None:
        """Cache the code for a signature, unless the disk is full or the folder is gone."""
        with suppress(OSError):
            self._cache.save_overload(signature, found)
