"""
Inner and outer bounds
======================

A search finds labellings, so what it reports may be too narrow: the extreme value can lie beyond it. A
proof says where no labelling can be, so what it reports may be too wide. The extreme lies between the
two, and nothing more is known about it. Here both are drawn for one small problem.
"""

# %%
# Two groups in the plane: X is in the middle, and Y is around it, with some of its rows in clumps. Ten
# rows of Y belong to X, but nobody knows which. Which ten should move to make the groups as different as
# possible?

import matplotlib.pyplot as plt
import numpy as np

import mmdbounds as mb

rng = np.random.default_rng(212)
X = rng.normal(0, 1, (30, 2))
clumps = []
for _ in range(rng.integers(3, 6)):
    angle, radius = rng.uniform(0, 2 * np.pi), rng.uniform(1.8, 3.6)
    centre = radius * np.cos(angle), radius * np.sin(angle)
    clumps.append((centre, rng.uniform(0.2, 0.6), (rng.integers(8, 14), 2)))
Y = np.concatenate([rng.normal(0, 1.3, (14, 2)), *(rng.normal(*clump) for clump in clumps)])
misfiled = mb.Contamination(n_moved=10, exactly=True)

# %%
# S-SD follows the gradient from its start and ends in one region of the data. The sharp method starts in
# many places. With ``gap=0.1`` its proof stops as soon as it is within a tenth of the width. With
# ``gap=0`` it continues until nothing lies between labelling and proof.

ssd = mb.mmd_bounds(X, Y, misfiled, bandwidth=1.0, method="s-sd")
early = mb.mmd_bounds(X, Y, misfiled, bandwidth=1.0, method=mb.Sharp(gap=0.1), rng=0)
sharp = mb.mmd_bounds(X, Y, misfiled, bandwidth=1.0, method=mb.Sharp(gap=0), rng=0)
for name, result in {"s-sd": ssd, "sharp, gap 0.1": early, "sharp, gap 0": sharp}.items():
    print(f"{name:15} {result}")

# %%
# Twenty thousand random labellings stay in the middle. The extremes are rare, and chance does not find
# them.

Z = np.concatenate([X, Y])
K = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=-1) / 2)
np.fill_diagonal(K, 0.0)
u = np.zeros((20_000, len(Z)))
u[:, : len(X)] = 1
for labelling in u:
    labelling[len(X) + rng.choice(len(Y), 10, replace=False)] = 1
v, n_x, n_y = 1 - u, len(X) + 10, len(Y) - 10
xx, yy, xy = ((a @ K * b).sum(axis=1) for a, b in ((u, u), (v, v), (u, v)))
at_random = xx / (n_x * (n_x - 1)) + yy / (n_y * (n_y - 1)) - 2 * xy / (n_x * n_y)

# %%
# The bars are the values that labellings reach; the hatched ends are proved to be out of reach. The blank
# space between them is not known.

blue, vermilion, grey = "#0072B2", "#D55E00", "0.6"
figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.9), width_ratios=(1, 1.5), layout="constrained")
left.plot(*X.T, "o", color="black", markersize=3.5, label="X")
left.plot(*Y.T, "o", color=grey, markersize=3.5, label="Y")
ring = {"linestyle": "none", "markerfacecolor": "none", "markersize": 9}
left.plot(*Y[ssd.upper.rows].T, marker="s", color=vermilion, label="S-SD would move", **ring)
left.plot(*Y[sharp.upper.rows].T, marker="o", color=blue, label="the extreme ten", **ring)
left.set(aspect="equal", xticks=[], yticks=[])
left.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False)

low, high = early.lower.certified, early.upper.certified
ends = low - 0.12 * (high - low), high + 0.12 * (high - low)
right.hist(at_random, 40, bottom=2.8, weights=np.full(len(at_random), 5 / len(at_random)), color=grey)
for level, result, colour in ((2, ssd, vermilion), (1, early, blue), (0, sharp, blue)):
    right.barh(level, result.width, left=result.lower.value, height=0.36, color=colour)
    if result.is_certified:
        for a, b in ((ends[0], result.lower.certified), (result.upper.certified, ends[1])):
            style = {
                "facecolor": "none",
                "edgecolor": "black",
                "linewidth": 0,
                "hatch": "/////",
                "alpha": 0.6,
            }
            right.barh(level, b - a, left=a, height=0.36, **style)
labels = ["sharp, gap 0", "sharp, gap 0.1", "S-SD", "at random"]
right.set(yticks=(0, 1, 2, 3), yticklabels=labels, xlim=ends, xlabel="squared MMD of the true groups")
right.spines[["top", "right", "left"]].set_visible(False)
right.tick_params(axis="y", length=0)
plt.show()
