"""
Finding no difference does not mean there is none
=================================================

A network reads chest X-rays for pneumonia. Are its outputs alike for women and men? A test finds no
difference. But sex is taken from a form. If a few women were entered as men, could that hide a real
difference?

The logits come from open predictions for NIH ChestX-ray14, on patients that the network was not fitted
to.
"""

# %%
# Images of one patient resemble each other, so the loader keeps one per patient: 586 women and 652 men.

import os
import sys

import matplotlib.pyplot as plt

import mmdbounds as mb
from lab.datasets import load_standin

if not os.environ.get("MMDBOUNDS_DATA"):
    print("This example needs the chest X-ray logits: name their folder in MMDBOUNDS_DATA.")
    sys.exit()
X, Y = load_standin("nih_cxr14").groups()
test = mb.robust_test(X, Y, 0.0, rng=0)
print(f"squared MMD {test.observed:.5f}, p-value {test.pvalue_as_filed:.3f}")

# %%
# The ordinary test finds nothing. Now the bounds, for up to 5 % of the women entered as men.

curve = mb.sweep(X, Y, epsilons=[0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05], n_permutations=199, rng=0)
for point in curve.points:
    low, high = point.in_null_quantiles
    print(f"{point.epsilon:5.1%} misfiled: {low:5.2f} to {high:4.2f} times what chance alone makes")
curve.plot()
plt.show()

# %%
# With 5 % misfiled, the squared MMD of the true groups can be four times the 95 % quantile of its null. A
# test with the right labels would have found such a difference easily. There may also be no difference at
# all.

# %%
# **What it says.** "No significant difference" holds for the groups as filed. With a twentieth of the
# women misfiled, the data are compatible with no difference and with a clear one.
#
# **What it does not say.** It does not say that there is a difference. If misfiling has nothing to do
# with what the image looks like, it hides only a little of any difference. Only the extreme cases hide
# this much.
