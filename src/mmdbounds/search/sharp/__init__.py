"""Sharp bounds: the best labelling found on each side, and a proof of how far the extreme can be from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from mmdbounds.checks import check_count, check_share
from mmdbounds.errors import MmdBoundsError
from mmdbounds.results import Side
from mmdbounds.search.protocol import Found, Method, Task, for_both_sides, most_extreme
from mmdbounds.search.sharp.side_search import SideSearch

PATIENT = 20.0
"""How many times more a proof may spend with ``certify=True`` than with ``"auto"``."""


@dataclass(frozen=True)
class Sharp(Method):
    """Sharp bounds with a certificate: S-SD and other starts, refined, then proved.

    Parameters
    ----------
    n_starts
        Starts to refine on each side, S-SD first; no more are tried once a proof shows that there is
        nothing left to find.
    certify
        ``"auto"`` spends a few seconds' worth of work on a proof, the same on every machine; `True` spends up
        to twenty times as much; `False` proves nothing.
    gap
        Distance between the proved and the attained value, as a share of the attained width, that is
        small enough; 0 continues until the labelling is proved to be the extreme one.
    """

    n_starts: int = 16
    certify: Literal["auto"] | bool = "auto"
    gap: float = 1e-3
    name: ClassVar[str] = "sharp"
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_starts", check_count(self.n_starts, "n_starts", least=1))
        if self.certify not in (True, False, "auto"):
            msg = f"`certify` must be 'auto', True or False; got {self.certify!r}."
            raise MmdBoundsError(msg)
        check_share(self.gap, "gap")

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return the lower and the upper extreme over all admissible counts."""
        patience = {True: PATIENT, "auto": 1.0, False: None}[self.certify]
        return sharp_sides(task, self.n_starts, self.gap, patience)


def sharp_sides(task: Task, n_starts: int, gap: float, patience: float | None) -> tuple[Found, Found]:
    """Return both extremes; `patience` is what a proof may spend (1: a second or so; `None`: no proof)."""

    def begin(side: Side) -> SideSearch:
        return SideSearch(task, side, n_starts, certify=patience is not None)

    lower, upper = for_both_sides(begin, task)
    width = upper.best_gain + lower.best_gain  # gains of the lower side are negative values
    slack = gap * max(width, 0.0)

    def finish(side: Side) -> Found:
        one = lower if side == "lower" else upper
        return most_extreme(one.finish(slack, patience or 0.0), side)

    return for_both_sides(finish, task)
