"""Rounds of drawn calls until the time is up: each with its own seed, a failure made simple and shown."""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from fuzzing.properties import Refused, Violation
from fuzzing.reproducer import reproducer

FIRST_SECONDS, ROUND_SECONDS = 6.0, 20.0
"""Of a property's first round, so that each has its turn soon, and of a later one at the most."""

ROUND_EXAMPLES = 400
SHRINK_SECONDS = 20.0


@dataclass
class Tally:
    """What has been drawn so far, and how it ended."""

    calls: Counter = field(default_factory=Counter)
    refused: int = 0
    skipped: int = 0

    def line(self, seconds, n_violations):
        by_name = ", ".join(f"{name} {count:,}" for name, count in self.calls.items())
        return (
            f"{seconds:6.0f} s: {self.calls.total():,} calls ({by_name}), {self.refused:,} refused, "
            f"{self.skipped:,} too large; {n_violations} violation{'' if n_violations == 1 else 's'}"
        )


class Round:
    """One property, one seed: examples until one fails or the time of the round is up."""

    def __init__(self, prop, tally, until):
        self._prop, self._tally, self._until = prop, tally, until
        self._failures = {}
        self._shrink_until = self._last = None

    def run(self, number, database):
        """Return the simplest call that fails and why, or None."""
        draw = settings(
            max_examples=ROUND_EXAMPLES,
            deadline=None,
            database=database,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.reuse, Phase.generate, Phase.shrink],
            verbosity=Verbosity.quiet,
        )
        try:
            seed(number)(draw(given(self._prop.strategy)(self._example)))()
        except Violation as violation:
            return self._last, str(violation)  # the simplest one is run once more at the end
        return None

    def _example(self, call):
        reason = self._failures.get(call)  # the same every time, whatever the clock says
        if reason is None and time.monotonic() <= (self._shrink_until or self._until):
            reason = self._reason(call)
        if reason is None:
            return
        if not self._failures:
            self._shrink_until = time.monotonic() + SHRINK_SECONDS
            say(f"VIOLATION of {self._prop.name}: {reason}\n  making it simpler ...")
        self._failures[call], self._last = reason, call
        raise Violation(reason)

    def _reason(self, call):
        """Return why a call fails, None if it does not."""
        if not call.can_be_made:
            self._tally.skipped += 1
            return None
        self._tally.calls[self._prop.name] += 1
        try:
            self._prop.check(call)
        except Refused:
            self._tally.refused += 1
        except Violation as violation:
            return str(violation)
        except Exception as error:  # of a second call that the check makes, or of the check itself
            return f"{type(error).__name__} in the check: {error}"
        return None


def fuzz(properties, *, seconds, first_seed, database, keep_going=False):
    """Run rounds of all properties in turn; return how many were violated."""
    started = time.monotonic()
    tally, violated = Tally(), Counter()
    until = started + seconds
    for number in itertools.count(first_seed):
        left = [prop for prop in properties if keep_going or prop.name not in violated]
        for prop in left:
            allowed = min(FIRST_SECONDS * (1 + number - first_seed), ROUND_SECONDS)
            kept = DirectoryBasedExampleDatabase(database / prop.name)
            found = Round(prop, tally, min(until, time.monotonic() + allowed)).run(number, kept)
            if found is not None:
                violated[prop.name] += 1
                show(prop, *found, number, time.monotonic() - started)
        say(tally.line(time.monotonic() - started, violated.total()))
        if time.monotonic() >= until or (len(violated) == len(properties) and not keep_going):
            break
    return violated.total()


def show(prop, call, reason, number, seconds):
    """Print a failing call as code."""
    say(
        f"\n--- {prop.name} is violated (seed {number}, after {seconds:.0f} s) ---\n{reason}\n\n"
        f"{reproducer(call, prop.name)}---\n"
    )


def say(text):
    """Print a line at once, also where a file is watched."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
