"""The one way to compile a loop; without numba it stays Python.

numba caches what it has compiled in a folder. If none can be written to (a read-only installation, a full
disk), each process compiles the loops again, which takes a few seconds and changes nothing else.

Only `entry` functions, which Python calls, are cached. A `part`, which compiled code calls, is inlined into
every entry that calls it. Compiled by itself it would exist twice, in its own library and, optimised once
more, in that of the entry. The loader takes whichever it meets first: one in a process that compiles, the
other in one that finds the entry on disk. Where the compiler may order a sum, they differ in the last bit.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import types
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

Decorator = Callable[[Callable[..., Any]], Any]


def numba_is_there() -> bool:
    """Return whether loops are compiled."""
    return sys.modules.get("numba") is not None or importlib.util.find_spec("numba") is not None


def entry(fastmath: Collection[str] = (), sources: Iterable[Path] = ()) -> Decorator:
    """Return a decorator that compiles functions which Python calls, to run without the interpreter lock.

    `fastmath` are LLVM's flags. They are stated in the file of the function, because numba looks only there
    for changes. `sources` are other files whose functions become a part of the code.
    """
    files = sorted(sources)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest() if files else ""

    def compiled(function: Callable[..., Any]) -> Any:
        if not _can_compile():
            return function
        return Entry(_depending(function, digest) if digest else function, fastmath)

    return compiled


def part(fastmath: Collection[str] = ()) -> Decorator:
    """Return a decorator that compiles functions which compiled functions call, inlined into each of them."""
    return lambda function: _compiled(function, fastmath, forceinline=True) if _can_compile() else function


class Entry:
    """A function that Python calls, compiled once for each kind of arguments, or found on disk.

    What is on disk is looked at before it is run: it may be damaged, or the code for arguments of other
    types, which two processes can leave that write at the same moment. It is then removed and made anew.
    """

    def __init__(self, function: Callable[..., Any], fastmath: Collection[str]) -> None:
        self._function, self._fastmath = function, fastmath
        self._ready: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        kinds = tuple(map(_kind, arguments))
        ready = self._ready.get(kinds)
        if ready is None:
            ready = self._ready[kinds] = self._prepared(arguments)
        return ready(*arguments)

    @property
    def n_from_disk(self) -> int:
        """How often code was found on disk."""
        return 0 if self._kept is None else sum(self._kept.stats.cache_hits.values())

    @cached_property
    def _kept(self) -> Any:
        """The function with code that is kept on disk, `None` where no folder can be written to."""
        try:
            return _compiled(self._function, self._fastmath, cache=True)
        except (RuntimeError, OSError):
            return None

    @cached_property
    def _fresh(self) -> Any:
        """The function with code that this process compiles for itself."""
        return _compiled(self._function, self._fastmath)

    def _prepared(self, arguments: tuple[Any, ...]) -> Any:
        from numba import typeof

        signature = tuple(map(typeof, arguments))
        for _ in range(2 if self._kept is not None else 0):
            # Reading a damaged file can raise anything, and writing may fail once all is compiled.
            with suppress(Exception):
                self._kept.compile(signature)
            if signature in self._kept.signatures:
                return self._kept
            self._remove()
        return self._fresh

    def _remove(self) -> None:
        """Remove what is on disk of the function; if that fails, this process does without."""
        with suppress(OSError):
            for file in Path(self._kept.stats.cache_path).glob(f"*.{self._function.__name__}-*.nb[ci]"):
                file.unlink()


def _kind(argument: Any) -> Any:
    """Return what the compiler tells arguments apart by."""
    if isinstance(argument, np.ndarray):
        return argument.dtype, argument.ndim, argument.flags.num
    if isinstance(argument, tuple):
        return tuple(map(_kind, argument))
    return type(argument)


def _depending(function: Callable[..., Any], digest: str) -> Callable[..., Any]:
    """Return the function with a digest that it never reads in its closure.

    numba asks whether code on disk is still that of the function, and the closure is part of the answer.
    """
    code = function.__code__.replace(co_freevars=("_digest_of_sources",))
    cell = (types.CellType(digest),)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, cell)
    made.__qualname__, made.__module__, made.__doc__ = (
        function.__qualname__,
        function.__module__,
        function.__doc__,
    )
    return made


def _can_compile() -> bool:
    """Return whether numba can be imported; without it all is slower, not wrong."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def _compiled(function: Callable[..., Any], fastmath: Collection[str], **options: Any) -> Any:
    from numba import njit

    return njit(nogil=True, error_model="numpy", fastmath=set(fastmath), **options)(function)
