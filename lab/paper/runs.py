"""`reproduce`: from experiments to runs (each once), results, figures and the page."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.datasets.files import PathLike, require_file
from lab.paper import figures, results
from lab.paper.experiments import (
    EVERYTHING,
    EXPERIMENTS,
    PRESETS,
    SOURCES,
    Experiment,
    Setting,
    Source,
    check_name,
    protocol,
)
from lab.paper.page import PAGE, write_page
from lab.paper.presets import Preset
from lab.paper.results import Line, line_of
from mmdbounds._version import __version__
from mmdbounds.atomic_write import write_whole
from mmdbounds.baselines import Baseline
from mmdbounds.checks import (
    MOST_SEED,
    MOST_TRIALS,
    check_count,
    check_option,
    check_processes,
    check_progress,
)
from mmdbounds.errors import MmdBoundsError
from mmdbounds.evaluation import evaluate
from mmdbounds.journal import read_journal
from mmdbounds.plotting import canvas
from mmdbounds.progress import show_by_default
from mmdbounds.results import Estimator
from mmdbounds.search import Method
from mmdbounds.sums.threads import thread_count

COST = {"BIO": 6.0}  # roughly how much longer a trial takes than one with as many rows but few columns
RESULTS = "lab/paper/results"  # the default folder


@dataclass(frozen=True)
class Run:
    """One call of `evaluate`: a setting, and all methods with the same estimator and scaling."""

    setting: Setting
    estimator: Estimator
    scale: str
    methods: Mapping[str, Method | Baseline]  # by their labels in the evaluation
    rows: Mapping[tuple[str, str], str]  # label of each protocol and row: what two share runs once
    n_trials: int
    exchanged: bool = False  # whether the other group is contaminated than `Source.load` returns as X

    @property
    def source(self) -> Source:
        """The data set."""
        return SOURCES[self.setting.source]

    def file_name(self, rng: int) -> str:
        """Return the name of the checkpoint; other settings have another name."""
        settings = {
            "setting": repr(self.setting),
            "how": [self.estimator, self.scale, self.exchanged],
            "methods": {label: [method.name, method.options()] for label, method in self.methods.items()},
            "rng": rng,
            "version": __version__,
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
        words = re.sub(r"[^a-z0-9.]+", "-", self.setting.name.lower()).strip("-")
        return f"{words}-{self.estimator}-{digest}.journal"

    def cost(self, folder: Path, rng: int) -> float:
        """Return roughly how much work is left, in trials with 100 rows; finished trials cost nothing."""
        missing = max(0, self.n_trials - _n_finished(folder / self.file_name(rng)))
        size = max(1.0, self.setting.n_rows / 100)
        return float(missing * COST.get(self.source.name, 1.0) * size**1.2)


def _n_finished(path: Path) -> int:
    """Return the number of trials in a checkpoint; its first record is not a trial."""
    try:
        found = read_journal(path)
    except MmdBoundsError:  # reported when the file is used
        return 0
    return 0 if found is None else max(0, len(found.records) - 1)


def protocols_of(experiment: Experiment, preset: str) -> dict[tuple[str, str], Preset]:
    """Return the protocols of an experiment, by name and data set."""
    sources = dict.fromkeys(setting.source for setting in experiment.all_settings)
    return {
        (name, source): protocol(name, SOURCES[source], experiment.family)
        for source in sources
        for name in PRESETS[preset]
    }


def runs_of(experiment: Experiment, preset: str) -> list[Run]:
    """Return the runs of an experiment, in the order of its settings."""
    protocols = protocols_of(experiment, preset)
    runs = []
    for setting in experiment.all_settings:
        alike: dict[tuple[Estimator, str, bool], dict[str, Mapping[str, Method | Baseline]]] = {}
        for name in PRESETS[preset]:
            each = protocols[name, setting.source]
            how = each.estimator, each.scale, SOURCES[setting.source].exchanges(name)
            alike.setdefault(how, {})[name] = each.methods
        for (estimator, scale, exchanged), of_protocol in alike.items():
            every = [row for methods in of_protocol.values() for row in methods]
            trials = {row: experiment.trials(setting, row) for row in every}
            for n_trials in dict.fromkeys(trials.values()):
                methods, rows = _shared(of_protocol, {row for row, n in trials.items() if n == n_trials})
                runs.append(Run(setting, estimator, scale, methods, rows, n_trials, exchanged))
    return runs


def _shared(
    protocols: Mapping[str, Mapping[str, Method | Baseline]], wanted: set[str]
) -> tuple[dict[str, Method | Baseline], dict[tuple[str, str], str]]:
    """Return the distinct methods of some protocols by label, and the label of each protocol and row."""
    distinct: dict[str, Method | Baseline] = {}
    labels: dict[tuple[str, str], str] = {}
    for name, methods in protocols.items():
        for row in (row for row in methods if row in wanted):
            label = row if distinct.get(row, methods[row]) == methods[row] else f"{row} ({name})"
            distinct[label] = methods[row]
            labels[name, row] = label
    return distinct, labels


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
    """Run a table or figure of the paper again, and write the results beside the printed numbers.

    Parameters
    ----------
    name : str
        The experiment, such as ``"main"``, or ``"all"``; ``python -m lab.paper --list`` shows them.
    preset : {"both", "paper", "ours", "paper-as-printed"}, default="both"
        The paper's protocol as we read it, or ours, with the sharp method; or the paper's formulas to the
        letter, which fit its numbers less well.
    n_trials : int, optional
        Trials of each setting; by default as many as in the paper.
    out : path, default="lab/paper/results"
        Folder for NAME.json, NAME.csv, NAME.png, NAME.svg and the page index.md. Trials are kept
        in its folder ``checkpoints``, from which the same call resumes after a stop.
    data : path, optional
        Folder with the data; by default the one named by ``MMDBOUNDS_DATA``.
    n_processes : int or None
        Number of processes that run trials; `None` means one per core.
    rng : int, default=0
        Seed.
    progress : bool, optional
        Show the progress.

    Returns
    -------
    Path
        Path of the page.
    """
    check_name(name)
    check_option(preset, "preset", tuple(PRESETS))
    check_progress(progress)
    seed = check_count(rng, "rng", most=MOST_SEED)
    n_processes = thread_count() if n_processes is None else check_processes(n_processes)
    if n_trials is not None:
        check_count(n_trials, "n_trials", least=1, most=MOST_TRIALS)
    names = tuple(EXPERIMENTS) if name == EVERYTHING else (name,)
    chosen = [EXPERIMENTS[each].with_trials(n_trials) for each in names]
    canvas.check_available()
    for source in dict.fromkeys(setting.source for each in chosen for setting in each.all_settings):
        require_file(SOURCES[source].card, data, downloadable=False)
    place = results.ready_folder(out)
    write_page(place)  # refuses now, not after the work, a file that does not hold results
    work = _Work(place, data, preset, n_processes, seed, progress)
    work.expect(chosen)
    for experiment in chosen:
        work.do(experiment)
        write_page(place)  # so that a later stop loses nothing
    return place / PAGE


@dataclass(eq=False)
class _Work:
    """Carries out runs, with the data they need and an estimate of the time left."""

    _place: Path
    _data: PathLike | None
    _preset: str
    _n_processes: int
    _rng: int
    _progress: bool | None
    _left: dict[str, float] = field(default_factory=dict)  # cost of the runs ahead, by file name
    _speed: tuple[float, float] = (0.0, 0.0)  # cost and seconds of the runs so far

    def __post_init__(self) -> None:
        self._checkpoints = self._place / results.CHECKPOINTS
        self._groups = functools.cache(lambda source: SOURCES[source].load(self._data))

    def expect(self, experiments: Iterable[Experiment]) -> None:
        """Add up the work ahead, each run once."""
        for experiment in experiments:
            for run in runs_of(experiment, self._preset):
                self._left[run.file_name(self._rng)] = run.cost(self._checkpoints, self._rng)

    def do(self, experiment: Experiment) -> None:
        """Run an experiment and write its results."""
        done = [self._lines(run) for run in runs_of(experiment, self._preset)]
        document = {
            **_heading(experiment, self._preset, self._rng),
            "core_seconds": round(sum(seconds for _, seconds in done), 1),
            "lines": [asdict(line) for lines, _ in done for line in lines],
        }
        results.write_results(self._place, experiment.name, document, document["lines"])
        for suffix, content in figures.drawn(document).items():
            write_whole(self._place / f"{experiment.name}.{suffix}", content)

    def _lines(self, run: Run) -> tuple[list[Line], float]:
        """Return the lines of one run, and the seconds of its trials."""
        X, Y = self._groups(run.setting.source)
        n_x, n_y = run.source.sizes(run.setting.n_rows)
        if run.exchanged:
            X, Y, n_x, n_y = Y, X, n_y, n_x
        cost = self._left.pop(run.file_name(self._rng), 0.0)
        self._announce(run, cost)
        started = time.monotonic()
        found = evaluate(
            X,
            Y,
            run.setting.epsilon,
            methods=run.methods,
            sizes=(n_x, n_y),
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
        lines = [
            line_of(found, label, **vars(run.setting), protocol=name, method=row)
            for (name, row), label in run.rows.items()
        ]
        return lines, found.provenance.seconds

    def _announce(self, run: Run, cost: float) -> None:
        """Print the next run and the time left, if somebody is watching."""
        if not (show_by_default() if self._progress is None else self._progress) or not cost:
            return
        done, seconds = self._speed
        ahead = cost + sum(self._left.values())
        left = f"; about {max(1, round(ahead * seconds / done / 60))} min left" if done else ""
        trials = f"{run.n_trials} trial{'' if run.n_trials == 1 else 's'}"
        sys.stderr.write(f"{run.setting.name}, {trials}{left}\n")


def _heading(experiment: Experiment, preset: str, rng: int) -> dict[str, Any]:
    """Return how an experiment was run."""
    return {
        "type": results.TYPE,
        "schema": results.SCHEMA,
        **{name: getattr(experiment, name) for name in ("name", "label", "title", "kind", "family")},
        "preset": preset,
        "rng": rng,
        "version": __version__,
        "machine": results.machine(),
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
