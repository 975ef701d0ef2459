"""Tables in Markdown: printed, the paper's protocol, ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mmdbounds.evaluation.presets import METHODS, OURS, PAPER, SHARP
from mmdbounds.experiments import printed
from mmdbounds.experiments.compare import difference, note, verdict
from mmdbounds.experiments.lines import Line
from mmdbounds.experiments.printed import Printed, PrintedTable
from mmdbounds.experiments.protocols import PROTOCOLS
from mmdbounds.experiments.sources import SOURCES

NOTHING = ""
HEADS = {PAPER: "paper's protocol", OURS: "ours"}


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def as_printed(value: float, error: float) -> str:
    """Return a number with its standard error as the paper prints them."""
    return f"{value} ± {error}"


def rate(line: Line) -> str:
    """Return a false coverage rate with its standard error."""
    return f"{line.fcr:.2f} ± {line.fcr_error:.3f}"


def width(line: Line) -> str:
    """Return a width with its standard error, and how often the ends crossed or were not proved."""
    crossed = f" ({line.n_crossed} crossed)" if line.n_crossed else NOTHING
    n_open = line.n_trials - line.n_certified if line.method == SHARP else 0
    return f"{line.miw:.4f} ± {line.miw_error:.4f}{crossed}" + (
        f" ({n_open} not proved)" if n_open else NOTHING
    )


def comparison(table: PrintedTable, source: str, lines: Sequence[Line], first: str) -> str:
    """Return what the paper prints for a data set beside what came out here.

    Parameters
    ----------
    table
        What is printed.
    source
        The data set here; a stand-in is not judged.
    lines
        What came out.
    first
        Head of the first column.
    """
    here = [line for line in lines if line.source == source]
    there, judged = SOURCES[source].column, not SOURCES[source].is_standin
    shown = [name for name in PROTOCOLS if any(line.protocol == name for line in here)]
    by_row = {(line.protocol, line.method): line for line in here}
    head = [first, f"{there} printed: FCR", "MIW"]
    for name in shown:
        head += [f"{HEADS[name]}: FCR", "MIW"]
    head += ["verdict"] if judged and PAPER in shown else []
    rows = []
    for row in dict.fromkeys((*table.rows, *(line.method for line in here))):
        said = table.cells.get((row, there))
        cells = [row, *_printed(said)]
        for name in shown:
            line = by_row.get((name, row))
            cells += [NOTHING, NOTHING] if line is None else [rate(line), width(line)]
        if judged and PAPER in shown:
            line = by_row.get((PAPER, row))
            cells.append(NOTHING if line is None or said is None else verdict(said, line))
        rows.append(cells)
    return markdown(head, rows)


def _printed(said: Printed | None) -> list[str]:
    if said is None:
        return [NOTHING, NOTHING]
    return [as_printed(said.fcr, said.fcr_error), as_printed(said.miw, said.miw_error)]


def mismatches(table: PrintedTable, source: str, lines: Sequence[Line]) -> list[str]:
    """Return what the paper's protocol, as we read it, does not give, and what was tried for it."""
    if SOURCES[source].is_standin:
        return []
    column = SOURCES[source].column
    by_note: dict[str, list[str]] = {}
    for line in lines:
        said = table.cells.get((line.method, column))
        if line.source != source or line.protocol != PAPER or said is None or verdict(said, line) == "agrees":
            continue
        row = line.method if line.method in METHODS else f"S = {line.method}"
        by_note.setdefault(note(column, line.method), []).append(f"{row}: {difference(said, line)}")
    return [f"{column}, {'; '.join(rows)}. {tried}" for tried, rows in by_note.items()]


def points(lines: Sequence[Line], protocol: str, axis: str) -> str:
    """Return the points of a figure as a table: FCR and MIW of each method."""
    chosen = [line for line in lines if line.protocol == protocol]
    methods = dict.fromkeys(line.method for line in chosen)
    where = {(getattr(line, axis), line.method): line for line in chosen}
    head = ["N" if axis == "n_rows" else "epsilon", *methods]
    rows = []
    for value in dict.fromkeys(getattr(line, axis) for line in chosen):
        cells = [where.get((value, method)) for method in methods]
        rows.append([f"{value:g}", *(NOTHING if c is None else f"{c.fcr:.2f} / {c.miw:.4f}" for c in cells)])
    return markdown(head, rows)


def best_at(lines: Sequence[Line], protocol: str, axis: str) -> str:
    """Say at how many points of a figure S-SD has the lowest rate of the paper's methods."""
    chosen = [line for line in lines if line.protocol == protocol]
    values = list(dict.fromkeys(getattr(line, axis) for line in chosen))
    beaten = []
    for value in values:
        here = {line.method: line for line in chosen if getattr(line, axis) == value}
        others = [here[name] for name in METHODS if name in here and name != printed.S_SD]
        better = min(others, key=lambda line: line.fcr)
        if better.fcr < here[printed.S_SD].fcr:
            beaten.append(f"{value:g} ({better.method} {better.fcr:.2f}, S-SD {here[printed.S_SD].fcr:.2f})")
    name = "N" if axis == "n_rows" else "epsilon"
    if not beaten:
        return f"S-SD has the lowest false coverage of the paper's methods at all {len(values)} points."
    return (
        f"S-SD has the lowest false coverage of the paper's methods at {len(values) - len(beaten)} of "
        f"{len(values)} points; not at {name} = {', '.join(beaten)}."
    )
