"""Generated tables that went wrong somewhere, and an independent reading of them.

A table starts out right: a group column, numbers, truth, a category. Then it is written in one of the ways
in which programs write tables, and damaged in one of the ways in which tables get damaged. The reading uses
Python's csv and json modules and `float` alone.
"""

from __future__ import annotations

import base64
import codecs
import csv
import gzip
import io
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SEPARATORS = ",;\t"
WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", ".", "none")
Cells = list[list[str]]


@dataclass
class Malformed:
    """A damaged table: its bytes, and how it is asked to be read."""

    what: str
    contents: bytes
    name: str = "t.csv"
    options: dict[str, Any] = field(default_factory=dict)


def tables(n: int, seed: int = 0) -> list[Malformed]:
    """Return damaged tables, the same for the same seed; every sort of damage comes in turn."""
    return [_one(random.Random(f"{seed} {i}"), DAMAGES[i % len(DAMAGES)]) for i in range(n)]


def _one(rng: random.Random, damage: Callable[[random.Random], Malformed]) -> Malformed:
    made = damage(rng)
    made.what = damage.__name__
    if made.name == "t.csv" and rng.random() < 0.1:
        made.contents, made.name = gzip.compress(made.contents, mtime=0), "t.csv.gz"
    return made


def cells(rng: random.Random, n_rows: int | None = None) -> Cells:
    """Return a right table: header and rows."""
    n_rows = n_rows or rng.randint(6, 16)
    rows = [["g", "age", "dose", "well", "site"]]
    for i in range(n_rows):
        group = "AB"[i % 2] if i < 6 else rng.choice(["A", "B", "B", "C", ""])
        number = rng.choice([rng.gauss(50, 9), rng.uniform(-1, 1), float(rng.randint(-9, 9))])
        dose = repr(round(number, rng.randint(1, 6)))
        well, site = rng.choice(["true", "false"]), rng.choice(["north", "south", "secret"])
        rows.append([group, str(rng.randint(20, 90)), dose, well, site])
    return rows


def written(rng: random.Random, rows: Cells, separator: str | None = None, end: str | None = None) -> bytes:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=separator or rng.choice(SEPARATORS),
        lineterminator=end or rng.choice(["\n", "\n", "\r\n"]),
        quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    )
    writer.writerows(rows)
    return text.getvalue().encode()


def _somewhere(rng: random.Random, rows: Cells) -> tuple[int, int]:
    return rng.randrange(1, len(rows)), rng.randrange(1, len(rows[0]))


def nothing_wrong(rng: random.Random) -> Malformed:
    return Malformed("", written(rng, cells(rng)))


def ragged(rng: random.Random) -> Malformed:
    rows = cells(rng)
    i = rng.randrange(len(rows))
    rows[i] = rng.choice([rows[i][:-1], [*rows[i], "7"], rows[i][:1], [*rows[i], ""], rows[i] * 2])
    return Malformed("", written(rng, rows))


def mixed_types(rng: random.Random) -> Malformed:
    rows = cells(rng)
    for _ in range(rng.randint(1, 3)):
        i, j = _somewhere(rng, rows)
        rows[i][j] = rng.choice(
            ["secret", "<0.1", "12 kg", "1e", "0x1F", "1_000", "--3", "?", "1/2", "TRUE", "7"]
        )
    return Malformed("", written(rng, rows), options=rng.choice([{}, {"na": ["?", "secret"]}]))


def huge_numbers(rng: random.Random) -> Malformed:
    rows = cells(rng)
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(1, len(rows))
        rows[i][rng.choice([1, 2])] = rng.choice(
            [
                "1e308",
                "-1.7e308",
                "1e400",
                "9223372036854775808",
                "1" * 40,
                "9" * 400,
                "5e-324",
                "inf",
                "1e-400",
            ]
        )
    return Malformed("", written(rng, rows))


def empty_column(rng: random.Random) -> Malformed:
    rows, j = cells(rng), rng.randint(0, 4)
    for row in rows[1:]:
        row[j] = rng.choice(["", " ", "NA"]) if rng.random() < 0.3 else ""
    return Malformed("", written(rng, rows), options={"missing": rng.choice(["refuse", "drop", "impute"])})


def duplicate_names(rng: random.Random) -> Malformed:
    rows = cells(rng)
    rows[0][rng.randint(1, 4)] = rng.choice(["g", "age", " age ", "", "dose_duplicated_0", "g=A"])
    return Malformed("", written(rng, rows))


def nul_bytes(rng: random.Random) -> Malformed:
    data = bytearray(written(rng, cells(rng)))
    for _ in range(rng.randint(1, 3)):
        data.insert(rng.randrange(len(data)), 0)
    return Malformed("", bytes(data), options=rng.choice([{}, {"encoding": "latin-1"}]))


def torn_gzip(rng: random.Random) -> Malformed:
    data = gzip.compress(written(rng, cells(rng)), mtime=0)
    cut = bytearray(data[: rng.randrange(3, len(data))])
    if rng.random() < 0.5:
        cut = bytearray(data)
        cut[rng.randrange(10, len(cut))] ^= 1 << rng.randrange(8)
    return Malformed("", bytes(cut), "t.csv.gz")


# What polars wrote of one small table, compressed.
BINARY = {
    "parquet": (
        "eNqVVM9vEkEUfgPbBSsHbDqT3WQPG9NuaKqlrLaAqYaBtkBKK0vSmPYkdVnAVLZhabE3ooknY2pievDYo4k3TUzPHvwLem48"
        "9eC/YOLMsFAO1dgB9v343nzvmzdAmVYSWMKT2CgxAwCxr/Hf+rgFgFhA+SOLAU/gqTs4yl4ylrVFiKGsguig+kYRIMCCKELB"
        "TziiLoAcVRVUxxESJQfkIzIKRnhkF+N7i7DDCWFAGAa+elZG8b1cZkC/uongW58fehsZ6K1ZUOjlYLW4ngmDfvMooSgR6fVn"
        "O3h896mEx9VpkFUlWK3XhIBzRE6RcYGW/taFnXsKL44ef+I9wBgLWm670+CO5+53GleMYUwAypgo/Pc4JK/Z6Qs6FoLOJOON"
        "dAWHeivAZkfZh81dJX5iKHfoWpkRuL+ZWV+oADRSwNvM4d4FwqfI988k/Jy7OKCWClLbdTtYBhyZDrArm4aSxqFxFvEJ9vNC"
        "uw+RqKqpS8ZPpP3HTZMvITxJTmR8G4yToHb9uyE/Qlgh32X8CIwjWbv2NMl5CBPyKoRNIL+CJGqEyTtpko9BidBK5fGTB96z"
        "Ru1FVfkQiPOV2qJsrfBH6oDFLy0/Fqk1Sj2aE9ais2WGd7s8X6S07tetM5MVAfd4HaW5LU6d52GW+vVsVQT3EBdQYWPPzm+K"
        "bJfzHw5JeF/eYtnfRGe5vm6Rd8uLEi4lv9ratpY9zle63LQ17MearNSZTm6tvo4BYVycx+KQkLLdpQ9B2Si7u9W2p8f2DjsN"
        "tzWjH9TaXtNt6eZcYm5ej+3sN3dtPemk580d+57j2GbScVKmnbhvJlPV+XTVTC84jukkqzU7bc6oS+w71H9Dj/1Iyuzv5w/6"
        "yOYt"
    ),
    "ipc": (
        "eNpzDAryDzdkYGBhYGD49P//fxEGEJsRSHIxcDNwAEkWhh9AcR6gCAcQgmSZgWQCEBswQPTNAMpLAGkBsBoGBkYQByoOki/O"
        "LEkF8Q8A+QrI6pgh6n4BxZkY2IAQYnZieirDG6CYDpANUi8BNVOAQQioQoBBEKybB6z3D9gOiIvTgRjI/Q/igOwFmeHACLFD"
        "BOpyHgZhsDk8QN4zoDwHRJphDtQ/ImAeH9BOFqAaAbAIEwN2wMaAGzSg0ejiDlD6AJr8ASz6mKHhhQwI8UHedkTjO9FRHuIJ"
        "P4g3G7yhdCDU2x5QvjOU7walPaG0rwMrkMzLLyrJgBoF4hfnl6LwaSkPTkcMSOkISFvA0xEo9QkBUwcLMNx5wH6/AIsHaHqD"
        "pTsYGDp56BMoZsGlAgCEDX6I"
    ),
    "ipc_stream": (
        "eNq9Uj2KwlAQnpgoQYNk1xSWHsDCI0QFUWQX9gZrIWpjwGjvMSw8TEpPYmVlJSI8v5k3hQbFSufxZuabb37ehBhjzI6IPNwj"
        "/Eh8B7pMFfKhPTohHiDi4zDrQv/jtrRuA74OG0oOkcNA48yns+WYcQbcuM1zbd4Z8QKVcGzv0WRMB8Sa8Dm/rj1D+kZGSF9S"
        "HUjtRWbYF09wAQ0Dnss9YsfOiPTlAdWkTwC0B+9bmra6TySoipkeckKJFOixlOi5rHM2H4/VZjk+e1Dn6ve6lVeY127ncOeD"
        "vF3i1665Hqr907X7iruKe2oHan/iIvQ8WSyn2opxmqzu8Dt5+Y8gV15iWNA="
    ),
}


def torn_binary(rng: random.Random) -> Malformed:
    which = rng.choice(list(BINARY))
    data = zlib.decompress(base64.b64decode(BINARY[which]))
    return Malformed("", data[: rng.randrange(8, len(data))], f"t.{which}")


def marks_and_encodings(rng: random.Random) -> Malformed:
    rows = cells(rng)
    for row in rows[1:]:
        row[4] = rng.choice(["Köln", "Århus", "naïve"])
    text = written(rng, rows, end="\n").decode()
    coding = rng.choice(["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "cp037"])
    data = text.encode(coding)
    if rng.random() < 0.2:
        data = codecs.BOM_UTF8 + data
    said = rng.choice([None, coding, "utf-8", "latin-1", "no-such-code", "base64"])
    return Malformed("", data, options={} if said is None else {"encoding": said})


def broken_utf8(rng: random.Random) -> Malformed:
    data = bytearray(written(rng, cells(rng)))
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(data))
        data[at:at] = rng.choice(
            [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xfe"]
        )
    return Malformed("", bytes(data))


def stray_quotes(rng: random.Random) -> Malformed:
    data = bytearray(written(rng, cells(rng)))
    for _ in range(rng.randint(1, 4)):
        data.insert(rng.randrange(len(data)), ord(rng.choice('""""\'')))
    return Malformed("", bytes(data))


def decimal_commas(rng: random.Random) -> Malformed:
    rows = cells(rng)
    share = rng.choice([0.2, 0.5, 1.0, 1.0])
    odd = rng.choice(["1,234", "12,345", "1.234", "1.234", "0,125", "1.234,5", "1,5e2", ",5"])
    for row in rows[1:]:
        if rng.random() < share:
            row[2] = row[2].replace(".", ",")
        if rng.random() < 0.2:
            row[1] = odd
    return Malformed("", written(rng, rows, rng.choice(";;\t,")))


def few_lines(rng: random.Random) -> Malformed:
    rows = cells(rng)
    contents = rng.choice(
        [
            b"",
            b"\n\n",
            b"  \n\t\n",
            codecs.BOM_UTF8,
            written(rng, rows[:1]),
            written(rng, rows[:2]),
            written(rng, [row[:1] for row in rows]),
            written(rng, [row[1:2] for row in rows]),
            b"g",
            b'"g',
            b"g,x\nA,1",
            b"g,x\r\nA,1\r\nB,2\r\nA,3\r\nB,5\r\n\r\n\r\n",
        ]
    )
    return Malformed("", contents)


def line_ends(rng: random.Random) -> Malformed:
    lines = written(rng, cells(rng), end="\n").split(b"\n")
    odd = rng.choice([b"\r\n", b"\r\n", b"\r", b"\n\n", b"\n \n", b"\r\r\n", b"\x0b\n", b"\xe2\x80\xa8"])
    data = b"".join(line + (odd if rng.random() < 0.2 else b"\n") for line in lines)
    return Malformed("", data)


def flipped_bytes(rng: random.Random) -> Malformed:
    data = bytearray(written(rng, cells(rng)))
    for _ in range(rng.randint(1, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return Malformed("", bytes(data))


def odd_names(rng: random.Random) -> Malformed:
    rows = cells(rng)
    rows[0][rng.randint(0, 4)] = rng.choice(
        [
            "x" * 500,
            "=cmd()",
            "a\nb",
            "a,b;c",
            '"',
            "\u202e",
            "<img src=x>",
            "g ",
            "G",
            "None",
            "\ufeffg",
            "{a",
        ]
    )
    return Malformed("", written(rng, rows))


def odd_cells(rng: random.Random) -> Malformed:
    rows = cells(rng)
    for _ in range(rng.randint(1, 3)):
        i, j = _somewhere(rng, rows)
        rows[i][j] = rng.choice(
            [
                "\u0661\u0662",
                "\u00a05\u00a0",
                " 7 ",
                "+3",
                "1e3",
                "\x1a",
                "a\nb",
                "x" * 200_000,
                "\uff15",
                "-0",
                "1.",
            ]
        )
    return Malformed("", written(rng, rows))


def missing_cells(rng: random.Random) -> Malformed:
    rows = cells(rng)
    for _ in range(rng.randint(1, 8)):
        i, j = _somewhere(rng, rows)
        rows[i][j] = rng.choice(["", " ", "NA", "nan", "N/A", "NULL", ".", "-99", "unknown"])
    options = {"missing": rng.choice(["refuse", "drop", "drop", "impute"])}
    return Malformed("", written(rng, rows), options={**options, "na": ["-99", "unknown"]})


def no_categories(rng: random.Random) -> Malformed:
    rows = cells(rng, rng.choice([8, 120]))
    sort = rng.choice(["names", "dates", "times"])
    for i, row in enumerate(rows[1:]):
        row[4] = {
            "names": f"secret {i}",
            "dates": f"2020-01-{1 + i % 28:02}",
            "times": f"{i // 60}:{i % 60:02}",
        }[sort]
    return Malformed("", written(rng, rows))


def json_lines(rng: random.Random) -> Malformed:
    rows = cells(rng)
    lines = [json.dumps({"g": g, "age": int(age), "dose": float(dose)}) for g, age, dose, _, _ in rows[1:]]
    i = rng.randrange(len(lines))
    lines[i] = rng.choice(
        [
            lines[i],
            lines[i][:-3],
            "",
            "[1, 2]",
            "{}",
            '{"g": "A", "age": "secret", "dose": 1}',
            '{"g": "A", "age": 3, "age": 4, "dose": 1}',
            '{"g": "A", "age": NaN, "dose": 1}',
            '{"g": "B", "age": 1e999, "dose": 2}',
            '{"g": "B", "age": [1], "dose": 2}',
            '{"g": "B", "age": true, "dose": 2}',
            '{"g": "B", "dose": 2}',
            "\x00",
        ]
    )
    missing = {"missing": "drop"} if rng.random() < 0.5 else {}
    return Malformed("", "\n".join(lines).encode(), rng.choice(["t.jsonl", "t.json", "t"]), missing)


DAMAGES = (
    *(nothing_wrong, ragged, mixed_types, huge_numbers, empty_column, duplicate_names, nul_bytes, torn_gzip),
    *(torn_binary, marks_and_encodings, broken_utf8, stray_quotes, decimal_commas, few_lines, line_ends),
    *(flipped_bytes, odd_names, odd_cells, missing_cells, no_categories, json_lines),
)


def read_again(table: Malformed) -> list[dict[str, Any]] | None:
    """Return the rows of a table as csv and json read them, `None` if they cannot; blank lines are rows."""
    data = gzip.decompress(table.contents) if table.contents.startswith(b"\x1f\x8b") else table.contents
    coding = table.options.get("encoding", "utf-8")
    text = data.decode("utf-8-sig" if coding == "utf-8" else coding).removeprefix("\ufeff").strip("\r\n")
    if table.name.startswith("t.js") or (text.startswith("{") and table.name == "t"):
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    csv.field_size_limit(1_000_000)
    for separator in SEPARATORS:
        header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        names = [name.strip() for name in header]
        if "g" in names and all(not row or len(row) == len(names) for row in rows):
            return [dict(zip(names, row or [""] * len(names), strict=True)) for row in rows]
    return None


def number(cell: Any, na: tuple[str, ...] = ()) -> float:
    """Return a cell as a number, NaN for a missing one; text raises `ValueError`."""
    if cell is None or isinstance(cell, int | float):
        return float("nan") if cell is None else float(cell)
    text = cell.strip()
    if text.lower() in WORDS or text in na:
        return float("nan")
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    if "_" in text:
        raise ValueError(text)
    if "." in text and "," in text:  # the last one is that of the decimals
        text = text.replace(".,"[text.rfind(",") < text.rfind(".")], "")
    return float(text.replace(",", "."))
