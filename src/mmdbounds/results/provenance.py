"""How a result was made: method, kernel, machine, seed, and what was done to the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from mmdbounds.results.serialize import plain

Estimator = Literal["unbiased", "biased"]
Side = Literal["lower", "upper"]
NullRule = Literal["minimax", "labellings"]
NULL_RULES: tuple[NullRule, ...] = get_args(NullRule)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Provenance:
    """How a result was made: enough to make it again.

    Attributes
    ----------
    method, options
        Name and options of the search.
    kernel, kernel_options, bandwidth
        Name of the kernel, its options (degree, ...) and its length, `None` for a kernel that has none.
    estimator
        ``"unbiased"`` (U-statistic) or ``"biased"`` (V-statistic).
    backend, device, dtype
        Where the pairs were computed, and in which precision.
    seed
        Seed of a random search; `None` where nothing is left to chance.
    n_pairs
        Kernel values computed.
    seconds
        Wall-clock time.
    version
        Version of mmdbounds.
    misfiling
        How much was taken as misfiled, as it was stated: the arguments of `Contamination`. Counts alone do
        not make every result again: some methods take the share itself.
    data
        What was done to a table before it became rows (`mmdbounds.groups`), if anything.
    """

    method: str
    options: Mapping[str, Any]
    kernel: str
    kernel_options: Mapping[str, Any] = field(default_factory=dict)
    bandwidth: float | None
    estimator: Estimator
    backend: str
    device: str
    dtype: str
    seed: int | None
    n_pairs: int
    seconds: float
    version: str
    misfiling: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Copies, so that a result does not change with the options or the table's record.
        for name in ("options", "misfiling", "data"):
            object.__setattr__(self, name, plain(getattr(self, name)))
