"""The share of the processors that a container may use: the quota of its control group."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

GROUPS = Path("/sys/fs/cgroup")
OF_PROCESS = Path("/proc/self/cgroup")


@functools.cache
def cpu_quota() -> int | None:
    """Return the whole cores that a quota leaves to this process, at least one; `None` without a quota."""
    return quota_of(OF_PROCESS, GROUPS)


def quota_of(of_process: Path, groups: Path) -> int | None:
    """Return the tightest quota among the groups of a process and those around them, rounded up."""
    found = [cores for folder in _folders(_text(of_process), groups) for cores in _cores(folder)]
    return max(1, math.ceil(min(found))) if found else None


def _folders(listed: str, groups: Path) -> Iterator[Path]:
    """Yield the folders that may state a quota; a container often sees its own group as the outermost."""
    for line in listed.splitlines() or ["0::/"]:
        _, _, named = line.partition(":")
        controllers, _, path = named.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Version 2 has one tree, version 1 one for each set of controllers.
        roots = [groups / controllers, groups / "cpu"] if controllers else [groups]
        inner = PurePosixPath(path.lstrip("/"))
        for root in roots:
            yield from (root / each for each in (inner, *inner.parents))


def _cores(folder: Path) -> Iterator[float]:
    """Yield the cores that the quota of a group leaves, if it has one."""
    of_group = _text(folder / "cpu.max").split()  # version 2: "max 100000" or "150000 100000"
    of_group = of_group or [
        *_text(folder / "cpu.cfs_quota_us").split(),
        *_text(folder / "cpu.cfs_period_us").split(),
    ]
    try:
        quota, period = map(int, of_group)
    except ValueError:  # none, or "max"
        return
    if quota > 0 and period > 0:
        yield quota / period


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
