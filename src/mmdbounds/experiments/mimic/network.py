"""MONAI's DenseNet-121 with two outputs, started from ImageNet weights in a file of the user's.

The only file that imports MONAI.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.experiments.mimic.extras import require_extra
from mmdbounds.experiments.mimic.folder import read_bytes

if TYPE_CHECKING:
    import torch

_LAYER = re.compile(r"(features\.denseblock\d+\.denselayer\d+)\.(norm|conv)\.?([12])\.(\w+)")
"""A layer in torchvision's names, ``norm1`` of today and ``norm.1`` of the files that it publishes."""

_NAMED_DIGEST = re.compile(r"-([0-9a-f]{8,64})\.pth?")
"""How PyTorch's published files carry the beginning of their digest in their name."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Weights from a file, by MONAI's names and without the classifier, and which file that was."""

    name: str
    sha256: str
    state: Mapping[str, Any]


def load_weights(path: Path, sha256: str | None = None) -> Weights:
    """Read ImageNet weights of a DenseNet-121; nothing in the file is executed.

    Parameters
    ----------
    path
        A state dict saved by PyTorch, in torchvision's names (the older ones too) or MONAI's.
    sha256
        The digest that the file must have. A name like ``densenet121-a639ec97.pth`` is held to its digits
        anyway.
    """
    require_extra()
    import torch

    raw = read_bytes(path)
    digest = hashlib.sha256(raw).hexdigest()
    _require_digest(path.name, digest, sha256)
    try:
        state = torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
    except Exception:  # a damaged or harmful file may end in any
        msg = f"{path.name} is no file of weights: it must be a state dict (torch.save) of tensors alone."
        raise DataError(msg) from None
    if not isinstance(state, Mapping) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        msg = f"{path.name} must hold a state dict, tensors by name; got {type(state).__name__}."
        raise DataError(msg)
    renamed = {monai_name(str(name)): value for name, value in state.items()}
    return Weights(path.name, digest, {n: v for n, v in renamed.items() if n.startswith("features.")})


def monai_name(name: str) -> str:
    """Return MONAI's name of a weight that torchvision calls `name`; others stay as they are.

    >>> monai_name("features.denseblock1.denselayer2.norm.1.weight")
    'features.denseblock1.denselayer2.layers.norm1.weight'
    """
    match = _LAYER.fullmatch(name)
    return name if match is None else f"{match[1]}.layers.{match[2]}{match[3]}.{match[4]}"


def pretrained_network(weights: Weights, seed: int = 0) -> torch.nn.Module:
    """Return a DenseNet-121 with these weights and a fresh classifier, drawn with `seed`."""
    require_extra()
    import torch
    from monai.networks.nets.densenet import DenseNet121

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: torch.nn.Module = DenseNet121(spatial_dims=2, in_channels=3, out_channels=2)
    expected = {n: v for n, v in network.state_dict().items() if n.startswith("features.")}
    # Published weights are older than these counters, which nothing here uses.
    needed = {name for name in expected if not name.endswith(".num_batches_tracked")}
    wrong = sorted((needed - weights.state.keys()) | (weights.state.keys() - expected.keys()))
    wrong += [n for n in sorted(needed - set(wrong)) if weights.state[n].shape != expected[n].shape]
    if wrong:
        msg = (
            f"{weights.name} does not hold the weights of a DenseNet-121: {len(wrong)} of them are missing, "
            f"unknown or of another shape, {wrong[0]} for one."
        )
        raise DataError(msg)
    network.load_state_dict(dict(weights.state), strict=False)
    return network


def choose_device(name: str) -> torch.device:
    """Return the device called `name`, for ``"auto"`` a GPU if there is one."""
    require_extra()
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        msg = f"`device` must be 'auto', 'cpu' or another that PyTorch can use here; got {name!r}."
        raise MmdBoundsError(msg) from None
    return device


def device_name(device: torch.device) -> str:
    """Return a device as people call it."""
    import torch

    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


def _require_digest(name: str, digest: str, expected: str | None) -> None:
    given = None if expected is None else expected.strip().lower()
    if given is not None and not re.fullmatch(r"[0-9a-f]{64}", given):
        msg = f"`sha256` must be 64 hexadecimal digits; got {expected!r}."
        raise MmdBoundsError(msg)
    named = _NAMED_DIGEST.search(name)
    for beginning in (given, named and named[1]):
        if beginning is not None and not digest.startswith(beginning):
            msg = f"{name} is not the file expected: its sha256 is {digest}, not {beginning}. Get it anew."
            raise DataError(msg)
