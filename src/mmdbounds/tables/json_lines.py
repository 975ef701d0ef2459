"""JSON lines: one object per line becomes a row; a key that a line lacks is a missing cell."""

from __future__ import annotations

import io
import json
from collections.abc import Collection
from typing import Any

from mmdbounds.errors import DataError, quoted, repeated
from mmdbounds.tables.cells import Cells, of_texts, of_values
from mmdbounds.tables.group_column import as_text

_TYPES = {bool: "true or false", int: "numbers", float: "numbers", str: "text"}


def read_json_lines(data: bytes, text: Collection[str], label: str) -> dict[str, Cells]:
    """Return the columns of JSON lines; the values of those in `text` may be of several types."""
    rows = _objects(data, text, label)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        msg = f"{label} has no columns: its objects are empty."
        raise DataError(msg)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        found = of_values(values)
        if found is None:  # a column in `text`
            found = of_texts([None if value is None else as_text(value) for value in values], len(values))
        columns[name] = found
    return columns


def _objects(data: bytes, text: Collection[str], label: str) -> list[dict[str, Any]]:
    """Refuse lines that are not JSON objects, objects with a key twice, and keys whose values mix types."""

    # Of a key that comes twice one value would win; 1, true and "low" under one key would all become text.
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = repeated(key for key, _ in pairs)
            msg = f"{label} has an object with more than one {keys}{where}. Give each its own name."
            raise DataError(msg)
        return made

    # `int` refuses the constants NaN and Infinity, which JSON does not have.
    decode = json.JSONDecoder(object_pairs_hook=unique, parse_constant=int).decode
    types: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    last: list[type] = []
    for number, line in enumerate(io.BytesIO(data), start=1):
        where = f" in line {number}"
        if not line.strip():
            continue
        try:
            found = decode(line.decode("utf-8"))
        except DataError:
            raise
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            msg = f"{label} is not JSON lines: line {number} is not an object. Write one object per line."
            raise DataError(msg)
        rows.append(found)
        before, last = last, list(map(type, found.values()))
        if last == before and found.keys() == types.keys():
            continue  # like the line before, as most are
        for key, value in found.items():
            kind = _TYPES.get(type(value), "objects or lists")
            if value is not None and types.setdefault(key, kind) != kind and key not in text:
                change = f"{kind} under {quoted(key)}, after {types[key]} there"
                msg = f"{label}{where} has {change}. Give each column one type."
                raise DataError(msg)
    return rows
