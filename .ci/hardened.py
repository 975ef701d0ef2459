"""The library and its commands where nothing can be written: one line a call, and how many passed.

Run by `.ci/matrix` as a user who owns nothing, without HOME. ``--no-temporary`` says that there is no
writable temporary folder either. The first check is that the surroundings are as hard as they should be.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mmdbounds as mb

TABLE = Path(__file__).with_name("tiny.csv")
MODEL = ("--group", "group", "--hidden", "case", "--among", "control", "--n-moved", "1", "--id", "patient")


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two groups of n rows."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), rng.normal(0.5, 1.0, size=(n, 3))


def surroundings() -> None:
    """Fail unless neither the package nor a cache can be written, nor, if so asked, a temporary file."""
    assert "HOME" not in os.environ, "HOME is set"
    for folder in (Path(mb.__file__).parent, Path("~").expanduser(), Path.cwd()):
        assert not os.access(folder, os.W_OK), f"{folder} can be written"
    made = False
    with contextlib.suppress(OSError):
        Path("~/.cache").expanduser().mkdir(parents=True)
        made = True
    assert not made, "a cache can be made"
    if "--no-temporary" in sys.argv:
        found = None
        with contextlib.suppress(FileNotFoundError):
            found = tempfile.gettempdir()
        assert found is None, f"{found} can be written"


def command(*words: str) -> Callable[[], None]:
    """Return a call of the command line."""

    def call() -> None:
        program = str(Path(sys.executable).with_name("mmdbounds"))
        ran = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout, "nothing was printed"

    return call


CALLS: dict[str, Callable[[], object]] = {
    "surroundings": surroundings,
    "mmd2 in blocks": lambda: mb.mmd2(*rows(2_500)),
    "mmd_bounds": lambda: mb.mmd_bounds(*rows(40), 0.1, rng=0),
    "robust_test": lambda: mb.robust_test(*rows(40), 0.1, rng=0),
    "sweep": lambda: mb.sweep(*rows(30), rng=0),
    "mmdbounds demo": command("demo"),
    "mmdbounds bounds": command("bounds", str(TABLE), *MODEL),
    "mmdbounds test": command("test", str(TABLE), *MODEL),
    "mmdbounds sweep": command("sweep", str(TABLE), *(MODEL[:6]), "--id", "patient"),
}


def main() -> int:
    """Make every call; return how many failed."""
    failed = 0
    for name, call in CALLS.items():
        try:
            call()
        except Exception:
            failed += 1
            why = traceback.format_exc().strip().splitlines()[-1]
            print(f"FAILED {name}: {why}")
    print(f"{len(CALLS) - failed} passed, {failed} failed")
    return failed


sys.exit(main() > 0)
