"""Fine-tuning: Adam on the training part, the best epoch chosen on the validation part.

All randomness comes from the seed and the epoch, so a killed run that resumes from its checkpoint gives the
same result as one that was never killed.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.paper.mimic.images import Pixels
from mmdbounds.atomic_write import write_whole
from mmdbounds.checks import check_count, check_flag, check_option, is_number
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.journal import framed, read_journal

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Epoch:
    """Losses and validation AUC of an epoch."""

    training_loss: float
    validation_loss: float
    validation_auc: float

    def line(self, number: int) -> str:
        """Return the line that is shown."""
        return (
            f"epoch {number}: loss {self.training_loss:.4f}, validation loss {self.validation_loss:.4f}, "
            f"validation AUC {self.validation_auc:.4f}"
        )


def best_epoch(epochs: list[Epoch], choose: str) -> int:
    """Return the index of the best epoch, the first if several tie."""
    auc = choose == "auc"
    return int(np.argmin([-epoch.validation_auc if auc else epoch.validation_loss for epoch in epochs]))


def write_checkpoint(
    path: Path, network: Any, optimiser: Any, epochs: list[Epoch], best_weights: Any
) -> None:
    """Write the checkpoint, whole or not at all."""
    import torch

    state = {
        "network": network.state_dict(),
        "optimiser": optimiser.state_dict(),
        "epochs": [[e.training_loss, e.validation_loss, e.validation_auc] for e in epochs],
        "best": best_weights,
    }
    content = io.BytesIO()
    torch.save(state, content)
    write_whole(path, framed([content.getbuffer()]))


def restore_checkpoint(path: Path, network: Any, optimiser: Any, n_epochs: int) -> tuple[list[Epoch], Any]:
    """Return to where a killed run stopped, or start from the beginning if there is no checkpoint."""
    import torch

    if not path.exists():
        return [], {}
    try:
        found = read_journal(path)  # torch itself does not notice a changed weight
        (content,) = [] if found is None else found.records
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        network.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        epochs = [Epoch(*values) for values in state["epochs"]]
    except Exception:  # a damaged file can raise anything
        msg = f"the checkpoint {str(path)!r} is damaged or belongs to another network. Remove it to restart."
        raise DataError(msg) from None
    if len(epochs) > n_epochs:
        msg = f"`n_epochs` must be at least {len(epochs)}, the number of finished epochs; got {n_epochs}."
        raise MmdBoundsError(msg)
    return epochs, state["best"]


IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Mean and standard deviation of each channel of the images that the weights were trained on."""

CLASS_WEIGHTS = ("none", "balanced")
CRITERIA = ("auc", "loss")

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class TrainingRules:
    """How the network is fine-tuned.

    Parameters
    ----------
    n_epochs
        Passes over the training part.
    batch_size
        Images per batch.
    learning_rate
        Of Adam.
    class_weights
        ``"none"``, or ``"balanced"``: both classes have the same weight in the loss, whatever their sizes.
    choose
        The best epoch has the largest area under the curve (``"auc"``) or the smallest ``"loss"`` on the
        validation part; the first if several tie.
    mixed_precision
        Whether to train in bfloat16 where PyTorch considers it safe. Logits are always computed in float32.
    seed
        Of the classifier's first weights and of the order of the images.
    """

    n_epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 1e-4
    class_weights: str = "none"
    choose: str = "auc"
    mixed_precision: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_count(self.n_epochs, "n_epochs", least=1)
        check_count(self.batch_size, "batch_size", least=2)  # batch normalisation needs two
        check_count(self.seed, "seed")
        check_option(self.class_weights, "class_weights", CLASS_WEIGHTS)
        check_option(self.choose, "choose", CRITERIA)
        check_flag(self.mixed_precision, "mixed_precision")
        if not is_number(self.learning_rate) or not 0 < self.learning_rate < math.inf:
            msg = f"`learning_rate` must be a positive number; got {self.learning_rate!r}."
            raise MmdBoundsError(msg)


def fine_tune(
    network: torch.nn.Module,
    pixels: Pixels,
    y: NDArray[np.int8],
    training: Rows,
    validation: Rows,
    rules: TrainingRules,
    *,
    checkpoint: Path,
    device: torch.device,
    say: Callable[[str], None] | None = None,
) -> tuple[list[Epoch], int]:
    """Fine-tune a network in place; it ends with the weights of its best epoch.

    Parameters
    ----------
    network
        Takes 3-channel images, gives two logits.
    pixels, y
        All images and their labels.
    training, validation
        Rows of them.
    rules
        How it is done.
    checkpoint
        The file that is written after each epoch, and from which a killed run resumes.
    device
        Where it is computed.
    say
        Is called with a line about each epoch.

    Returns
    -------
    epochs : list of Epoch
    best : int
        Index of the best one.
    """
    import torch

    network.to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=rules.learning_rate)
    loss = torch.nn.CrossEntropyLoss(weight=_class_weights(y[training], rules, device))
    epochs, best_weights = restore_checkpoint(checkpoint, network, optimiser, rules.n_epochs)
    with _repeatable():
        while len(epochs) < rules.n_epochs:
            order = np.random.default_rng([rules.seed, len(epochs)]).permutation(training)
            spent = _one_epoch(network, optimiser, loss, pixels, y, order, rules, device)
            logits = predict(network, pixels, validation, device=device, batch_size=rules.batch_size)
            epochs.append(_judged(spent, logits, y[validation], loss.weight))
            if best_epoch(epochs, rules.choose) == len(epochs) - 1:
                best_weights = {name: value.clone() for name, value in network.state_dict().items()}
            write_checkpoint(checkpoint, network, optimiser, epochs, best_weights)
            if say is not None:
                say(epochs[-1].line(len(epochs)))
    network.load_state_dict(best_weights)
    return epochs, best_epoch(epochs, rules.choose)


def predict(
    network: torch.nn.Module, pixels: Pixels, rows: Rows, *, device: torch.device, batch_size: int = 64
) -> NDArray[np.float32]:
    """Return the logits of these rows in float32, with the network in evaluation mode."""
    import torch

    network.to(device).eval()
    with torch.inference_mode(), _repeatable(exact=True):
        parts = [
            network(as_input(pixels[batch], device)).cpu().numpy() for batch in batches(rows, batch_size)
        ]
    return np.concatenate(parts).astype(np.float32, copy=False)


def as_input(pixels: Pixels, device: torch.device) -> torch.Tensor:
    """Return grey values as the three-channel images that ImageNet's weights expect."""
    import torch

    mean, deviation = (torch.tensor(v, device=device).view(1, 3, 1, 1) for v in IMAGENET)
    grey = torch.from_numpy(np.array(pixels)).to(device).unsqueeze(1).float() / 255
    return (grey - mean) / deviation


def batches(rows: Rows, batch_size: int) -> Iterator[Rows]:
    """Cut rows into batches of nearly equal size: batch normalisation cannot use a single row."""
    yield from np.array_split(rows, math.ceil(len(rows) / batch_size))


def area_under_curve(scores: NDArray[np.floating[Any]], y: NDArray[np.int8]) -> float:
    """Return how often a positive has a larger score than a negative; ties count half."""
    negatives = np.sort(scores[y == 0])
    positives = scores[y == 1]
    below = np.searchsorted(negatives, positives, side="left")
    up_to = np.searchsorted(negatives, positives, side="right")
    return float(np.mean(below + up_to) / (2 * len(negatives)))


def _one_epoch(
    network: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    loss: torch.nn.Module,
    pixels: Pixels,
    y: NDArray[np.int8],
    order: Rows,
    rules: TrainingRules,
    device: torch.device,
) -> float:
    """Train on every image once; return the mean loss."""
    import torch

    network.train()
    total = 0.0
    for batch in batches(order, rules.batch_size):
        target = torch.from_numpy(y[batch].astype(np.int64)).to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=rules.mixed_precision):
            value = loss(network(as_input(pixels[batch], device)), target)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        total += float(value.detach()) * len(batch)
    if not math.isfinite(total):
        msg = f"the loss became {total}. Lower `learning_rate`, which is {rules.learning_rate:g}."
        raise MmdBoundsError(msg)
    return total / len(order)


def _judged(spent: float, logits: NDArray[np.float32], y: NDArray[np.int8], weight: Any) -> Epoch:
    import torch

    weight = None if weight is None else weight.cpu()
    target = torch.from_numpy(y.astype(np.int64))
    loss = float(torch.nn.functional.cross_entropy(torch.from_numpy(logits), target, weight=weight))
    return Epoch(spent, loss, area_under_curve(logits[:, 1] - logits[:, 0], y))


def _class_weights(y: NDArray[np.int8], rules: TrainingRules, device: torch.device) -> Any:
    import torch

    if rules.class_weights == "none":
        return None
    counts = np.bincount(y, minlength=2)
    return torch.tensor(len(y) / (2 * counts), dtype=torch.float32, device=device)


def _repeatable(*, exact: bool = False) -> Any:
    """Restrict cuDNN to repeatable algorithms; `exact` keeps all digits of float32."""
    import torch

    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=not exact)
