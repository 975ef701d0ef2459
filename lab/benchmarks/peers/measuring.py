"""One measurement: a program in its environment, watched, ended where it takes too long or too much."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from lab.benchmarks.peers.environments import plain_environment

SECONDS, MIB = 120.0, 16 * 1024
"""Where a program is stopped."""

SET_UP = 300.0
"""Seconds that a program may take before its call: imports, compilers."""

POLL = 0.05
STEEPEST = 3.5
"""Power of N that seconds are thought to grow with at the most."""


def measure(python, program, request):
    """Run a program; return what it measured, or a status and a reason."""
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        begun, result, said = (Path(folder) / name for name in ("begun", "result.json", "said.txt"))
        request = request | {"begun": str(begun), "result": str(result)}
        with said.open("w") as output:
            process = subprocess.Popen(
                [python, str(program), json.dumps(request)],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=plain_environment(),
                start_new_session=True,
            )
            try:
                status = _watched(process, begun)
            finally:
                _end(process)
        if status:
            return {"status": status}
        if process.returncode or not result.exists():
            lines = said.read_text(errors="replace").split("\n")
            reason = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
            return {"status": "failed", "reason": reason[:300]}
        return {"status": "done"} | json.loads(result.read_text(encoding="utf-8"))


def _watched(process, begun):
    """Wait for a program; return why it has to be ended, nothing if it ended itself."""
    started, call = time.monotonic(), None
    while process.poll() is None:
        time.sleep(POLL)
        now = time.monotonic()
        if call is None and begun.exists():
            call = now
        if held_mib(process.pid) > MIB:
            return "memory"
        if now - (call or started) > (SET_UP if call is None else SECONDS):
            return "seconds" if call else "set-up"
    return ""


def _end(process):
    """End a program and whatever it has started."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def held_mib(pid):
    """Return the memory a process holds now, 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def foreseen(before, n):
    """Return why a program would have to be stopped at `n` rows, by its measurements at fewer rows.

    Seconds grow with the square of the rows, or as they did from the last size but one; memory with the
    square, beside a constant.
    """
    if not before:
        return None
    last = before[-1]
    power = 2.0
    if len(before) > 1:
        earlier = before[-2]
        measured = math.log(last["seconds"] / earlier["seconds"]) / math.log(last["n"] / earlier["n"])
        power = min(max(power, measured), STEEPEST)
        slope = (last["peak_mib"] - earlier["peak_mib"]) / (last["n"] ** 2 - earlier["n"] ** 2)
        mib = last["peak_mib"] + max(slope, 0.0) * (n**2 - last["n"] ** 2)
        if mib > MIB:
            return {"status": "memory", "foreseen": mib}
    seconds = last["seconds"] * (n / last["n"]) ** power
    return {"status": "seconds", "foreseen": seconds} if seconds > SECONDS else None
