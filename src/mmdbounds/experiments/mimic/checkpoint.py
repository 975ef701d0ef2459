"""What is kept after each epoch, so that a run which was killed goes on as if it had not been."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mmdbounds.atomic_write import write_whole
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.journal import framed, read_journal


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch came to."""

    training_loss: float
    validation_loss: float
    validation_auc: float

    def line(self, number: int) -> str:
        """Return it as people read it."""
        return (
            f"epoch {number}: loss {self.training_loss:.4f}, validation loss {self.validation_loss:.4f}, "
            f"validation AUC {self.validation_auc:.4f}"
        )


def best_epoch(epochs: list[Epoch], choose: str) -> int:
    """Return the place of the best epoch, the first of several."""
    auc = choose == "auc"
    return int(np.argmin([-epoch.validation_auc if auc else epoch.validation_loss for epoch in epochs]))


def keep(path: Path, network: Any, optimiser: Any, epochs: list[Epoch], best_weights: Any) -> None:
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


def restore(path: Path, network: Any, optimiser: Any, n_epochs: int) -> tuple[list[Epoch], Any]:
    """Go back to where a killed run was; to the start, if there was none."""
    import torch

    if not path.exists():
        return [], {}
    try:
        found = read_journal(path)  # torch itself would not notice a changed weight
        (content,) = [] if found is None else found.records
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        network.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        epochs = [Epoch(*values) for values in state["epochs"]]
    except Exception:  # a damaged file may end in any
        msg = f"the checkpoint {str(path)!r} is damaged or of another network. Remove it to start anew."
        raise DataError(msg) from None
    if len(epochs) > n_epochs:
        msg = f"`n_epochs` must be at least {len(epochs)}, as many as are done; got {n_epochs}."
        raise MmdBoundsError(msg)
    return epochs, state["best"]
