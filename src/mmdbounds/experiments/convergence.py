"""How fast the methods approach the bounds of the population, where these are known.

The paper says that its estimates converge to the sharpest possible bounds, and states radii (Propositions 1
and 3), but shows no such thing. Here rows are drawn from distributions whose sharp bounds are known exactly
(`population`). Errors are those of the root MMD, the scale of the propositions; so the squared MMD is the
V-statistic, which has a root.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mmdbounds import journal
from mmdbounds._version import __version__
from mmdbounds.bounds import mmd_bounds
from mmdbounds.contamination import Contamination
from mmdbounds.evaluation.presets import SHARP
from mmdbounds.evaluation.workers import one_thread_each
from mmdbounds.experiments import convergence_figure, folder, printed
from mmdbounds.experiments.configs import CONVERGENCE
from mmdbounds.experiments.lines import mean_and_error
from mmdbounds.experiments.population import POPULATIONS, Population, sharp_bounds
from mmdbounds.progress import TrialMeter
from mmdbounds.search import Method, Sharp, StepwiseDominance
from mmdbounds.search.quasi_newton import QuasiNewton
from mmdbounds.sums.protocol import Float64s
from mmdbounds.theory import proposition_1, proposition_3

EPSILON, DELTA = 0.2, 0.05
SIZES = (20, 50, 100, 200, 500, 1000, 2000, 5000)
"""n, the true size of each group."""

EXACT_SIZE = 500
"""Size of the sample in exact proportions that shows what a method tends to."""

N_TRIALS = 30
METHODS: Mapping[str, Method] = {
    printed.SD: StepwiseDominance(n_steps=1),
    printed.S_SD: StepwiseDominance(),
    printed.QNO: QuasiNewton(),
    SHARP: Sharp(gap=0.01),
}
SIDES = ("lower", "upper")


class Job(NamedTuple):
    """One sample."""

    population: int
    n: int
    trial: int
    rng: int


def run_convergence(
    place: Path,
    *,
    n_trials: int | None,
    n_processes: int,
    rng: int,
    progress: bool | None,
    sizes: tuple[int, ...] = SIZES,
) -> None:
    """Draw the samples, bound them, write how far off the bounds are."""
    n_trials = N_TRIALS if n_trials is None else n_trials
    jobs = [
        Job(population, n, trial, rng)
        for n in sizes
        for population in range(len(POPULATIONS))
        for trial in range(n_trials)
    ]
    records = _collected(jobs, place / folder.CHECKPOINTS / _file_name(rng), n_processes, progress)
    document: dict[str, Any] = {
        "type": folder.TYPE,
        "schema": folder.SCHEMA,
        "name": CONVERGENCE,
        "title": "How fast the methods approach the sharp bounds of the population",
        "kind": CONVERGENCE,
        "rng": rng,
        "version": __version__,
        "machine": folder.machine(),
        "core_seconds": round(math.fsum(record["seconds"] for record in records), 1),
        "epsilon": EPSILON,
        "delta": DELTA,
        "methods": {name: {"method": m.name, "options": m.options()} for name, m in METHODS.items()},
        "populations": [_described(population) for population in POPULATIONS],
        "lines": _lines(records, sizes),
    }
    folder.write_results(place, CONVERGENCE, document, document["lines"])
    for suffix, content in convergence_figure.drawn(document).items():
        folder.write_bytes(place / f"{CONVERGENCE}.{suffix}", content)


def moved(n: int) -> int:
    """Return the number of misfiled rows."""
    return math.floor(EPSILON * n + 1e-9)


def roots(population: Population, X: Float64s, Y: Float64s, m: int, seed: int) -> dict[str, list[float]]:
    """Return the root of both bounds by each method."""
    found = {}
    for name, method in METHODS.items():
        result = mmd_bounds(
            X,
            Y,
            Contamination(n_moved=m),
            method=method,
            kernel=population.kernel,
            estimator="biased",
            rng=seed,
            progress=False,
        )
        found[name] = [math.sqrt(max(bound.value, 0.0)) for bound in (result.lower, result.upper)]
    return found


def run_job(job: Job) -> dict[str, Any]:
    """Draw one sample and bound it; everything left to chance comes from the job alone."""
    started = time.perf_counter()
    streams = np.random.SeedSequence(job.rng, spawn_key=(job.population, job.n, job.trial)).spawn(2)
    population, m = POPULATIONS[job.population], moved(job.n)
    X, Y = population.draw(job.n - m, job.n + m, np.random.default_rng(streams[0]))
    found = roots(population, X, Y, m, int(streams[1].generate_state(1)[0]))
    return {**job._asdict(), "roots": found, "seconds": time.perf_counter() - started}


def _file_name(rng: int) -> str:
    asked = {
        "methods": {name: [method.name, method.options()] for name, method in METHODS.items()},
        "populations": [repr(population) for population in POPULATIONS],
        "asked": [EPSILON, rng, __version__],
    }
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12]
    return f"{CONVERGENCE}-{digest}.journal"


def _collected(jobs: list[Job], path: Path, n_processes: int, progress: bool | None) -> list[dict[str, Any]]:
    """Return the records of all jobs in their order; those that are kept are not run again."""
    done = _kept(path)
    missing = [job for job in jobs if job not in done]
    with TrialMeter(len(missing), show=progress) as meter:
        for record in _results(missing, n_processes):
            journal.append(path, json.dumps(record).encode())
            done[_job_of(record)] = record
            meter.add(1)
    return [done[job] for job in jobs]


def _kept(path: Path) -> dict[Job, dict[str, Any]]:
    """Return what a file keeps; drop a half-written last record from it."""
    found = journal.read_journal(path)
    if found is None:
        return {}
    if found.is_torn:
        journal.drop_torn(path, found.n_bytes)
    try:
        records = [json.loads(bytes(record)) for record in found.records]
        return {_job_of(record): record for record in records}
    except (ValueError, KeyError, TypeError):
        raise journal.damaged(path) from None


def _job_of(record: dict[str, Any]) -> Job:
    return Job(*(record[name] for name in Job._fields))


def _results(jobs: list[Job], n_processes: int) -> Iterator[dict[str, Any]]:
    """Yield the records of the jobs as they come."""
    if n_processes == 1 or len(jobs) < 2:
        yield from map(run_job, jobs)
        return
    spawn = multiprocessing.get_context("spawn")
    with one_thread_each(), ProcessPoolExecutor(n_processes, spawn, _end_with_parent) as pool:
        try:
            for future in as_completed([pool.submit(run_job, job) for job in jobs]):
                yield future.result()
        except BaseException:  # Ctrl-C as well: nobody waits for the other samples
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """Watch the process that started this one: if it is killed, nobody waits for this one any more."""
    parent = multiprocessing.parent_process()

    def watch(join: Callable[[], None]) -> None:
        join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=watch, args=(parent.join,), daemon=True).start()


def _described(population: Population) -> dict[str, Any]:
    """Return a population as plain data, with its bounds and what each method tends to."""
    m = moved(EXACT_SIZE)
    X, Y = population.exact(EXACT_SIZE - m, EXACT_SIZE + m)
    return {
        "name": population.name,
        "atoms": [list(atom) for atom in population.atoms],
        "x": list(population.x),
        "y": list(population.y),
        "bandwidth": population.bandwidth,
        "bounds": [math.sqrt(bound) for bound in sharp_bounds(population, EPSILON)],
        "limits": roots(population, X, Y, m, 0),
    }


def _lines(records: list[dict[str, Any]], sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the mean error of each method and side at each n, beside the radii of the propositions."""
    lines = []
    for index, population in enumerate(POPULATIONS):
        truth = [math.sqrt(bound) for bound in sharp_bounds(population, EPSILON)]
        for side, name, n in ((side, name, n) for side in (0, 1) for name in METHODS for n in sizes):
            here = [r for r in records if (r["population"], r["n"]) == (index, n)]
            errors = [abs(record["roots"][name][side] - truth[side]) for record in here]
            mean, error = mean_and_error(errors)
            lines.append(
                {
                    "population": population.name,
                    "side": SIDES[side],
                    "method": name,
                    "n": n,
                    "n_moved": moved(n),
                    "n_trials": len(here),
                    "mean_error": mean,
                    "mean_error_error": error,
                    "largest_of_95_percent": float(np.quantile(errors, 0.95)),
                    "radius_proposition_1": proposition_1(n, epsilon=EPSILON, delta=DELTA).radius,
                    "radius_proposition_3": proposition_3(n, epsilon=EPSILON, delta=DELTA).radius,
                }
            )
    return lines
