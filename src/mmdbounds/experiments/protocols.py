"""How an experiment is run: as the paper seems to have done it, and as it should be done.

The paper leaves much open: scaling, estimator, how many resamples, weights that its formulas print in
two ways. ``"paper"`` is, for each data set, the reading among those tried whose numbers come closest to
the printed ones. ``"ours"`` has exact counts, the estimator that the paper prints (equation 2), QNO on
the squared MMD itself, and the sharp method as a further row; draws and features are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mmdbounds.checks import check_option
from mmdbounds.experiments import printed
from mmdbounds.experiments.sources import Source
from mmdbounds.results import Estimator
from mmdbounds.search import Method, Sharp, StepwiseDominance
from mmdbounds.search.bootstrap import Bootstrap
from mmdbounds.search.quasi_newton import QuasiNewton
from mmdbounds.search.submodular import Submodular

SHARP = "Sharp"
"""The row that the paper does not have."""

PAPER, OURS = "paper", "ours"
PROTOCOLS = (PAPER, OURS)
PRESETS = {PAPER: (PAPER,), OURS: (OURS,), "both": PROTOCOLS}

STEPS = (2, 3, 5, 10, 20, 50)
"""Numbers of steps in the two tables on their choice."""

GAP = 0.01
"""A proof within this share of the width is enough for coverage, and a tighter one takes longer."""

SM_WEIGHT = 0.05
"""The printed weight, 1, leaves nothing to the witness; this one gives the paper's kind of widths."""

ITERATIONS = 200
"""Most iterations of QNO in a step. More change the width on BIO by a few percent and take twice as long."""

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
    quantiles = preset == PAPER and source.column == printed.BIO
    estimator: Estimator = "biased" if quantiles else "unbiased"
    if family == S_SD_STEPS:
        methods = {str(steps): _s_sd(steps, quantiles) for steps in STEPS}
    elif family == S_QNO_STEPS:
        methods = {str(steps): _qno(steps, preset) for steps in STEPS}
    else:
        methods = {
            printed.S_SD: _s_sd(None, quantiles),
            printed.S_QNO: _qno(None, preset),
            printed.QNO: _qno(1, preset),
            printed.SD: StepwiseDominance(n_steps=1),
            printed.SM: Submodular(weight=SM_WEIGHT),
            printed.BOOTSTRAP: Bootstrap(),
        }
        if preset == OURS:
            methods[SHARP] = Sharp(gap=GAP)
    return Protocol(preset, estimator, "none", MappingProxyType(methods))


def _s_sd(n_steps: int | None, quantiles: bool) -> Method:
    return StepwiseDominance(n_steps=n_steps, schedule="paper" if quantiles else "even")


def _qno(n_steps: int | None, preset: str) -> Method:
    if preset == PAPER:
        return QuasiNewton(n_steps=n_steps, max_iterations=ITERATIONS, start="random", objective="printed")
    return QuasiNewton(n_steps=n_steps, max_iterations=ITERATIONS)
