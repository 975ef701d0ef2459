"""How a result was made (method, kernel, machine, seed, what was done to the table), and what was known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mmdbounds.results.serialize import Held, plain

Estimator = Literal["unbiased", "biased"]
Side = Literal["lower", "upper"]


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


Limits = tuple[tuple[str, int, int], ...]  # stratum, its rows that may be misfiled, how many of them at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge(Held):
    """What was known of the rows: who was looked up, who can be misfiled, and limits by stratum.

    Attributes
    ----------
    n_verified_x, n_verified_y
        Rows of X and of Y whose true group was looked up; they are not misfiled. Those refiled count here
        in the group to which they belong.
    n_refiled_to_x, n_refiled_to_y
        Rows that were filed under the other group, and moved to X or to Y before anything was computed.
    n_may_move_x, n_may_move_y
        Rows that may be misfiled.
    is_restricted, is_restricted_x
        Whether rows of Y, and of X, that were not looked up are known to be filed rightly, too (`may_move`).
    limits_of_x, limits_of_y
        For each stratum with a limit: its name, how many of its rows may be misfiled, and at most how many
        of them are.
    strata_column
        Name of the column with the strata; empty if they came as an array.
    n_moved_asked
        The number of misfiled rows that was asked for, if fewer can be misfiled; else `None`.
    """

    n_verified_x: int = 0
    n_verified_y: int = 0
    n_refiled_to_x: int = 0
    n_refiled_to_y: int = 0
    n_may_move_x: int
    n_may_move_y: int
    is_restricted: bool = False
    is_restricted_x: bool = False
    limits_of_x: Limits = ()
    limits_of_y: Limits = ()
    strata_column: str = ""
    n_moved_asked: int | None = None
