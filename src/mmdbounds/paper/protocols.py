"""The data sets of the experiments, and the protocols: how the paper seems to treat them, and how we do.

The MIMIC-CXR logits of the paper are not open. Three open sets of the same shape stand in for them, always
under their own names: their results are not comparable with the paper's MIMIC columns. Protocols are presets
of `evaluate`, chosen by data set and table; both draw the same rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from mmdbounds.checks import check_option
from mmdbounds.datasets.cards import BIO as BIO_CARD
from mmdbounds.datasets.cards import FOREST as FOREST_CARD
from mmdbounds.datasets.cards import STANDINS, Card
from mmdbounds.datasets.files import PathLike
from mmdbounds.evaluation.run import OURS, PAPER, PAPER_BIO, Preset, preset_of, qno, s_sd
from mmdbounds.paper import printed
from mmdbounds.tables import Group

Groups = tuple[Group, Group]


@dataclass(frozen=True)
class Source:
    """A data set.

    Attributes
    ----------
    name
        In tables and figures.
    column
        The data set of the paper that it stands in for; FOREST and BIO stand for themselves.
    card
        Its description, with the name of the file.
    n_trials
        The paper's, judging by its rates: multiples of 1/50 on FOREST and MIMIC, of 1/100 on BIO.
    replace
        Whether a trial draws rows with replacement, within each group.
    load
        Returns the true groups from the folder with the data.
    whole
        Sizes of the groups, if a trial always draws as many rows as there are.
    """

    name: str
    column: str
    card: Card
    n_trials: int
    load: Callable[[PathLike | None], Groups]
    replace: bool = False
    whole: tuple[int, int] | None = None

    @property
    def is_standin(self) -> bool:
        """Whether its numbers are not comparable with the paper's."""
        return self.column == printed.MIMIC

    def sizes(self, n_rows: int) -> tuple[int, int]:
        """Return the sizes of the true groups for N rows in total: half each, or all there are."""
        return (n_rows // 2, n_rows - n_rows // 2) if self.whole is None else self.whole


def _forest(folder: PathLike | None) -> Groups:
    from mmdbounds.datasets.loaders import load_forest

    return load_forest(folder).groups()


def _bio(folder: PathLike | None) -> Groups:
    from mmdbounds.datasets.loaders import load_bio

    return load_bio(folder).groups()


def _standin(name: str) -> Callable[[PathLike | None], Groups]:
    def load(folder: PathLike | None) -> Groups:
        from mmdbounds.datasets.loaders import load_standin

        # All rows: bounds do not need one row per patient, and N = 2000 exceeds the number of patients.
        return load_standin(name, folder, one_row_per_patient=False).groups()

    return load


FOREST = Source("FOREST", printed.FOREST, FOREST_CARD, 50, _forest)
BIO = Source("BIO", printed.BIO, BIO_CARD, 100, _bio, replace=True, whole=(BIO_CARD.n_x, BIO_CARD.n_y))
NIH, DIABETES, COMPAS = (
    Source(name, printed.MIMIC, STANDINS[key], 50, _standin(key))
    for name, key in (
        ("NIH ChestX-ray14", "nih_cxr14"),
        ("Diabetes 130", "diabetes130"),
        ("COMPAS", "compas"),
    )
)
N_BIO = BIO_CARD.n_x + BIO_CARD.n_y

SOURCES = {source.name: source for source in (FOREST, NIH, DIABETES, COMPAS, BIO)}

PROTOCOLS = (PAPER, OURS)
PRESETS = {PAPER: (PAPER,), OURS: (OURS,), "both": PROTOCOLS}

STEPS = (2, 3, 5, 10, 20, 50)
"""Numbers of steps in the two tables about them."""

ALL, S_SD_STEPS, S_QNO_STEPS = "all methods", "steps of S-SD", "steps of S-QNO"
FAMILIES = (ALL, S_SD_STEPS, S_QNO_STEPS)


def protocol(preset: str, source: Source, family: str = ALL) -> Preset:
    """Return how a data set is treated.

    Parameters
    ----------
    preset : {"paper", "ours"}
        Whose protocol.
    source
        The data set; the paper's protocol depends on it.
    family : {"all methods", "steps of S-SD", "steps of S-QNO"}
        The rows of the table.
    """
    check_option(preset, "preset", PROTOCOLS)
    check_option(family, "family", FAMILIES)
    name = PAPER_BIO if preset == PAPER and source.column == printed.BIO else preset
    chosen = preset_of(name)
    if family == ALL:
        return chosen
    steps_of = s_sd if family == S_SD_STEPS else qno
    methods = {str(steps): steps_of(steps, name) for steps in STEPS}
    return dataclasses.replace(chosen, methods=MappingProxyType(methods))
