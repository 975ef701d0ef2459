"""Ready-made protocols of an evaluation: the paper's methods as it ran them, as it prints them, and ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mmdbounds.baselines import Baseline, Bootstrap, QuasiNewton, Submodular
from mmdbounds.checks import check_option
from mmdbounds.results import Estimator
from mmdbounds.search import Method, Sharp, StepwiseDominance

PAPER, AS_PRINTED, PAPER_BIO, OURS = "paper", "paper-as-printed", "paper-bio", "ours"
PRESETS = (PAPER, AS_PRINTED, PAPER_BIO, OURS)

METHODS = S_SD, S_QNO, QNO, SD, SM, BOOTSTRAP = "S-SD", "S-QNO", "QNO", "SD", "SM", "Bootstrap"
SHARP = "Sharp"  # the row that the paper does not have
GAP = 0.01  # a proof within this share of the width is enough for coverage; a tighter one takes longer
SM_WEIGHT = 0.05  # with the printed weight, 1, the witness has no influence
SM_READ = 0.001  # weight that gives the paper's numbers on FOREST
ITERATIONS = 200  # of QNO in a step, at most; more take twice as long for a few percent of the width on BIO
ITERATIONS_BIO = 1  # before SciPy's limit, 15,000 evaluations, if 7,128 slopes a point are differences
TOLERANCE_READ = 1e-5  # SciPy's own, which a program has that does not choose one
RESAMPLES_READ = 200


@dataclass(frozen=True)
class Preset:
    """A ready-made protocol: what `evaluate` computes in each trial.

    The paper leaves much open: scaling, estimator, number of resamples, and weights that its formulas print
    in two ways. ``"paper"`` is the reading, among those tried, whose numbers come closest to the printed
    ones: S-SD and SD rank by the plain witness, and the free points of QNO snap to rows. ``"paper-bio"`` is
    the one for its gene expressions, where QNO ends after one iteration. ``"paper-as-printed"`` keeps to the
    formulas: the gradient for S-SD, equation 6 for QNO. ``"ours"`` has QNO on the squared MMD itself, and the
    sharp method as a further row. All of them know the exact count of misfiled rows.
    """

    estimator: Estimator
    scale: str
    methods: Mapping[str, Method | Baseline]  # by their rows in the paper's tables


def preset_of(name: str) -> Preset:
    """Return a protocol by its name."""
    check_option(name, "preset", PRESETS)
    as_read = name in (PAPER, PAPER_BIO)
    methods: dict[str, Method | Baseline] = {
        S_SD: s_sd(None, name),
        S_QNO: qno(None, name),
        QNO: qno(1, name),
        SD: s_sd(1, name),
        SM: Submodular(weight=SM_READ if name == PAPER else SM_WEIGHT),
        BOOTSTRAP: Bootstrap(n_resamples=RESAMPLES_READ) if as_read else Bootstrap(),
    }
    if name == OURS:
        methods[SHARP] = Sharp(gap=GAP)
    return Preset("unbiased", "none", MappingProxyType(methods))


def s_sd(n_steps: int | None, preset: str) -> Method:
    """Return S-SD as a protocol has it."""
    return StepwiseDominance(n_steps=n_steps, weights="plain" if preset in (PAPER, PAPER_BIO) else "sums")


def qno(n_steps: int | None, preset: str) -> QuasiNewton:
    """Return QNO as a protocol has it."""
    if preset == OURS:
        return QuasiNewton(n_steps=n_steps, max_iterations=ITERATIONS)
    if preset == AS_PRINTED:
        return QuasiNewton(n_steps=n_steps, max_iterations=ITERATIONS, start="random", objective="printed")
    return QuasiNewton(
        n_steps=n_steps,
        start="random",
        objective="means",
        snap=True,
        max_iterations=ITERATIONS if preset == PAPER else ITERATIONS_BIO,
        tolerance=TOLERANCE_READ,
    )
