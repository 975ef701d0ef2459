"""MONAI's DenseNet-121 with two outputs, started from ImageNet weights in a file that the user provides.

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

from lab.datasets.files import read_bytes
from lab.paper.mimic.packages import require_packages
from mmdbounds.errors import DataError, MmdBoundsError

if TYPE_CHECKING:
    import torch

_LAYER = re.compile(r"(features\.denseblock\d+\.denselayer\d+)\.(norm|conv)\.?([12])\.(\w+)")
"""A layer in torchvision's names: ``norm1`` in current code, ``norm.1`` in the published files."""

_NAMED_DIGEST = re.compile(r"-([0-9a-f]{8,64})\.pth?")
"""PyTorch's published files carry the first digits of their digest in their name."""


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
        The digest that the file must have. The digits in a name like ``densenet121-a639ec97.pth`` are
        always checked.
    """
    require_packages()
    import torch

    raw = read_bytes(path)
    digest = hashlib.sha256(raw).hexdigest()
    _require_digest(path.name, digest, sha256)
    try:
        state = torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
    except Exception:  # a damaged or harmful file can raise anything
        msg = f"{path.name} is not a file of weights: it must be a state dict (torch.save) of tensors only."
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
    require_packages()
    import torch
    from monai.networks.nets.densenet import DenseNet121

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: torch.nn.Module = DenseNet121(spatial_dims=2, in_channels=3, out_channels=2)
    expected = {n: v for n, v in network.state_dict().items() if n.startswith("features.")}
    # Published weights predate these counters, which are not used here.
    needed = {name for name in expected if not name.endswith(".num_batches_tracked")}
    wrong = sorted((needed - weights.state.keys()) | (weights.state.keys() - expected.keys()))
    wrong += [n for n in sorted(needed - set(wrong)) if weights.state[n].shape != expected[n].shape]
    if wrong:
        msg = (
            f"{weights.name} does not hold the weights of a DenseNet-121: {len(wrong)} of them are missing, "
            f"unknown or of another shape, for example {wrong[0]}."
        )
        raise DataError(msg)
    network.load_state_dict(dict(weights.state), strict=False)
    return network


def choose_device(name: str) -> torch.device:
    """Return the device called `name`; ``"auto"`` is a GPU if there is one."""
    require_packages()
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        msg = f"`device` must be 'auto', 'cpu' or another device that PyTorch can use here; got {name!r}."
        raise MmdBoundsError(msg) from None
    return device


def device_name(device: torch.device) -> str:
    """Return a device with its marketing name."""
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
            msg = f"{name} has the wrong sha256: it is {digest}, not {beginning}. Download it again."
            raise DataError(msg)
