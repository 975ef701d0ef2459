"""From experiments to runs: what has to be evaluated, each thing once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmdbounds._version import __version__
from mmdbounds.errors import MmdBoundsError
from mmdbounds.experiments.configs import Experiment, Setting
from mmdbounds.experiments.protocols import PRESETS, Protocol, protocol
from mmdbounds.experiments.sources import SOURCES, Source
from mmdbounds.journal import read_journal
from mmdbounds.results import Estimator
from mmdbounds.search import Method

COST = {"BIO": 6.0}
"""About how much longer a trial takes than one with as many rows and few columns."""


@dataclass(frozen=True)
class Run:
    """One call of `evaluate`: a setting, and every method that looks at it in the same way.

    Attributes
    ----------
    setting
        What is drawn and misfiled.
    estimator, scale
        What the methods have in common.
    methods
        By their labels in the evaluation.
    rows
        From protocol and row of the table to the label: a method that two protocols share runs once.
    n_trials
        How many trials.
    """

    setting: Setting
    estimator: Estimator
    scale: str
    methods: Mapping[str, Method]
    rows: Mapping[tuple[str, str], str]
    n_trials: int

    @property
    def source(self) -> Source:
        """The data set."""
        return SOURCES[self.setting.source]

    def file_name(self, rng: int) -> str:
        """Return the name of the file that keeps the trials: another question has another name."""
        asked = {
            "setting": repr(self.setting),
            "how": [self.estimator, self.scale],
            "methods": {label: [method.name, method.options()] for label, method in self.methods.items()},
            "rng": rng,
            "version": __version__,
        }
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12]
        words = re.sub(r"[^a-z0-9.]+", "-", self.setting.name.lower()).strip("-")
        return f"{words}-{self.estimator}-{digest}.journal"

    def cost(self, folder: Path, rng: int) -> float:
        """Return about how much work is left, in trials with 100 rows; trials that are kept cost nothing."""
        missing = max(0, self.n_trials - _kept(folder / self.file_name(rng)))
        size = max(1.0, self.setting.n_rows / 100)
        return float(missing * COST.get(self.source.name, 1.0) * size**1.2)


def _kept(path: Path) -> int:
    """Return how many trials a file keeps; its first record is no trial."""
    try:
        found = read_journal(path)
    except MmdBoundsError:  # said when it is used
        return 0
    return 0 if found is None else max(0, len(found.records) - 1)


def protocols_of(experiment: Experiment, preset: str) -> dict[tuple[str, str], Protocol]:
    """Return the protocols of an experiment, by their names and the data sets."""
    sources = dict.fromkeys(setting.source for setting in experiment.settings)
    return {
        (name, source): protocol(name, SOURCES[source], experiment.family)
        for source in sources
        for name in PRESETS[preset]
    }


def runs_of(experiment: Experiment, preset: str) -> list[Run]:
    """Return the runs of an experiment, in the order of its settings."""
    protocols = protocols_of(experiment, preset)
    runs = []
    for setting in experiment.settings:
        asked = [protocols[name, setting.source] for name in PRESETS[preset]]
        for estimator, scale in dict.fromkeys((each.estimator, each.scale) for each in asked):
            alike = [each for each in asked if (each.estimator, each.scale) == (estimator, scale)]
            trials = {row: experiment.trials(setting, row) for each in alike for row in each.methods}
            for n_trials in dict.fromkeys(trials.values()):
                methods, rows = _shared(alike, {row for row, n in trials.items() if n == n_trials})
                runs.append(Run(setting, estimator, scale, methods, rows, n_trials))
    return runs


def _shared(
    protocols: list[Protocol], wanted: set[str]
) -> tuple[dict[str, Method], dict[tuple[str, str], str]]:
    """Return the different methods of some protocols by labels, and which row is which."""
    methods: dict[str, Method] = {}
    rows: dict[tuple[str, str], str] = {}
    for each in protocols:
        for row, method in ((row, each.methods[row]) for row in each.methods if row in wanted):
            label = row if methods.get(row, method) == method else f"{row} ({each.name})"
            methods[label] = method
            rows[each.name, row] = label
    return methods, rows
