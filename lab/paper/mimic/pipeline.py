"""From the tables and images to the file of logits."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.datasets import write_logits
from lab.datasets.files import PathLike
from lab.paper.mimic.cohort import Cohort
from lab.paper.mimic.images import Pixels, read_images
from lab.paper.mimic.network import device_name, pretrained_network
from lab.paper.mimic.packages import versions
from lab.paper.mimic.plan import Plan, claim, make_plan
from lab.paper.mimic.split import PARTS, part_counts, patient_numbers, require_parts
from lab.paper.mimic.train import area_under_curve, fine_tune, predict
from mmdbounds.errors import MmdBoundsError

SCHEMA = 1
"""Number of the record's layout."""

Say = Callable[[str], None]


def run(
    folder: PathLike, weights: PathLike, out: PathLike, *, say: Say | None = None, **options: Any
) -> Path:
    """Make the file of logits.

    Parameters
    ----------
    folder, weights, out
        As in `make_plan`.
    say
        Is called with lines of text: first the plan, then the progress.
    **options
        As in `make_plan`.

    Returns
    -------
    Path
        The file: ``logits`` (rows of two), ``group`` (places in ``group_names``), ``y`` (1 for positive),
        ``patient`` (running numbers) and ``record`` (JSON).
    """
    return carry_out(make_plan(folder, weights, out, **options), say)


def carry_out(plan: Plan, say: Say | None = None) -> Path:
    """Carry out a plan; after a kill it resumes where it stopped."""
    tell: Say = say or (lambda line: None)
    for line in plan.lines():
        tell(line)
    _claim_work(plan)
    paths = [plan.places.root / file for file in plan.cohort.files]
    pixels, readable = read_images(paths, plan.size, plan.work, max_damaged=plan.max_damaged, say=tell)
    cohort, part = plan.cohort.keep(readable, "image can be read"), plan.part[readable]
    require_parts(cohort, part, plan.rules.group_names)
    logits, training = _train_and_predict(plan, pixels, readable, tell)
    _write_test_part(plan, cohort, part, logits, training)
    tell(f"{plan.out} written, {len(logits):,} rows. {plan.work} is no longer needed.")
    return plan.out


def _claim_work(plan: Plan) -> None:
    """Create the folder of the run, or check that it belongs to this run; the number of epochs may grow."""
    settings = plan.settings()
    settings["training"] = {n: v for n, v in settings["training"].items() if n != "n_epochs"}
    names = "\n".join(image.dicom for image in plan.cohort.images)
    claim(plan.work, {**settings, "images": hashlib.sha256(names.encode()).hexdigest()})


def _train_and_predict(
    plan: Plan, pixels: Pixels, readable: NDArray[np.bool_], say: Say
) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Return the logits of the test part, and how the training went."""
    import torch

    # Another set of readable images is another training: it must not resume from this one's checkpoint.
    name = f"checkpoint-{hashlib.sha256(readable.tobytes()).hexdigest()[:12]}.pt"
    rows = [np.flatnonzero(readable & (plan.part == place)) for place in range(len(PARTS))]
    network = pretrained_network(plan.weights, plan.training.seed)
    try:
        epochs, best = fine_tune(
            network,
            pixels,
            plan.cohort.y,
            rows[0],
            rows[1],
            plan.training,
            checkpoint=plan.work / name,
            device=plan.device,
            say=say,
        )
        logits = predict(network, pixels, rows[2], device=plan.device, batch_size=plan.training.batch_size)
    except torch.cuda.OutOfMemoryError:
        size = plan.training.batch_size
        msg = f"not enough memory on {device_name(plan.device)}. Lower `batch_size`, which is {size}."
        raise MmdBoundsError(msg) from None
    return logits, {"epochs": [dataclasses.asdict(epoch) for epoch in epochs], "best_epoch": best + 1}


def _write_test_part(
    plan: Plan,
    cohort: Cohort,
    part: NDArray[np.int8],
    logits: NDArray[np.float32],
    training: Mapping[str, Any],
) -> None:
    """Write the logits and the record; rows are in the order of the patients' running numbers."""
    test = np.flatnonzero(part == 2)
    number = patient_numbers([cohort.images[row].subject for row in test], seed=plan.seed)
    order = np.argsort(number, kind="stable")
    names = plan.rules.group_names
    record = {
        "schema": SCHEMA,
        "made_by": "lab.paper.mimic",
        **plan.settings(),
        "cohort": [step._asdict() for step in cohort.steps],
        "parts": part_counts(cohort, part, names),
        **training,
        "test_auc": area_under_curve(logits[:, 1] - logits[:, 0], cohort.y[test]),
        "device": device_name(plan.device),
        "versions": versions(),
    }
    group, y = cohort.group[test][order], cohort.y[test][order]
    y_name, x_name = names
    write_logits(
        plan.out,
        logits[order],
        np.where(group == 1, x_name, y_name),
        y,
        title="MIMIC-CXR logits",
        group_names=(x_name, y_name),
        patient=number[order],
        source="MIMIC-CXR-JPG and MIMIC-IV, PhysioNet",
        licence="PhysioNet Credentialed Health Data License",
        record=record,
    )
