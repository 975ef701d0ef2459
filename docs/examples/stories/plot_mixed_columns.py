"""
A DataFrame with mixed columns
==============================

Most tables are not a matrix: some columns are numbers, some are words, and some cells are empty.
:func:`~mmdbounds.groups` turns them into rows that can be compared and says what it did. It does not use
the labels.
"""

# %%
# Forest cells again, in the form in which people keep them: numbers, the wilderness area by name, the
# soil by type, and whether the cell is near a road. A few slopes were never measured.

import os
import sys

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import mmdbounds as mb
from lab.datasets import load_forest

if not os.environ.get("MMDBOUNDS_DATA"):
    print("This example needs FOREST: name its folder in MMDBOUNDS_DATA.")
    sys.exit()
data = load_forest()
rng = np.random.default_rng(3)
drawn = [each[rng.choice(len(each), 250, replace=False)] for each in (data.X, data.Y)]
cells = pl.DataFrame(np.concatenate(drawn), schema=list(data.columns))
areas = pl.Series(["Rawah", "Neota", "Comanche Peak", "Cache la Poudre"])
is_area = cells.select(pl.col(r"^Wilderness_Area\d+$")).to_numpy()
is_soil = cells.select(pl.col(r"^Soil_Type\d+$")).to_numpy()
slope = cells["Slope"].cast(pl.Float64).set(pl.Series(rng.random(500) < 0.02), None)
table = pl.DataFrame(
    {
        "cover": ["pine"] * 250 + ["spruce"] * 250,
        "elevation": cells["Elevation"],
        "slope": slope,
        "area": areas[is_area.argmax(axis=1).tolist()],
        "soil": pl.Series([f"type {i + 1}" for i in is_soil.argmax(axis=1)]),
        "near a road": cells["Horizontal_Distance_To_Roadways"] < 1000,
    }
)
with pl.Config(tbl_hide_dataframe_shape=True):
    print(table.sample(5, seed=0))

# %%
# Empty cells are refused until you say how to treat them, because both remedies change the question.

try:
    mb.groups(table, "cover", hidden="pine", among="spruce")
except mb.MmdBoundsError as error:
    print(error)

# %%
# Here they are filled with the median. The record says how each column was treated. The same record is in
# the provenance of every result.

X, Y = mb.groups(table, "cover", hidden="pine", among="spruce", missing="impute")
print(X.record["kinds"])
print("cells filled:", X.record["n_filled_cells"])
print(len(X.columns), "features, among them", ", ".join(X.columns[:5]))

# %%
# Numbers are standardised, and a category counts like one number however many values it has. How much
# depends on such choices? Other scales change the values, since distances are measured differently. They
# should not change whether the finding stands.

scales = ("standard", "robust", "rank")
figure, axes = plt.subplots(1, 3, figsize=(10, 4.2), layout="constrained", sharex=True, sharey=True)
for scale, ax in zip(scales, axes, strict=True):
    pair = mb.groups(table, "cover", hidden="pine", among="spruce", missing="impute", scale=scale)
    curve = mb.sweep(*pair, epsilons=[0, 0.1, 0.2, 0.3, 0.4], n_permutations=99, rng=0)
    ends = curve.breakdown_epsilon
    print(f"{scale:9} breaks down at {'more than 40 %' if ends is None else f'{ends:.1%}'}")
    mb.plotting.plot_bounds(curve, ax).set(title=scale, xlabel="")
    ax.get_legend().remove()
    ax.label_outer()
axes[1].set_xlabel("share of the true pines filed as spruce")
handles, labels = ax.get_legend_handles_labels()
labels = [label.split(":")[0] for label in labels]  # the numbers behind it are those of one scale
figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
plt.show()

# %%
# **What it says.** The two covers differ in these five columns, even if a quarter of the pines had been
# filed as spruce. The three scales agree on that.
#
# **What it does not say.** It does not say which column makes the difference (compare with
# ``columns="elevation"``). Nor may you try three scales and keep the best: choose one beforehand.
