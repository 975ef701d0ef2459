"""How an experiment is run: as the paper seems to have done it, and as it should be done.

The presets of `evaluate`, chosen by data set and by table; draws and features are the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mmdbounds.checks import check_option
from mmdbounds.evaluation.presets import OURS, PAPER, PAPER_BIO, preset_of, qno, s_sd
from mmdbounds.experiments import printed
from mmdbounds.experiments.sources import Source
from mmdbounds.results import Estimator
from mmdbounds.search import Method

PROTOCOLS = (PAPER, OURS)
PRESETS = {PAPER: (PAPER,), OURS: (OURS,), "both": PROTOCOLS}

STEPS = (2, 3, 5, 10, 20, 50)
"""Numbers of steps in the two tables on their choice."""

ALL, S_SD_STEPS, S_QNO_STEPS = "all methods", "steps of S-SD", "steps of S-QNO"
FAMILIES = (ALL, S_SD_STEPS, S_QNO_STEPS)


@dataclass(frozen=True)
class Protocol:
    """What is computed in each trial.

    Attributes
    ----------
    name
        ``"paper"`` or ``"ours"``.
    estimator, scale
        As `mmdbounds.evaluate` takes them.
    methods
        By their rows in the table.
    """

    name: str
    estimator: Estimator
    scale: str
    methods: Mapping[str, Method]

    def keywords(self) -> dict[str, Any]:
        """Return the protocol as keywords of `mmdbounds.evaluate`."""
        return {"estimator": self.estimator, "scale": self.scale, "methods": dict(self.methods)}


def protocol(preset: str, source: Source, family: str = ALL) -> Protocol:
    """Return how one data set is treated.

    Parameters
    ----------
    preset : {"paper", "ours"}
        Whose way.
    source
        The data set: the paper's way differs between them.
    family : {"all methods", "steps of S-SD", "steps of S-QNO"}
        Which rows the table has.
    """
    check_option(preset, "preset", PROTOCOLS)
    check_option(family, "family", FAMILIES)
    name = PAPER_BIO if preset == PAPER and source.column == printed.BIO else preset
    chosen = preset_of(name)
    methods = chosen.methods
    if family == S_SD_STEPS:
        methods = {str(steps): s_sd(steps, name) for steps in STEPS}
    elif family == S_QNO_STEPS:
        methods = {str(steps): qno(steps, name) for steps in STEPS}
    return Protocol(preset, chosen.estimator, chosen.scale, MappingProxyType(dict(methods)))
