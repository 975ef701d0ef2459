"""One trial: draw the true groups, misfile rows, run every method; and the file that keeps trials."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mmdbounds import journal
from mmdbounds.atomic_write import check_writable
from mmdbounds.bounds import mmd_bounds
from mmdbounds.checks import check_path
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.evaluation.design import Design, scaled
from mmdbounds.mechanisms import Simulated, simulate
from mmdbounds.objective import GroupSums, Indices, observed_mmd2
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results import BoundsResult
from mmdbounds.results.evaluation import Trial, TrialBounds
from mmdbounds.search import Method
from mmdbounds.sums.protocol import Float64s


def run_trial(design: Design, trial: int) -> Trial:
    """Run one trial: draw the true groups, misfile rows, run every method, and keep the truth.

    All randomness comes from the seed and the number of the trial, in three streams: the rows drawn, the rows
    misfiled, and one seed for all methods. So a trial does not depend on other trials or on the process it
    runs in, nor a method on other methods.
    """
    started = time.perf_counter()
    streams = np.random.SeedSequence(design.seed, spawn_key=(trial,)).spawn(3)
    drawing, misfiling = map(np.random.default_rng, streams[:2])
    seed = int(streams[2].generate_state(1)[0])
    with _named_in_errors(f"trial {trial}"):
        X, Y = _drawn_groups(design, drawing)
        filed = _filed(design, X, Y, misfiling)
        totals = _clean_totals(design, X, Y, filed)
    results = {}
    for label, method in design.methods.items():
        with _named_in_errors(f"trial {trial}, method {label!r}"):
            results[label] = _checked_bounds(_bounds_of(design, filed, method, seed))
    first = next(iter(results.values()))
    return Trial(
        trial=trial,
        n_moved=filed.n_moved,
        truth=observed_mmd2(totals, design.estimator),
        observed=first.observed,
        rounding=totals.margin,
        bandwidth=filed.kernel.length,
        bounds={label: _trial_bounds(result) for label, result in results.items()},
        backend=totals.sums.backend,
        device=totals.sums.device,
        dtype=totals.sums.dtype,
        n_pairs=sum(result.provenance.n_pairs for result in results.values()),
        seconds=time.perf_counter() - started,
    )


def _drawn_groups(design: Design, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Return the true groups of a trial, scaled over the rows of both."""
    if design.takes_all:
        return design.all_rows
    of_x, of_y = (
        _drawn_rows(len(group), size, design.replace, rng)
        for group, size in zip((design.X, design.Y), design.sizes, strict=True)
    )
    return scaled(design.X.values[of_x], design.Y.values[of_y], design.scale)


def _drawn_rows(n: int, size: int | None, replace: bool, rng: np.random.Generator) -> Indices:
    if size is None and not replace:
        return np.arange(n)
    return np.asarray(rng.choice(n, n if size is None else size, replace=replace))


def _filed(design: Design, X: Float64s, Y: Float64s, rng: np.random.Generator) -> Simulated:
    return simulate(
        X,
        Y,
        design.epsilon,
        mechanism=design.mechanism,
        kernel=design.kernel,
        bandwidth=design.bandwidth,
        working_memory=design.working_memory,
        rng=rng,
        progress=False,
    )


def _clean_totals(design: Design, X: Float64s, Y: Float64s, filed: Simulated) -> GroupSums:
    """Return the sums over the pairs of the true groups, with the same kernel as the bounds."""
    problem = pose(
        X,
        Y,
        Comparison(
            kernel=filed.kernel,
            estimator=design.estimator,
            backend=design.backend,
            dtype=design.dtype,
            working_memory=design.working_memory,
        ),
    )
    return problem.one_pass(Meter())


def _bounds_of(design: Design, filed: Simulated, method: Method, seed: int) -> BoundsResult:
    return mmd_bounds(
        filed.X,
        filed.Y,
        filed.contamination,
        method=method,
        kernel=filed.kernel,
        estimator=design.estimator,
        at_most=design.at_most,
        backend=design.backend,
        dtype=design.dtype,
        working_memory=design.working_memory,
        rng=seed,
        progress=False,
    )


def _checked_bounds(result: BoundsResult) -> BoundsResult:
    """Refuse ends that are not finite: comparisons with NaN would decide the coverage."""
    for bound in (result.lower, result.upper):
        for name, value in (("value", bound.value), ("certified", bound.certified)):
            if value is not None and not math.isfinite(value):
                msg = f"both ends must be finite; got {name} {value} on the {bound.side} side."
                raise MmdBoundsError(msg)
    return result


def _trial_bounds(result: BoundsResult) -> TrialBounds:
    return TrialBounds(
        lower=float(result.lower.value),
        upper=float(result.upper.value),
        lower_certified=None if result.lower.certified is None else float(result.lower.certified),
        upper_certified=None if result.upper.certified is None else float(result.upper.certified),
        seconds=result.provenance.seconds,
    )


@contextmanager
def _named_in_errors(where: str) -> Iterator[None]:
    """Name the trial in errors; an error that is not of this package keeps its type."""
    try:
        yield
    except MmdBoundsError as error:
        msg = f"{where}: {error}"
        raise MmdBoundsError(msg) from error
    except Exception as error:
        error.add_note(f"This was in {where} of `evaluate`; `only` runs a single trial.")
        raise


TYPE, SCHEMA = "mmdbounds evaluation trials", 2


class Checkpoint:
    """The trials of one evaluation, kept in a file.

    Parameters
    ----------
    path
        The file; created for the first trial.
    design
        The evaluation; a file with trials of another one is refused, and never changed.
    """

    def __init__(self, path: str | os.PathLike[str], design: Design) -> None:
        self._path = check_path(path, "checkpoint")
        self._header: dict[str, Any] = {"type": TYPE, "schema": SCHEMA, "asked": design.fingerprint()}
        self._labels = set(design.methods)
        self._kept: journal.Contents | None = None

    def load(self) -> dict[int, Trial]:
        """Return the trials in the file by their numbers; a half-written one is ignored."""
        self._kept = journal.read_journal(self._path)
        if self._kept is None or not self._kept.records:
            return {}
        first, *others = self._kept.records
        self._check_header(_parsed(first))
        trials: dict[int, Trial] = {}
        for record in others:
            trial = self._trial(_parsed(record))
            trials.setdefault(trial.trial, trial)
        return trials

    def begin(self) -> None:
        """Prepare the file for more trials: drop a half-written one, or write the first record."""
        check_writable(self._path, is_read=True)
        if self._kept is not None and self._kept.is_torn:
            journal.drop_torn(self._path, self._kept.n_bytes)
        if self._kept is None or not self._kept.records:
            journal.append(self._path, _content(self._header))

    def keep(self, trial: Trial) -> None:
        """Write one trial, whole and at once, so that a run that is stopped loses none."""
        journal.append(self._path, _content(trial.to_dict()))

    def _check_header(self, header: Any) -> None:
        """Refuse a file that is something else, or has trials of another evaluation."""
        if not isinstance(header, Mapping) or header.get("type") != TYPE:
            raise journal.damaged(self._path)
        if header == self._header:
            return
        theirs, ours = header.get("asked"), self._header["asked"]
        known = theirs if isinstance(theirs, Mapping) else {}
        differs = [name for name in ours if known.get(name) != ours[name]] or ["schema"]
        raise journal.other_problem(self._path, "trials", differs)

    def _trial(self, saved: Any) -> Trial:
        try:
            trial = Trial.from_dict(saved)
        except DataError:
            trial = None
        if trial is None or not isinstance(trial.trial, int) or set(trial.bounds) != self._labels:
            raise journal.damaged(self._path)
        return trial


def _content(data: dict[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False).encode()


def _parsed(record: memoryview) -> Any:
    try:
        return json.loads(bytes(record))
    except ValueError:
        return None
