"""How far the MMD of samples strays from that of their populations: radii, on the root scale.

`deviation_radius` and, where the rows vary little, `variance_radius` are what the confidence intervals rest
on; `gretton_radius` is the first of them with larger constants, as a check. `proposition_1` and
`proposition_3` are the paper's statements about its own methods, as printed and for the record: nothing
relies on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from mmdbounds.checks import check_chance, check_count, check_number, check_positive, check_share
from mmdbounds.counts import SLACK
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel, kernel_names

FOR_VARIANCE = 0.1  # share of delta that is spent on the variance of the populations
MOST_ROWS = 1e15  # nobody has more rows, and whole numbers beyond it are not exact


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


def deviation_radius(
    n_x: int, n_y: int, kappa: float | Kernel = 1.0, delta: float = 0.05, *, nonnegative: bool = True
) -> float:
    r"""How far the root MMD (biased) of samples is from the population's, but for a chance of `delta`.

    .. math::
        r = \sqrt{\kappa \left(\frac{1}{n_X} + \frac{1}{n_Y}\right)} \left(1 + \sqrt{\log(1/\delta)}\right)

    Parameters
    ----------
    n_x, n_y : int
        Sizes of two independent samples of independent rows.
    kappa : float or Kernel, default=1
        Supremum of k(x, x), or the kernel, fixed before the rows were seen, that knows its own.
    delta : float, default=0.05
        The chance.
    nonnegative : bool, default=True
        Whether k is never negative, which a kernel given as `kappa` knows; else the second root is that of
        :math:`2 \log(1/\delta)`.

    Notes
    -----
    Sample and population MMD are lengths of two vectors, so they differ by at most the length D of the
    vectors' difference, upwards or downwards: one event covers both, and delta is spent once. D is the
    distance of the errors of the two mean embeddings. Errors of independent rows add up in squares, so
    :math:`E D \le \sqrt{E D^2} \le \sqrt{\kappa/n_X + \kappa/n_Y}`. One row of X changes D by at most
    :math:`\sqrt{2\kappa}/n_X` (its old and new feature vectors have squared lengths up to :math:`\kappa` and
    no negative inner product), and McDiarmid's inequality, one-sided, gives the rest.

    Examples
    --------
    >>> round(deviation_radius(100, 100), 4)
    0.3862
    """
    n_x, n_y = _sizes(n_x, n_y)
    kappa, nonnegative = _bound_and_sign(kappa, nonnegative)
    spread = math.log(1 / check_chance(delta, "delta")) * (1 if nonnegative else 2)
    return math.sqrt(kappa * (1 / n_x + 1 / n_y)) * (1 + math.sqrt(spread))


def variance_radius(
    variance: float, n_x: int, n_y: int, kappa: float | Kernel = 1.0, delta: float = 0.05
) -> float:
    r"""Radius of `deviation_radius` for samples whose variance is known to be small.

    With :math:`n = \min(n_X, n_Y)`, a tenth of delta for the variance of the populations,
    :math:`\delta' = 0.9\,\delta`, and

    .. math::
        s = \sqrt{v + q} + \sqrt{q}, \quad q = \frac{\kappa \log(10/\delta)}{n (n - 1)}, \quad
        s^2 \le \kappa \left(\frac{1}{n_X} + \frac{1}{n_Y}\right), \quad b = \frac{\sqrt{2\kappa}}{n},

    it is the smaller of

    .. math::
        s + \sqrt{\kappa \left(\tfrac{1}{n_X} + \tfrac{1}{n_Y}\right) \log(1/\delta')}
        \quad\text{and}\quad
        \min_{u > 0} \frac{b}{u} \left(\log(2/\delta') + \frac{s^2}{b^2} (e^u - 1 - u)\right).

    Parameters
    ----------
    variance : float
        v, the variance of the samples in feature space: :math:`\hat V_X / n_X + \hat V_Y / n_Y`, where
        :math:`\hat V` is the mean of k(x, x) less that of k(x, x') over distinct rows; or a bound above it.
    n_x, n_y, kappa, delta
        As in `deviation_radius`; for a kernel that is never negative.

    Notes
    -----
    Two events are paid for, and each of the two formulas is taken at what is left (docs/inference.md, "Radius
    of an interval"). With probability 1 - delta/10, s is no less than :math:`\sqrt{E D^2}`, by Maurer's
    inequality for self-bounding functions (2006). For any number s that is, both formulas bound the same
    quantile of D, so their minimum does: the first is McDiarmid's inequality as in `deviation_radius`, the
    second Bennett's in Hilbert space (Pinelis 1994). Where not even a variance of 0 would help, which depends
    on the sizes alone, nothing is spent, and it is `deviation_radius`. Elsewhere it is at most 1.2 % larger.

    Examples
    --------
    >>> round(variance_radius(0.4 / 500 + 0.4 / 500, 500, 500), 4), round(deviation_radius(500, 500), 4)
    (0.1271, 0.1727)
    """
    (n_x, n_y), bound = _sizes(n_x, n_y), _paper_bound(kappa)
    variance = check_number(variance, "variance", "a number from 0", lambda size: 0 <= size < math.inf)
    without, n = deviation_radius(n_x, n_y, bound, delta), min(n_x, n_y)
    if n < 2 or _with_variance(0.0, n_x, n_y, bound, delta) >= without:
        return without
    return _with_variance(variance, n_x, n_y, bound, delta)


def _with_variance(variance: float, n_x: int, n_y: int, kappa: float, delta: float) -> float:
    n, largest, left = min(n_x, n_y), kappa * (1 / n_x + 1 / n_y), (1 - FOR_VARIANCE) * delta
    more = kappa * math.log(1 / (FOR_VARIANCE * delta)) / (n * (n - 1))
    s = min(math.sqrt(variance + more) + math.sqrt(more), math.sqrt(largest))
    by_range = s + math.sqrt(largest * math.log(1 / left))
    return min(by_range, _bennett(s**2, math.sqrt(2 * kappa) / n, math.log(2 / left)))


def _bennett(variance: float, largest: float, log_chance: float) -> float:
    """Return the smallest r with log_chance = r u / b - (variance / b^2)(e^u - 1 - u), b the largest term."""
    steps = variance / largest**2
    low, high = 0.0, 700.0
    for _ in range(60):  # of the derivative's zero; any u gives a valid radius
        u = (low + high) / 2
        low, high = (u, high) if steps * ((u - 1) * math.exp(u) + 1) < log_chance else (low, u)
    return largest / high * (log_chance + steps * (math.expm1(high) - high))


def gretton_radius(n_x: int, n_y: int, kappa: float | Kernel = 1.0, delta: float = 0.05) -> float:
    r"""Radius of Gretton et al. (2012), Theorem 7: the same statement, about twice as wide.

    .. math::
        2\left(\sqrt{\kappa/n_X} + \sqrt{\kappa/n_Y}\right)
        + \sqrt{2 \kappa \left(\frac{1}{n_X} + \frac{1}{n_Y}\right) \log(2/\delta)}

    Parameters are those of `deviation_radius`, for a kernel that is never negative.
    """
    (n_x, n_y), bound = _sizes(n_x, n_y), _paper_bound(kappa)
    spread = 2 * bound * (1 / n_x + 1 / n_y) * math.log(2 / check_chance(delta, "delta"))
    return 2 * (math.sqrt(bound / n_x) + math.sqrt(bound / n_y)) + math.sqrt(spread)


def proposition_1(
    n_x: int,
    n_y: int | None = None,
    *,
    epsilon: float,
    n_moved: int | None = None,
    kappa: float | Kernel = 1.0,
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
    kappa : float or Kernel, default=1
        Supremum of k(x, x), or the kernel that knows its own; k is never negative.
    delta : float, default=0.05
        The chance of a larger error.
    """
    n_x, n_y = _sizes(n_x, n_x if n_y is None else n_y)
    share = check_share(epsilon, "epsilon")
    m = _moved(share, n_x) if n_moved is None else check_count(n_moved, "n_moved")
    return _stated(1, n_x, n_y, m, share, kappa, delta)


def proposition_3(
    n_x: int, n_y: int | None = None, *, epsilon: float, kappa: float | Kernel = 1.0, delta: float = 0.05
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


def rows_for_radius(
    radius: float,
    *,
    proposition: Literal[1, 3],
    epsilon: float,
    n_moved: int | None = None,
    kappa: float | Kernel = 1.0,
    delta: float = 0.05,
) -> int | None:
    """Return how many true rows a group must have for a proposition to give this radius.

    Parameters
    ----------
    radius : float
        The radius wanted, for the root MMD.
    n_moved : int, optional
        A number of misfiled rows that does not grow with n; else floor(epsilon n). Proposition 1 only.
    proposition, epsilon, kappa, delta
        Which of the two; the others as in `proposition_1`.

    Returns
    -------
    int or None
        The smallest n; `None` where no n up to 1e15 will do. With Proposition 1 that is the rule: b0 alone
        exceeds the radius before the rest is small enough.
    """
    check_positive(radius, "radius")
    if proposition not in (1, 3) or (proposition == 3 and n_moved is not None):
        also = "" if n_moved is None else ", and 1 where `n_moved` is given"
        msg = f"`proposition` must be 1 or 3{also}; got {proposition!r}."
        raise MmdBoundsError(msg)
    share, bound = check_share(epsilon, "epsilon"), _paper_bound(kappa)
    fixed = None if n_moved is None else check_count(n_moved, "n_moved")
    m, grows = fixed or 0, fixed is None and proposition == 1
    spread = math.log(2 / check_chance(delta, "delta"))
    while True:
        b1 = _b1(proposition, share, m, bound)
        falling, constant = _b0_parts(proposition, share, m, bound)
        if radius <= constant:
            return None
        root = (falling + math.sqrt(b1 * spread)) / (radius - constant)
        if root > math.sqrt(MOST_ROWS):
            return None
        n = max(1, m, math.ceil(root**2 * (1 - 1e-12)))
        # More rows moved need more rows in all, so no n below this one will do, and m jumps there.
        if not grows or _moved(share, n) <= m:
            return n
        m = _moved(share, n)


def kernel_bound(kernel: Kernel) -> tuple[float, bool]:
    """Return kappa and whether the kernel is never negative, or refuse a kernel without a bound."""
    if not math.isfinite(kernel.upper_bound):
        known = ", ".join(map(repr, kernel_names("bound")))
        msg = f"`kernel` must have a known bound, such as {known}; got {kernel.name!r}."
        raise MmdBoundsError(msg)
    return kernel.upper_bound, kernel.is_nonnegative


def _bound_and_sign(kappa: float | Kernel, nonnegative: bool) -> tuple[float, bool]:
    if isinstance(kappa, Kernel):
        return kernel_bound(kappa)
    return check_positive(kappa, "kappa"), nonnegative


def _paper_bound(kappa: float | Kernel) -> float:
    """Return kappa for statements about kernels that are never negative."""
    bound, nonnegative = _bound_and_sign(kappa, True)
    if nonnegative:
        return bound
    msg = f"`kappa` must be that of a kernel that is never negative; got {getattr(kappa, 'name', kappa)!r}."
    raise MmdBoundsError(msg)


def _sizes(n_x: Any, n_y: Any) -> tuple[int, int]:
    return check_count(n_x, "n_x", least=1), check_count(n_y, "n_y", least=1)


def _moved(epsilon: float, n: int) -> int:
    """Return the paper's number of misfiled rows among the n true ones of X."""
    return math.floor(epsilon * n + SLACK)


def _stated(
    which: Literal[1, 3], n_x: int, n_y: int, m: int, epsilon: float, kappa: float | Kernel, delta: float
) -> Concentration:
    bound, n = _paper_bound(kappa), min(n_x, n_y)
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
