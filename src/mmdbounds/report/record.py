"""Where a result comes from: data, settings, versions, and how to make it again."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmdbounds._version import __version__
from mmdbounds.report.recipe import recipe
from mmdbounds.results import Provenance
from mmdbounds.words.phrases import kernel_name, rows, shown

Facts = list[tuple[str, str]]

COLUMNS_NAMED = 40  # columns named on a page; the others are counted
APPROXIMATE = "all values, proofs and p-values are for this kernel, not for the exact one"

CHART_VERSIONS = "Vega 6.4.0, Vega-Lite 6.5.0"  # what draws the charts; a test compares it with the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Where a result comes from, as names and values, and how to make it again."""

    data: Facts
    settings: Facts
    versions: Facts
    recipe: str
    is_open: bool  # whether the page contains names or values of rows


def record_of(result: Any, *, is_open: bool) -> Record:
    """Return where a result comes from."""
    made = result.provenance
    page = [
        f"mmdbounds {__version__}",
        f"Python {platform.python_version()}",
        f"NumPy {importlib.metadata.version('numpy')}",
        CHART_VERSIONS,
    ]
    return Record(
        data=_data_facts(result),
        settings=_setting_facts(made),
        versions=[("result", f"mmdbounds {made.version}"), ("this page", ", ".join(page))],
        recipe=recipe(result),
        is_open=is_open,
    )


def _data_facts(result: Any) -> Facts:
    """Return what is said of the data: of the file its name and sum, of the columns their names."""
    record = result.provenance.data
    facts = [
        ("group X", f"{shown(result.name_x)}, {rows(result.n_samples_X)}"),
        ("group Y", f"{shown(result.name_y)}, {rows(result.n_samples_Y)}"),
    ]
    if not record:
        return [("source", "arrays, used as given"), *facts]
    source = record.get("source")
    facts = [
        ("source", "a DataFrame" if source is None else shown(source)),
        ("sha256", str(record.get("sha256") or "")),
        ("read as", shown(record.get("read_as") or "")),
        ("group column", shown(record.get("group_column"))),
        *facts,
        ("rows left out", _left_out(record)),
        ("columns compared", _names(record.get("columns"))),
        ("constant columns, left out", _names(record.get("dropped_constant_columns"))),
        ("empty columns, left out", _names(record.get("dropped_empty_columns"))),
        ("missing cells", _missing(record)),
        ("scale", shown(record.get("scale"))),
    ]
    return [(name, value) for name, value in facts if value]


def _left_out(record: Mapping[str, Any]) -> str:
    """Return which rows of the table were not compared."""
    counts = {
        "of other groups": record.get("n_other_groups"),
        "without a group": record.get("n_missing_group"),
        "with missing cells": sum(record.get("n_dropped_rows") or ()),
    }
    return ", ".join(f"{rows(count)} {which}" for which, count in counts.items() if count)


def _missing(record: Mapping[str, Any]) -> str:
    """Say how many cells were filled, where some were."""
    filled = sum((record.get("n_filled_cells") or {}).values())
    how = f"{filled:,} filled: numbers with the median, others with the most frequent value"
    return how if filled else ""


def _names(names: Any) -> str:
    """Return how many columns there are, and the names of the first; nothing if there are none."""
    given = [shown(name) for name in names or ()]
    if not given:
        return ""
    more = f" and {len(given) - COLUMNS_NAMED:,} more" if len(given) > COLUMNS_NAMED else ""
    return f"{len(given):,}: {', '.join(given[:COLUMNS_NAMED])}{more}"


def _setting_facts(made: Provenance) -> Facts:
    """Return how the groups were compared."""
    approximate = "n_features" in made.kernel_options
    length = {} if made.bandwidth is None else {"bandwidth": f"{made.bandwidth:.6g}"}
    options = length if approximate else {**made.kernel_options, **length}
    return [
        ("method", _with_options(made.method, made.options)),
        ("kernel", _with_options(kernel_name(made), options)),
        *([("approximate kernel", APPROXIMATE)] if approximate else []),
        ("estimator", made.estimator),
        ("computed in", f"{made.dtype}, {made.backend} on {made.device}"),
        ("kernel values", f"{made.n_pairs:,} in {made.seconds:.2g} s"),
        ("seed", "not needed" if made.seed is None else str(made.seed)),
    ]


def _with_options(name: str, options: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{key} {shown(value)}" for key, value in options.items() if value is not None)
    return f"{shown(name)} ({listed})" if listed else shown(name)
