"""Generated tables whose numbers are known, written as people of several countries write them.

What was written is the truth: whoever reads a table must find these numbers, or refuse it.
"""

from __future__ import annotations

import csv
import io
import json
import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tables.workbooks import workbook

LOCALES = [  # the marks of decimals and of thousands
    *((".", ""), (".", ","), (".", "'"), (".", " "), (".", "indian")),
    *((",", ""), (",", "."), (",", " "), (",", "\u202f")),
]
PLAIN, WITH_POLARS = ("csv", "dict", "json lines"), ("pandas", "polars", "parquet", "arrow", "excel")
ARABIC = str.maketrans("0123456789", "".join(chr(0x660 + i) for i in range(10)))


@dataclass
class Column:
    """Numbers, `None` where one is missing, and how they are written; `typed` are no text."""

    numbers: list[Decimal | None]
    texts: list[str]
    typed: bool = False

    @property
    def is_telling(self) -> bool:
        """Whether some text has one or two decimals, which are no thousands."""
        return not self.typed and any(
            each is not None and -2 <= each.as_tuple().exponent < 0 for each in self.numbers
        )


@dataclass
class Made:
    """A table: what is handed to `groups`, and the truth."""

    data: Any
    container: str
    columns: dict[str, Column]
    options: dict[str, Any] = field(default_factory=dict)


def table(seed: int, containers: tuple[str, ...] = PLAIN) -> Made:
    """Return a table; the same for the same seed."""
    rng = random.Random(seed)
    container, n_rows = rng.choice(containers), rng.randint(4, 14)
    locale = rng.choice(LOCALES)
    may_be_typed = container not in ("csv", "pandas")
    columns = {
        f"c{j}": column(rng, n_rows, locale, may_be_typed=may_be_typed) for j in range(rng.randint(1, 4))
    }
    # A column of another country; no reader can know of it unless both show what they are.
    other = column(rng, n_rows, rng.choice(LOCALES), may_be_typed=may_be_typed)
    if rng.random() < 0.2 and other.is_telling and any(each.is_telling for each in columns.values()):
        columns["other"] = other
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["decimal"] = "point" if locale[0] == "." else "comma"
    cells = {"g": [("A", "B")[i % 2] for i in range(n_rows)]} | {
        name: [_cell(each, i) for i in range(n_rows)] for name, each in columns.items()
    }
    return Made(_contained(rng, container, cells), container, columns, options)


def column(rng: random.Random, n_rows: int, locale: tuple[str, str], *, may_be_typed: bool) -> Column:
    """Return numbers of one size, written in one way."""
    places, largest = rng.choice([0, 0, 1, 2, 3, 3]), 10 ** rng.choice([1, 2, 4, 4, 6, 8])
    smallest = rng.choice([-largest, 0, min(1000, largest // 2)])
    numbers = [
        Decimal(rng.randint(smallest * 10**places, largest * 10**places)).scaleb(-places)
        for _ in range(n_rows)
    ]
    if rng.random() < 0.3:  # as programs write them, no zeros at the end
        numbers = [Decimal(f"{number:f}".rstrip("0").rstrip(".") if places else number) for number in numbers]
    before, behind = rng.choice(
        [("", "")] * 5 + [("", " %"), ("", "%"), ("$", ""), ("", " \u20ac"), ("", " kg")]
    )
    minus, digits = rng.choice(["-"] * 4 + ["\u2212"]), rng.choice([None] * 6 + [ARABIC])
    texts = [before + written(number, locale).replace("-", minus) + behind for number in numbers]
    texts = [text if digits is None else text.translate(digits) for text in texts]
    found: list[Decimal | None] = list(numbers)
    for i in rng.sample(range(2, n_rows), rng.choice([0, 0, 1, n_rows // 4])):
        found[i], texts[i] = None, rng.choice(["", "n/a", "NA", "."])
    return Column(found, texts, may_be_typed and rng.random() < 0.2)


def written(number: Decimal, locale: tuple[str, str]) -> str:
    """Return a number with the marks of a locale."""
    decimal, thousands = locale
    if thousands == "indian":
        whole, _, part = f"{abs(number):f}".partition(".")
        head, tail = whole[:-3], whole[-3:]
        pairs = [head[max(0, i - 2) : i] for i in range(len(head), 0, -2)][::-1]
        grouped = ",".join([*pairs, tail])
        return ("-" if number < 0 else "") + grouped + (f".{part}" if part else "")
    swap = {",": thousands, ".": decimal}
    return "".join(swap.get(mark, mark) for mark in f"{number:,f}")


def _cell(column: Column, i: int) -> Any:
    if not column.typed:
        return column.texts[i]
    return None if (number := column.numbers[i]) is None else float(number)


def _contained(rng: random.Random, container: str, cells: dict[str, list]) -> Any:
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    if container == "csv":
        file = io.StringIO()
        quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        writer = csv.writer(file, delimiter=rng.choice(",;;\t"), quoting=quoting)
        writer.writerows([list(cells), *(list(row.values()) for row in rows)])
        return io.BytesIO(file.getvalue().encode())
    if container == "json lines":
        return io.BytesIO("\n".join(map(json.dumps, rows)).encode())
    if container == "excel":
        return io.BytesIO(workbook({"s": [list(cells), *(list(row.values()) for row in rows)]}))
    if container == "dict":
        return cells
    if container == "pandas":
        import pandas as pd

        return pd.DataFrame(cells)
    import polars as pl

    frame, file = pl.DataFrame(cells), io.BytesIO()
    if container == "polars":
        return frame
    (frame.write_parquet if container == "parquet" else frame.write_ipc)(file)
    file.seek(0)
    return file
