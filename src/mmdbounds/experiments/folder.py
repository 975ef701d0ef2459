"""The folder of the results: looked at before the work, written whole."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from mmdbounds.atomic_write import write_whole
from mmdbounds.datasets.cards import Card
from mmdbounds.datasets.local import PathLike, as_path, require_file
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.experiments.lines import Line, to_csv

CHECKPOINTS = "checkpoints"
TYPE, SCHEMA = "mmdbounds reproduction", 1
STUDY = "convergence"
"""Kind of the results that have no lines of methods at settings."""


def ready(out: PathLike) -> Path:
    """Return the folder for results, made if it is not there, or say now that nothing can be written."""
    place = as_path(out, "`out`")
    try:
        (place / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot write results to {str(place)!r}: {error.strerror or error}."
        raise MmdBoundsError(msg) from error
    for each in (place, place / CHECKPOINTS):
        if not os.access(each, os.W_OK | os.X_OK):
            msg = f"cannot write results to {str(each)!r}: permission denied."
            raise MmdBoundsError(msg)
    return place


def require_data(card: Card, data: PathLike | None) -> None:
    """Say now, not after hours, that a data set is not there."""
    require_file(card, data, downloadable=False)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    write_whole(path, content)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_whole(path, text.encode())


def write_results(place: Path, name: str, document: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Write the results of an experiment as JSON, and their rows as CSV."""
    write_text(place / f"{name}.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_text(place / f"{name}.csv", to_csv(rows))


def read_results(place: Path, name: str) -> dict[str, Any] | None:
    """Return the results of an experiment, `None` if it was not run."""
    path = place / f"{name}.json"
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        document = None
    if not _is_ours(document):
        msg = f"{str(path)!r} holds no results of an experiment. Remove it, and run the experiment again."
        raise MmdBoundsError(msg)
    return dict(document)


def _is_ours(document: Any) -> bool:
    """Return whether a document is the results of an experiment, in the layout of this version."""
    if not isinstance(document, dict) or (document.get("type"), document.get("schema")) != (TYPE, SCHEMA):
        return False
    if document["kind"] == STUDY:
        return True
    try:
        return all(Line.from_dict(each) for each in document["lines"])
    except DataError:
        return False


def machine() -> str:
    """Return in words what this runs on."""
    model, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if info.exists():
        named = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = named[0].split(":")[1].strip() if named else model
    return f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}"
