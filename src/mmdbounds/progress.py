"""Counting kernel values, and a line on standard error, wiped in the end, that shows how far the work is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Self, TextIO

PATIENCE = 2.0  # seconds before the line appears: short work needs none
SETTLED = 1.0  # seconds after the first values before a speed is shown: several threads may report at once
INTERVAL = 0.2  # seconds between two refreshes of the line
BAR = 24  # characters of the bar


def show_by_default() -> bool:
    """Return whether somebody is watching: a terminal, or a notebook."""
    if "ipykernel" in sys.modules:
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):  # there is none, or it is closed
        return False


class Stopped(Exception):  # noqa: N818 -- not an error
    """Raised in a thread whose work is no longer wanted."""


class Meter:
    """Counts kernel values (`n_pairs`); shows the share done and the time left.

    `total` estimates the kernel values in all, 0 if unknown. The line goes to `stream`, by default standard
    error; with ``show=None`` only if somebody is watching. `clock` returns seconds and never goes back.
    """

    def __init__(
        self,
        total: int = 0,
        *,
        show: bool | None = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.n_pairs = 0
        self.total = total
        self._at_hand = 0
        self._began: tuple[float, int] | None = None
        self._show = show_by_default() if show is None else show
        self._stream = stream
        self._clock = clock
        self._start = self._last = clock()
        self._width = 0
        self._lock = threading.Lock()
        self._stopped = False

    def add(self, pairs: int) -> None:
        """Count `pairs` more kernel values, from any thread; end the thread's work after `stop`."""
        if self._stopped:
            raise Stopped
        with self._lock:
            self.n_pairs += pairs
            if self._began is None:  # before that, code was compiled and rows were prepared
                self._began = self._clock() - self._start, self.n_pairs
            self._refresh()

    def skip(self, pairs: int) -> None:
        """Note that this number of the expected kernel values need not be computed: their sums are known."""
        with self._lock:
            self._at_hand += pairs

    def prove(self, share: float) -> None:
        """Show the share of the effort for a proof that is spent; end the thread's work after `stop`."""
        if self._stopped:
            raise Stopped
        with self._lock:
            self._refresh(f"proving: {share:.0%} of the effort spent")

    def _refresh(self, text: str = "") -> None:
        now = self._clock()
        is_due = self._show and now - self._start > PATIENCE and now - self._last > INTERVAL
        if is_due and (text := text or self.line(now - self._start)):
            self._last = now
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)

    def stop(self) -> None:
        """Make every thread that counts here stop at its next kernel values, because one has failed."""
        self._stopped = True

    def line(self, seconds: float) -> str:
        """Return the line shown after this number of seconds; nothing while the speed is unknown."""
        then, first = self._began or (0.0, 0)
        if self._began is not None and (self.n_pairs == first or seconds - then < SETTLED):
            return ""
        rate = (self.n_pairs - first) / max(seconds - then, 1e-9)
        speed = f"{rate / 1e6:,.0f} M pairs/s"
        if not self.total:
            return f"{self.n_pairs / 1e6:,.0f} M pairs  {speed}"
        done = self.n_pairs + self._at_hand
        return _bar(min(done / self.total, 1.0), speed, (self.total - done) / max(rate, 1.0))

    def close(self) -> None:
        """Wipe the line."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _write(self, text: str) -> None:
        stream = sys.stderr if self._stream is None else self._stream
        try:
            stream.write(text)
            stream.flush()
        except (AttributeError, ValueError, OSError):
            self._show = False  # there is no stream or it is closed; the work continues

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:  # Ctrl-C may have come while this thread was waiting for another one
            self.stop()
        self.close()


class TrialMeter(Meter):
    """The same for trials, which are few and of any length: `add` counts them one by one."""

    def line(self, seconds: float) -> str:
        """Return the line shown after this number of seconds."""
        done, total = self.n_pairs, self.total
        left = seconds * (total - done) / max(done, 1)
        return _bar(done / max(total, 1), f"{done:,} of {total:,} trials", left)


def _bar(share: float, done: str, seconds_left: float) -> str:
    when = f"{duration(seconds_left)} left" if seconds_left > 0 else "almost done"
    return f"[{'#' * int(BAR * share):<{BAR}}] {share:4.0%}  {done}  {when}"


def duration(seconds: float) -> str:
    """Return a duration as people say it: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
