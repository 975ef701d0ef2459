"""One way to compile a loop, for every room that has one.

numba keeps what it has compiled in a folder: beside the sources, or in the user's cache, or where
``NUMBA_CACHE_DIR`` says. Where none of them can be written to (a read-only installation without a home,
a full disk) the loops are compiled again in each process, a few seconds, and nothing else is different.
Without numba they stay Python.

Only `entry` functions, which Python calls, are kept. A `part` is a function that compiled code calls, and it
becomes a piece of every entry that calls it. Were parts compiled by themselves, there would be two
versions of each, one in its own library and one, optimised once more, inside that of the entry; the
loader takes whichever it meets first, which is the one in a process that compiles and the other in a process
that finds the entry on disk. Where the compiler may choose the order of a sum, the two differ in the
last bit.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

Decorator = Callable[[Callable[..., Any]], Any]


def numba_is_there() -> bool:
    """Return whether loops are compiled."""
    return importlib.util.find_spec("numba") is not None


def entry(fastmath: Collection[str] = (), sources: Iterable[Path] = ()) -> Decorator:
    """Compile functions that Python calls, to run without the interpreter lock.

    Parameters
    ----------
    fastmath
        What the compiler may do to the arithmetic: LLVM's flags. They stand in the file that compiles,
        because numba looks only there for changes.
    sources
        Other files whose functions become a part of the code. When one of them changes, what is on disk is
        old.

    Returns
    -------
    callable
        A decorator.
    """
    stamp = tuple((path.name, path.stat().st_mtime, path.stat().st_size) for path in sorted(sources))
    return lambda function: _kept(function, fastmath, stamp)


def part(fastmath: Collection[str] = ()) -> Decorator:
    """Compile functions that compiled functions call, as a piece of each of them; see `entry`."""
    return lambda function: _compiled(function, fastmath, forceinline=True)


def _compiled(function: Callable[..., Any], fastmath: Collection[str], **options: Any) -> Any:
    try:
        from numba import njit
    except ImportError:  # slower, not wrong
        return function
    return njit(nogil=True, error_model="numpy", fastmath=set(fastmath), **options)(function)


def _kept(function: Callable[..., Any], fastmath: Collection[str], stamp: tuple[Any, ...]) -> Any:
    """Compile, and keep the code on disk if that can be done."""
    try:
        dispatcher = _compiled(function, fastmath, cache=True)
    except (RuntimeError, OSError):  # there is no folder that can be written to
        return _compiled(function, fastmath)
    if hasattr(dispatcher, "_cache"):
        if stamp:
            file = dispatcher._cache._cache_file
            file._source_stamp = (file._source_stamp, stamp)
        dispatcher._cache = _Forgiving(dispatcher._cache)
    return dispatcher


class _Forgiving:
    """numba's cache of one function; what it cannot read or write is compiled, and nobody hears of it."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature, `None` if it is not there or damaged."""
        try:
            found = self._cache.load_overload(signature, context)
        except Exception:  # unpickling what is left of a file can raise anything
            with suppress(OSError):
                self._cache.flush()
            return None
        # Two processes that write at the same moment can leave one's index and the other's code.
        is_asked_for = found is not None and tuple(found.signature.args) == tuple(signature)
        return found if is_asked_for else None

    def save_overload(self, signature: Any, found: Any) -> None:
        """Keep the code for a signature, unless the disk is full or the folder has gone."""
        with suppress(OSError):
            self._cache.save_overload(signature, found)
