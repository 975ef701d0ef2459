"""Where a result comes from: data, settings, versions, and how to make it again."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from typing import Any

from mmdbounds._version import __version__
from mmdbounds.report.runtime import VERSIONS
from mmdbounds.results import Provenance
from mmdbounds.words.phrases import kernel_name, rows, shown

Facts = list[tuple[str, str]]

COLUMNS_NAMED = 40
"""Columns named on a page; the others are counted."""


APPROXIMATE = "all values, proofs and p-values are those of this kernel, not of the one it stands for"


def data_facts(result: Any) -> Facts:
    """Return what is said of the data: of the file its name and sum, of the columns their names."""
    record = result.provenance.data
    facts = [
        ("group X", f"{shown(result.name_x)}, {rows(result.n_samples_X)}"),
        ("group Y", f"{shown(result.name_y)}, {rows(result.n_samples_Y)}"),
    ]
    if not record:
        return [("source", "arrays, compared as they are"), *facts]
    source = record.get("source")
    facts = [
        ("source", "a DataFrame" if source is None else shown(source)),
        ("sha256", str(record.get("sha256") or "")),
        ("read as", shown(record.get("read_as") or "")),
        ("group column", shown(record.get("group_column"))),
        *facts,
        ("left out", ", ".join(_left_out(record))),
        ("columns compared", _names(record.get("columns"))),
        ("constant, left out", _names(record.get("dropped_constant_columns"))),
        ("empty, left out", _names(record.get("dropped_empty_columns"))),
        ("missing cells", _missing(record)),
        ("scale", shown(record.get("scale"))),
    ]
    return [(name, value) for name, value in facts if value]


def _left_out(record: Mapping[str, Any]) -> list[str]:
    """Return which rows of the table were not compared."""
    counts = {
        "of other groups": record.get("n_other_groups"),
        "without a group": record.get("n_missing_group"),
        "with missing cells": sum(record.get("n_dropped_rows") or ()),
    }
    return [f"{rows(count)} {which}" for which, count in counts.items() if count]


def _missing(record: Mapping[str, Any]) -> str:
    """Say how many cells were filled, where some were."""
    filled = sum((record.get("n_filled_cells") or {}).values())
    return f"{filled:,} filled, numbers by the median, others by the most frequent value" if filled else ""


def _names(names: Any) -> str:
    """Return how many columns there are, and the names of the first; nothing if there are none."""
    given = [shown(name) for name in names or ()]
    if not given:
        return ""
    more = f" and {len(given) - COLUMNS_NAMED:,} more" if len(given) > COLUMNS_NAMED else ""
    return f"{len(given):,}: {', '.join(given[:COLUMNS_NAMED])}{more}"


def setting_facts(made: Provenance) -> Facts:
    """Return how the groups were compared."""
    approximate = "n_features" in made.kernel_options
    length = {} if made.bandwidth is None else {"bandwidth": f"{made.bandwidth:.6g}"}
    options = length if approximate else {**made.kernel_options, **length}
    return [
        ("method", _with_options(made.method, made.options)),
        ("kernel", _with_options(kernel_name(made), options)),
        *([("approximate", APPROXIMATE)] if approximate else []),
        ("estimator", made.estimator),
        ("computed", f"{made.dtype}, {made.backend} on {made.device}"),
        ("kernel values", f"{made.n_pairs:,} in {made.seconds:.2g} s"),
        ("seed", "none is needed" if made.seed is None else str(made.seed)),
    ]


def _with_options(name: str, options: Mapping[str, Any]) -> str:
    said = ", ".join(f"{key} {shown(value)}" for key, value in options.items() if value is not None)
    return f"{shown(name)} ({said})" if said else shown(name)


def version_facts(made: Provenance) -> Facts:
    """Return the versions of what made the result, and of what wrote the page."""
    page = [
        f"mmdbounds {__version__}",
        f"Python {platform.python_version()}",
        f"NumPy {importlib.metadata.version('numpy')}",
        VERSIONS,
    ]
    return [("the result", f"mmdbounds {made.version}"), ("this page", ", ".join(page))]
