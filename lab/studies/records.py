"""What the studies share: a file of records that survives a stop, seeds, trials in processes, progress."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np

import mmdbounds as mb
from lab.paper.results import machine  # noqa: F401 -- for the pages of all studies
from mmdbounds.evaluation.process_pool import run_in_processes

RESULTS = Path(__file__).parent / "results"
SOLVED = 1e-9
"""A side whose proved and attained values differ by less is solved; the rounding margin is far below it."""

SEED_RULE = "the first 6 bytes of the SHA-256 of 'study|setting|trial'"


def seed_of(study, setting, trial):
    """Return the seed of a trial: from names alone, so that order and number of processes do not matter."""
    return int.from_bytes(hashlib.sha256(f"{study}|{setting}|{trial}".encode()).digest()[:6])


def fail(message):
    """End the program with one line; 1 is kept for what a study finds."""
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def load(path):
    """Return the records in a file, none if there is no file; drop a half-written last line from it."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):  # the run was killed while it wrote
        with path.open("r+b") as file:
            file.truncate(whole)
    records = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            records.append(json.loads(line))
        except ValueError:
            fail(f"line {number} of {path} is not a record. Remove it, and its trial is run again.")
    return records


def append(path, record):
    """Write one record, whole and at once, so that a run that is stopped loses nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, allow_nan=False) + "\n")


def collect(jobs, wanted, key, run, path, processes):
    """Return the records of all jobs, in their order, and how many had to be run.

    `wanted` are the keys of the jobs; `key` returns that of a record; `run` turns a job into a record.
    """
    done = {key(record): record for record in load(path)}
    missing = [job for job, name in zip(jobs, wanted, strict=True) if name not in done]
    progress = Progress(len(missing))
    with contextlib.closing(run_in_processes(run, missing, processes)) as running:
        for record in running:
            append(path, record)
            done[key(record)] = record
            progress.step()
    return [done[name] for name in wanted], len(missing)


def both_sides(filed, method):
    """Bound the filed groups of a simulation; return the numbers of both sides, and the bandwidth."""
    started = time.perf_counter()
    result = mb.mmd_bounds(filed.X, filed.Y, filed.contamination, method=method, estimator="unbiased", rng=0)
    seconds = time.perf_counter() - started
    numbers = {
        "lower": result.lower.value,
        "upper": result.upper.value,
        "lower_certified": result.lower.certified,
        "upper_certified": result.upper.certified,
        "seconds": seconds,
    }
    return numbers, result.provenance.bandwidth


def percent(share, digits=1):
    """Return a share as it is printed."""
    return f"{100 * share:.{digits}f} %"


def is_certified(run):
    """Return whether both sides are proved."""
    return run["lower_certified"] is not None and run["upper_certified"] is not None


def is_solved(run):
    """Return whether the proofs leave nothing open on either side."""
    return is_certified(run) and max(gap(run, "lower"), gap(run, "upper")) < SOLVED


def gap(run, side):
    """Return the distance between the proved and the attained value of a side."""
    return abs(run[f"{side}_certified"] - run[side])


def average(values):
    """Return the mean, `None` of no values or where one is missing."""
    values = list(values)
    return None if not values or None in values else float(np.mean(values))


def duration(seconds):
    """Return a duration as people say it."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    return f"{whole // 60} min" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


class Progress:
    """A line on standard error: over and over in a terminal, once a minute in a file."""

    def __init__(self, total):
        self.total, self.done = total, 0
        self.started = self.last = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def step(self):
        """Count one trial more."""
        self.done += 1
        now = time.monotonic()
        if self.done < self.total and now - self.last < (0.2 if self.terminal else 60):
            return
        self.last = now
        left = (self.total - self.done) * (now - self.started) / self.done
        line = f"{self.done} of {self.total} trials, {duration(left)} left"
        start, end = ("\r", "" if self.done < self.total else "\n") if self.terminal else ("", "\n")
        print(f"{start}{line:<60}", file=sys.stderr, end=end, flush=True)
