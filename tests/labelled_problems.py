"""Problems of several groups, and what is true of them by definition: HSIC as a trace, labels one by one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np


@dataclass(frozen=True)
class LabelledProblem:
    """Rows with labels, and how many of these are wrong, in which ways."""

    Z: np.ndarray
    labels: np.ndarray
    n_moved: int
    transitions: list | None
    exactly: bool
    estimator: str
    bandwidth: float

    @property
    def K(self):
        squared = ((self.Z[:, None, :] - self.Z[None, :, :]) ** 2).sum(axis=2)
        return np.exp(-squared / (2 * self.bandwidth**2))

    @property
    def arguments(self):
        how = {"n_moved": self.n_moved, "transitions": self.transitions, "exactly": self.exactly}
        return {**how, "estimator": self.estimator, "bandwidth": self.bandwidth, "rng": 0}


def naive_hsic(K, labels, estimator):
    """HSIC by its definition: the V-statistic as a trace, the U-statistic of Song et al. (2012)."""
    n, L = len(K), (labels[:, None] == labels).astype(float)
    if estimator == "biased":
        H = np.eye(n) - 1 / n
        return float(np.trace(K @ H @ L @ H)) / n**2
    K, L, one = K - np.diag(np.diag(K)), L - np.diag(np.diag(L)), np.ones(n)
    both = (one @ K @ one) * (one @ L @ one) / ((n - 1) * (n - 2))
    return float(np.trace(K @ L) + both - 2 / (n - 2) * (one @ K @ L @ one)) / (n * (n - 3))


def admissible_labels(problem):
    """Yield every labelling that the wrong labels allow; the recorded one too unless `exactly`."""
    groups = np.unique(problem.labels)
    allowed = problem.transitions or [(a, b) for a in groups for b in groups if a != b]
    targets = [[b for a, b in allowed if a == label] for label in problem.labels]
    for m in range(problem.n_moved if problem.exactly else 0, problem.n_moved + 1):
        for rows in combinations(range(len(targets)), m):
            for new in product(*(targets[i] for i in rows)):
                labels = problem.labels.copy()
                labels[list(rows)] = new
                yield labels


def random_labelled(seed):
    """Draw a small problem: 2 to 4 groups, transitions, estimators, at most or exactly, duplicates."""
    rng = np.random.default_rng(seed)
    n, n_groups = int(rng.integers(6, 12)), int(rng.integers(2, 5))
    labels = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)])
    rng.shuffle(labels)
    Z = rng.normal(size=(n, int(rng.integers(1, 4)))) + rng.uniform(0, 2) * labels[:, None]
    if rng.random() < 0.3:
        Z[1] = Z[0]
    transitions = None
    if rng.random() < 0.6:
        every = [(a, b) for a in range(n_groups) for b in range(n_groups) if a != b]
        some = rng.choice(len(every), int(rng.integers(1, len(every) + 1)), replace=False)
        transitions = [every[i] for i in sorted(some)]
    movable = n if transitions is None else sum(label in {a for a, _ in transitions} for label in labels)
    n_moved = int(rng.integers(0, min(3, movable) + 1))
    estimator = ("biased", "unbiased")[int(rng.integers(2))]
    return LabelledProblem(
        Z, labels, n_moved, transitions, bool(rng.integers(2)), estimator, float(rng.uniform(0.5, 3))
    )
