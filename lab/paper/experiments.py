"""The data sets, the protocols and every table and figure of the paper, as data.

The MIMIC-CXR logits of the paper are not open. Three open sets of the same shape stand in for them, always
under their own names: their results are not comparable with the paper's MIMIC columns. Protocols are presets
of `evaluate`, chosen by data set and table. The same setting under the same protocol is the same run: the
point at N = 100 of a figure *is* the row of the main table.

The numbers of two tables fit each other's labels (`Experiment.inferred`), so they are run under both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from lab.datasets.cards import BIO as BIO_CARD
from lab.datasets.cards import FOREST as FOREST_CARD
from lab.datasets.cards import STANDINS, Card
from lab.datasets.files import PathLike
from lab.datasets.loaders import load_bio, load_forest, load_standin
from lab.paper import printed
from lab.paper.presets import AS_PRINTED, OURS, PAPER, PAPER_BIO, Preset, preset_of, qno, s_sd
from lab.paper.results import Line
from mmdbounds.checks import check_option
from mmdbounds.errors import MmdBoundsError, did_you_mean
from mmdbounds.tables import Group

Groups = tuple[Group, Group]


@dataclass(frozen=True)
class Source:
    """A data set, by its name in tables and figures."""

    name: str
    column: str  # the data set of the paper that it stands in for; FOREST and BIO stand for themselves
    card: Card
    n_trials: int  # the paper's, judging by its rates: multiples of 1/50 on FOREST and MIMIC, of 1/100 on BIO
    load: Callable[[PathLike | None], Groups]  # returns the true groups from the folder with the data
    replace: bool = False  # whether a trial draws rows with replacement, within each group
    whole: tuple[int, int] | None = None  # sizes of these, if a trial always draws as many rows as there are
    is_exchanged: bool = False  # whether the paper's numbers fit the groups the other way round than it says

    @property
    def is_standin(self) -> bool:
        """Whether its numbers are not comparable with the paper's."""
        return self.column == printed.MIMIC

    def exchanges(self, protocol: str) -> bool:
        """Return whether a protocol contaminates the group that `load` returns as Y."""
        return self.is_exchanged and protocol != AS_PRINTED

    def sizes(self, n_rows: int) -> tuple[int, int]:
        """Return the sizes of the groups that `load` returns for N rows in total: half each, or all rows."""
        return (n_rows // 2, n_rows - n_rows // 2) if self.whole is None else self.whole


def _standin(name: str, key: str) -> Source:
    # All rows: bounds do not need one row per patient, and N = 2000 exceeds the number of patients.
    return Source(
        name,
        printed.MIMIC,
        STANDINS[key],
        50,
        lambda folder: load_standin(key, folder, one_row_per_patient=False).groups(),
    )


FOREST = Source(
    "FOREST",
    printed.FOREST,
    FOREST_CARD,
    50,
    lambda folder: load_forest(folder).groups(),
    is_exchanged=True,
)
BIO = Source(
    "BIO",
    printed.BIO,
    BIO_CARD,
    100,
    lambda folder: load_bio(folder).groups(),
    replace=True,
    whole=(BIO_CARD.n_x, BIO_CARD.n_y),
)
NIH = _standin("NIH ChestX-ray14", "nih_cxr14")
DIABETES = _standin("Diabetes 130", "diabetes130")
COMPAS = _standin("COMPAS", "compas")
N_BIO = BIO_CARD.n_x + BIO_CARD.n_y

SOURCES = {source.name: source for source in (FOREST, NIH, DIABETES, COMPAS, BIO)}

READINGS = (PAPER, AS_PRINTED)  # of the paper; results hold at most one of them
PROTOCOLS = (*READINGS, OURS)
PRESETS = {**{name: (name,) for name in PROTOCOLS}, "both": (PAPER, OURS)}

STEPS = (2, 3, 5, 10, 20, 50)  # in the two tables about them
ALL, S_SD_STEPS, S_QNO_STEPS = FAMILIES = "all methods", "steps of S-SD", "steps of S-QNO"


def protocol(preset: str, source: Source, family: str = ALL) -> Preset:
    """Return how a data set is treated: the paper's protocol depends on it, the rows on the family."""
    check_option(preset, "preset", PROTOCOLS)
    check_option(family, "family", FAMILIES)
    name = PAPER_BIO if preset == PAPER and source.column == printed.BIO else preset
    chosen = preset_of(name)
    if family == ALL:
        return chosen
    steps_of = s_sd if family == S_SD_STEPS else qno
    methods = {str(steps): steps_of(steps, name) for steps in STEPS}
    return dataclasses.replace(chosen, methods=MappingProxyType(methods))


SIZES = (20, 50, 100, 200, 500, 1000, 2000)
EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 0.9)
EPSILON = 0.2
SMALL, LARGE = 100, 2000
SLOW_TRIALS = 10
EVERYTHING = "all"

Kind = Literal["table", "sizes", "epsilons", "typical"]


@dataclass(frozen=True)
class Setting:
    """One point: what is drawn, and how much of it is misfiled and how."""

    source: str
    n_rows: int = SMALL  # N, of both true groups together
    epsilon: float = EPSILON  # share of the true X that is misfiled
    mechanism: str = "nonrandom"

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.source}, N = {self.n_rows}, epsilon = {self.epsilon:g}, {self.mechanism}"


def setting_of(line: Line) -> Setting:
    """Return the setting of a line."""
    return Setting(line.source, line.n_rows, line.epsilon, line.mechanism)


@dataclass(frozen=True)
class Experiment:
    """A table or a figure."""

    name: str  # on the command line
    label: str  # in the paper's source
    kind: Kind  # a table, or what a figure has on its horizontal axis
    settings: tuple[Setting, ...]  # as the paper labels its numbers
    minutes: float  # of all trials on two cores, approximately
    family: str = ALL
    table: printed.PrintedTable | None = field(default=None, repr=False)
    n_trials: int | None = None  # of every setting; by default those of the data set
    n_slow: int | None = None  # of QNO and S-QNO on BIO, if fewer: with its columns one takes up to a minute
    inferred: tuple[Setting, ...] = ()  # that the numbers fit, where it is not the one of the label

    @property
    def title(self) -> str:
        """What it shows."""
        return TITLES[self.name]

    @property
    def all_settings(self) -> tuple[Setting, ...]:
        """What is run."""
        return (*self.settings, *self.inferred)

    def labelled(self, *, inferred: bool) -> tuple[Setting, ...]:
        """Return the settings by the labels of the paper, or by those that its numbers fit."""
        fitting = {setting.source: setting for setting in self.inferred} if inferred else {}
        return tuple(fitting.get(setting.source, setting) for setting in self.settings)

    def trials(self, setting: Setting, row: str) -> int:
        """Return the number of trials of a setting for one row of the table."""
        n_trials = SOURCES[setting.source].n_trials if self.n_trials is None else self.n_trials
        is_slow = setting.source == BIO.name and row in (printed.QNO, printed.S_QNO)
        return n_trials if self.n_slow is None or not is_slow else min(n_trials, self.n_slow)

    def with_trials(self, n_trials: int | None) -> Experiment:
        """Return the same experiment with another number of trials; `None` changes nothing."""
        return self if n_trials is None else dataclasses.replace(self, n_trials=n_trials)


def _small(mechanism: str) -> tuple[Setting, ...]:
    small = (Setting(source.name, mechanism=mechanism) for source in (NIH, DIABETES, COMPAS, FOREST))
    return (*small, Setting(BIO.name, N_BIO, mechanism=mechanism))


def _over_sizes(source: str, mechanism: str = "nonrandom") -> tuple[Setting, ...]:
    return tuple(Setting(source, n_rows, mechanism=mechanism) for n_rows in SIZES)


def _over_epsilons(source: str, n_rows: int = SMALL, mechanism: str = "nonrandom") -> tuple[Setting, ...]:
    return tuple(Setting(source, n_rows, epsilon, mechanism) for epsilon in EPSILONS)


TITLES = {
    "main": "All methods on three data sets, nonrandom misfiling, epsilon = 0.2",
    "n2000": "The same with N = 2000",
    "random": "All methods on three data sets, random misfiling, epsilon = 0.2",
    "steps-s-sd": "The number of steps of S-SD, FOREST with N = 2000, epsilon = 0.2",
    "steps-s-qno": "The number of steps of S-QNO, FOREST with N = 2000, epsilon = 0.2",
    "forest-sizes": "Width and false coverage against N on FOREST, epsilon = 0.2",
    "forest-epsilons": "Width and false coverage against epsilon on FOREST, N = 100",
    "typical": "The typical estimate against epsilon, with the truth and the bounds around it",
    "standin-sizes": "Width and false coverage against N on a stand-in for MIMIC, epsilon = 0.2",
    "standin-epsilons": "Width and false coverage against epsilon on a stand-in for MIMIC, N = 100",
    "bio-epsilons": "Width and false coverage against epsilon on BIO",
    "random-sizes": "Width and false coverage against N on FOREST, random misfiling, epsilon = 0.2",
    "random-epsilons": "Width and false coverage against epsilon on FOREST, random misfiling, N = 100",
}


def _table(
    name: str,
    table: printed.PrintedTable,
    settings: tuple[Setting, ...],
    minutes: float,
    inferred: tuple[Setting, ...] = (),
) -> Experiment:
    return Experiment(name, table.label, "table", settings, minutes, table=table, inferred=inferred)


def _steps(name: str, table: printed.PrintedTable, family: str, minutes: float) -> Experiment:
    settings = (Setting(FOREST.name, LARGE),)
    return Experiment(name, table.label, "table", settings, minutes, family, table, n_trials=100)


_BIO_EPSILONS = _over_epsilons(BIO.name, N_BIO)
_TYPICAL = (*_over_epsilons(FOREST.name), *_over_epsilons(NIH.name), *_BIO_EPSILONS)
_RANDOM_EPSILONS = _over_epsilons(FOREST.name, mechanism="random")
_ALL = (
    _table("main", printed.MAIN, _small("nonrandom"), minutes=12),
    _table(
        "n2000",
        printed.N2000,
        (Setting(NIH.name, LARGE), Setting(FOREST.name, LARGE)),
        minutes=9,
        inferred=(Setting(FOREST.name, SMALL, mechanism="random"),),
    ),
    _table(
        "random",
        printed.RANDOM,
        _small("random"),
        minutes=16,
        inferred=(Setting(FOREST.name, LARGE, mechanism="random"),),
    ),
    _steps("steps-s-sd", printed.STEPS_S_SD, S_SD_STEPS, minutes=2),
    _steps("steps-s-qno", printed.STEPS_S_QNO, S_QNO_STEPS, minutes=12),
    Experiment("forest-sizes", "IW_FCR", "sizes", _over_sizes(FOREST.name), 9),
    Experiment("forest-epsilons", "fig:FOREST_eps", "epsilons", _over_epsilons(FOREST.name), 3),
    Experiment("typical", "fig:typical_est", "typical", _TYPICAL, 30, n_slow=SLOW_TRIALS),
    Experiment("standin-sizes", "fig:n_mimic", "sizes", _over_sizes(NIH.name), 8),
    Experiment("standin-epsilons", "fig:eps_mimic", "epsilons", _over_epsilons(NIH.name), 3),
    Experiment("bio-epsilons", "fig:eps_bio", "epsilons", _BIO_EPSILONS, 25, n_slow=SLOW_TRIALS),
    Experiment("random-sizes", "fig:randsamp", "sizes", _over_sizes(FOREST.name, "random"), 9),
    Experiment("random-epsilons", "fig:rand_eps", "epsilons", _RANDOM_EPSILONS, 3),
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
    return [*alone, (EVERYTHING, "All of the above; what they share is run once", 110)]
