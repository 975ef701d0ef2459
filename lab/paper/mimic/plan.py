"""The plan of a run, with everything checked that can be checked before the work.

This includes the places that are written: the output file, and the work folder from which a killed run
resumes.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.datasets.files import PathLike, as_path
from lab.paper.mimic.cohort import Cohort, CohortRules, build_cohort, cohort_table, keep_present
from lab.paper.mimic.network import (
    Weights,
    choose_device,
    device_name,
    load_weights,
    pretrained_network,
)
from lab.paper.mimic.packages import require_packages
from lab.paper.mimic.physionet import Places, find_places
from lab.paper.mimic.split import PARTS, SHARES, check_shares, parts_table, require_parts, split_patients
from lab.paper.mimic.train import TrainingRules
from mmdbounds._version import __version__
from mmdbounds.atomic_write import write_whole
from mmdbounds.checks import check_count, check_flag
from mmdbounds.errors import DataError

if TYPE_CHECKING:
    import torch

SETTINGS = "run.json"
"""The settings of the folder: a run with other settings must not resume from it."""

BESIDE_IMAGES = 500_000_000
"""Bytes for the checkpoint (twice while it is written) and small files."""


def check_out(out: Path) -> Path:
    """Refuse a file that exists already or cannot be written."""
    if out.suffix != ".npz":
        msg = f"`out` must name a file ending in .npz; got {str(out)!r}."
        raise DataError(msg)
    if out.exists():
        msg = f"{str(out)!r} exists already. Remove it, or name another file (`out`)."
        raise DataError(msg)
    _require_writable(out.parent)
    return out


def check_work(work: Path, n_images: int, size: int) -> Path:
    """Refuse a folder that cannot be written or has too little room for the images."""
    if work.exists() and not work.is_dir():
        msg = f"{str(work)!r} is not a folder. Name another one (`work`)."
        raise DataError(msg)
    there = next(folder for folder in (work, *work.absolute().parents) if folder.is_dir())
    _require_writable(there)
    if not (work / SETTINGS).exists():  # otherwise most of it is already there
        needed, free = n_images * size * size + BESIDE_IMAGES, shutil.disk_usage(there).free
        if needed > free:
            room = f"{gigabytes(needed)}, and {gigabytes(free)} are free"
            msg = f"{str(work)!r} needs {room}. Name another folder (`work`)."
            raise DataError(msg)
    return work


def claim(work: Path, settings: Mapping[str, Any]) -> None:
    """Create the folder of a run, or refuse one that was created with other settings."""
    file = work / SETTINGS
    now = json.loads(json.dumps(settings))
    if not file.exists():
        work.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(now, indent=1).encode())
        return
    try:
        before = json.loads(file.read_bytes())
        other = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    except (OSError, ValueError, AttributeError):
        msg = f"{str(file)!r} cannot be read. Remove the folder, or name another one (`work`)."
        raise DataError(msg) from None
    if other:
        name = other[0]
        what = f"`{name}` was {_short(before.get(name))} and is {_short(now.get(name))}"
        msg = f"{str(work)!r} belongs to another run: {what}. Remove it, or name another folder (`work`)."
        raise DataError(msg)


def gigabytes(n_bytes: int) -> str:
    """Return a size in words."""
    return f"{n_bytes / 1e9:,.1f} GB"


def _require_writable(folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        msg = (
            f"nothing can be written in the folder {str(folder)!r}: {error.strerror or type(error).__name__}."
        )
    raise DataError(msg)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A run whose inputs have all been checked.

    Attributes
    ----------
    places
        Where the data are.
    weights
        The weights to start from.
    out, work
        The file to write, and the folder from which a killed run resumes.
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
            f"Scales {n:,} images to {self.size} x {self.size} grey values, {room} in {self.work}.",
            f"Fine-tunes DenseNet-121 from {self.weights.name} (sha256 {self.weights.sha256}):",
            f"  {how}; on {where}, a checkpoint each epoch.",
            f"Writes the logits of the {PARTS[2]} part to {self.out}, without patients' numbers.",
        ]

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the result, for the record."""
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
    """Check everything that can be checked before the work, and build the cohort and its split.

    Parameters
    ----------
    folder
        The folder of MIMIC-CXR-JPG.
    weights
        A file with ImageNet weights of a DenseNet-121.
    out
        The file to write, ``.npz``.
    admissions
        MIMIC-IV's table of admissions, or its folder; `None` looks in `folder`.
    work
        A folder for images and checkpoint, by default beside `out`; a killed run resumes from it.
    rules
        The decisions that make the cohort.
    training
        How the network is fine-tuned.
    shares, seed
        Shares of the patients in training, validation and test, and the seed of the split.
    size
        Side of the images in pixels.
    sha256
        The digest that `weights` must have.
    max_damaged
        How many images may be unreadable.
    allow_missing
        Whether images of the cohort may be missing from the folder.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"`` or any other device that PyTorch knows.
    """
    require_packages()
    shares, size = check_shares(shares), check_count(size, "size", least=32)
    check_count(seed, "seed")
    check_count(max_damaged, "max_damaged")
    check_flag(allow_missing, "allow_missing")
    target = check_out(as_path(out, "`out`"))
    chosen = choose_device(device)
    places = find_places(folder, admissions)
    loaded = load_weights(as_path(weights, "`weights`"), sha256)
    pretrained_network(loaded)  # refuses the weights of another network
    rules, training = rules or CohortRules(), training or TrainingRules()
    cohort = build_cohort(places, rules)
    cohort = keep_present(cohort, places.root, allow_missing=allow_missing)
    part = split_patients(cohort.subjects, seed=seed, shares=shares)
    require_parts(cohort, part, rules.group_names)
    place = target.with_suffix(".work") if work is None else as_path(work, "`work`")
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
