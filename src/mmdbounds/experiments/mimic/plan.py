"""A plan of the whole run in which everything is checked that can be checked before the work."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds._version import __version__
from mmdbounds.checks import check_count, check_flag
from mmdbounds.experiments.mimic.cohort import Cohort, build_cohort, cohort_table, keep_present
from mmdbounds.experiments.mimic.extras import require_extra
from mmdbounds.experiments.mimic.folder import PathLike, Places, as_path, find_places
from mmdbounds.experiments.mimic.network import (
    Weights,
    choose_device,
    device_name,
    load_weights,
    pretrained_network,
)
from mmdbounds.experiments.mimic.parts import parts_table, require_parts
from mmdbounds.experiments.mimic.rules import CohortRules
from mmdbounds.experiments.mimic.split import PARTS, SHARES, check_shares, split_patients
from mmdbounds.experiments.mimic.train import TrainingRules
from mmdbounds.experiments.mimic.work import check_out, check_work, gigabytes

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A run in which everything has been checked that can be checked before the work.

    Attributes
    ----------
    places
        Where the data are.
    weights
        The weights to start from.
    out, work
        The file to be written, and the folder that lets a killed run go on.
    cohort, part
        The images, and the part of each.
    rules, training, shares, seed, size, max_damaged
        The settings.
    device
        Where the network is computed.
    """

    places: Places
    weights: Weights
    out: Path
    work: Path
    cohort: Cohort
    part: NDArray[np.int8]
    rules: CohortRules
    training: TrainingRules
    shares: tuple[float, ...]
    seed: int
    size: int
    max_damaged: int
    device: torch.device

    def lines(self) -> list[str]:
        """Say what will be done."""
        t, n = self.training, len(self.cohort.images)
        room = gigabytes(n * self.size**2)
        how = (
            f"{t.n_epochs} epochs of Adam, learning rate {t.learning_rate:g}, batches of {t.batch_size}, "
            f"class weights {t.class_weights}, best epoch by {t.choose}"
        )
        where = device_name(self.device) + (", mixed precision" if t.mixed_precision else "")
        return [
            f"MIMIC pipeline of mmdbounds {__version__}; nothing is downloaded.",
            f"Reads {self.places.root} and {self.places.admissions}.",
            "",
            *cohort_table(self.cohort.steps),
            "",
            *parts_table(self.cohort, self.part, self.rules.group_names),
            "",
            f"Brings {n:,} images to {self.size} x {self.size} grey values, {room} in {self.work}.",
            f"Fine-tunes DenseNet-121 from {self.weights.name} (sha256 {self.weights.sha256}):",
            f"  {how}; on {where}, a checkpoint each epoch.",
            f"Writes the logits of the {PARTS[2]} part to {self.out}, without patients' numbers.",
        ]

    def settings(self) -> dict[str, Any]:
        """Return what decides the result, for the record; a run may go on with more epochs or elsewhere."""
        return {
            "tables": dict(self.cohort.sources),
            "weights": {"name": self.weights.name, "sha256": self.weights.sha256},
            "rules": dataclasses.asdict(self.rules),
            "shares": list(self.shares),
            "seed": self.seed,
            "size": self.size,
            "training": dataclasses.asdict(self.training),
        }


def make_plan(
    folder: PathLike,
    weights: PathLike,
    out: PathLike,
    *,
    admissions: PathLike | None = None,
    work: PathLike | None = None,
    rules: CohortRules | None = None,
    training: TrainingRules | None = None,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    size: int = 224,
    sha256: str | None = None,
    max_damaged: int = 0,
    allow_missing: bool = False,
    device: str = "auto",
) -> Plan:
    """Check everything that can be checked before the work, and make the cohort and its split.

    Parameters
    ----------
    folder
        The folder of MIMIC-CXR-JPG.
    weights
        A file with ImageNet weights of a DenseNet-121.
    out
        The file to be written, ``.npz``.
    admissions
        MIMIC-IV's table of admissions, or its folder; `None` looks in `folder`.
    work
        A folder for images and checkpoint, by default beside `out`; a run that was killed goes on from it.
    rules
        The decisions that make the cohort.
    training
        How the network is fine-tuned.
    shares, seed
        Of the patients in training, validation and test; another seed splits them otherwise.
    size
        Pixels of a side.
    sha256
        The digest that `weights` must have.
    max_damaged
        How many images may be unreadable.
    allow_missing
        Whether images of the cohort may be missing from the folder.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"`` or what else PyTorch knows.
    """
    require_extra()
    shares, size = check_shares(shares), check_count(size, "size", least=32)
    check_count(seed, "seed")
    check_count(max_damaged, "max_damaged")
    check_flag(allow_missing, "allow_missing")
    target = check_out(as_path(out, "out"))
    chosen = choose_device(device)
    places = find_places(folder, admissions)
    loaded = load_weights(as_path(weights, "weights"), sha256)
    pretrained_network(loaded)  # refuses the weights of another network
    rules, training = rules or CohortRules(), training or TrainingRules()
    cohort = build_cohort(places, rules)
    cohort = keep_present(cohort, places.root, allow_missing=allow_missing)
    part = split_patients(cohort.subjects, seed=seed, shares=shares)
    require_parts(cohort, part, rules.group_names)
    place = target.with_suffix(".work") if work is None else as_path(work, "work")
    return Plan(
        places=places,
        weights=loaded,
        out=target,
        work=check_work(place, len(part), size),
        cohort=cohort,
        part=part,
        rules=rules,
        training=training,
        shares=shares,
        seed=seed,
        size=size,
        max_damaged=max_damaged,
        device=chosen,
    )
