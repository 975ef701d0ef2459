"""
A fairness audit
================

A model scores defendants for the risk of a new offence. An audit compares the scores of African-American
and Caucasian defendants **who did not reoffend**. For them a difference is hard to defend. The reply:
race was written down by hand, and many records are wrong. How wrong would they have to be?

The scores are logits of a small network fitted to ProPublica's COMPAS data, without race among its
inputs. They are for people that it was not fitted to. This is a stand-in, not the commercial COMPAS
score.
"""

# %%
# There is one row per person. Only those without a new offence within two years are kept. The outcome
# decides that, not the group.

import os
import sys

import matplotlib.pyplot as plt
import numpy as np

import mmdbounds as mb
from lab.datasets import load_standin

if not os.environ.get("MMDBOUNDS_DATA"):
    print("This example needs the COMPAS stand-in: name its folder in MMDBOUNDS_DATA.")
    sys.exit()
data = load_standin("compas")
X = mb.Group(data.X[data.outcomes_x == 0], name=data.names[0], columns=data.columns)
Y = mb.Group(data.Y[data.outcomes_y == 0], name=data.names[1], columns=data.columns)
print(X, Y, sep="\n")

# %%
# The finding and its breakdown
# -----------------------------

curve = mb.sweep(X, Y, epsilons=np.arange(0, 0.31, 0.05), n_permutations=199, rng=0)
print(curve.summary().split("\n\n")[0])  # the rest are the numbers drawn below, and the conditions
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
mb.plotting.plot_bounds(curve, axes[0])
mb.plotting.plot_pvalues(curve, axes[1])
plt.show()

# %%
# Wrong in both directions
# ------------------------
# Records can be wrong both ways. Suppose up to 3 % of the African-American defendants were recorded as
# Caucasian, and up to 1 % of the Caucasian ones as African-American. Every pair of counts within these
# shares is tested.

both_ways = mb.Contamination(x_in_y=0.03, y_in_x=0.01)
test = mb.robust_test(X, Y, both_ways, n_permutations=199, rng=0)
print(test)

# %%
# **What it says.** The scores of people who did not reoffend differ between the groups, unless more
# records are wrong than the breakdown says. They would also have to be wrong in exactly the way that
# creates a difference.
#
# **What it does not say.** It does not say why they differ. The model uses age and prior arrests, which
# differ between the groups for many reasons, and the comparison adjusts for none of them. "Did not
# reoffend" is itself a record, of arrests. And whether a difference is unfair is not a question of
# statistics.
