"""One self-contained page: no request leaves it, and nothing that stands in the data can run in it."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmdbounds.atomic_write import check_writable, write_whole
from mmdbounds.report.contents import Figure, Part, Table
from mmdbounds.report.markup import Html, element, inline, policy, script_data, table, together
from mmdbounds.report.parts import KINDS, as_shown, check_results, parts_of
from mmdbounds.report.record import Record, record_of
from mmdbounds.report.rows import RowNames, row_names
from mmdbounds.results import BoundsResult, Result, RobustTestResult
from mmdbounds.words import explaining
from mmdbounds.words.phrases import assumption

__all__ = ["KINDS", "check_report", "write_report"]

CLOSED = "Rows are identified by number; this page contains neither their names nor their values."
OPEN = "This page contains names or values of single rows, as requested. Protect it like the data."
NO_SCRIPT = "The charts and the slider need JavaScript; everything else on this page does not."
AGAIN = "Reproduce this result"


def write_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    include_rows: bool = False,
    data: Any = None,
    notes: Sequence[str] = (),
) -> None:
    """Write a result, or several that belong together, as one HTML page to read, move and print offline.

    Parameters
    ----------
    result : BoundsResult, RobustTestResult, SweepResult, AuditResult or a list of results
        A sweep becomes a page with a slider over its shares. A list may also contain what is said about
        single columns (`column_table`); all must be about the same two groups.
    path
        Where the page is written; whole or not at all.
    include_rows
        Whether the page may contain the names of single rows and, with `data`, their cells. By default rows
        are identified by number, and only the name and the sha256 of the file are shown.
    data
        The file that the result was computed from, for the cells of the rows that the page shows.
    notes
        Sentences that the page shows where it says what was compared, such as warnings of the calls.

    Raises
    ------
    MmdBoundsError
        If the page cannot be written, the results are about different groups, or `data` is another file.

    Notes
    -----
    The page makes no request, and its Content-Security-Policy allows none. It is about 1 MB, nearly all of it
    Vega, which draws the charts, with its licences.
    """
    target = check_report(path)
    results = check_results(result)
    names = row_names(results, include_rows=include_rows, data=data)
    write_whole(target, report_html(results, names, notes=notes).encode("utf-8"))


def check_report(path: str | os.PathLike[str]) -> Path:
    """Say now, not after the work, that a page cannot be written."""
    target = Path(path)
    check_writable(target)
    return target


def resource(name: str) -> str:
    """Return the text of a file in this folder."""
    return files("mmdbounds.report").joinpath(name).read_text(encoding="utf-8")


def javascript() -> str:
    """Return Vega, Vega-Lite and vega-embed in one file, with their licences at its head."""
    return resource("vega/charts.js")


def report_html(results: Sequence[Result], names: RowNames, *, notes: Sequence[str] = ()) -> str:
    """Return the page."""
    results = as_shown(results, is_open=names.is_open)
    parts = parts_of(results, names)
    record = record_of(results, datetime.date.today(), is_open=names.is_open)
    title = next(part.question for part in parts if part.question)
    programs = {"vega": javascript(), "page": resource("page.js")}
    style = resource("page.css")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        policy(programs.values(), [style]),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        inline("style", style),
    )
    # As modules the programs keep their names to themselves and run once the page is there.
    scripts = [inline("script", code, type="module") for code in programs.values()]
    main = element(
        "main",
        element("h1", title),
        *_lead(results, parts, record, notes),
        *(_section(part) for part in parts),
        _to_paste(results, record),
        _origin(parts, record),
    )
    body = element("body", main, _page_data(parts), *scripts)
    return together([Html("<!doctype html>\n"), element("html", head, body, lang="en"), "\n"])


def _page_data(parts: Sequence[Part]) -> str:
    """Return what the page's program needs, as data; one part at most has a slider, or rows."""
    moving = next((part for part in parts if part.moments), parts[0])
    data = {
        "figures": [
            {"name": f.name, "spec": f.spec, "of_rows": f.of_rows} for part in parts for f in part.figures
        ],
        "moments": [
            {"share": m.share, "label": m.label, "sentences": m.sentences, "rows": m.rows}
            for m in moving.moments
        ],
        "start": moving.start,
    }
    return script_data(data, "page-data")


def _lead(
    results: Sequence[Result], parts: Sequence[Part], record: Record, notes: Sequence[str]
) -> Iterable[Html | None]:
    """Return the answer, and what must be known to read it."""
    first: Any = results[0]
    assumed = next((assumption(r) for r in results if isinstance(r, BoundsResult | RobustTestResult)), None)
    answers = [text for text in (assumed, *(text for part in parts for text in part.answer)) if text]
    yield element("div", *_paragraphs(answers), id="answer", class_="answer")
    yield element("p", OPEN, class_="warning") if record.is_open else None
    yield element("noscript", element("p", NO_SCRIPT, class_="warning"))
    about = [
        *_paragraphs([explaining.compared(first), explaining.measured(record.provenance)]),
        *_notes(notes),
    ]
    yield element("section", element("h2", "What was compared"), *about, aria_label="What was compared")


def _paragraphs(texts: Iterable[str]) -> Iterable[Html]:
    return (element("p", text) for text in texts)


def _notes(notes: Iterable[str]) -> Iterable[Html]:
    return (element("p", note, class_="note") for note in notes)


def _section(part: Part) -> Html:
    """Return what is seen of one result: words, slider, charts, tables."""
    pairs = [figure for figure in part.figures if figure.of_rows]
    rows = part.moments[part.start].rows if part.moments else ()
    # A table without a slider has words in its first column, not shares, and no row of it is the current one.
    current = None if part.slider is None else part.start
    return element(
        "section",
        element("h2", part.heading),
        *_paragraphs(part.text),
        _slider(part, part.slider) if part.slider is not None else None,
        *(_figure(figure) for figure in part.figures if not figure.of_rows),
        element("div", *map(_figure, pairs), class_="pair of-rows") if pairs else None,
        *_notes(part.notes),
        *(_table(each, each.body, None if current is not None else "named", current) for each in part.tables),
        None if part.rows is None else _table(part.rows, rows, "of-rows"),
        aria_label=part.heading,
    )


def _slider(part: Part, name: str) -> Html:
    """Return the slider, whose scale is that of the shares, and the sentences that it changes."""
    moment = part.moments[part.start]
    ends = {"min": part.moments[0].share, "max": part.moments[-1].share, "value": moment.share}
    range_ = {
        "type": "range",
        "id": "share",
        "step": "any",
        **{key: f"{share!r}" for key, share in ends.items()},
    }
    slider = element("input", **range_, autocomplete="off", aria_valuetext=moment.label)
    label = element("label", name, for_="share")
    chosen = element("output", moment.label, id="label", for_="share")
    sentences = element("div", *_paragraphs(moment.sentences), id="sentences", aria_live="polite")
    return element("div", element("p", label, " ", chosen), slider, sentences, class_="slider")


def _figure(figure: Figure) -> Html:
    return element(
        "figure",
        element("h3", figure.title),
        element("div", id=f"chart-{figure.name}", class_="chart"),
        element("figcaption", figure.caption),
    )


def _table(
    what: Table, body: Sequence[Sequence[str]], class_: str | None, current: int | None = None
) -> Html:
    made = table(what.head, body, what.caption, what.name, current)
    return element("div", made, *_notes(what.notes), class_=class_)


def _to_paste(results: Sequence[Result], record: Record) -> Html:
    """Return text for a paper, and what to cite."""
    texts = {
        "Methods": [explaining.methods(results, record.provenance)],
        "Results": [explaining.findings(results)],
        "Please cite": explaining.citations(record.provenance.version),
    }
    return element(
        "section",
        element("h2", "Text for a paper"),
        *(
            together([element("h3", name), element("div", *_paragraphs(paragraphs), class_="paste")])
            for name, paragraphs in texts.items()
        ),
        aria_label="Text for a paper",
    )


def _origin(parts: Sequence[Part], record: Record) -> Html:
    """Return where the results come from, what they assume, and how to make them again."""
    settings = dict([*(each for part in parts for each in part.settings), *record.settings])
    return element(
        "section",
        element("h2", "Data"),
        _facts(record.data),
        None if record.is_open else element("p", CLOSED, class_="note"),
        element("h2", "Settings"),
        _facts(settings.items()),
        element("h2", "Assumptions"),
        *(_assumptions(part, alone=len(parts) == 1) for part in parts if part.assumptions),
        element("h2", "Versions"),
        _facts(record.versions),
        element("h2", AGAIN),
        element("pre", _code(record.recipe), tabindex="0", role="region", aria_label=AGAIN),
        class_="origin",
        aria_label="Where this comes from",
    )


def _code(text: str) -> Html:
    """Return code in which no line ends within a flag, such as ``--n-permutations``."""
    parts = re.split(r"(?<= )(--[\w-]+)", text)
    return element("code", *(element("span", each) if i % 2 else each for i, each in enumerate(parts)))


def _assumptions(part: Part, *, alone: bool) -> Html:
    """Return what a result rests on, named if there are several."""
    assumed = part.assumed if alone else f"{part.heading}: {part.assumed[0].lower()}{part.assumed[1:]}"
    listed = element("ul", *(element("li", each) for each in part.assumptions))
    return together([element("p", assumed), listed, *_paragraphs(part.remarks)])


def _facts(facts: Iterable[tuple[str, str]]) -> Html:
    pairs = (together([element("dt", name), element("dd", value)]) for name, value in facts)
    return element("dl", *pairs)
