"""One table with a group column becomes the rows of all groups, and their labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from mmdbounds.checks import check_option
from mmdbounds.errors import DataError, quoted
from mmdbounds.tables import frames
from mmdbounds.tables.columns import MISSING, read_columns
from mmdbounds.tables.files import open_table
from mmdbounds.tables.group import Group
from mmdbounds.tables.group_column import GroupColumn
from mmdbounds.tables.grouped_table import find_roles, without_constant
from mmdbounds.tables.reading import Reading
from mmdbounds.tables.row_columns import RowColumns
from mmdbounds.tables.scaling import TABLE_SCALES, features, without_quartiles
from mmdbounds.tables.survey import completed
from mmdbounds.tables.suspicious_columns import group_columns, warn_of_group_columns, warn_of_identifiers

MOST_WARNED = 10  # groups, the first ones, that are compared with all others to find columns that tell them


def labelled_table(
    data: Any,
    group: str,
    *,
    id: str | None = None,
    columns: Any = None,
    exclude: Any = None,
    scale: str = "standard",
    missing: str = "refuse",
    reading: Reading | None = None,
) -> tuple[Group, list[str]]:
    """Return the rows of all groups, encoded and scaled as `groups` does, and the label of each row."""
    check_option(scale, "scale", TABLE_SCALES)
    check_option(missing, "missing", MISSING)
    reading = reading or Reading()
    table = open_table(data, [group] if id is None else [group, id], reading)
    roles = find_roles(table.frame.columns, group, RowColumns(id=id), columns, exclude)
    column = GroupColumn(frames.cells(table.frame[roles.group]), roles.group)
    if not column.labels:
        msg = f"column {quoted(roles.group)} holds no group: all its values are missing."
        raise DataError(msg)
    named = np.full(len(table.frame), "", dtype=object)
    for key, label in column.labels.items():
        named[column.rows(key)] = label
    rows = np.flatnonzero(named != "")
    read = read_columns(table, roles.features, rows, reading, scale)
    labels = list(column.labels.values())
    suspicious = [
        name
        for label in (labels[:MOST_WARNED] if columns is None and len(labels) > 1 else [])
        for name in group_columns(read.values, read.columns, np.asarray(named[rows] == label, dtype=np.bool_))
    ]
    suspicious = list(dict.fromkeys(suspicious))
    record: dict[str, Any] = {
        "source": table.name,
        "sha256": table.sha256,
        "read_as": table.read_as,
        "group_column": roles.group,
        "id_column": id,
        "excluded_columns": roles.excluded,
        "scale": scale,
        "missing": missing,
        **asdict(reading),
        "na": list(reading.na),
        "removed_signs": {name: table.removed[name] for name in roles.features if name in table.removed},
        "n_missing_cells": read.n_missing(),
        "dropped_date_columns": read.dates,
        "columns_like_group": suspicious,
        "n_rows": len(table.frame),
        "n_missing_group": column.n_missing,
    }
    whole = completed(table, read, rows, record)
    values, used, constant = without_constant(whole)
    if columns is None:
        warn_of_identifiers(table.frame, used, id)
        warn_of_group_columns(suspicious)
    kept = rows[whole.kept]
    ids, from_file = table.row_names(id), table.name is not None
    record |= {
        "columns": [each.name for each in used],
        "kinds": {each.name: each.described for each in used},
        "dropped_constant_columns": constant,
        "dropped_empty_columns": whole.empty,
        "scaled_by_deviation": without_quartiles(values, used) if scale == "robust" else [],
        "n_filled_cells": whole.n_filled,
        "n_dropped_rows": len(rows) - len(kept),
        "n_of_groups": dict(Counter(named[kept].tolist())),
    }
    values, names, record["scaling"] = features(values, used, scale)
    rows_of_all = Group(
        values,
        name="Z",
        ids=None if ids is None else ids[kept],
        file_rows=kept + 1 if from_file else None,
        columns=tuple(names),
        record=record,
    )
    return rows_of_all, named[kept].tolist()
