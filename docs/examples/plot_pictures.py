"""
Pictures of results
===================

Every result draws the picture that goes with it: ``result.plot()``. Each picture is also a function that
takes the result and, if wanted, the axes to draw on, and returns the axes. They need the extra ``plot``.
"""

# %%
# Two made-up groups: 60 patients with an infarction, and 80 filed as healthy.

import matplotlib.pyplot as plt
import numpy as np

import mmdbounds as mb

rng = np.random.default_rng(1)
X = mb.Group(rng.normal(size=(60, 2)), name="infarction", columns=("marker A", "marker B"))
Y = mb.Group(rng.normal(0.8, 1.0, size=(80, 2)), name="healthy", columns=("marker A", "marker B"))

# %%
# Bounds against the share of misfiled rows
# -----------------------------------------
# The lower and the upper bound, the value as filed, what chance alone would give, and the breakdown: the
# first share with which the difference could be an artefact of the filing. Hollow markers, if there are
# any, are values that a labelling reaches but nothing proves.

curve = mb.sweep(X, Y, epsilons=np.arange(0, 0.31, 0.05), n_permutations=199, rng=0)
curve.plot()
plt.show()

# %%
# p-values against the share
# --------------------------
# Only the worst case is a p-value. No line joins the shares, because a p-value can jump between them.

mb.plotting.plot_pvalues(curve)
plt.show()

# %%
# A test and its null distribution
# --------------------------------
# The lower bound of the squared MMD beside the values of random labellings; ``bounds`` shades where the
# value of the true groups can be.

test = mb.robust_test(X, Y, epsilon=0.1, n_permutations=199, rng=0)
bounds = mb.mmd_bounds(X, Y, epsilon=0.1, rng=0)
mb.plotting.plot_null(test, bounds=bounds)
plt.show()

# %%
# One interval
# ------------

bounds.plot()
plt.show()

# %%
# The rows to check first
# -----------------------
# How much, at most, a bound changes once a row's true group is known. The order is that of the lower bound.

mb.plotting.plot_rows(bounds, n_rows=10)
plt.show()

# %%
# Each column by itself
# ---------------------
# The difference of the means in standard deviations, so that columns with other units can be compared. The
# differences in their own units are in the table.

mb.column_table(X, Y, epsilon=0.1).plot()
plt.show()

# %%
# Misfiling both ways
# -------------------
# Up to which share of the other group the finding survives, for each share of the first.

frontier = mb.sweep(X, Y, epsilons=np.arange(0, 0.26, 0.05), y_in_x=0.3, n_permutations=99, rng=0)
frontier.plot()
plt.show()

# %%
# Misfiling that is nearly random
# -------------------------------
# The lower end of the range, if the odds of being misfiled are the same for all rows up to a factor.

odds = mb.odds_sweep(X, Y, epsilons=[0.1, 0.2, 0.3], odds=[1, 2, 4, 8], n_permutations=99, rng=0)
odds.plot()
plt.show()

# %%
# How many rows an audit will take
# --------------------------------
# To rule out that 20 of the 80 rows are misfiled, which is the breakdown above.

mb.plan_audit(n_rows=80, breakdown=20).plot()
plt.show()

# %%
# Several pictures in one figure
# ------------------------------
# Axes in, axes out.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
mb.plotting.plot_bounds(curve, axes[0]).set(title="bounds", ylim=(None, 0.4))  # room for the legend
mb.plotting.plot_pvalues(curve, axes[1]).set_title("p-values")
plt.show()
