"""Every table and figure of the paper as data: what is drawn, how rows are misfiled, which methods run.

The same setting under the same protocol is the same run, whichever table or figure uses it: the point at
N = 100 of a figure *is* the row of the main table.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Literal

from mmdbounds.errors import MmdBoundsError, did_you_mean
from mmdbounds.paper import printed
from mmdbounds.paper.protocols import (
    ALL,
    BIO,
    COMPAS,
    DIABETES,
    FOREST,
    N_BIO,
    NIH,
    S_QNO_STEPS,
    S_SD_STEPS,
    SOURCES,
)

SIZES = (20, 50, 100, 200, 500, 1000, 2000)
EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 0.9)
EPSILON = 0.2
SMALL, LARGE = 100, 2000
SLOW_TRIALS = 10

EVERYTHING = "all"

Kind = Literal["table", "sizes", "epsilons", "typical"]


@dataclass(frozen=True)
class Setting:
    """One point: what is drawn, and how much of it is misfiled and how.

    Attributes
    ----------
    source
        Name of the data set.
    n_rows
        N, the rows of both true groups together.
    epsilon
        Share of the true X that is misfiled.
    mechanism
        ``"nonrandom"`` or ``"random"``.
    """

    source: str
    n_rows: int = SMALL
    epsilon: float = EPSILON
    mechanism: str = "nonrandom"

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.source}, N = {self.n_rows}, epsilon = {self.epsilon:g}, {self.mechanism}"


@dataclass(frozen=True)
class Experiment:
    """A table or a figure.

    Attributes
    ----------
    name
        Its name on the command line.
    label
        Its label in the paper's source.
    title
        What it shows.
    kind
        A table, or what a figure has on its horizontal axis.
    settings
        Its points.
    family
        Which methods it compares.
    table
        What the paper prints, for a table.
    n_trials
        Trials of every setting; by default those of the data set.
    n_slow
        Trials of QNO and S-QNO on BIO, if fewer: with thousands of columns a trial takes up to a minute.
    minutes
        Approximate time of all trials on two cores.
    """

    name: str
    label: str
    title: str
    kind: Kind
    settings: tuple[Setting, ...]
    minutes: float
    family: str = ALL
    table: printed.PrintedTable | None = field(default=None, repr=False)
    n_trials: int | None = None
    n_slow: int | None = None

    def trials(self, setting: Setting, row: str) -> int:
        """Return the number of trials of a setting for one row of the table."""
        n_trials = SOURCES[setting.source].n_trials if self.n_trials is None else self.n_trials
        is_slow = setting.source == BIO.name and row in (printed.QNO, printed.S_QNO)
        return n_trials if self.n_slow is None or not is_slow else min(n_trials, self.n_slow)

    def with_trials(self, n_trials: int | None) -> Experiment:
        """Return the same experiment with another number of trials; `None` changes nothing."""
        return self if n_trials is None else dataclasses.replace(self, n_trials=n_trials)


def _small(mechanism: str) -> tuple[Setting, ...]:
    standins = tuple(Setting(source.name, mechanism=mechanism) for source in (NIH, DIABETES, COMPAS))
    return (
        *standins,
        Setting(FOREST.name, mechanism=mechanism),
        Setting(BIO.name, N_BIO, mechanism=mechanism),
    )


def _over_sizes(source: str, mechanism: str = "nonrandom") -> tuple[Setting, ...]:
    return tuple(Setting(source, n_rows, mechanism=mechanism) for n_rows in SIZES)


def _over_epsilons(source: str, n_rows: int = SMALL, mechanism: str = "nonrandom") -> tuple[Setting, ...]:
    return tuple(Setting(source, n_rows, epsilon, mechanism) for epsilon in EPSILONS)


_ONE_LARGE = (Setting(FOREST.name, LARGE),)

_ALL = (
    Experiment(
        "main",
        "nonrandom_main_table",
        "All methods on three data sets, nonrandom misfiling, epsilon = 0.2",
        "table",
        _small("nonrandom"),
        minutes=11,
        table=printed.MAIN,
    ),
    Experiment(
        "n2000",
        "tab:n2000",
        "The same with N = 2000",
        "table",
        (Setting(NIH.name, LARGE), Setting(FOREST.name, LARGE)),
        minutes=5,
        table=printed.N2000,
    ),
    Experiment(
        "random",
        "tab:rand100",
        "All methods on three data sets, random misfiling, epsilon = 0.2",
        "table",
        _small("random"),
        minutes=11,
        table=printed.RANDOM,
    ),
    Experiment(
        "steps-s-sd",
        "tab:sensitivity_step",
        "The number of steps of S-SD, FOREST with N = 2000, epsilon = 0.2",
        "table",
        _ONE_LARGE,
        minutes=1,
        family=S_SD_STEPS,
        table=printed.STEPS_S_SD,
        n_trials=100,
    ),
    Experiment(
        "steps-s-qno",
        "tab:sens_both",
        "The number of steps of S-QNO, FOREST with N = 2000, epsilon = 0.2",
        "table",
        _ONE_LARGE,
        minutes=10,
        family=S_QNO_STEPS,
        table=printed.STEPS_S_QNO,
        n_trials=100,
    ),
    Experiment(
        "forest-sizes",
        "IW_FCR",
        "Width and false coverage against N on FOREST, epsilon = 0.2",
        "sizes",
        _over_sizes(FOREST.name),
        minutes=6,
    ),
    Experiment(
        "forest-epsilons",
        "fig:FOREST_eps",
        "Width and false coverage against epsilon on FOREST, N = 100",
        "epsilons",
        _over_epsilons(FOREST.name),
        minutes=3,
    ),
    Experiment(
        "typical",
        "fig:typical_est",
        "The typical estimate against epsilon, with the truth and the bounds around it",
        "typical",
        (*_over_epsilons(FOREST.name), *_over_epsilons(NIH.name), *_over_epsilons(BIO.name, N_BIO)),
        minutes=30,
        n_slow=SLOW_TRIALS,
    ),
    Experiment(
        "standin-sizes",
        "fig:n_mimic",
        "Width and false coverage against N on a stand-in for MIMIC, epsilon = 0.2",
        "sizes",
        _over_sizes(NIH.name),
        minutes=4,
    ),
    Experiment(
        "standin-epsilons",
        "fig:eps_mimic",
        "Width and false coverage against epsilon on a stand-in for MIMIC, N = 100",
        "epsilons",
        _over_epsilons(NIH.name),
        minutes=3,
    ),
    Experiment(
        "bio-epsilons",
        "fig:eps_bio",
        "Width and false coverage against epsilon on BIO",
        "epsilons",
        _over_epsilons(BIO.name, N_BIO),
        minutes=25,
        n_slow=SLOW_TRIALS,
    ),
    Experiment(
        "random-sizes",
        "fig:randsamp",
        "Width and false coverage against N on FOREST, random misfiling, epsilon = 0.2",
        "sizes",
        _over_sizes(FOREST.name, "random"),
        minutes=6,
    ),
    Experiment(
        "random-epsilons",
        "fig:rand_eps",
        "Width and false coverage against epsilon on FOREST, random misfiling, N = 100",
        "epsilons",
        _over_epsilons(FOREST.name, mechanism="random"),
        minutes=3,
    ),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}


def check_name(name: str) -> str:
    """Return the name of a table or figure, or say which there are."""
    known = (*EXPERIMENTS, EVERYTHING)
    if name not in known:
        msg = f"`name` must be one of {', '.join(map(repr, known))}; got {name!r}.{did_you_mean(name, known)}"
        raise MmdBoundsError(msg)
    return name


def listing() -> list[tuple[str, str, float]]:
    """Return name, title and approximate minutes on two cores of everything that can be run."""
    alone = [(each.name, each.title, each.minutes) for each in _ALL]
    return [*alone, (EVERYTHING, "All of the above; what they share is run once", 75)]
