"""What the paper prints beside our lines: tables with verdicts, and how many numbers agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lab.paper.experiments import (
    EXPERIMENTS,
    PROTOCOLS,
    READINGS,
    SOURCES,
    Experiment,
    Setting,
    setting_of,
)
from lab.paper.presets import AS_PRINTED, METHODS, OURS, PAPER, SHARP
from lab.paper.printed import Printed, PrintedTable, difference, note, verdict
from lab.paper.results import Line

NOTHING = ""
HEADS = {PAPER: "as read", AS_PRINTED: "formulas as printed", OURS: "ours"}

Documents = dict[str, dict[str, Any]]


def lines_of(document: dict[str, Any] | None) -> list[Line]:
    """Return the lines of the results of an experiment, none if it has not been run."""
    return [] if document is None else [Line.from_dict(each) for each in document["lines"]]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; the first column is text, the others numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _rate(line: Line) -> str:
    """Return a false coverage rate with its standard error."""
    return f"{line.fcr:.2f} ± {line.fcr_error:.3f}"


def _width(line: Line) -> str:
    """Return a width with its standard error, and how often the ends crossed or were not proved."""
    crossed = f" ({line.n_crossed} crossed)" if line.n_crossed else NOTHING
    n_open = line.n_trials - line.n_certified if line.method == SHARP else 0
    unproved = f" ({n_open} not proved)" if n_open else NOTHING
    return f"{line.miw:.4f} ± {line.miw_error:.4f}{crossed}{unproved}"


def comparison(table: PrintedTable, source: str, lines: Sequence[Line], first: str) -> str:
    """Return what the paper prints beside lines of one setting; a stand-in gets no verdict.

    `first` is the head of the first column.
    """
    there = SOURCES[source].column
    shown = [name for name in PROTOCOLS if any(line.protocol == name for line in lines)]
    judged = None if SOURCES[source].is_standin else next((name for name in shown if name in READINGS), None)
    by_row = {(line.protocol, line.method): line for line in lines}
    head = [first, f"{there} printed: FCR", "MIW"]
    for name in shown:
        head += [f"{HEADS[name]}: FCR", "MIW"]
    rows = []
    for row in dict.fromkeys((*table.rows, *(line.method for line in lines))):
        cell = table.cells.get((row, there))
        cells = [row, NOTHING, NOTHING]
        if cell is not None:
            cells[1:] = f"{cell.fcr} ± {cell.fcr_error}", f"{cell.miw} ± {cell.miw_error}"
        for name in shown:
            line = by_row.get((name, row))
            cells += [NOTHING, NOTHING] if line is None else [_rate(line), _width(line)]
        if judged is not None:
            line = by_row.get((judged, row))
            cells.append(NOTHING if line is None or cell is None else verdict(cell, line))
        rows.append(cells)
    return markdown(head if judged is None else [*head, "verdict"], rows)


def _judged(table: PrintedTable, lines: Iterable[Line]) -> list[tuple[Line, Printed]]:
    """Return the lines of a reading of the paper on its own data, with what the paper prints for each."""
    own = [line for line in lines if line.protocol in READINGS and not SOURCES[line.source].is_standin]
    cells = [table.cells.get((line.method, SOURCES[line.source].column)) for line in own]
    return [(line, cell) for line, cell in zip(own, cells, strict=True) if cell is not None]


def mismatches(table: PrintedTable, setting: Setting, lines: Sequence[Line]) -> list[str]:
    """Return where our reading does not match the table at a setting, and what was tried."""
    column = SOURCES[setting.source].column
    by_note: dict[str, list[str]] = {}
    for line, cell in _judged(table, lines):
        if setting_of(line) == setting and verdict(cell, line) != "agrees":
            row = line.method if line.method in METHODS else f"S = {line.method}"
            by_note.setdefault(note(column, line.method), []).append(f"{row}: {difference(cell, line)}")
    return [f"{column}, {'; '.join(rows)}. {tried}" for tried, rows in by_note.items()]


class Score(NamedTuple):
    """How many printed pairs (FCR, MIW) can be compared, and how many agree under each kind of label."""

    pairs: int
    agree: int  # under the labels that the numbers fit
    agree_as_labelled: int


def score(found: Documents) -> Score:
    """Count over all tables."""
    counts = {True: (0, 0), False: (0, 0)}
    for experiment in EXPERIMENTS.values():
        for inferred, (pairs, agree) in counts.items():
            verdicts = _verdicts(experiment, lines_of(found.get(experiment.name)), inferred=inferred)
            counts[inferred] = pairs + len(verdicts), agree + verdicts.count("agrees")
    return Score(counts[True][0], counts[True][1], counts[False][1])


def _verdicts(experiment: Experiment, lines: Sequence[Line], *, inferred: bool) -> list[str]:
    if experiment.table is None:
        return []
    chosen = experiment.labelled(inferred=inferred)
    return [
        verdict(cell, line) for line, cell in _judged(experiment.table, lines) if setting_of(line) in chosen
    ]
