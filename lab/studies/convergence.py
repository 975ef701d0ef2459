"""How fast the methods approach the bounds of the population, where these are known.

    python -m lab.studies.convergence [--trials 30] [--records FILE] [--processes 2]

The paper says that its estimates converge to the sharpest possible bounds and states radii (Propositions 1
and 3), but shows no such experiment. Here rows are drawn from distributions whose sharp bounds are known
exactly (`lab.studies.population`). Errors are those of the root MMD, the scale of the propositions; so the
squared MMD is the V-statistic, which has a root.

Each sample is one JSON line in FILE (default: lab/studies/results/convergence.jsonl). A run that was stopped
resumes, and samples already there are not drawn again: remove the file after a change of a method. Page,
numbers and figure go to files of the same name that end in .md, .json, .csv, .png and .svg.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mmdbounds as mb
from lab.paper.presets import SHARP
from lab.paper.printed import QNO, S_SD, SD
from lab.paper.results import mean_and_error, write_results
from lab.paper.theory import proposition_1, proposition_3
from lab.studies import convergence_page, drawing, records
from lab.studies.population import POPULATIONS, sharp_bounds
from mmdbounds.baselines import QuasiNewton
from mmdbounds.plotting.canvas import check_available
from mmdbounds.search import Sharp, StepwiseDominance

EPSILON, DELTA, SEED = 0.2, 0.05, 0
SIZES = (20, 50, 100, 200, 500, 1000, 2000, 5000)
"""n, the true size of each group."""

EXACT_SIZE = 500
"""Size of the sample in exact proportions that shows what a method tends to."""

METHODS = {
    SD: StepwiseDominance(n_steps=1),
    S_SD: StepwiseDominance(),
    QNO: QuasiNewton(),
    SHARP: Sharp(gap=0.01),
}
SIDES = ("lower", "upper")


class Job(NamedTuple):
    """One sample."""

    population: int
    n: int
    trial: int


def n_moved(n):
    """Return the number of misfiled rows."""
    return math.floor(EPSILON * n + 1e-9)


def roots(population, X, Y, m, seed):
    """Return the roots of both bounds by each method."""
    found = {}
    for name, method in METHODS.items():
        how = {"kernel": population.kernel, "estimator": "biased", "rng": seed}
        ends = drawing.ends(method, X, Y, mb.Contamination(n_moved=m, exactly=True), **how)
        found[name] = [math.sqrt(max(value, 0.0)) for value in ends]
    return found


def run_trial(job):
    """Draw one sample and bound it; all randomness comes from the job."""
    started = time.perf_counter()
    streams = np.random.SeedSequence(SEED, spawn_key=job).spawn(2)
    population, m = POPULATIONS[job.population], n_moved(job.n)
    X, Y = population.draw(job.n - m, job.n + m, np.random.default_rng(streams[0]))
    found = roots(population, X, Y, m, int(streams[1].generate_state(1)[0]))
    return {**job._asdict(), "roots": found, "seconds": time.perf_counter() - started}


def key(record):
    return tuple(record[name] for name in Job._fields)


def document_of(found, sizes):
    """Return the whole study as plain data, from the records of all samples."""
    return {
        "title": "How fast the methods approach the sharp bounds of the population",
        "rng": SEED,
        "version": mb.__version__,
        "machine": records.machine(),
        "core_seconds": round(math.fsum(record["seconds"] for record in found), 1),
        "epsilon": EPSILON,
        "delta": DELTA,
        "methods": {name: {"method": m.name, "options": m.options()} for name, m in METHODS.items()},
        "populations": [described(population) for population in POPULATIONS],
        "lines": lines_of(found, sizes),
    }


def described(population):
    """Return a population as plain data, with its bounds and what each method tends to."""
    m = n_moved(EXACT_SIZE)
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


def lines_of(found, sizes):
    """Return the mean error of each method and side at each n, beside the radii of the propositions."""
    lines = []
    for index, population in enumerate(POPULATIONS):
        truth = [math.sqrt(bound) for bound in sharp_bounds(population, EPSILON)]
        for side, name, n in ((side, name, n) for side in (0, 1) for name in METHODS for n in sizes):
            here = [r for r in found if (r["population"], r["n"]) == (index, n)]
            errors = [abs(record["roots"][name][side] - truth[side]) for record in here]
            mean, error = mean_and_error(errors)
            lines.append(
                {
                    "population": population.name,
                    "side": SIDES[side],
                    "method": name,
                    "n": n,
                    "n_moved": n_moved(n),
                    "n_trials": len(here),
                    "mean_error": mean,
                    "mean_error_error": error,
                    "largest_of_95_percent": float(np.quantile(errors, 0.95)),
                    "radius_proposition_1": proposition_1(n, epsilon=EPSILON, delta=DELTA).radius,
                    "radius_proposition_3": proposition_3(n, epsilon=EPSILON, delta=DELTA).radius,
                }
            )
    return lines


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.convergence",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=30, help="samples per population and n")
    parser.add_argument("--records", type=Path, default=records.RESULTS / "convergence.jsonl")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.processes < 1:
        parser.error("--trials and --processes must be at least 1")
    return options


def main(arguments=None, sizes=SIZES):
    options = parse(arguments)
    check_available()  # the figure needs matplotlib: say so before the work
    numbers = range(len(POPULATIONS)), range(options.trials)
    jobs = [Job(population, n, trial) for n in sizes for population in numbers[0] for trial in numbers[1]]
    try:
        found, _ = records.collect(jobs, jobs, key, run_trial, options.records, options.processes)
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        return 130
    document = document_of(found, sizes)
    write_results(options.records.parent, options.records.stem, document, document["lines"])
    convergence_page.write(document, options.records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
