"""Kernels: small frozen descriptions of k(a, b), one file each.

A kernel is a formula on one number per pair of rows (`Kernel.geometry`): a distance or an inner product. Its
file declares all that is known of it: names, formula, slope, what rounding does to it, its compiled forms.
To add one to the package, write a file and list it in `SHIPPED`. From outside, derive a class from
`PairKernel` or `BandwidthKernel` and hand in an object, or `register` the class and use its name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmdbounds.kernels.base import (
        BandwidthKernel,
        CompiledForms,
        Floats,
        FunctionKernel,
        Geometry,
        Kernel,
        PairKernel,
        Precomputed,
    )
    from mmdbounds.kernels.energy import Energy
    from mmdbounds.kernels.laplacian import Laplacian
    from mmdbounds.kernels.matern import Matern52
    from mmdbounds.kernels.polynomial import Linear, Polynomial
    from mmdbounds.kernels.rbf import RBF
    from mmdbounds.kernels.registry import (
        is_precomputed,
        kernel_class,
        kernel_names,
        lists_kernels,
        register,
        takes_bandwidth,
    )

__all__ = ["RBF", "SHIPPED", "BandwidthKernel", "CompiledForms", "Energy", "Floats"]
__all__ += ["FunctionKernel", "Geometry", "Kernel", "Laplacian", "Linear"]
__all__ += [
    "Matern52",
    "PairKernel",
    "Polynomial",
    "Precomputed",
    "is_precomputed",
    "kernel_class",
    "kernel_names",
]
__all__ += ["lists_kernels", "register", "takes_bandwidth"]

# The kernels of the package in the order of every list: name, then file and class. Help and completion need
# the names alone, and must not wait for NumPy: nothing else is imported here.
SHIPPED = {
    "rbf": ("rbf", "RBF"),
    "laplacian": ("laplacian", "Laplacian"),
    "matern52": ("matern", "Matern52"),
    "polynomial": ("polynomial", "Polynomial"),
    "linear": ("polynomial", "Linear"),
    "energy": ("energy", "Energy"),
    "precomputed": ("base", "Precomputed"),
}

_HOME = {name: "registry" if name.islower() else "base" for name in __all__}
_HOME |= {made: home for home, made in SHIPPED.values()}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module 'mmdbounds.kernels' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(f"mmdbounds.kernels.{_HOME[name]}"), name)
    globals()[name] = value
    return value
