"""DenseNet-121 written out as torchvision's weights name it, for comparison."""

import torch
from torch.nn import functional

from mimic.made_up import BLOCKS


def features(state, x):
    """Return what the classifier gets: the last features, averaged over the image."""

    def norm(name, x):
        weights = [state[f"{name}.{what}"] for what in ("running_mean", "running_var", "weight", "bias")]
        return torch.relu(functional.batch_norm(x, *weights, eps=1e-5))

    x = functional.conv2d(x, state["features.conv0.weight"], stride=2, padding=3)
    x = functional.max_pool2d(norm("features.norm0", x), 3, stride=2, padding=1)
    for b, n_layers in enumerate(BLOCKS, start=1):
        for j in range(1, n_layers + 1):
            layer = f"features.denseblock{b}.denselayer{j}"
            new = functional.conv2d(norm(f"{layer}.norm1", x), state[f"{layer}.conv1.weight"])
            new = functional.conv2d(norm(f"{layer}.norm2", new), state[f"{layer}.conv2.weight"], padding=1)
            x = torch.cat([x, new], dim=1)
        if b < len(BLOCKS):
            step = f"features.transition{b}"
            x = functional.conv2d(norm(f"{step}.norm", x), state[f"{step}.conv.weight"])
            x = functional.avg_pool2d(x, 2)
    return norm("features.norm5", x).mean(dim=(2, 3))


def as_input(grey):
    """Return grey values from 0 to 255 as normalised three-channel images."""
    channels = [
        (torch.tensor(grey, dtype=torch.float32) / 255 - mean) / deviation
        for mean, deviation in ((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))
    ]
    return torch.stack(channels, dim=1)
