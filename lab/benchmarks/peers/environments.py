"""A virtual environment for each list of requirements, made once."""

from __future__ import annotations

import os
import subprocess
import sys

from lab.benchmarks.peers.peers import FOLDER, OURS

LATEST_PIP_TROUBLE = 300
"""Characters of pip's last line that are shown."""


def interpreter(environment, cache, given=None):
    """Return the Python of an environment, made first if need be, or `None` and what went wrong."""
    if environment == OURS:
        return sys.executable, ""
    if given and environment in given:
        return given[environment], ""
    wanted = (FOLDER / "requirements" / f"{environment}.txt").read_text(encoding="utf-8")
    folder = cache / "environments" / environment
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return str(python), ""
    print(f"installing {' '.join(wanted.split('#')[0].split())} into {folder}", file=sys.stderr, flush=True)
    trouble = _made(folder, python, FOLDER / "requirements" / f"{environment}.txt")
    if trouble:
        return None, trouble
    stamp.write_text(wanted, encoding="utf-8")
    return str(python), ""


def _made(folder, python, requirements):
    """Make an environment; return what went wrong, nothing if all is well."""
    quiet = ["--quiet", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", *quiet, "--requirement", str(requirements)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=plain_environment())
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr]
            return " ".join(said[-1].split())[:LATEST_PIP_TROUBLE] or f"{command[0]} failed"
    return ""


def plain_environment():
    """Return the variables for a peer: neither our pinned versions nor our paths."""
    ours = ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "PYTHONPATH", "VIRTUAL_ENV", "MMDBOUNDS_NUM_THREADS")
    return {name: value for name, value in os.environ.items() if name not in ours}
