"""The tests again where the same numbers are added up in another order: nothing may fail.

    python tests/perturbed/run.py [--only haswell,blocks] [arguments of pytest]

Each line is a run of the tests that need run-time dependencies only, in an environment that
changes the order of sums: another kind of processor, other blocks, one thread, no compiler.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SELECTION = [
    "-m",
    "not slow and not long and not data and not full",
    "-q",
    "-p",
    "no:cacheprovider",
]


def perturbations(folder: str) -> dict[str, dict[str, str]]:
    """Return the variables that each run sets; `folder` is for what numba compiles."""
    ways = os.pathsep.join(filter(None, [str(HERE / "without_numba"), os.environ.get("PYTHONPATH", "")]))
    return {
        "cold": {"NUMBA_CACHE_DIR": f"{folder}/default"},
        "warm": {"NUMBA_CACHE_DIR": f"{folder}/default"},
        "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
        "old": {
            "OPENBLAS_CORETYPE": "Nehalem",
            "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched()),
            "NUMBA_CPU_NAME": "nehalem",
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_CACHE_DIR": f"{folder}/old",
        },
        "one-thread": {"OPENBLAS_NUM_THREADS": "1", "MMDBOUNDS_NUM_THREADS": "1"},
        "blocks": {"MMDBOUNDS_TEST_BLOCK": "96x40"},
        "without-numba": {"PYTHONPATH": ways},
    }


def dispatched() -> list[str]:
    """Return what NumPy uses of this processor beyond what every processor has."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]


def main() -> int:
    """Run the tests in each environment, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="names, with commas between them")
    chosen, rest = parser.parse_known_args()
    lines, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        known = perturbations(folder)
        names = chosen.only.split(",") if chosen.only else list(known)
        for name in names:
            begun = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *SELECTION, *(rest or ["-n", "2", "tests"])],
                cwd=HERE.parent.parent,
                env={**os.environ, **known[name]},
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            failed |= done.returncode != 0
            if done.returncode != 0:
                sys.stdout.write(done.stdout)
            last = done.stdout.strip().splitlines()[-1:] or ["no output"]
            lines.append(f"{name:14} {time.monotonic() - begun:5.0f} s  {last[0]}")
            sys.stdout.write(lines[-1] + "\n")
            sys.stdout.flush()
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
