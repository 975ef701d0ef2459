"""The data of the experiments, and how true groups are drawn from them.

The MIMIC-CXR logits of the paper are not open. Three open sets of the same shape stand in their place, always
under their own names: whatever comes out of them is not comparable with the paper's MIMIC columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmdbounds.datasets.cards import BIO as BIO_CARD
from mmdbounds.datasets.cards import FOREST as FOREST_CARD
from mmdbounds.datasets.cards import STANDINS, Card
from mmdbounds.datasets.local import PathLike
from mmdbounds.errors import MmdBoundsError, did_you_mean
from mmdbounds.experiments import printed
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
        The data set of the paper in whose place it stands; its own for FOREST and BIO.
    card
        Where it comes from; names the file.
    n_trials
        As many as the paper's numbers show: its rates on FOREST and MIMIC are multiples of 1/50, those on BIO
        of 1/100.
    replace
        Whether a trial draws rows with replacement, within each group.
    load
        Returns the true groups from the folder with the data.
    whole
        Sizes of the groups, for data that are always drawn as many as there are.
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
        """Return the sizes of the true groups for N rows in all: half each, or all that there are."""
        return (n_rows // 2, n_rows - n_rows // 2) if self.whole is None else self.whole


def _forest(folder: PathLike | None) -> Groups:
    from mmdbounds.datasets.paper import load_forest

    return load_forest(folder).groups()


def _bio(folder: PathLike | None) -> Groups:
    from mmdbounds.datasets.paper import load_bio

    return load_bio(folder).groups()


def _standin(name: str) -> Callable[[PathLike | None], Groups]:
    def load(folder: PathLike | None) -> Groups:
        from mmdbounds.datasets.standins import load_standin

        # All rows: bounds need not have one row a patient, and N = 2000 is more than there are patients.
        return load_standin(name, folder, one_row_a_patient=False).groups()

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


def source_named(name: str) -> Source:
    """Return the data set with this name."""
    if name not in SOURCES:
        msg = (
            f"`source` must be one of {', '.join(map(repr, SOURCES))}; got {name!r}."
            f"{did_you_mean(name, SOURCES)}"
        )
        raise MmdBoundsError(msg)
    return SOURCES[name]
