"""How far values of an approximate kernel are from those of the kernel it stands for; data, no numerics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mmdbounds.saved import saved_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One value of the approximate kernel beside that of the exact kernel for the same labelling.

    Attributes
    ----------
    value
        The squared MMD with the approximate kernel.
    exact
        The squared MMD of the same rows with the exact kernel: computed, or an estimate from drawn rows.
    margin
        What `exact` is off at most: by rounding where it is computed; where it is an estimate, with at least
        the probability `level` of the `Approximation`.
    proved
        Two values that the exact kernel's is proved to lie between; `None` for random features.
    """

    value: float
    exact: float
    margin: float
    proved: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.proved is not None:  # a list, if it comes from JSON
            low, high = self.proved
            object.__setattr__(self, "proved", (float(low), float(high)))

    @property
    def error(self) -> float:
        """What `value` is off at most, as sure as `margin`: the difference and its margin."""
        return abs(self.value - self.exact) + self.margin


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximation:
    """What bounds with an approximate kernel say of the exact one.

    Attributes
    ----------
    kernel
        Name of the exact kernel.
    level
        `None` where all pairs were computed with the exact kernel. Else every `error`, each of the three
        alone, is large enough with at least this probability, before rows and random features are drawn.
    n_sampled
        Rows behind each comparison: all, or those drawn.
    lower, upper
        The labellings that reach the two sides; `None` if none does. They need not be extreme for the exact
        kernel: its own smallest value is at most that of `lower`, its largest at least that of `upper`.
    observed
        The groups as filed.
    lower_certified, upper_certified
        Numbers proved to lie beyond every labelling's value with the *exact* kernel: for `Nystrom`, where the
        side is proved for the approximate one.
    """

    kernel: str
    level: float | None
    n_sampled: int
    lower: Compared | None
    upper: Compared | None
    observed: Compared
    lower_certified: float | None = None
    upper_certified: float | None = None

    @property
    def is_proved(self) -> bool:
        """Whether both sides are proved for the exact kernel."""
        return self.lower_certified is not None and self.upper_certified is not None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "") -> Self:
        """Rebuild it from plain data."""
        values = saved_fields(cls, data, where)
        for name in ("lower", "upper", "observed"):
            if values[name] is not None:
                values[name] = Compared(**saved_fields(Compared, values[name], f"{where}{name}."))
        return cls(**values)
