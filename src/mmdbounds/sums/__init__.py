"""Sums over pairs of rows: the only numerics that see pairs.

`make_sums` asks the registered backends how K is represented; everything above uses the verbs of
`KernelSums` only.
"""

from __future__ import annotations

from mmdbounds.sums.cpu import ProcessorBackend
from mmdbounds.sums.dask import DaskBackend
from mmdbounds.sums.protocol import KernelSums
from mmdbounds.sums.registry import Backend, backend_names, make_sums, register_backend, unregister_backend
from mmdbounds.sums.torch import TorchBackend

__all__ = ["Backend", "KernelSums", "backend_names", "make_sums", "register_backend", "unregister_backend"]

for _backend in (ProcessorBackend(), TorchBackend(), DaskBackend()):
    register_backend(_backend)
