"""Three hundred tables that went wrong: one clear line, or what an independent reading finds."""

from __future__ import annotations

import io
import math
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mmdbounds.cli.main import run
from mmdbounds.errors import IdentifierWarning, MmdBoundsError
from mmdbounds.tables import Group, groups
from tables import malformed

N_TABLES = 300
REFUSED, READ = "refused", "read"


def outcome(table: malformed.Malformed) -> tuple[str, str]:
    """Read a table: check the message if it is refused, and every number if it is not."""
    file = io.BytesIO(table.contents)
    file.name = table.name
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifierWarning)
            X, Y = groups(file, "g", hidden="A", among="B", scale="none", **table.options)
    except MmdBoundsError as error:
        refusal = error
    else:
        compare(table, X, Y)
        return READ, ""
    message = str(refusal)
    assert "\n" not in message
    assert 20 < len(message) < 700
    assert message.endswith((".", "?"))
    assert refusal.__cause__ is None
    return REFUSED, message


def compare(table: malformed.Malformed, X: Group, Y: Group) -> None:
    rows = malformed.read_again(table)
    assert rows is not None
    numbers = [row.get(name) for row in rows for name, kind in X.record["kinds"].items() if "numbers" in kind]
    marks = {mark for mark in ".," for cell in numbers if isinstance(cell, str) and mark in cell.strip(". ")}
    assert marks != {".", ","}  # 1.234 would be a thousand
    for group, name in ((X, "A"), (Y, "B")):
        there = [i for i, row in enumerate(rows, start=1) if (row.get("g") or "").strip() == name]
        found = group.file_rows.tolist()
        left_out = sorted(set(there) - set(found))
        assert sorted(set(found) - set(there)) == []
        assert table.options.get("missing") == "drop" or not left_out
        for i in left_out:  # rightly so: one of its cells is missing
            looked_at = group.record["columns"] + group.record["dropped_constant_columns"]
            assert any(is_missing(rows[i - 1].get(column), table) for column in looked_at)
        for values, i in zip(group.values, found, strict=True):
            compare_row(table, dict(zip(group.columns, values, strict=True)), rows[i - 1], group)


def compare_row(table: malformed.Malformed, values: dict, row: dict, group: Group) -> None:
    for column in group.record["columns"]:
        cell = row.get(column)
        if is_missing(cell, table):
            assert column in group.record["n_filled_cells"]
        elif column in values:
            assert values[column] == malformed.number(cell), column
        else:
            ones = [name for name, value in values.items() if value == 1 and name.startswith(f"{column}=")]
            assert ones == [f"{column}={cell.strip()}"]


def is_missing(cell: object, table: malformed.Malformed) -> bool:
    try:
        return math.isnan(malformed.number(cell, tuple(table.options.get("na", ()))))
    except ValueError:
        return False


def test_tables_that_went_wrong():
    seen: dict[str, Counter] = {}
    for table in malformed.tables(N_TABLES):
        try:
            which, message = outcome(table)
        except Exception as error:
            pytest.fail(f"{table.what}, {table.options}: {error!r}\n{table.contents[:2000]!r}")
        seen.setdefault(table.what, Counter())[which] += 1
        if table.what in ("no_categories", "mixed_types"):
            assert "secret" not in message
    # Refusing everything would be no art.
    assert seen["nothing_wrong"] == {READ: seen["nothing_wrong"].total()}
    for what in ("torn_gzip", "torn_binary", "no_categories", "nul_bytes"):
        assert not seen[what][READ]
    for what in (
        "marks_and_encodings",
        "huge_numbers",
        "decimal_commas",
        "missing_cells",
        "json_lines",
        "line_ends",
    ):
        assert seen[what][READ] >= 2
        assert seen[what][REFUSED] >= 2
    assert sum((counts for counts in seen.values()), Counter())[READ] > N_TABLES / 5


def test_the_command_line_says_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    codes: Counter[int] = Counter()
    for table in malformed.tables(len(malformed.DAMAGES), seed=1):
        path = tmp_path / table.name
        path.write_bytes(table.contents)
        flags = [f"--{name}={value}" for name, value in table.options.items() if name != "na"]
        flags += [f"--na={word}" for word in table.options.get("na", ())]
        groups = [
            "--group",
            "g",
            "--hidden",
            "A",
            "--among",
            "B",
            "--n-moved",
            "1",
            "--method",
            "sd",
            "--quiet",
        ]
        code = run(["bounds", str(path), *groups, *flags])
        out, err = capsys.readouterr()
        codes[code] += 1
        assert (out.count("\n"), err.count("\n")) == ((1, 0) if code == 0 else (0, 1)), (table, out, err)
        assert code == 0 or err.startswith("mmdbounds: ")
    assert set(codes) == {0, 2}


def test_the_independent_reading_can_fail():
    table = malformed.Malformed("", b"g,x\nA,1\nA,2\nB,3\nB,5\n")
    X, Y = groups(io.BytesIO(table.contents), "g", hidden="A", among="B", scale="none")
    compare(table, X, Y)
    other = Group(np.array([[1.0], [2.5]]), file_rows=X.file_rows, columns=X.columns, record=X.record)
    with pytest.raises(AssertionError):
        compare(table, other, Y)
    swapped = Group(X.values, file_rows=[2, 1], columns=X.columns, record=X.record)
    with pytest.raises(AssertionError):
        compare(table, swapped, Y)
