"""How much work a proof may take: counted, not timed, so that a result does not hang on the machine."""

from __future__ import annotations

from mmdbounds.progress import Meter


class Effort:
    """Work that may still be spent, in units of about ten nanoseconds on one core of 2024.

    Parameters
    ----------
    limit
        Units in all.
    meter
        Ends the work when another thread has failed.
    """

    def __init__(self, limit: float, meter: Meter | None = None) -> None:
        self.left = self._limit = limit
        self._meter = meter or Meter()

    def spend(self, units: float) -> None:
        """Count `units` of work."""
        self.left -= units
        self._meter.prove(min(1.0, 1 - self.left / self._limit))

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0
