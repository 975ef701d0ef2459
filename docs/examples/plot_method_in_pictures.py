"""
The method in pictures
======================

One measurement, two groups, and a few misfiled rows: small enough to see every step.
"""

# %%
# The true groups
# ---------------
# X is a group of 40, Y a group of 60, and X lies a little higher. Then the eight lowest rows of X are
# filed under Y. What you can see are the groups as filed.

import matplotlib.pyplot as plt
import numpy as np

import mmdbounds as mb

rng = np.random.default_rng(5)
X_clean, Y_clean = rng.normal(1.0, 1.0, size=(40, 1)), rng.normal(0.0, 1.0, size=(60, 1))
lowest = np.argsort(X_clean[:, 0])[:8]
X = mb.Group(np.delete(X_clean, lowest, axis=0), name="X", columns=("measurement",))
Y = mb.Group(np.concatenate([Y_clean, X_clean[lowest]]), name="Y", columns=("measurement",))

black, grey, blue, vermilion = "black", "0.55", "#0072B2", "#D55E00"


def strip(ax, level, values, marker, colour, **style):
    ax.plot(np.ravel(values), np.full(np.size(values), level), marker, color=colour, markersize=6, **style)


figure, ax = plt.subplots(figsize=(6.8, 2.6), layout="constrained")
strip(ax, 3, X_clean, "|", black)
strip(ax, 3, X_clean[lowest], "v", vermilion)
strip(ax, 2, Y_clean, "|", grey)
strip(ax, 1, X.values, "|", black)
strip(ax, 0, Y.values, "|", grey)
strip(ax, 0, X_clean[lowest], "v", vermilion)
ax.set(yticks=range(4), yticklabels=["Y as filed", "X as filed", "true Y", "true X"], xlabel="measurement")
ax.set_ylim(-0.6, 3.6)
ax.spines[["top", "right", "left"]].set_visible(False)
ax.tick_params(axis="y", length=0)
plt.show()

# %%
# How different are they? The witness
# -----------------------------------
# The squared MMD is built from one curve. Its value at a point says how near the point is, on average, to
# the rows of X, minus how near it is to the rows of Y. Above 0 a row looks like X, below 0 like Y. The
# squared MMD is the mean of the curve over X minus that over Y.
#
# A misfiled row has to be a row of Y. To make the groups as *different* as possible, move the rows of Y
# that look most like X (triangles pointing up). To make them as *alike* as possible, move the rows that
# look least like it (pointing down).

misfiled = mb.Contamination(n_moved=8, exactly=True)
result = mb.mmd_bounds(X, Y, misfiled, rng=0)
grid, bandwidth = np.linspace(-3, 4, 200), result.provenance.bandwidth


def witness(x, y, points=grid):
    def near(z):
        return np.exp(-((points[:, None] - z.T) ** 2) / (2 * bandwidth**2)).mean(axis=1)

    return near(x) - near(y)


figure, ax = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
ax.plot(grid, witness(X.values, Y.values), color=black, linewidth=1)
for group, marker, colour in ((X, "o", blue), (Y, "s", grey)):
    values = group.values[:, 0]
    ax.plot(values, witness(X.values, Y.values, values), marker, color=colour, markersize=4, label=group.name)
for bound, marker in ((result.upper, "^"), (result.lower, "v")):
    values, style = Y.values[bound.rows, 0], {"markersize": 9, "markerfacecolor": "none", "color": vermilion}
    heights = witness(X.values, Y.values, values)
    ax.plot(values, heights, marker, **style, label=f"moved for the {bound.side} bound")
ax.axhline(0, color=black, linewidth=0.8)
ax.set(xlabel="measurement", ylabel="witness (above 0: like X)")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Why step by step
# ----------------
# Moving a row changes the witness, so after the first rows others may matter more. S-SD moves a few rows,
# updates the witness, and moves the next. Here is the curve for the lower side after 0, 2, 4 and all 8
# rows. It gets flatter with each step, and the squared MMD falls with it.

steps = [mb.Contamination(n_moved=m, exactly=True) for m in (0, 2, 4, 8)]
order = [mb.mmd_bounds(X, Y, step, method="s-sd") for step in steps]
figure, ax = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
for step, shade in zip(order, (0.0, 0.35, 0.55, 0.75), strict=True):
    moved = step.lower.rows
    x = np.concatenate([X.values, Y.values[moved]])
    y = np.delete(Y.values, moved, axis=0)
    ax.plot(grid, witness(x, y), color=str(shade), label=f"{len(moved)} moved: {step.lower.value:.3f}")
ax.axhline(0, color=black, linewidth=0.8)
ax.set(xlabel="measurement", ylabel="witness")
ax.legend(title="rows, squared MMD", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# All labellings at once
# ----------------------
# There are more than seven billion ways to choose 8 of these 68 rows, each with its own squared MMD. The
# plot shows ten thousand random ones and the proved ends. Chance does not come near the extremes, but a
# person who misfiles on purpose can. The truth (vermilion) is the value of *one* of these labellings. It
# was made on purpose, so it is not where most of them are.

Z = np.concatenate([X.values, Y.values])
K = np.exp(-((Z - Z.T) ** 2) / (2 * bandwidth**2))
p, values = len(X), []
for _ in range(10_000):
    rows = p + rng.choice(len(Y), 8, replace=False)
    u = np.zeros(len(Z))
    u[:p] = u[rows] = 1
    n_x, n_y = u.sum(), (1 - u).sum()
    within = (u @ K @ u - n_x) / (n_x * (n_x - 1)) + ((1 - u) @ K @ (1 - u) - n_y) / (n_y * (n_y - 1))
    values.append(within - 2 * u @ K @ (1 - u) / (n_x * n_y))
truth = mb.mmd2(X_clean, Y_clean, bandwidth=bandwidth)

figure, ax = plt.subplots(figsize=(6.8, 3.0), layout="constrained")
ax.hist(values, 60, color=grey)
low, high = result.interval
marks = (
    (low, blue, "-", "none below (proved)"),
    (truth, vermilion, (0, (5, 3)), "truth"),
    (result.observed, black, (0, (1, 2)), "as filed"),
    (high, blue, "-", "none above (proved)"),
)
for value, colour, line, text in marks:
    ax.axvline(value, color=colour, linestyle=line)
    at = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points"}
    ax.annotate(text, (value, 1), (-3, 0), rotation=90, ha="right", va="top", color=colour, **at)
ax.set(xlabel="squared MMD of a labelling", ylabel="of 10,000 at random", xlim=(low - 0.04, high + 0.02))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
print(f"as filed {result.observed:.3f}, truth {truth:.3f}, proved to be in [{low:.3f}, {high:.3f}]")
