"""The certified interval must contain the truth in every trial; and how wide is it beside S-SD's.

    python -m lab.studies.coverage [--data FOLDER] [--trials 200] [--records FILE] [--processes 2]
    python -m lab.studies.coverage --again "FOREST raw, N = 100, nonrandom, epsilon = 0.2" 17

A trial draws true groups, misfiles rows of X, and bounds the squared MMD from the filed groups with the true
count. One JSON line a trial goes to FILE (default: results/coverage.jsonl); a run that was stopped
continues, and trials already there are not run again: remove the file after a change of the method. The table
goes to the file of the same name that ends in .md. The exit code is 1 if the truth lies outside a certified
interval once, 2 if something is wrong with the call.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mmdbounds as mb
from lab.studies import drawing, records

GROUPS = {"FOREST raw": 100, "FOREST standardised": 100, "chest X-ray stand-in": 100, "BIO": drawing.N_BIO}
MECHANISMS = ("random", "nonrandom")
EPSILONS = (0.05, 0.1, 0.2, 0.25, 0.4, 0.5)
METHODS = ("sharp", "s-sd")
GAP = 0.01
"""The proof of "sharp" stops within this share of the width: a tighter one takes longer."""

TIED = 1e-12
"""An attained interval may miss the truth by rounding where they are the same labelling; that is no miss."""


class Setting(NamedTuple):
    """What a row of the table is about."""

    source: str
    n_rows: int
    mechanism: str
    epsilon: float

    @property
    def name(self):
        """Name in the records."""
        return f"{self.source}, N = {self.n_rows}, {self.mechanism}, epsilon = {self.epsilon:g}"


class Job(NamedTuple):
    """One trial."""

    setting: Setting
    trial: int
    methods: tuple[str, ...]
    folder: str | None


def settings(groups=GROUPS):
    return [
        Setting(*group, *rest) for group, *rest in itertools.product(groups.items(), MECHANISMS, EPSILONS)
    ]


def run_trial(job):
    """Draw, misfile, bound; return the record."""
    setting = job.setting
    seed = records.seed_of("coverage", setting.name, job.trial)
    rng = np.random.default_rng(seed)
    X, Y = drawing.draw(setting.source, job.folder, setting.n_rows, rng)
    filed = mb.simulate(X, Y, setting.epsilon, mechanism=setting.mechanism, rng=rng)
    runs, bandwidths = zip(*(records.both_sides(filed, method_of(name)) for name in job.methods), strict=True)
    return {
        "setting": setting.name,
        "trial": job.trial,
        "seed": seed,
        "m": filed.n_moved,
        "methods": list(job.methods),
        "truth": mb.mmd2(X, Y, bandwidth=bandwidths[0]),  # the very number that the bounds used
        "runs": list(runs),
        "version": mb.__version__,
    }


def key(record):
    return record["setting"], record["trial"], tuple(record["methods"])


def collect(jobs, path, processes):
    """Return the records of all jobs, in their order, and how many had to be run."""
    wanted = [(job.setting.name, job.trial, job.methods) for job in jobs]
    return records.collect(jobs, wanted, key, run_trial, path, processes)


def clearance(record):
    """Return how far inside the proved ends the truth lies; negative: outside; infinite: none is proved."""
    run, truth = record["runs"][0], record["truth"]
    low, high = run["lower_certified"], run["upper_certified"]
    return min(math.inf if low is None else truth - low, math.inf if high is None else high - truth)


def is_violated(record):
    """Return whether the truth lies outside what is proved: no tolerance (the proofs carry a margin)."""
    return not clearance(record) >= 0


def method_of(name):
    """Return the method that a name stands for in this study."""
    return mb.Sharp(gap=GAP) if name == "sharp" else name


def is_missed(record):
    """Return whether the truth lies outside the attained interval of the method beside."""
    run, truth = record["runs"][-1], record["truth"]
    return not run["lower"] - TIED <= truth <= run["upper"] + TIED


def row(setting, of_setting):
    """Return one line of the table."""
    proved, beside = ([record["runs"][place] for record in of_setting] for place in (0, -1))
    certified = sum(map(records.is_certified, proved))
    rate = np.mean([is_missed(record) for record in of_setting])
    error = math.sqrt(rate * (1 - rate) / len(of_setting))
    widths = (
        records.average(
            run["upper_certified"] - run["lower_certified"] if records.is_certified(run) else None
            for run in proved
        ),
        *(records.average(abs(run["upper"] - run["lower"]) for run in runs) for runs in (proved, beside)),
    )
    cells = [
        f"{setting.source}, N = {setting.n_rows}",
        setting.mechanism,
        f"{setting.epsilon:g}",
        of_setting[0]["m"],
        len(of_setting),
        f"{sum(map(is_violated, of_setting))} of {certified}",
        f"{100 * rate:.1f} ± {records.percent(error)}",
        *("-" if width is None else f"{width:.4f}" for width in widths),
        f"{records.average(run['seconds'] for run in proved):.2f}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def table(found, chosen, methods):
    """Return the lines of the table, one row a setting."""
    proved, beside = methods[0], methods[-1]
    heads = [
        "data",
        "misfiled",
        "epsilon",
        "m",
        "trials",
        "truth outside certified",
        f"truth outside {beside} (± standard error)",
        f"mean width, {proved} certified",
        f"{proved} attained",
        f"{beside} attained",
        "mean seconds",
    ]
    lines = [f"| {' | '.join(heads)} |", "|:--|:--|" + "--:|" * (len(heads) - 2)]
    for setting in chosen:
        lines.append(row(setting, [record for record in found if record["setting"] == setting.name]))
    return lines


def totals(found, methods):
    """Return the sentences that close the table."""
    missed, violated = (sum(map(test, found)) for test in (is_missed, is_violated))
    certified = sum(records.is_certified(record["runs"][0]) for record in found)
    crossed = sum(record["runs"][-1]["lower"] > record["runs"][-1]["upper"] for record in found)
    worst = min(found, key=clearance)
    sentences = [
        f"All {len(found):,} trials: {certified:,} have a certified interval ({methods[0]}). The truth lies",
        f"outside what is proved in {violated:,} of all trials, and outside the interval of {methods[-1]} in",
        f"{missed:,} ({records.percent(missed / len(found))}). Intervals of {methods[-1]} with the lower end",
        f"above the upper one: {crossed:,}.",
    ]
    if clearance(worst) < math.inf:
        sentences += [
            f"Nearest to a violation: the truth lies {clearance(worst):.3g} inside the certified interval in",
            f"trial {worst['trial']} of '{worst['setting']}' (negative would be outside; no tolerance).",
        ]
    return " ".join(sentences)


def report(found, chosen, methods, made):
    """Return the whole page."""
    versions = ", ".join(sorted({record["version"] for record in found}))
    about = [
        "True groups are drawn, and m rows of X are misfiled. The squared MMD of the true groups",
        "(unbiased, RBF, median bandwidth of the pooled rows) is bounded from the filed groups, with m",
        f"known, by {' and '.join(methods)}. The proof of sharp stops within a share of {GAP:g} of the",
        f"width (gap={GAP:g}). Seconds are those of {methods[0]}. The truth counts as outside an attained",
        f"interval if it is outside by more than {TIED:g}.",
    ]
    how = [
        f"Seed of a trial: {records.SEED_RULE}, with the study 'coverage'. Made by",
        f"`python -m lab.studies.coverage`, mmdbounds {versions}; {records.machine()}. {made}",
    ]
    head = "# Coverage: the truth, the certified interval and the attained ones"
    blocks = [
        head,
        " ".join(about),
        "\n".join(table(found, chosen, methods)),
        totals(found, methods),
        " ".join(how),
    ]
    return "\n\n".join(blocks) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with the data")
    parser.add_argument("--trials", type=int, default=200, help="trials per setting")
    parser.add_argument("--records", type=Path, default=records.RESULTS / "coverage.jsonl")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--methods",
        nargs=2,
        default=METHODS,
        metavar=("PROVED", "BESIDE"),
        help="the method whose proofs are tested, and the one whose attained interval stands beside it",
    )
    parser.add_argument(
        "--again", nargs=2, metavar=("SETTING", "TRIAL"), help="run one trial and print its record"
    )
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.processes < 1:
        parser.error("--trials and --processes must be at least 1")
    return options


def again(options, chosen):
    """Run one trial and print its record."""
    name, trial = options.again
    by_name = {setting.name: setting for setting in chosen}
    if name not in by_name or not trial.isdigit():
        records.fail(f"no trial {trial!r} of a setting {name!r}. Settings are named as in the records.")
    print(
        json.dumps(run_trial(Job(by_name[name], int(trial), tuple(options.methods), options.data)), indent=2)
    )
    return 0


def main(arguments=None, groups=GROUPS):
    started = time.monotonic()
    options = parse(arguments)
    methods, chosen = tuple(options.methods), settings(groups)
    drawing.check_folder(options.data, groups)
    try:
        if options.again:
            return again(options, chosen)
        # Trial by trial through all settings, so that a table of few trials is soon there for all of them.
        jobs = [Job(s, trial, methods, options.data) for trial in range(options.trials) for s in chosen]
        found, n_run = collect(jobs, options.records, options.processes)
    except mb.MmdBoundsError as error:
        records.fail(error)
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        return 130
    wall = records.duration(time.monotonic() - started)
    made = f"The last run added {n_run:,} of the trials in {wall}, with {options.processes} at a time."
    page = report(found, chosen, methods, made)
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    return 1 if any(map(is_violated, found)) else 0


if __name__ == "__main__":
    sys.exit(main())
