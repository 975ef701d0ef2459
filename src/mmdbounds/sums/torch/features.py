"""Features on a device of PyTorch's: the same maps, with the rows as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.progress import Meter
from mmdbounds.sums.features.kernels import ApproximateKernel
from mmdbounds.sums.features.maps import FeatureMap, LandmarkMap, make_map, waves
from mmdbounds.sums.features.sums import TEMPORARIES, Array, Features, FeatureSums, row_norms
from mmdbounds.sums.points import by_product, kernel_rows, prepare
from mmdbounds.sums.protocol import Float64s, Rows
from mmdbounds.sums.torch.sums import Blocks, best_device, import_torch

Tensor = Any

MOST_ROWS = 16_384
"""Rows whose features are made at a time: a GPU is idle with few."""


class TorchFeatures:
    """Features of the pooled rows `Z` as tensors on `device`."""

    backend = "torch"
    n_threads = 1

    def __init__(self, Z: Float64s, feature_map: FeatureMap, dtype: str, device: str | None = None) -> None:
        self.map, self.dtype, self._Z = feature_map, dtype, Z
        self.device = str(import_torch().device(device or best_device()))
        self._number = getattr(import_torch(), dtype)
        if isinstance(feature_map, LandmarkMap):
            self._rows = _with_landmarks(Z, feature_map)
            kernel = feature_map.kernel
            self._blocks = Blocks(
                self._tensor(self._rows), kernel, 1024, Meter(), by_product=by_product(kernel)
            )
            self._factor = self._tensor(feature_map.root)
        else:
            self._rows = self._tensor(Z - feature_map.centre)
            self._factor = self._tensor(feature_map.frequencies)

    def strip_rows(self, room: float) -> int:
        """See `Features`."""
        return int(np.clip(room // (TEMPORARIES * 8 * self.map.size), 16, MOST_ROWS))

    def of(self, rows: Rows) -> Array:
        """See `Features`."""
        if isinstance(self.map, LandmarkMap):
            landmarks = slice(len(self._Z), len(self._Z) + self.map.size)
            strips: list[list[Tensor]] = []
            for _, j, values in self._blocks.patches(rows, landmarks):
                strips += [[]] if j == 0 else []
                strips[-1].append(values)
            values = import_torch().cat([import_torch().cat(strip, dim=1) for strip in strips])
            return (values @ self._factor).to(self._number)
        return waves(self._rows[rows], self._factor, import_torch()).to(self._number)

    def given(self, array: Any) -> Array:
        """See `Features`."""
        return self._tensor(array).to(self._number)

    def taken(self, array: Array) -> Float64s:
        """See `Features`."""
        return np.asarray(array.cpu().numpy(), dtype=np.float64)

    def norms(self) -> tuple[float, float]:
        """See `Features`."""
        return row_norms(self._Z, self.map)

    def empty(self, n_rows: int) -> Array:
        """See `Features`."""
        return import_torch().empty((n_rows, self.map.size), dtype=self._number, device=self.device)

    def precise(self) -> Features:
        """See `Features`."""
        return TorchFeatures(self._Z, self.map, "float64", self.device)

    def _tensor(self, array: Any) -> Tensor:
        return import_torch().from_numpy(np.ascontiguousarray(array, dtype=np.float64)).to(self.device)


def _with_landmarks(Z: Float64s, feature_map: LandmarkMap) -> Float64s:
    """Return rows and landmarks, in this order, in the form that `Blocks` takes."""
    kernel = feature_map.kernel
    both = np.concatenate([Z - feature_map.centre, feature_map.landmarks])
    if by_product(kernel):
        return np.asarray(prepare(both, kernel, "float64").right)
    return kernel_rows(both, kernel)


def torch_feature_sums(
    Z: Float64s,
    kernel: ApproximateKernel,
    *,
    dtype: str = "float64",
    working_memory: float = 1024,
    meter: Meter | None = None,
    device: str | None = None,
) -> FeatureSums:
    """Return the sums on a device of PyTorch's."""
    features = TorchFeatures(Z, make_map(kernel, Z.shape[1]), dtype, device)
    return FeatureSums(features, len(Z), working_memory=working_memory, meter=meter)
