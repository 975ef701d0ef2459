"""Results in a notebook: the sentences and tables of `summary()` as HTML, a bar, and the settings folded.

Everything comes from `summary()`, so that a new kind of result needs nothing here. No script, no request;
colours are those of the notebook, light or dark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from mmdbounds.words.phrases import number, shown

if TYPE_CHECKING:
    from mmdbounds.results import Result
    from mmdbounds.tables.group import Group

Row = Sequence[str]
_GAP = re.compile(r"\S {2,}\S")  # between two cells; sentences have single blanks
_NUMBER = re.compile(r"[-+<]?[0-9][0-9,.e+-]*\*?(?: %)?")
_NUMERIC = re.compile(rf"{_NUMBER.pattern}(?: \(.*\))?|-|never")
_BLOCK = 'style="line-height:1.45;overflow-x:auto"'
_SENTENCE = 'style="max-width:62em"'
_TABLE = 'style="border-collapse:collapse;margin:0.6em 0"'
_CELL = (
    "padding:0.15em 0.9em 0.15em 0;text-align:{0};vertical-align:top;border:0;background:none;white-space:{1}"
)
_BAR_WIDTH, _BAR_HEIGHT, _MARGIN = 420, 46, 10


def as_html(result: Result) -> str:
    """Return a result as HTML."""
    blocks = result.summary().split("\n\n")
    made = getattr(result, "provenance", None)
    settings = blocks.pop() if made is not None and len(blocks) > 1 else ""
    parts = [_block(block) for block in blocks]
    parts.insert(1, _bar(result))
    if made is not None:
        parts.append(_folded("How this was computed", settings, made.data))
    return f"<div {_BLOCK}>{''.join(parts)}</div>"


def group_html(group: Group) -> str:
    """Return what a `Group` is as HTML: its size and its columns, never its cells."""
    n, d = group.shape
    names = ", ".join(map(shown, group.columns or ())) or "without names"
    facts = {
        "Group": shown(group.name),
        "Rows": f"{n:,}, {'identified by name' if group.ids is not None else 'without names'}",
        "Columns": f"{d:,}: {names}",
    }
    if group.verified is not None:
        facts["Verified"] = f"{sum(map(bool, group.verified.tolist())):,} rows"
    table = _table(list(facts.items()))
    return f"<div {_BLOCK}>{table}{_folded('What was done to the table', '', group.record)}</div>"


def _block(block: str) -> str:
    """Return a block of lines: sentences as paragraphs, points as a list, rows with gaps as tables."""
    parts, kind = [], ""
    for line in block.split("\n"):
        before, kind = kind, _kind(line, kind)
        if kind != before:
            parts.append((kind, [line]))
        else:
            parts[-1][1].append(line)
    return "".join(_PARTS[kind](lines) for kind, lines in parts)


def _kind(line: str, before: str) -> str:
    """Return what a line is part of; `before` is that of the line before it."""
    if line.lstrip().startswith("- ") or (before == "list" and line.startswith("  ")):
        return "list"
    return "table" if line.startswith("  ") or _GAP.search(line) else "text"


def _text(lines: Sequence[str]) -> str:
    return f"<p {_SENTENCE}>{escape(' '.join(lines))}</p>"


def _list(lines: Sequence[str]) -> str:
    points = " ".join(line.strip() for line in lines).removeprefix("- ").split(" - ")
    return f"<ul {_SENTENCE}>{''.join(f'<li>{escape(point)}</li>' for point in points)}</ul>"


def _aligned(lines: Sequence[str]) -> str:
    """Return lines whose cells stand below each other as a table; a line without a gap spans all of it."""
    rows = [line for line in lines if _GAP.search(line)]
    width = max(map(len, lines))
    is_blank = "".join(" " if all(row.ljust(width)[i] == " " for row in rows) else "x" for i in range(width))
    places = [found.span() for found in re.finditer(r"x+(?: x+)*", is_blank)]
    cells = _parted([[row.ljust(width)[start:stop].strip() for start, stop in places] for row in rows])
    made: list[Row] = []
    begun = 0  # how far the sentence that spans the table was indented
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line in rows:
            made.append(cells[rows.index(line)])
        elif made and len(made[-1]) == 1 and indent > begun:  # the sentence goes on
            made[-1] = [f"{made[-1][0]} {line.strip()}"]
        else:
            made.append([line.strip()])
            begun = indent
    return _table(made)


def _parted(rows: Sequence[Row]) -> list[Row]:
    """Return rows in which numbers with words or a number close behind them have cells of their own."""
    columns: list[Row] = []
    for column in zip(*rows, strict=True):
        found = [re.fullmatch(rf"({_NUMBER.pattern}) +(.+)", cell) for cell in column]
        is_one = all(not cell or _NUMERIC.fullmatch(cell) for cell in column[1:])
        if is_one or not any(found):
            columns.append(column)
            continue
        # A heading has its first word above the number.
        heads = [cell.split(" ", 1) if not _NUMBER.fullmatch(cell) else [cell] for cell in column]
        pairs = [
            (match[1], match[2]) if match else (*head, "")[:2]
            for match, head in zip(found, heads, strict=True)
        ]
        columns += [[first for first, _ in pairs], [rest for _, rest in pairs]]
    return list(zip(*columns, strict=True))


def _table(rows: Sequence[Row]) -> str:
    """Return rows as a table: numbers to the right, a first row without numbers as heading."""
    n_cells = max(map(len, rows))
    has_heading = len(rows) > 2 and not any(map(_NUMERIC.fullmatch, rows[0])) and n_cells > 2
    is_spanned = any(len(row) == 1 < n_cells for row in rows)
    written = [
        _row(row, n_cells, "th" if has_heading and i == 0 else "td", is_spanned=is_spanned)
        for i, row in enumerate(rows)
    ]
    return f"<table {_TABLE}>{''.join(written)}</table>"


def _row(row: Row, n_cells: int, tag: str, *, is_spanned: bool) -> str:
    """Return a row; where a sentence spans the table, the last column takes the room that it needs."""
    span = f' colspan="{n_cells}"' if len(row) == 1 < n_cells else ""
    cells = []
    for i, cell in enumerate(row):
        is_number = n_cells > 2 and _NUMERIC.fullmatch(cell) is not None
        side = "right" if is_number or (tag == "th" and i) else "left"
        is_last = i == len(row) - 1
        is_whole = is_number or tag == "th" or (is_spanned and not is_last)
        style = _CELL.format(side, "nowrap" if is_whole else "normal")
        style += ";width:100%" if is_spanned and is_last and len(row) > 1 else ""
        cells.append(f'<{tag}{span} style="{style}">{escape(cell)}</{tag}>')
    return f'<tr style="background:none">{"".join(cells)}</tr>'


_PARTS: dict[str, Callable[[Sequence[str]], str]] = {"text": _text, "list": _list, "table": _aligned}


def _bar(result: Any) -> str:
    """Return the interval of a result as a bar, with a line at the value as filed; nothing without one."""
    interval: tuple[float, float] = getattr(result, "interval", (0.0, 0.0))
    low, high = interval
    if not low < high:
        return ""
    filed = getattr(result, "observed", None)
    values = [low, high, *([] if filed is None else [filed]), 0.0]
    start, stop = min(values), max(values)

    def place(value: float) -> float:
        return round(float(_MARGIN + (value - start) / (stop - start) * (_BAR_WIDTH - 2 * _MARGIN)), 1)

    about = f"from {number(low)} to {number(high)}" + ("" if filed is None else f", as filed {number(filed)}")
    marks = f'<line x1="{_MARGIN}" x2="{_BAR_WIDTH - _MARGIN}" y1="14" y2="14" stroke-opacity="0.4"/>'
    marks += f'<rect x="{place(low)}" y="8" width="{round(place(high) - place(low), 1)}" height="12" '
    marks += 'fill="#0072B2" stroke="none"/>'
    marks += _tick(place(0.0), "0")
    if filed is not None:
        marks += _tick(place(filed), "as filed")
    return (
        f'<svg role="img" aria-label="{escape(about)}" width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}" '
        f'stroke="currentColor" fill="currentColor">{marks}</svg>'
    )


def _tick(x: float, text: str) -> str:
    anchor = "start" if x < _BAR_WIDTH / 4 else "end" if x > 3 * _BAR_WIDTH / 4 else "middle"
    return (
        f'<line x1="{x}" x2="{x}" y1="4" y2="24" stroke-width="1.5"/>'
        f'<text x="{x}" y="38" font-size="11" stroke="none" text-anchor="{anchor}">{text}</text>'
    )


def _folded(title: str, sentence: str, record: Mapping[str, Any]) -> str:
    """Return what few people look at, folded: a sentence, and a record as a table."""
    said = {name: value for name, value in record.items() if _said(name, value)}
    known = [(name.replace("_", " "), shown(_plain(value))) for name, value in said.items()]
    told = _text(sentence.split()) if sentence else ""
    if not (known or told):
        return ""
    return f"<details><summary>{escape(title)}</summary>{told}{_table(known) if known else ''}</details>"


def _said(name: str, value: Any) -> bool:
    return bool(value) and value != [0, 0] and name != "scaling"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return ", ".join(map(str, value)) if is_list else str(value)
