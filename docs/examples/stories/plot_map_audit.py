"""
How many records must be checked?
=================================

A map says which cells of a forest are Lodgepole Pine and which Spruce-Fir. Their terrain differs. But some
pines are filed as spruce, and nobody knows how many. A crew can walk to a cell and look. How many cells must
it visit until we know whether the difference is real?

Here the crew can be played by a program, because the truth is known: cells are real, the misfiling is made
up.
"""

# %%
# 300 cells of each kind are drawn, with ten measurements of the terrain. Then a tenth of the pines is filed
# as spruce, and not at random: all of them are typical pines (``mechanism="nonrandom"``).

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
rng = np.random.default_rng(0)
drawn = [each[rng.choice(len(each), 300, replace=False)] for each in (data.X, data.Y)]
terrain = [name for name in data.columns if not name.startswith(("Wilderness", "Soil"))]
cells = pl.DataFrame(np.concatenate(drawn), schema=list(data.columns)).select(terrain)
cells = cells.with_columns(cell=pl.Series([f"cell {i}" for i in rng.permutation(600)]))

grows = np.repeat(["pine", "spruce"], 300)  # the truth
names = {"hidden": "pine", "among": "spruce", "columns": terrain}
true_groups = mb.groups(cells.with_columns(grows=pl.Series(grows)), "grows", **names)
filed = grows.copy()
filed[mb.simulate(*true_groups, epsilon=0.1, rng=0).moved] = "spruce"
cells = cells.with_columns(filed=pl.Series(filed))

# %%
# How much misfiling would explain it away?
# -----------------------------------------
# From here on we have the map only. The number of misfiled cells at which the finding breaks down is the
# margin of the audit.

X, Y = mb.groups(cells, "filed", id="cell", **names)
print(X, Y, sep="\n")
curve = mb.sweep(X, Y, epsilons=np.arange(0, 0.31, 0.05), rng=0)
print(f"as filed: squared MMD {curve.observed:.4f}, p-value {curve.points[0].pvalue:.3f}")
print(f"{curve.breakdown_n_moved} of the {len(Y)} cells filed as spruce could explain it away")
curve.plot()
plt.show()

# %%
# Fewer than one cell in ten: on a map that is possible, so somebody has to look.
#
# How many cells must be visited?
# -------------------------------
# With ``anytime=True`` the plan is for an audit that may stop after any cell.

plan = mb.plan_audit(len(Y), curve.breakdown_n_moved, anytime=True)
print(plan.summary().split("\n\n")[0])
plan.plot()
plt.show()

# %%
# Which cells?
# ------------
# In a random order, fixed by a seed before anybody sets out, so that nobody can pick the easy ones.

now = mb.audit(X, Y, n_next=30, rng=0)
print(now.summary().split("\n\n")[0])
print("First cells:", ", ".join(now.ids_next[:6]))
print("Order, to be noted:", now.order_digest[:16])

# %%
# The crew sets out
# -----------------
# It writes what it finds into the column *visited*, which is blank elsewhere. After every 30 cells the audit
# is run again with the same seed. Looking so often costs nothing.


def look(visited, **options):
    """Run the audit with what was found so far."""
    column = pl.Series("visited", [visited.get(cell) for cell in cells["cell"]], dtype=pl.String)
    groups = mb.groups(cells.with_columns(column), "filed", id="cell", verified="visited", **names)
    return mb.audit(*groups, rng=0, **options)


def visit(ids):
    """Return what the crew finds."""
    return {cell: kind for cell, kind in zip(cells["cell"], grows, strict=True) if cell in ids}


visited, looks = {}, [now]
while not now.is_decided:
    visited |= visit(now.ids_next)
    now = look(visited, n_next=30)
    looks.append(now)
    low, high = now.n_misfiled_range
    it_takes = now.n_found + now.breakdown_n_moved
    known = f"{now.n_random:3} visited, {now.n_found:2} are pines: {low:2} to {high:3} misfiled"
    print(f"{known}, {it_takes} would explain it away -> {now.decision}")

# %%
# The upper limit falls as more cells are visited. Here the other number rises: pines that are put back make
# the difference clearer, so it takes more to explain it away. The plan could not know that, and keeps that
# number as it was at the start.

checked = [each.n_random for each in looks]
limits = np.array([each.n_misfiled_range for each in looks])
it_takes = [each.n_found + each.breakdown_n_moved for each in looks]
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.vlines(checked[1:], *limits[1:].T, color="#56B4E9", linewidth=8, label="misfiled, with 95 % confidence")
ax.plot(checked, it_takes, "--o", color="#D55E00", label="would explain the difference away")
ax.axhline((filed != grows).sum(), color="black", linestyle=":", label="really misfiled (nobody knows)")
ax.set(ylim=(0, None), xlabel="cells visited", ylabel="cells filed as spruce that are pines")
ax.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# What is decided
# ---------------
# Thirty cells were misfiled, as many as could have explained the difference away. But it takes the right
# thirty, and these are others.

print(now.summary().split("\n\n")[0])
print(f"(The true groups have {mb.mmd2(*true_groups):.4f}.)")

# %%
# Narrower bounds
# ---------------
# The difference stands, but how large is it? For that the crew may visit the cells that matter most for the
# lower bound (``by="effect"``). We compare twenty of them, ranked again after ten, with the next twenty in
# the random order.

print(f"width now        -> {now.upper - now.lower:.4f}")
for by in ("random", "effect"):
    more = dict(visited)
    for _ in range(2):
        more |= visit(look(more, by=by, n_next=10).ids_next)
    then = look(more)
    found = f"pines found: {then.n_found - now.n_found}; misfiled: at most {then.n_misfiled_range[1]}"
    print(f"20 more, {by:6} -> {then.upper - then.lower:.4f} ({found})")

# %%
# **What it says.** The terrain of pines and spruces differs, whichever of the cells not visited are
# misfiled, as many as the limit allows. If it did not differ, an audit would still come to say this with a
# probability of at most 10 %: 5 % for the test, 5 % for the limit. The bounds are proved for every labelling
# within the limit. The limit has 95 % confidence, and so have they.
#
# **What it does not say.** This is one draw, described by the terrain. It does not say that the other cells
# are filed correctly. Cells visited by effect say nothing about the number: they were chosen, and most are
# pines for that reason. And all of it assumes that the crew is right, that no spruce is filed as pine, and
# that cells are exchangeable. These were drawn at random from a large map; neighbouring cells would not be.
#
# The same audit on the command line, and what it assumes: :doc:`/audit`.
