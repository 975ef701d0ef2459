"""Counting work, and one line on standard error, wiped in the end, that shows how far it is.

The line names the phase of the work and, where they are known, how many of its steps or kernel values are
done; and how long the call has taken so far.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Self, TextIO

PATIENCE = 2.0  # seconds before the line appears: short work needs none
INTERVAL = 0.2  # seconds between two refreshes of the line...
IN_NOTEBOOK = 1.0, 0.05  # ... in a notebook, which may keep all of them: seconds, and share of the time
IN_LOG = 30.0  # seconds between two lines in a file, unless a new phase begins


def show_by_default() -> bool:
    """Return whether somebody is watching: a terminal, or a notebook."""
    return _in_notebook() or _is_terminal(sys.stderr)


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError, OSError):  # it is closed, or something else
        return False


class Stopped(Exception):  # noqa: N818 -- not an error
    """Raised in a thread whose work is no longer wanted."""


class Meter:
    """Counts kernel values (`n_pairs`) and other work (`n_units`); shows the phase and the time so far.

    `phases` are the names of those that are shown, in their order. The line goes to `stream`, by default
    standard error; with ``show=None`` only if somebody is watching. `clock` returns seconds and never goes
    back. All threads that work on one problem share one meter; of several meters at work at the same time
    the first one is shown.
    """

    _shown: weakref.ref[Meter] | None = None  # the one whose line is on the screen

    def __init__(
        self,
        *phases: str,
        show: bool | None = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.n_pairs, self.n_units = 0, 0.0
        self._lock, self._stopped = threading.Lock(), False
        self._is_shown = (show_by_default() if show is None else show) and self._is_first()
        if not self._is_shown:
            return
        self._phases, self._clock, self._line = phases, clock, Line(stream, clock)
        self._started, self._label = clock(), phases[0] if phases else ""
        self._place, self._steps, self._before, self._planned = 0, (0, 0), 0, 0

    def add(self, pairs: int) -> None:
        """Count `pairs` more kernel values, from any thread; end the thread's work after `stop`."""
        self._count(pairs, 0.0)

    def spend(self, units: float) -> None:
        """Count other work, in units of `Effort`; end the thread's work after `stop`."""
        self._count(0, units)

    def phase(self, name: str, done: int = 0, of: int = 0, *, pairs: int = 0) -> None:
        """Begin a phase, say that `done` of its `of` steps are done, or that it computes so many `pairs`.

        A phase that is not one of those shown, or comes before the one under way, is part of it.
        """
        if self._stopped:
            raise Stopped
        if not self._is_shown:
            return
        with self._lock:
            if name != self._label:
                later = self._phases[self._place + 1 :]
                if name not in later:
                    return
                self._place += 1 + later.index(name)
                self._label, self._before, self._planned = name, self.n_pairs, 0
            self._steps, self._planned = (done, of), pairs or self._planned
            self._refresh()

    def stop(self) -> None:
        """Make every thread that counts here stop at its next kernel values, because one has failed."""
        self._stopped = True

    def line(self) -> str:
        """Return the line as it is now."""
        label, (done, of) = self._label, self._steps
        if of:
            label = f"{label} {min(done + 1, of):,} of {of:,}"
        elif self._planned:
            share = min((self.n_pairs - self._before) / self._planned, 1.0)
            label = f"{label} {share:.0%} of {self._planned / 1e6:,.0f} M pairs"
        return "  ".join(filter(None, [label, duration(self._clock() - self._started)]))

    def close(self) -> None:
        """Wipe the line."""
        if Meter._shown is not None and Meter._shown() is self:
            Meter._shown = None
            self._line.wipe(is_done=not self._stopped)

    def _is_first(self) -> bool:
        other = None if Meter._shown is None else Meter._shown()
        if other is None:
            Meter._shown = weakref.ref(self)
        return other is None

    def _count(self, pairs: int, units: float) -> None:
        if self._stopped:
            raise Stopped
        with self._lock:
            self.n_pairs += pairs
            self.n_units += units
            if self._is_shown:
                self._refresh()

    def _refresh(self) -> None:
        if self._line.is_due(self._label):
            self._is_shown = self._line.write(self.line(), self._label)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:  # Ctrl-C may have come while this thread was waiting for another one
            self.stop()
        self.close()


class Line:
    """Where the line goes: over itself on a terminal and in a notebook, now and then a new one in a file."""

    def __init__(self, stream: TextIO | None, clock: Callable[[], float]) -> None:
        self._stream, self._clock = stream, clock
        self._cell = Cell() if stream is None and _in_notebook() else None
        self._start = self._last = clock()
        self._phase, self._width = "", 0
        self.in_place = _in_notebook() or _is_terminal(sys.stderr if stream is None else stream)

    def is_due(self, phase: str) -> bool:
        """Return whether it is time for a new text."""
        now = self._clock()
        if now - self._start <= PATIENCE:
            return False
        if not self.in_place:
            return now - self._last > (PATIENCE if phase != self._phase else IN_LOG)
        if _in_notebook():
            least, share = IN_NOTEBOOK
            return now - self._last > max(least, share * (now - self._start))
        return now - self._last > INTERVAL

    def write(self, text: str, phase: str) -> bool:
        """Show a text; return whether there is somewhere to show it."""
        self._last, self._phase = self._clock(), phase
        if self._cell is not None:
            return self._cell.show(text)
        if not self.in_place:
            return self._put(f"mmdbounds: {text}\n")
        padded, self._width = text.ljust(self._width), len(text)
        return self._put("\r" + padded)

    def wipe(self, *, is_done: bool = True) -> None:
        """Leave nothing of it but what is in a file, and in a notebook how long it took."""
        if self._cell is not None:
            took = duration(self._clock() - self._start)
            self._cell.end(f"Done in {took}." if is_done else f"Stopped after {took}.")
        if self._width:
            self._put("\r" + " " * self._width + "\r")
            self._width = 0

    def _put(self, text: str) -> bool:
        stream = sys.stderr if self._stream is None else self._stream
        try:
            stream.write(text)
            stream.flush()
        except (AttributeError, ValueError, OSError):
            return False  # there is no stream or it is closed; the work continues
        return True


class Cell:
    """A line of a notebook's output that is replaced, so that a saved notebook has only the last one."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> bool:
        """Show a text in place of the one before; return whether there is somewhere to show it."""
        content = {"text/plain": text}
        try:
            if self._handle is None:
                from IPython.display import DisplayHandle

                self._handle = DisplayHandle()
                self._handle.display(content, raw=True)
            else:
                self._handle.update(content, raw=True)
        except Exception:  # whatever a frontend does, the work continues
            return False
        return True

    def end(self, text: str) -> None:
        """Show the last text, if one was shown."""
        if self._handle is not None:
            self.show(text)


def duration(seconds: float) -> str:
    """Return a duration as people say it: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
