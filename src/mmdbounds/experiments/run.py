"""`reproduce`: run an experiment, keep what comes out, write the page."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mmdbounds._version import __version__
from mmdbounds.checks import (
    MOST_SEED,
    MOST_TRIALS,
    check_count,
    check_option,
    check_processes,
    check_progress,
)
from mmdbounds.datasets.local import PathLike
from mmdbounds.evaluation import evaluate
from mmdbounds.experiments import canvas, figures, folder
from mmdbounds.experiments.configs import CONVERGENCE, EVERYTHING, EXPERIMENTS, NAMES, Experiment, check_name
from mmdbounds.experiments.convergence import run_convergence
from mmdbounds.experiments.lines import Line, as_row, line_of
from mmdbounds.experiments.page import write_page
from mmdbounds.experiments.plan import Run, protocols_of, runs_of
from mmdbounds.experiments.protocols import PRESETS
from mmdbounds.experiments.sources import SOURCES
from mmdbounds.progress import show_by_default
from mmdbounds.sums.threads import thread_count

RESULTS = "paper/results"
"""Where results go unless asked otherwise."""


def reproduce(
    name: str,
    *,
    preset: str = "both",
    n_trials: int | None = None,
    out: PathLike = RESULTS,
    data: PathLike | None = None,
    n_processes: int | None = None,
    rng: int = 0,
    progress: bool | None = None,
) -> Path:
    """Run a table or figure of the paper again, and write what comes out beside what is printed.

    Parameters
    ----------
    name : str
        The experiment, such as ``"main"``, or ``"all"``; ``mmdbounds reproduce --list`` shows them.
    preset : {"both", "paper", "ours"}, default="both"
        The paper's protocol, as far as it can be known, or ours: exact counts and a sharp method.
    n_trials : int, optional
        Trials of each setting; by default as many as the paper ran.
    out : path, default="paper/results"
        Folder for NAME.json, NAME.csv, NAME.png, NAME.svg and the page index.md. Trials are kept
        in its folder ``checkpoints``: the same call goes on from there after it was stopped.
    data : path, optional
        Folder with the data; by default the one that ``MMDBOUNDS_DATA`` names.
    n_processes : int or None
        Processes that run trials at the same time; `None` takes one for each core.
    rng : int, default=0
        Seed.
    progress : bool, optional
        Show how far the work is.

    Returns
    -------
    Path
        The page.
    """
    check_name(name)
    check_option(preset, "preset", tuple(PRESETS))
    check_progress(progress)
    seed = check_count(rng, "rng", most=MOST_SEED)
    n_processes = thread_count() if n_processes is None else check_processes(n_processes)
    if n_trials is not None:
        check_count(n_trials, "n_trials", least=1, most=MOST_TRIALS)
    names = NAMES if name == EVERYTHING else (name,)
    chosen = [EXPERIMENTS[each].with_trials(n_trials) for each in names if each != CONVERGENCE]
    canvas.check_available()
    for source in dict.fromkeys(setting.source for each in chosen for setting in each.settings):
        folder.require_data(SOURCES[source].card, data)
    place = folder.ready(out)
    write_page(place)  # says now if there is something in the folder that is no result
    work = _Work(place, data, preset, n_processes, seed, progress)
    work.expect(chosen)
    for experiment in chosen:
        work.do(experiment)
        write_page(place)  # whatever comes after, this much is done
    if CONVERGENCE in names:
        run_convergence(place, n_trials=n_trials, n_processes=n_processes, rng=seed, progress=progress)
    return write_page(place)


class _Work:
    """Runs, with the data they need and the time they take."""

    def __init__(
        self,
        place: Path,
        data: PathLike | None,
        preset: str,
        n_processes: int,
        rng: int,
        progress: bool | None,
    ) -> None:
        self._place, self._preset, self._n_processes = place, preset, n_processes
        self._rng, self._progress = rng, progress
        self._checkpoints = place / folder.CHECKPOINTS
        self._groups = functools.cache(lambda source: SOURCES[source].load(data))
        self._left: dict[str, float] = {}
        self._speed = (0.0, 0.0)  # cost and seconds of what was run so far

    def expect(self, experiments: Iterable[Experiment]) -> None:
        """Look ahead at what there is to run, each run once."""
        for experiment in experiments:
            for run in runs_of(experiment, self._preset):
                self._left[run.file_name(self._rng)] = run.cost(self._checkpoints, self._rng)

    def do(self, experiment: Experiment) -> None:
        """Run an experiment and write its results."""
        lines: list[Line] = []
        seconds = 0.0
        for run in runs_of(experiment, self._preset):
            found, took = self._lines(run)
            lines += found
            seconds += took
        document = {
            **_heading(experiment, self._preset, self._rng),
            "core_seconds": round(seconds, 1),
            "lines": [as_row(line) for line in lines],
        }
        folder.write_results(self._place, experiment.name, document, document["lines"])
        for suffix, content in figures.drawn(document).items():
            folder.write_bytes(self._place / f"{experiment.name}.{suffix}", content)

    def _lines(self, run: Run) -> tuple[list[Line], float]:
        """Return the lines of one run, and the seconds that its trials took."""
        X, Y = self._groups(run.setting.source)
        cost = self._left.pop(run.file_name(self._rng), 0.0)
        self._say(run, cost)
        started = time.monotonic()
        found = evaluate(
            X,
            Y,
            run.setting.epsilon,
            methods=run.methods,
            sizes=run.source.sizes(run.setting.n_rows),
            replace=run.source.replace,
            n_trials=run.n_trials,
            mechanism=run.setting.mechanism,
            scale=run.scale,
            estimator=run.estimator,
            n_processes=self._n_processes,
            checkpoint=self._checkpoints / run.file_name(self._rng),
            rng=self._rng,
            progress=self._progress,
        )
        self._speed = self._speed[0] + cost, self._speed[1] + time.monotonic() - started
        setting = run.setting
        heading: dict[str, Any] = {
            "source": setting.source,
            "n_rows": setting.n_rows,
            "epsilon": setting.epsilon,
            "mechanism": setting.mechanism,
        }
        lines = [
            line_of(found, label, **heading, protocol=name, method=row)
            for (name, row), label in run.rows.items()
        ]
        return lines, found.provenance.seconds

    def _say(self, run: Run, cost: float) -> None:
        """Say what comes next and how long all the rest takes, to whoever is watching."""
        if not (show_by_default() if self._progress is None else self._progress) or not cost:
            return
        done, seconds = self._speed
        ahead = cost + sum(self._left.values())
        left = f"; about {max(1, round(ahead * seconds / done / 60))} min left" if done else ""
        trials = f"{run.n_trials} trial{'' if run.n_trials == 1 else 's'}"
        sys.stderr.write(f"{run.setting.name}, {trials}{left}\n")


def _heading(experiment: Experiment, preset: str, rng: int) -> dict[str, Any]:
    """Return all that says how an experiment was run."""
    return {
        "type": folder.TYPE,
        "schema": folder.SCHEMA,
        "name": experiment.name,
        "label": experiment.label,
        "title": experiment.title,
        "kind": experiment.kind,
        "family": experiment.family,
        "preset": preset,
        "rng": rng,
        "version": __version__,
        "machine": folder.machine(),
        "protocols": [
            {
                "protocol": name,
                "source": source,
                "estimator": each.estimator,
                "scale": each.scale,
                "methods": {
                    row: {"method": method.name, "options": method.options()}
                    for row, method in each.methods.items()
                },
            }
            for (name, source), each in protocols_of(experiment, preset).items()
        ],
    }
