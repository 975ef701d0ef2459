"""Counting work, and one line on standard error, wiped in the end, that shows how far it is.

Work is planned in phases (`Phase`), each with what is expected to be counted in it. The line says which phase
it is and the time left: at first from the plan, then from the speed that was measured.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self, TextIO

PATIENCE = 2.0  # seconds before the line appears: short work needs none
SETTLED = 1.0  # seconds after the first values before a speed is shown: several threads may report at once
INTERVAL = 0.2  # seconds between two refreshes of the line...
IN_NOTEBOOK = 1.0, 0.05  # ... in a notebook, which may keep all of them: seconds, and share of the time
IN_LOG = 30.0  # seconds between two lines in a file, unless a new phase begins
BAR = 24  # characters of the bar
PRIOR = 0.5  # seconds for which the plan is trusted beside what was measured...
TRUST = 0.1  # ... and share of a phase, as far as the phase itself goes
NEARLY = 0.99  # share of a phase that takes longer than was planned


@dataclass(frozen=True)
class Rates:
    """Seconds that a kernel value takes, a product with one more column of weights, and a unit of work."""

    pair: float = 5e-9
    product: float = 2e-10
    unit: float = 1e-8


@dataclass(frozen=True)
class Phase:
    """A part of the work, and what is expected of it.

    `products` are those of kernel values with further columns of weights, `units` all other work, in units
    of `Effort`, each `price` times as long as a unit mostly is. A proof mostly ends before its budget is
    spent: it takes `most` times as long at most. Of one that `is_open` nobody knows how long it takes.
    """

    name: str
    pairs: float = 0.0
    products: float = 0.0
    units: float = 0.0
    price: float = 1.0
    most: float = 1.0
    is_open: bool = False

    def seconds(self, rates: Rates) -> float:
        """Return how long it is likely to take."""
        units = self.units * self.price
        return self.pairs * rates.pair + self.products * rates.product + units * rates.unit

    def within(self, pairs: float, units: float) -> float:
        """Return how long it takes: as is likely or, once more than that was counted, at most."""
        return self.seconds(Rates()) * (self.most if self._ratio(pairs, units) > 1 else 1.0)

    def counted(self, pairs: float, units: float) -> float:
        """Return which share of the phase these kernel values and units are; 0 if none are expected."""
        ratio = self._ratio(pairs, units)
        return ratio / self.most if ratio > 1 else ratio

    def _ratio(self, pairs: float, units: float) -> float:
        expected = replace(self, products=0.0).seconds(Rates())
        done = replace(self, pairs=pairs, products=0.0, units=units).seconds(Rates())
        return done / expected if expected else 0.0


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
    """Counts kernel values (`n_pairs`) and other work (`n_units`); shows the phase and the time left.

    `plan` is the number of kernel values in all, 0 if unknown, or a function that returns the phases to come:
    it is called if they are shown. The line goes to `stream`, by default standard error; with ``show=None``
    only if somebody is watching. `clock` returns seconds and never goes back. All threads that work on one
    problem share one meter; of several meters at work at the same time the first one is shown.
    """

    _shown: weakref.ref[Meter] | None = None  # the one whose line is on the screen

    def __init__(
        self,
        plan: float | Callable[[], Iterable[Phase]] = 0,
        *,
        show: bool | None = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.n_pairs, self.n_units = 0, 0.0
        self._lock, self._stopped = threading.Lock(), False
        self._is_shown = (show_by_default() if show is None else show) and self._is_first()
        if not self._is_shown:
            return
        self._named, self._clock, self._line = callable(plan), clock, Line(stream, clock)
        self._plan = tuple(plan()) if callable(plan) else (Phase("", pairs=plan),)
        self._took = self._foreseen = 0.0  # seconds of what was done so far: measured, and as planned
        self._farthest = 0.0  # the largest share shown
        self._began: tuple[float, float] | None = None
        self._enter(0, self._plan[0].name)

    def add(self, pairs: int) -> None:
        """Count `pairs` more kernel values, from any thread; end the thread's work after `stop`."""
        self._count(pairs, 0.0)

    def spend(self, units: float) -> None:
        """Count other work, in units of `Effort`; end the thread's work after `stop`."""
        self._count(0, units)

    def phase(self, name: str, done: int = 0, of: int = 0) -> None:
        """Begin a phase of the plan, or say that `done` of its `of` steps are done.

        A phase that is not in the plan is part of the one under way.
        """
        if self._stopped:
            raise Stopped
        if not self._is_shown:
            return
        with self._lock:
            if not self._named:
                self._label = name
            elif name != self._label:
                place = next((i for i, each in enumerate(self._plan) if each.name == name), -1)
                if place < self._place:
                    return
                self._leave()
                self._enter(place, name)
            self._steps = done, of
            self._refresh()

    def stop(self) -> None:
        """Make every thread that counts here stop at its next kernel values, because one has failed."""
        self._stopped = True

    def line(self, *, bar: bool = True) -> str:
        """Return the line as it is now; nothing while the speed is unknown."""
        now, share = self._clock(), self._share()
        phase, label = self._plan[self._place], self._shown_label()
        if not phase.seconds(Rates()) and not self._steps[1]:
            return self._speed(now, label)
        left = self._seconds_left(now, share)
        if left is None:
            return ""
        whole = sum(each.seconds(Rates()) for each in self._plan) if self._named else 0.0
        if whole:
            before = sum(each.seconds(Rates()) for each in self._plan[: self._place])
            share = (before + share * phase.seconds(Rates())) / whole
        self._farthest = max(self._farthest, share)
        when = f"{duration(left)} left" if left >= 0.5 else "almost done"
        shown = f"[{'#' * int(BAR * self._farthest):<{BAR}}] {self._farthest:4.0%}" if bar else ""
        return "  ".join(filter(None, [shown or f"{self._farthest:.0%}", label, when]))

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
            if not self._is_shown:
                return
            self._pairs += pairs
            self._units += units
            if self._began is None:  # before that, code was compiled and rows were prepared
                self._began = self._clock(), self._share()
                self._first = self._pairs
            self._refresh()

    def _enter(self, place: int, name: str) -> None:
        self._place, self._label, self._entered = place, name, self._clock()
        self._pairs, self._units, self._first = 0, 0.0, 0
        self._steps = 0, 0
        self._began = None  # when the first work was counted, and the share of the phase then

    def _leave(self) -> None:
        """Add up what the phase took, beside what was planned for so much of it."""
        share, expected = self._share(), self._plan[self._place].seconds(Rates())
        began, first = self._began or (self._entered, 0.0)
        self._took += self._clock() - began
        self._foreseen += (share - first if share else 1.0) * expected

    def _share(self) -> float:
        """Return which share of the phase is done."""
        phase, (done, of) = self._plan[self._place], self._steps
        counted = min(phase.counted(self._pairs, self._units), NEARLY)
        if not of:
            return counted
        return min(max(done / of, min(counted, (done + 1) / of)), 1.0)

    def _seconds_left(self, now: float, share: float) -> float | None:
        """Return how long the phase and those after it will take; `None` if that is not known yet."""
        began, first = self._began or (self._entered, 0.0)
        took, expected = now - began, self._plan[self._place].within(self._pairs, self._units)
        pace, trust = (self._took + PRIOR) / (self._foreseen + PRIOR), max(PRIOR, TRUST * expected)
        if not self._named or not expected:
            if took < SETTLED or share <= first:
                return None
            here = (1 - share) / (share - first) * took
        elif share > first:
            done = (share - first) * expected
            here = (1 - share) * expected * (took + trust * pace) / (done + trust)
            pace = (self._took + took + PRIOR) / (self._foreseen + done + PRIOR)
        else:
            here = max((1 - share) * expected * pace - (0.0 if share else took), 0.0)
        return here + pace * sum(each.seconds(Rates()) for each in self._plan[self._place + 1 :])

    def _speed(self, now: float, label: str) -> str:
        """Return the line of a phase of which nobody knows how much there is to do."""
        began = now if self._began is None else self._began[0]
        if now - began < SETTLED or self._pairs == self._first:
            return label
        rate = (self._pairs - self._first) / (now - began)
        counted = f"{self._pairs / 1e6:,.0f} M pairs"
        return "  ".join(filter(None, [label, counted, f"{rate / 1e6:,.0f} M pairs/s"]))

    def _shown_label(self) -> str:
        done, of = self._steps
        return f"{self._label} {min(done + 1, of):,} of {of:,}" if of else self._label

    def _refresh(self) -> None:
        if self._line.is_due(self._label) and (text := self.line(bar=self._line.in_place)):
            self._is_shown = self._line.write(text, self._label)

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
