"""Do the numbers stay the same, bit for bit, while the code is rearranged? Recorded calls.

    python -m lab.studies.recorded_calls --write FILE
    python -m lab.studies.recorded_calls --compare FILE

Each call of the public functions becomes one JSON line: its name, and every number in hexadecimal, so that no
bit is lost. Times, versions and sentences are left out. Record before a change, compare after it, on the same
machine with the same packages: other processors and other versions of NumPy round differently, so FILE does
not belong in the repository. It takes less than half a minute on one core. Without PyTorch, its two calls are
recorded as left out. The exit code is 1 if a number differs or a call ends in an error, 2 for a wrong call.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

import mmdbounds as mb
from lab.paper.presets import preset_of
from lab.studies import records

LISTED = 200
"""Arrays of at most this many numbers are listed; of longer ones the hash is recorded."""

KERNELS = ("rbf", "laplacian", "matern52", "polynomial", "linear")
RECORDED = """
    lower upper value certified rows rows_of_x effects effects_of_x kind is_certified observed
    n_moved n_moved_of_x epsilon share_of_y provenance bandwidth
    statistic pvalue is_valid is_tight null null_quantile pvalue_as_filed null_quantile_as_filed
    counts n_admissible attained points breakdown_n_moved breakdown_epsilon holds_n_moved
    breakdown_of_value most_moved is_confirmed low high label parts radius n_held_out centre spread
    standardised n_used n_moved_used distance chance methods trials bounds truth mean_truth mean_observed
    n_missed n_certified false_coverage_rate mean_interval_width mean_interval_width_error
    X Y moved rows_of_y kernel values ids columns file_rows
"""
"""Attributes of results, and of their parts, that are recorded wherever they exist."""


def encode(value):
    """Return a value as plain data: every number to the bit in hexadecimal, long arrays by their hash."""
    if value is None or isinstance(value, bool | int | float | str):
        return value.hex() if isinstance(value, float) else value
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > LISTED:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {digest}"
    if isinstance(value, np.ndarray | np.generic):
        return encode(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): encode(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [encode(each) for each in value]
    return {name: encode(getattr(value, name)) for name in RECORDED.split() if hasattr(value, name)}


def public(function, *args, **options):
    """Call a public function; looked up here, so that one that is missing spoils its own calls only."""
    return getattr(mb, function)(*args, **options)


def seeded(function, *args, **options):
    """Return the call of a public function that draws."""
    return partial(public, function, *args, rng=0, **options)


def bounds(*args, **options):
    """Return a call of `mmd_bounds`; for exactly the stated number of rows unless told otherwise."""
    return seeded("mmd_bounds", *args, **{"exactly": True, **options})


def drawn(p, q, d=3, seed=0, shift=0.9):
    """Return two groups of normal rows whose means differ by `shift` in every column."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(p, d)), rng.normal(shift, 1.2, size=(q, d))


def table():
    """Return a table with numbers, categories, booleans and missing cells."""
    rng = np.random.default_rng(5)
    numbers, ages = rng.normal(size=80).tolist(), rng.integers(20, 90, size=80).tolist()
    return {
        "name": [f"row {i}" for i in range(80)],
        "group": [("ill", "well", "well", "other")[i % 4] for i in range(80)],
        "marker": [None if i % 17 == 3 else number for i, number in enumerate(numbers)],
        "age": ages,
        "site": [None if i % 19 == 5 else ("north", "south", "east")[i % 3] for i in range(80)],
        "smokes": [bool(flag) for flag in rng.integers(2, size=80)],
    }


def multiquadric(A, B):
    """Return a block of kernel values, as a user might compute it."""
    return 1 / (1 + ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def first_rows(X, Y, n_moved, rng):
    """Misfile the first rows."""
    return np.arange(n_moved)


def method_calls():
    """Every kernel and every method, with both estimators, where the kernel matrix is kept."""
    X, Y = drawn(24, 36)
    more, few, tied = drawn(80, 120, seed=7), drawn(8, 12, seed=1), map(np.round, drawn(40, 60, d=2, seed=2))
    pooled = np.concatenate([X, Y])
    K = np.exp(-((pooled[:, None] - pooled[None]) ** 2).sum(axis=2) / 8)
    for i, kernel in enumerate(KERNELS):
        estimator = ("unbiased", "biased")[i % 2]
        yield f"sharp {kernel} {estimator}", bounds(*more, 0.2, kernel=kernel, estimator=estimator)
    yield "sharp precomputed", bounds(K[:24], K[24:], 0.2, kernel="precomputed")
    yield "sharp function", bounds(X, Y, 0.2, kernel=multiquadric)
    for name in ("s-sd", "sd"):
        yield name, bounds(X, Y, 0.2, method=name)
    yield "s-sd biased", bounds(X, Y, 0.2, method="s-sd", estimator="biased")
    yield "exhaustive", bounds(*few, 0.3, method="exhaustive")
    yield "s-sd ties", bounds(*tied, 0.2, method="s-sd", kernel="laplacian", bandwidth=1.5)
    objects = {
        "sharp patient": mb.Sharp(certify=True, gap=0),
        "sharp not certified": mb.Sharp(n_starts=4, certify=False),
        "s-sd paper": mb.StepwiseDominance(schedule="paper"),
        "s-sd paper means": mb.StepwiseDominance(schedule="paper", weights="means"),
    }
    for name, method in objects.items():
        yield name, bounds(X, Y, 0.2, method=method)
    given = {
        **{name: mb.baselines.baseline(name) for name in mb.baselines.NAMES},
        "qno printed": mb.baselines.QuasiNewton(objective="printed"),
        "sm absolute": mb.baselines.Submodular(weight=0.1, absolute=True),
        "bootstrap 5 %": mb.baselines.Bootstrap(n_resamples=200, alpha=0.05),
    }
    for name, baseline in given.items():
        yield name, partial(baseline.interval, X, Y, 0.2, rng=0)


def misfiling_calls():
    """Every way to say how much is misfiled."""
    X, Y = drawn(24, 36)
    both, few = mb.Contamination(0.2, y_in_x=0.1), drawn(8, 12, seed=1)
    yield "two-way sharp", bounds(X, Y, both)
    yield "two-way s-sd", bounds(X, Y, mb.Contamination(n_moved=5, n_moved_of_x=3), method="s-sd")
    two = mb.Contamination(n_moved=3, n_moved_of_x=2)
    yield "two-way exhaustive", bounds(*few, two, method=mb.Exhaustive(), estimator="biased")
    yield "at most, sharp", bounds(X, Y, 0.2, exactly=False)
    yield "at most, two-way", bounds(X, Y, both, method="s-sd", estimator="biased", exactly=False)
    yield "share of Y, s-sd", bounds(X, Y, mb.Contamination(share_of_y=0.25), method="s-sd")


def computing_calls():
    """Blocks instead of a matrix, float32, PyTorch."""
    X, Y = drawn(24, 36)
    many = drawn(2000, 3000, d=4, seed=3)
    small = mb.Contamination(n_moved=40)
    yield "blocked mmd2 biased", partial(public, "mmd2", *many, kernel="matern52", estimator="biased")
    yield "blocked s-sd", bounds(*many, 0.05, method="s-sd")
    yield "blocked s-sd float32", bounds(*many, 0.05, method="s-sd", dtype="float32")
    loose = mb.Sharp(n_starts=2, certify=False)
    yield "blocked sharp", bounds(*many, small, method=loose, kernel="laplacian")
    yield "float32 sharp", bounds(X, Y, 0.2, dtype="float32")
    yield "torch sharp", bounds(X, Y, 0.2, backend="torch")
    yield "torch s-sd blocked", bounds(*many, 0.05, method="s-sd", backend="torch")


def inference_calls():
    """All that rests on bounds: tests, curves, intervals, evaluations; and tables."""
    X, Y = drawn(60, 90, seed=6)
    near, apart = drawn(60, 90, seed=8, shift=0.45), drawn(150, 250, seed=9, shift=2.0)
    units = [i // 2 for i in range(60)], [100 + i // 3 for i in range(90)]
    yield "test, nothing misfiled", seeded("robust_test", *near, 0.0)
    yield "test, exactly", seeded("robust_test", *near, 0.1, exactly=True)
    yield "test, at most", seeded("robust_test", *near, 0.1, exactly=False, beta=0.01)
    yield "test, units", seeded("robust_test", *near, 0.1, unit=units, kernel="matern52", n_permutations=199)
    yield "sweep", seeded("sweep", X, Y, exactly=True, n_permutations=499)
    shares = [0.0, 0.1, 0.2]
    curve = {"epsilons": shares, "exactly": True, "value": 0.05}
    yield "sweep biased", seeded("sweep", X, Y, estimator="biased", **curve)
    fixed = {"bandwidth": 2.0, "fixed_kernel": True}
    yield "interval, fixed kernel", seeded("confidence_interval", *apart, 0.02, **fixed)
    yield "interval, held out", seeded("confidence_interval", *apart, 0.02, holdout=0.2)
    several = {"bandwidth": [0.5, "median", 2.0], "n_permutations": 199}
    yield "test, several bandwidths", seeded("robust_test", *near, 0.05, **several)
    small = {"sizes": (15, 20), "n_trials": 3}
    yield "evaluate, paper", seeded("evaluate", X, Y, 0.2, methods=preset_of("paper").methods, **small)
    yield "simulate, nonrandom", seeded("simulate", X, Y, epsilon=0.2)
    yield "simulate, function", seeded("simulate", X, Y, n_moved=4, mechanism=first_rows, kernel="matern52")
    named = {"hidden": "ill", "among": "well", "id": "name"}
    filled, dropped = {"missing": "impute"}, {"missing": "drop", "scale": "robust", "exclude": "smokes"}
    yield "groups, imputed", partial(public, "groups", table(), "group", **named, **filled)
    yield "groups, dropped", partial(public, "groups", table(), "group", **named, **dropped)


def calls():
    """Return the names and the calls."""
    return [*method_calls(), *misfiling_calls(), *computing_calls(), *inference_calls()]


def recorded(name, call):
    """Return what a call gives, as it is written; an error is recorded too, so that the others are run."""
    if name.startswith("torch") and importlib.util.find_spec("torch") is None:
        return {"name": name, "left out": "PyTorch is not installed"}
    try:
        return {"name": name, "result": encode(call())}
    except Exception as error:
        return {"name": name, "error": f"{type(error).__name__}: {error}"}


def shown(value):
    """Return a recorded value as it is printed: a number in both notations, long lists cut short."""
    if isinstance(value, str) and "0x" in value[:3]:
        return f"{value} ({float.fromhex(value)!r})"
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def differences(before, after, where=""):
    """Return one line for each place where two recorded values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        pairs = [(f"{where}.{name}", before.get(name, "absent"), after.get(name, "absent")) for name in names]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = [(f"{where}[{i}]", *pair) for i, pair in enumerate(zip(before, after, strict=True))]
    else:
        same = type(before) is type(after) and before == after
        return [] if same else [f"{where.lstrip('.')}: {shown(before)} before, {shown(after)} now"]
    return [line for name, old, new in pairs for line in differences(old, new, name)]


def compare(before, after):
    """Return one line for each difference between two lists of records."""
    old, new = ({each["name"]: each for each in listed} for listed in (before, after))
    lines = []
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in old or name not in new:
            lines.append(f"{name}: {'not recorded before' if name in new else 'no longer called'}")
        elif "error" in new[name]:  # also if it was the same before: nothing was compared
            lines.append(f"{name}: {new[name]['error']}")
        else:
            lines += [f"{name}: {line}" for line in differences(old[name], new[name])]
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE", help="File for the record; overwritten.")
    what.add_argument("--compare", type=Path, metavar="FILE", help="Record to compare with.")
    given = parser.parse_args(arguments)
    if given.compare and not given.compare.exists():
        records.fail(f"there is no file {given.compare}.")
    before = records.load(given.compare) if given.compare else []
    after = [recorded(name, call) for name, call in calls()]
    if given.write:
        given.write.write_text("".join(json.dumps(each) + "\n" for each in after), encoding="utf-8")
        lines = [f"{each['name']}: {each['error']}" for each in after if "error" in each]
    else:
        lines = compare(before, after)
    names = {line.split(": ")[0] for line in lines}
    ended = "differ" if given.compare else "ended in an error"
    print("\n".join([*lines, f"{len(names)} of {len(after)} calls {ended}."]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
