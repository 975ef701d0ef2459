"""Methods and mechanisms whose answers are known, where a process of its own can find them."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.search.protocol import Found


@dataclass(frozen=True)
class Fixed:
    """Says the same in every trial, or goes wrong at the first one of a seed."""

    lower: float = 0.0
    upper: float = 1.0
    lower_certified: float | None = None
    upper_certified: float | None = None
    does: str = ""
    name: ClassVar[str] = "fixed"
    is_random: ClassVar[bool] = False

    def options(self) -> dict[str, Any]:
        return asdict(self)

    def check(self, counts, p, q):
        if self.does == "refuses":
            raise MmdBoundsError(f"not with {counts.n_moved} of {q} rows.")

    def both_sides(self, task):
        if self.does == "raises ours":
            raise MmdBoundsError("no luck.")
        if self.does == "raises":
            raise ZeroDivisionError("a bug")
        if self.does == "ends its process":
            os._exit(3)
        if self.does == "takes long":
            time.sleep(60)
        return (
            Found(self.lower, None, kind="weights", certified=self.lower_certified),
            Found(self.upper, None, kind="weights", certified=self.upper_certified),
        )


@dataclass(frozen=True)
class Drawn:
    """Says what it draws, so that its seed shows."""

    name: ClassVar[str] = "drawn"
    is_random: ClassVar[bool] = True

    def options(self) -> dict[str, Any]:
        return {}

    def check(self, counts, p, q):
        pass

    def both_sides(self, task):
        low, high = np.sort(np.random.default_rng(task.seed).normal(size=2))
        return Found(float(low), None, kind="weights"), Found(float(high), None, kind="weights")


def last_rows(X, Y, n_moved, rng):
    """A mechanism of a user."""
    return np.arange(len(X))[len(X) - n_moved :]


def product(A, B):
    """A kernel of a user."""
    return A @ B.T


def clean(seed=0, n_x=30, n_y=40, d=2):
    """True groups."""
    rng = np.random.default_rng([seed, 77])
    return rng.normal(size=(n_x, d)), rng.normal(0.8, 1.0, size=(n_y, d))


def without_seconds(records):
    """Records as they must come out again."""
    return [
        {
            **{name: value for name, value in record.items() if name != "seconds"},
            "bounds": {
                label: {name: value for name, value in said.items() if name != "seconds"}
                for label, said in record["bounds"].items()
            },
        }
        for record in records
    ]
