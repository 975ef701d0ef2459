"""Compiled pairwise steps: the inner loop of the convex relaxation.

A file of its own, imported where it is used: it loads the compiler.
"""
# The compiler knows these functions by their types alone; nothing is gained by annotating them twice.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

from mmdbounds.compiled import entry, part


@part()
def _shift(pairs, diagonal, gradient, share, giver, taker, amount):
    """Give the share `amount` of one row to another; what rounding would leave of a row counts as nothing."""
    whole_giver, whole_taker = amount >= share[giver], amount >= 1.0 - share[taker]
    share[giver] = 0.0 if whole_giver else share[giver] - amount
    share[taker] = 1.0 if whole_taker else share[taker] + amount
    for i in range(len(gradient)):
        gradient[i] += 2.0 * amount * (pairs[taker, i] - pairs[giver, i])
    gradient[taker] -= 2.0 * amount * diagonal[taker]
    gradient[giver] += 2.0 * amount * diagonal[giver]


@entry()
def pairwise_steps(pairs, diagonal, gradient, share, edges, tolerance, most):
    """Maximise a concave quadratic over shares with fixed sums, two rows at a time.

    The quadratic's second part is t'(pairs - diag(diagonal))t. In each step the row of the largest
    gradient that has room takes from the row of its group from which it gains most (second order, exact
    line search). It ends when no group has two rows whose gradients differ the wrong way by more than
    `tolerance`, or after `most` steps; the number of steps is returned.

    `pairs`, shape (n, n), is symmetric with 0 on its diagonal; `diagonal`, shape (n,), makes the quadratic
    concave. `gradient` and `share`, shape (n,), are updated in place. Group k holds the rows ``edges[k]`` to
    ``edges[k + 1]``.
    """
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
