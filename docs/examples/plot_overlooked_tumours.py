"""
Overlooked tumours
==================

569 breast tumours with 30 measurements each. The smallest tenth of the malignant ones has been filed as
benign, so the groups as filed are not the true groups. How different are the true ones?

These are scikit-learn's breast-cancer data. All diagnoses are known and we did the misfiling ourselves,
so the truth can be shown beside the bounds.
"""

# %%
# The table as filed is split into X (filed as malignant) and Y (filed as benign, with 21 overlooked
# tumours among them). The columns are standardised over all rows together, without using the labels.

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import mmdbounds as mb
from lab.datasets import overlooked_tumours

table = overlooked_tumours(0.1)
measurements = pl.DataFrame(table.values, schema=list(table.columns))


def split(labels):
    frame = measurements.with_columns(pl.Series("diagnosis", labels))
    return mb.groups(frame, "diagnosis", hidden="malignant", among="benign")


X, Y = split(table.filed)
print(X, Y, sep="\n")

# %%
# In practice nobody knows the truth: the squared MMD with every tumour in its own group, and the share of
# the malignant ones that was overlooked.

truth = mb.mmd2(*split(table.truth))
true_share = len(table.overlooked) / np.count_nonzero(table.truth == "malignant")
print(f"{truth:.4f} with {true_share:.1%} overlooked")

# %%
# The bounds, for shares from 0 to 40 %. At each share at most that part of the malignant tumours is
# assumed to be filed as benign. Nothing is assumed about which ones.

shares = np.linspace(0.0, 0.4, 21)
results = [mb.mmd_bounds(X, Y, epsilon=share, rng=0) for share in shares]
lower, upper = zip(*(result.interval for result in results), strict=True)
print("proved on both sides:", all(result.is_certified for result in results))

# %%
# The value as filed is one number and says nothing about the misfiling. The interval widens with the
# share, and at the true share it contains the truth. The value as filed always lies inside. Both ends are
# proved: no labelling with that share, or a smaller one, lies beyond them.

blue, vermilion, grey = "#0072B2", "#D55E00", "0.5"  # told apart by colour-blind readers, on any page
percent = 100 * shares

figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
ax.fill_between(percent, lower, upper, color=blue, alpha=0.2, linewidth=0)
ax.plot(percent, upper, color=blue, linewidth=1.8)
ax.plot(percent, lower, color=blue, linewidth=1.8)
ax.axhline(results[0].observed, color=grey, linewidth=1.5, linestyle=(0, (5, 3)))
ax.plot(100 * true_share, truth, "D", color=vermilion, markersize=7, markeredgecolor="white")


def label(text, x, y, offset, **style):
    ax.annotate(text, (x, y), offset, textcoords="offset points", **style)


label("largest possible value", 0.5, upper[0], (0, 12))
label("smallest possible value", 26, np.interp(26, percent, lower), (8, 6))
label("as filed", 40, results[0].observed, (-2, -6), ha="right", va="top")
label("truth", 100 * true_share, truth, (8, -8), color=vermilion, va="top")
ax.set(
    xlabel="malignant tumours assumed to be filed as benign (%)",
    ylabel="squared MMD, malignant against benign",
    xlim=(0, 40),
    ylim=(0, 0.45),
)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
