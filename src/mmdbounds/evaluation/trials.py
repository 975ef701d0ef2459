"""One trial: draw the true groups, misfile rows, let every method speak, keep the truth beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from mmdbounds.bounds import mmd_bounds
from mmdbounds.errors import MmdBoundsError
from mmdbounds.evaluation.asked import Asked, scaled
from mmdbounds.mechanisms import Simulated, simulate
from mmdbounds.objective import GroupSums, Indices, observed_mmd2
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results import BoundsResult
from mmdbounds.results.evaluation import Trial, TrialBounds
from mmdbounds.search import Method
from mmdbounds.sums.protocol import Float64s


def run_trial(asked: Asked, trial: int) -> Trial:
    """Run one trial.

    Everything left to chance comes from the seed and the number of the trial alone, in three streams: the
    rows drawn, the rows misfiled, and one seed for all methods. So no trial hangs on the others nor on the
    process it runs in, and no method on those beside it.
    """
    started = time.perf_counter()
    streams = np.random.SeedSequence(asked.seed, spawn_key=(trial,)).spawn(3)
    drawing, misfiling = map(np.random.default_rng, streams[:2])
    seed = int(streams[2].generate_state(1)[0])
    with _in(f"trial {trial}"):
        X, Y = _drawn_groups(asked, drawing)
        filed = _filed(asked, X, Y, misfiling)
        totals = _clean_totals(asked, X, Y, filed)
    results = {}
    for label, method in asked.methods.items():
        with _in(f"trial {trial}, method {label!r}"):
            results[label] = _checked(_bounded(asked, filed, method, seed))
    first = next(iter(results.values()))
    return Trial(
        trial=trial,
        n_moved=filed.n_moved,
        truth=observed_mmd2(totals, asked.estimator),
        observed=first.observed,
        rounding=totals.margin,
        bandwidth=filed.kernel.length,
        bounds={label: _said(result) for label, result in results.items()},
        backend=totals.sums.backend,
        device=totals.sums.device,
        dtype=totals.sums.dtype,
        n_pairs=sum(result.provenance.n_pairs for result in results.values()),
        seconds=time.perf_counter() - started,
    )


def _drawn_groups(asked: Asked, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Return the true groups of a trial, scaled over the rows of both."""
    if asked.takes_all:
        return asked.all_rows
    of_x, of_y = (
        _drawn_rows(len(group), size, asked.replace, rng)
        for group, size in zip((asked.X, asked.Y), asked.sizes, strict=True)
    )
    return scaled(asked.X.values[of_x], asked.Y.values[of_y], asked.scale)


def _drawn_rows(n: int, size: int | None, replace: bool, rng: np.random.Generator) -> Indices:
    if size is None and not replace:
        return np.arange(n)
    return np.asarray(rng.choice(n, n if size is None else size, replace=replace))


def _filed(asked: Asked, X: Float64s, Y: Float64s, rng: np.random.Generator) -> Simulated:
    return simulate(
        X,
        Y,
        asked.epsilon,
        mechanism=asked.mechanism,
        kernel=asked.kernel,
        bandwidth=asked.bandwidth,
        working_memory=asked.working_memory,
        rng=rng,
        progress=False,
    )


def _clean_totals(asked: Asked, X: Float64s, Y: Float64s, filed: Simulated) -> GroupSums:
    """Return the sums over the pairs of the true groups, with the very kernel that the bounds use."""
    problem = pose(
        X,
        Y,
        Comparison(
            kernel=filed.kernel,
            estimator=asked.estimator,
            backend=asked.backend,
            dtype=asked.dtype,
            working_memory=asked.working_memory,
        ),
    )
    return problem.one_pass(Meter())


def _bounded(asked: Asked, filed: Simulated, method: Method, seed: int) -> BoundsResult:
    return mmd_bounds(
        filed.X,
        filed.Y,
        filed.contamination,
        method=method,
        kernel=filed.kernel,
        estimator=asked.estimator,
        at_most=asked.at_most,
        backend=asked.backend,
        dtype=asked.dtype,
        working_memory=asked.working_memory,
        rng=seed,
        progress=False,
    )


def _checked(result: BoundsResult) -> BoundsResult:
    """Refuse ends that are no numbers: they would be outside or inside by an accident of comparison."""
    for bound in (result.lower, result.upper):
        for name, value in (("value", bound.value), ("certified", bound.certified)):
            if value is not None and not math.isfinite(value):
                msg = f"both ends must be finite; got {name} {value} on the {bound.side} side."
                raise MmdBoundsError(msg)
    return result


def _said(result: BoundsResult) -> TrialBounds:
    return TrialBounds(
        lower=float(result.lower.value),
        upper=float(result.upper.value),
        lower_certified=None if result.lower.certified is None else float(result.lower.certified),
        upper_certified=None if result.upper.certified is None else float(result.upper.certified),
        seconds=result.provenance.seconds,
    )


@contextmanager
def _in(where: str) -> Iterator[None]:
    """Say in which trial something went wrong; an error that is not of this package keeps its type."""
    try:
        yield
    except MmdBoundsError as error:
        msg = f"{where}: {error}"
        raise MmdBoundsError(msg) from error
    except Exception as error:
        error.add_note(f"This was in {where} of `evaluate`; `only` runs a trial alone.")
        raise
