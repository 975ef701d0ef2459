"""Compiled pairwise steps: the inner loop of the convex relaxation.

A file of its own, imported where it is used: it loads the compiler.
"""
# The compiler knows these functions by their types alone; nothing is gained by annotating them twice.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

import itertools

import numpy as np

from mmdbounds.compiled import entry, numba_is_there, part
from mmdbounds.objective import Indices
from mmdbounds.sums.protocol import Float64s


@part()
def _give(diagonal, gradient, share, giver, taker, amount):
    """Give the share `amount` of one row to another; what rounding would leave of a row counts as nothing."""
    whole_giver, whole_taker = amount >= share[giver], amount >= 1.0 - share[taker]
    share[giver] = 0.0 if whole_giver else share[giver] - amount
    share[taker] = 1.0 if whole_taker else share[taker] + amount
    gradient[taker] -= 2.0 * amount * diagonal[taker]
    gradient[giver] += 2.0 * amount * diagonal[giver]


@part()
def _shift(pairs, diagonal, gradient, share, giver, taker, amount):
    for i in range(len(gradient)):
        gradient[i] += 2.0 * amount * (pairs[taker, i] - pairs[giver, i])
    _give(diagonal, gradient, share, giver, taker, amount)


@entry()
def _compiled_pairwise(pairs, diagonal, gradient, share, edges, tolerance, most):
    for step in range(most):
        best, giver, taker, amount = 0.0, -1, -1, 0.0
        for k in range(len(edges) - 1):
            j = -1
            for i in range(edges[k], edges[k + 1]):
                if share[i] < 1.0 and (j < 0 or gradient[i] > gradient[j]):
                    j = i
            if j < 0:
                continue
            for i in range(edges[k], edges[k + 1]):
                wrong = gradient[j] - gradient[i]
                if share[i] <= 0.0 or wrong <= tolerance:
                    continue
                curvature = 2.0 * (diagonal[i] + diagonal[j] + 2.0 * pairs[i, j])
                room = min(share[i], 1.0 - share[j])
                t = room if curvature * room <= wrong else wrong / curvature
                gain = t * (wrong - 0.5 * curvature * t)
                if gain > best:
                    best, giver, taker, amount = gain, i, j, t
        if giver < 0:
            return step
        _shift(pairs, diagonal, gradient, share, giver, taker, amount)
    return most


def _numpy_pairwise(pairs, diagonal, gradient, share, edges, tolerance, most):
    with np.errstate(divide="ignore", invalid="ignore"):  # a curvature of 0, then unused
        return _numpy_steps(pairs, diagonal, gradient, share, edges, tolerance, most)


def _numpy_steps(pairs, diagonal, gradient, share, edges, tolerance, most):
    groups = [slice(*ends) for ends in itertools.pairwise(edges.tolist()) if ends[0] < ends[1]]
    for step in range(most):
        best, giver, taker, amount = 0.0, -1, -1, 0.0
        for here in groups:
            j = here.start + int(np.where(share[here] < 1.0, gradient[here], -np.inf).argmax())
            wrong = gradient[j] - gradient[here]
            curvature = 2.0 * (diagonal[here] + diagonal[j] + 2.0 * pairs[j, here])
            room = np.minimum(share[here], 1.0 - share[j])
            t = np.where(curvature * room <= wrong, room, wrong / curvature)
            gain = np.where((room > 0.0) & (wrong > tolerance), t * (wrong - 0.5 * curvature * t), 0.0)
            i = int(gain.argmax())
            if gain[i] > best:
                best, giver, taker, amount = gain[i], here.start + i, j, t[i]
        if giver < 0:
            return step
        gradient += 2.0 * amount * (pairs[taker] - pairs[giver])
        _give(diagonal, gradient, share, giver, taker, amount)
    return most


# Maximise a concave quadratic over shares with fixed sums, two rows at a time.
#
# The quadratic's second part is t'(pairs - diag(diagonal))t. In each step the row of the largest gradient
# that has room takes from the row of its group from which it gains most (second order, exact line search).
# It ends when no group has two rows whose gradients differ the wrong way by more than `tolerance`, or after
# `most` steps; the number of steps is returned.
#
# `pairs`, shape (n, n), is symmetric with 0 on its diagonal; `diagonal`, shape (n,), makes the quadratic
# concave. `gradient` and `share`, shape (n,), are updated in place. Group k holds the rows ``edges[k]`` to
# ``edges[k + 1]``.
pairwise_steps = _compiled_pairwise if numba_is_there() else _numpy_pairwise


@part()
def _find_takers(gradient, share, edges, room, takers, first, last):
    """Set the taker of each stratum; return the stratum, of those with room, whose gradient is largest."""
    free = -1
    for h in range(first, last):
        j = -1
        for i in range(edges[h], edges[h + 1]):
            if share[i] < 1.0 and (j < 0 or gradient[i] > gradient[j]):
                j = i
        takers[h] = j
        if room[h] > 0.0 and j >= 0 and (free < 0 or gradient[j] > gradient[takers[free]]):
            free = h
    return free


@entry()
def limited_steps(pairs, diagonal, gradient, share, edges, groups, room, tolerance, most):
    """Do the same where strata have limits.

    Stratum h holds the rows ``edges[h]`` to ``edges[h + 1]``, and ``room[h]`` is by how much its shares may
    still grow; it is updated in place. Group g is the strata ``groups[g]`` to ``groups[g + 1]``. A row takes
    from one of its stratum, or of another in its group if its own has room. No other steps are needed: those
    are the edges of the shares that the limits allow.
    """
    takers = np.empty(len(room), dtype=np.int64)
    for step in range(most):
        best, giver, taker, amount, one, two = 0.0, -1, -1, 0.0, -1, -1
        for g in range(len(groups) - 1):
            free = _find_takers(gradient, share, edges, room, takers, groups[g], groups[g + 1])
            for h in range(groups[g], groups[g + 1]):
                for i in range(edges[h], edges[h + 1]):
                    if share[i] <= 0.0:
                        continue
                    for k in (h, free):
                        j = takers[k] if k >= 0 else -1
                        if j < 0 or gradient[j] - gradient[i] <= tolerance:
                            continue
                        wrong = gradient[j] - gradient[i]
                        curvature = 2.0 * (diagonal[i] + diagonal[j] + 2.0 * pairs[i, j])
                        limit = min(share[i], 1.0 - share[j])
                        limit = limit if k == h else min(limit, room[k])
                        t = limit if curvature * limit <= wrong else wrong / curvature
                        gain = t * (wrong - 0.5 * curvature * t)
                        if gain > best:
                            best, giver, taker, amount, one, two = gain, i, j, t, h, k
        if giver < 0:
            return step
        _shift(pairs, diagonal, gradient, share, giver, taker, amount)
        if one != two:
            room[one] += amount
            room[two] = 0.0 if amount >= room[two] else room[two] - amount
    return most


def share_out(
    quadratic: tuple[Float64s, Float64s, Float64s],
    share: Float64s,
    edges: Indices,
    limited: tuple[Indices, Float64s] | None,
    tolerance: float,
    most: int,
) -> int:
    """Make pairwise steps, with limits (groups and room) if there are any; return how many.

    `quadratic` is pairs, diagonal and gradient.
    """
    if limited is None:
        return int(pairwise_steps(*quadratic, share, edges, tolerance, most))
    return int(limited_steps(*quadratic, share, edges, *limited, tolerance, most))
