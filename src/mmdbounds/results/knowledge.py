"""What was known of the rows beside their groups, in numbers; no row is named."""

from __future__ import annotations

from dataclasses import dataclass

from mmdbounds.results.serialize import Held

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
    is_restricted
        Whether rows that were not looked up are known to be filed rightly, too (`may_move`).
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
    limits_of_x: Limits = ()
    limits_of_y: Limits = ()
    strata_column: str = ""
    n_moved_asked: int | None = None
