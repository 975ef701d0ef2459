"""A fork waits until no thread of ours is inside BLAS.

A child has only the thread that forked, and inherits the locks of the others as they were: one that OpenBLAS
held at that moment stays locked for ever, and the child hangs in its first product. So work on a block is
announced here, and whoever forks waits for the blocks under way, a moment each.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 60.0
"""Seconds that a fork waits at the most: better a fork that may fail than none."""

_changed = threading.Condition(threading.Lock())
_at_work: dict[int, int] = {}
"""How deep each thread is in such work."""
_n_forks = 0
"""Forks that wait or are under way."""


@contextmanager
def no_fork() -> Iterator[None]:
    """Do a short piece of work during which no other thread forks."""
    me = threading.get_ident()
    with _changed:
        if me not in _at_work:
            _changed.wait_for(lambda: _n_forks == 0, PATIENCE)
        _at_work[me] = _at_work.get(me, 0) + 1
    try:
        yield
    finally:
        with _changed:
            _at_work[me] -= 1
            if not _at_work[me]:
                del _at_work[me]
            _changed.notify_all()


def _before() -> None:
    global _n_forks  # noqa: PLW0603 -- forks are the process's
    me = threading.get_ident()
    with _changed:
        _n_forks += 1
        _changed.wait_for(lambda: not _at_work.keys() - {me}, PATIENCE)


def _in_parent() -> None:
    global _n_forks  # noqa: PLW0603
    with _changed:
        _n_forks -= 1
        _changed.notify_all()


def _in_child() -> None:
    """Begin anew: the other threads are not here."""
    global _changed, _n_forks  # noqa: PLW0603
    me = threading.get_ident()
    _changed = threading.Condition(threading.Lock())
    _n_forks = 0
    for other in _at_work.keys() - {me}:
        del _at_work[other]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
