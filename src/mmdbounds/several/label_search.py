"""The search of one side: labels from several starts, improved by exchanging rows until nothing is gained."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.several.dependence import Arrangement, Dependence
from mmdbounds.several.labels import Moves
from mmdbounds.sums.protocol import Float64s

CANDIDATES = 400  # rows that are considered on each side of an exchange, those that promise most
STEPS, STEPS_OF_ROW = 100, 4  # exchanges at the most: fixed, and for each row that moves...
MOST_STEPS = 1000  # ... but no more than this


def starts(of: Dependence, moves: Moves, out: float, rng: np.random.Generator) -> Iterator[Arrangement]:
    """Yield labels to start from, without end: greedy first; `out` is +1 on the upper side, -1 on the lower.

    The upper side has many local optima in different regions of the data: there all rows that move are drawn
    to a random one of them and its target. On the lower side random rows move.
    """
    filed = Arrangement.filed(of)
    worth = out * filed.changes()
    yield Arrangement.of_moves(of, *moves.best(worth, of.tie_width))
    movable = np.flatnonzero(moves.targets.any(axis=1))
    while True:
        if out < 0:
            yield Arrangement.of_moves(of, *moves.best(_random_worth(moves, rng)))
            continue
        row = int(rng.choice(movable))
        target = int(rng.choice(np.flatnonzero(moves.targets[row])))
        drawn = of.values(np.array([row]), np.arange(of.n_rows))[0]
        pull = np.zeros_like(worth)
        pull[:, target], pull[:, of.codes[row]] = drawn, -drawn
        yield Arrangement.of_moves(of, *moves.best(worth + 2 * of.w * moves.n_moved * pull, of.tie_width))


def _random_worth(moves: Moves, rng: np.random.Generator) -> Float64s:
    """Return worths with which random rows move to random targets."""
    worth: Float64s = 1 + rng.random(moves.targets.shape)
    np.put_along_axis(worth, moves.recorded[:, None], 0.0, axis=1)
    return worth


def refine(found: Arrangement, moves: Moves, out: float) -> Arrangement:
    """Improve labels until no exchange of two rows, among those that promise most, gains."""
    if not moves.n_moved:
        return found
    if out > 0:
        found = _climbed(found, moves)
    for _ in range(min(MOST_STEPS, STEPS + STEPS_OF_ROW * moves.n_moved)):
        step = _best_step(found, moves, out)
        if step is None:
            break
        found.move(*step)
    return found


def _climbed(found: Arrangement, moves: Moves) -> Arrangement:
    """Choose all labels anew by the gradient, as long as HSIC rises: where it is convex, it never falls."""
    while True:
        rows, targets = moves.best(found.changes(), found.of.tie_width)
        better = Arrangement.of_moves(found.of, rows, targets)
        if better.value() <= found.value() + found.of.tie_width:
            return found
        found = better


def _best_step(found: Arrangement, moves: Moves, out: float) -> tuple[Indices, Indices] | None:
    """Return the rows and new labels of the step that gains most; `None` if none gains."""
    of, changes = found.of, out * found.changes()
    moved = found.moved()
    recorded = moves.recorded[moved]
    options = []
    # A row that moves may go elsewhere, or stay after all if fewer rows may move.
    elsewhere = np.where(moves.targets[moved], changes[moved], -np.inf)
    if not moves.exactly:
        np.put_along_axis(elsewhere, recorded[:, None], changes[moved, recorded][:, None], axis=1)
    if len(moved):
        row, target = np.unravel_index(np.argmax(elsewhere), elsewhere.shape)
        options.append((elsewhere[row, target], moved[row : row + 1], np.array([target])))
    entering = np.where(moves.targets, changes, -np.inf)
    entering[moved] = -np.inf
    rows, targets = _leading(entering)
    if len(rows) and len(moved) < moves.n_moved:
        options.append((entering[rows[0], targets[0]], rows[:1], targets[:1]))
    if len(rows) and len(moved):
        back = changes[moved, recorded]
        some = np.argsort(-back, kind="stable")[:CANDIDATES]
        leaving, home = moved[some], recorded[some]
        gains = back[some][:, None] + entering[rows, targets]
        both = together(home, found.codes[leaving], targets, found.codes[rows])
        gains += 2 * out * of.w * of.values(leaving, rows) * both
        i, j = np.unravel_index(np.argmax(gains), gains.shape)
        pair = np.array([leaving[i], rows[j]]), np.array([home[i], targets[j]])
        options.append((gains[i, j], *pair))
    best = max(options, key=lambda option: option[0], default=(0.0, None, None))
    gain, chosen, labels = best
    return None if chosen is None or labels is None or gain <= of.tie_width else (chosen, labels)


def _leading(entering: Float64s) -> tuple[Indices, Indices]:
    """Return the rows and targets that promise most, the best first."""
    order = np.argsort(-entering, axis=None, kind="stable")[:CANDIDATES]
    rows, targets = np.unravel_index(order[np.isfinite(entering.ravel()[order])], entering.shape)
    return np.asarray(rows), np.asarray(targets)


def together(new: Indices, old: Indices, others_new: Indices, others_old: Indices) -> Float64s:
    """Return how two changes of label act together: the factor of 2 w M_ij, shape (rows, others)."""

    def same(one: Indices, other: Indices) -> Float64s:
        return np.asarray(one[:, None] == other, dtype=np.float64)

    return same(new, others_new) - same(new, others_old) - same(old, others_new) + same(old, others_old)
