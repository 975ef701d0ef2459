"""The paper's methods that bound nothing, to set beside bounds: free points, greedy selection, the bootstrap.

Each gives a plain `Interval` for an exact number of mislabelled rows. `evaluate` takes them by these names
beside the methods of `mmd_bounds`. A baseline is imported when it is used: listing the names costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmdbounds.baselines.free_points import QuasiNewton
    from mmdbounds.baselines.simple import Baseline, Bootstrap, Interval, Submodular

__all__ = ["NAMES", "Baseline", "Bootstrap", "Interval", "QuasiNewton", "Submodular", "baseline"]

# By name: the class, and the options that make it this baseline.
NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "s-qno": ("QuasiNewton", {"n_steps": None}),
    "qno": ("QuasiNewton", {}),
    "sm": ("Submodular", {}),
    "bootstrap": ("Bootstrap", {}),
}


def baseline(name: str) -> Baseline:
    """Return the baseline of a name, with its default options."""
    class_name, options = NAMES[name]
    made: Baseline = __getattr__(class_name)(**options)
    return made


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    home = "free_points" if name == "QuasiNewton" else "simple"
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
