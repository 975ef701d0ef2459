"""``python -m fuzzing --minutes 20``: draw whole calls and compare them with their definitions."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from fuzzing import naive
from fuzzing.catalogue import CATALOGUE
from fuzzing.runner import fuzz, say
from fuzzing.wrong_arguments import NAME, fuzz_wrong_arguments


def main():
    """Read the command line, fuzz, and return the exit status: 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="fuzzing", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="how long (default: 20)")
    parser.add_argument(
        "--only", choices=[*CATALOGUE, NAME], action="append", help="this property; may be repeated"
    )
    parser.add_argument("--seed", type=int, help="of the first round; drawn and printed otherwise")
    parser.add_argument("--database", type=Path, help="folder of failing examples, tried first")
    parser.add_argument("--keep-going", action="store_true", help="go on with a property that is violated")
    asked = parser.parse_args()
    if not naive.IS_LONG:
        say("long double has no more digits than float64 on this machine: nothing to compare with")
        return 0
    first = int(np.random.default_rng().integers(10**6)) if asked.seed is None else asked.seed
    database = asked.database or Path(tempfile.gettempdir()) / f"mmdbounds-fuzz-{os.getuid()}"
    names = list(dict.fromkeys(asked.only or [*CATALOGUE, NAME]))
    properties = [CATALOGUE[name] for name in names if name != NAME]
    say(f"seed {first}; failing examples are kept in {database}")
    seconds, n_wrong = 60 * asked.minutes, 0
    if NAME in names:
        part = seconds / len(names)
        n_wrong, seconds = fuzz_wrong_arguments(part, first, say), seconds - part
    if n_wrong and not asked.keep_going:
        return 1
    n = 0
    if properties:
        n = fuzz(
            properties,
            seconds=seconds,
            first_seed=first,
            database=database,
            keep_going=asked.keep_going,
        )
    return 1 if n or n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
