"""The paper's statements about its own methods, Propositions 1 and 3, as printed and for the record.

Nothing relies on them; `gretton_radius` is what both are without mislabelled rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from mmdbounds.checks import check_chance, check_count, check_positive, check_share
from mmdbounds.counts import SLACK


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Concentration:
    r"""What a proposition of the paper says: off by more than `radius` with probability at most `delta`.

    Attributes
    ----------
    proposition
        1 (QNO) or 3 (SD).
    n
        The size in the formulas: the smaller of the true sizes (the paper's are equal).
    n_x, n_y, n_moved, epsilon, kappa, delta
        What was asked.
    b0, b1
        The constants: the root MMD is off by more than :math:`b_0 + t` with probability at most
        :math:`2 \exp(-t^2 n / b_1)`.
    """

    proposition: Literal[1, 3]
    n: int
    n_x: int
    n_y: int
    n_moved: int
    epsilon: float
    kappa: float
    delta: float
    b0: float
    b1: float

    @property
    def radius(self) -> float:
        r""":math:`b_0 + \sqrt{b_1 \log(2/\delta) / n}`."""
        return self.b0 + math.sqrt(self.b1 * math.log(2 / self.delta) / self.n)

    @property
    def is_vacuous(self) -> bool:
        r"""Whether the radius exceeds every root MMD, :math:`\sqrt{2\kappa}`: then it says nothing."""
        return self.radius >= math.sqrt(2 * self.kappa)

    def __repr__(self) -> str:
        nothing = ", vacuous" if self.is_vacuous else ""
        return (
            f"Concentration(proposition {self.proposition}, root MMD within {self.radius:.6g} "
            f"(b0 {self.b0:.6g}, b1 {self.b1:.6g}) with probability {1 - self.delta:g}, n {self.n}{nothing})"
        )


def gretton_radius(n_x: int, n_y: int, kappa: float = 1.0, delta: float = 0.05) -> float:
    r"""Radius of Gretton et al. (2012), Theorem 7: the same statement, about twice as wide.

    .. math::
        2\left(\sqrt{\kappa/n_X} + \sqrt{\kappa/n_Y}\right)
        + \sqrt{2 \kappa \left(\frac{1}{n_X} + \frac{1}{n_Y}\right) \log(2/\delta)}

    For a kernel between 0 and `kappa`; `delta` is the chance of a larger error.
    """
    (n_x, n_y), bound = _sizes(n_x, n_y), check_positive(kappa, "kappa")
    spread = 2 * bound * (1 / n_x + 1 / n_y) * math.log(2 / check_chance(delta, "delta"))
    return 2 * (math.sqrt(bound / n_x) + math.sqrt(bound / n_y)) + math.sqrt(spread)


def proposition_1(
    n_x: int,
    n_y: int | None = None,
    *,
    epsilon: float,
    n_moved: int | None = None,
    kappa: float = 1.0,
    delta: float = 0.05,
) -> Concentration:
    r"""Return the paper's Proposition 1 (QNO), as printed.

    .. math::
        b_0 = 4 \sqrt{\kappa} \left(n^{-1/2} + \epsilon m\right), \quad
        b_1 = 2 \kappa \left((1-\epsilon)(1-\epsilon+\epsilon m)^2
        + (1+\epsilon)(1+\epsilon+\epsilon m)^2\right)

    For the record only: with rows misfiled the radius soon exceeds every possible root MMD (it is above 10
    at n = 50 and epsilon = 0.2), and with a fixed share misfiled it grows with the sample.

    Parameters
    ----------
    n_x, n_y : int
        True sizes of the groups; by default equal. The formulas know one n, the smaller of them.
    epsilon : float
        Share of the true X that was misfiled.
    n_moved : int, optional
        m; by default floor(epsilon n_x).
    kappa : float, default=1
        Supremum of k(x, x); k is never negative.
    delta : float, default=0.05
        The chance of a larger error.
    """
    n_x, n_y = _sizes(n_x, n_x if n_y is None else n_y)
    share = check_share(epsilon, "epsilon")
    m = _moved(share, n_x) if n_moved is None else check_count(n_moved, "n_moved")
    return _stated(1, n_x, n_y, m, share, kappa, delta)


def proposition_3(
    n_x: int, n_y: int | None = None, *, epsilon: float, kappa: float = 1.0, delta: float = 0.05
) -> Concentration:
    r"""Return the paper's Proposition 3 (SD), as printed.

    .. math::
        b_0 = 4 \sqrt{\kappa / n}\,(1 + \epsilon), \quad
        b_1 = 2 \kappa \left((1-\epsilon)^3 + (1+\epsilon)(1+3\epsilon)^2\right)

    For the record only: it is stated "for a sufficiently small epsilon", without saying how small.
    At epsilon = 0 and equal sizes it is `gretton_radius`. Parameters are those of `proposition_1`.
    """
    n_x, n_y = _sizes(n_x, n_x if n_y is None else n_y)
    share = check_share(epsilon, "epsilon")
    return _stated(3, n_x, n_y, _moved(share, n_x), share, kappa, delta)


def _sizes(n_x: Any, n_y: Any) -> tuple[int, int]:
    return check_count(n_x, "n_x", least=1), check_count(n_y, "n_y", least=1)


def _moved(epsilon: float, n: int) -> int:
    """Return the paper's number of misfiled rows among the n true ones of X."""
    return math.floor(epsilon * n + SLACK)


def _stated(
    which: Literal[1, 3], n_x: int, n_y: int, m: int, epsilon: float, kappa: float, delta: float
) -> Concentration:
    bound, n = check_positive(kappa, "kappa"), min(n_x, n_y)
    falling, constant = _b0_parts(which, epsilon, m, bound)
    b0, b1 = falling / math.sqrt(n) + constant, _b1(which, epsilon, m, bound)
    asked = {"epsilon": epsilon, "kappa": bound, "delta": check_chance(delta, "delta")}
    return Concentration(proposition=which, n=n, n_x=n_x, n_y=n_y, n_moved=m, **asked, b0=b0, b1=b1)


def _b0_parts(proposition: int, epsilon: float, m: int, kappa: float) -> tuple[float, float]:
    """Return the part of b0 that falls with the root of n, times that root, and the one that stays."""
    root = 4 * math.sqrt(kappa)
    return (root, root * epsilon * m) if proposition == 1 else (root * (1 + epsilon), 0.0)


def _b1(proposition: int, epsilon: float, m: int, kappa: float) -> float:
    fewer, more = 1 - epsilon, 1 + epsilon
    if proposition == 1:
        return 2 * kappa * (fewer * (fewer + epsilon * m) ** 2 + more * (more + epsilon * m) ** 2)
    return 2 * kappa * (fewer**3 + more * (1 + 3 * epsilon) ** 2)
