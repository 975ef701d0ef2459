"""One self-contained page: no request leaves it, and nothing that stands in the data can run in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmdbounds.atomic_write import check_writable, write_whole
from mmdbounds.errors import MmdBoundsError
from mmdbounds.report.contents import Contents, Figure, Moment, Table
from mmdbounds.report.markup import Html, element, inline, policy, script_data, table, together
from mmdbounds.report.of_sweep import sweep_contents
from mmdbounds.report.record import Facts, Record, record_of
from mmdbounds.report.rows import RowNames, row_names
from mmdbounds.report.single_share import bounds_contents, contents_of_test
from mmdbounds.results import BoundsResult, RobustTestResult, SweepResult
from mmdbounds.words.phrases import statistic

KINDS = (BoundsResult, RobustTestResult, SweepResult)

CLOSED = "Rows are identified by number; this page contains neither their names nor their values."
OPEN = "This page contains names or values of single rows, as requested. Protect it like the data."
NO_SCRIPT = "The charts and the slider need JavaScript; everything else on this page does not."
AGAIN = "Reproduce this result"


def write_report(
    result: Any, path: str | os.PathLike[str], *, include_rows: bool = False, data: Any = None
) -> None:
    """Write a result as one HTML page that can be read, moved and printed anywhere, offline.

    Parameters
    ----------
    result : SweepResult, BoundsResult or RobustTestResult
        A sweep becomes a page with a slider over its shares.
    path
        Where the page is written; whole or not at all.
    include_rows
        Whether the page may contain the names of single rows and, with `data`, their cells. By default rows
        are identified by number, and only the name and the sha256 of the file are shown.
    data
        The file that the result was computed from, for the cells of the rows that the page shows.

    Raises
    ------
    MmdBoundsError
        If the page cannot be written, or `data` is another file.

    Notes
    -----
    The page makes no request, and its Content-Security-Policy allows none. It is about 1 MB, nearly all of it
    Vega, which draws the charts, with its licences.
    """
    target = check_report(path)
    if not isinstance(result, KINDS):
        known = ", ".join(kind.__name__ for kind in KINDS)
        msg = f"a report needs one of {known}; got {type(result).__name__}."
        raise MmdBoundsError(msg)
    names = row_names(result, include_rows=include_rows, data=data)
    write_whole(target, report_html(result, names).encode("utf-8"))


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


def report_html(result: BoundsResult | RobustTestResult | SweepResult, names: RowNames) -> str:
    """Return the page."""
    if isinstance(result, SweepResult):
        contents = sweep_contents(result, names)
    elif isinstance(result, RobustTestResult):
        contents = contents_of_test(result)
    else:
        contents = bounds_contents(result, names)
    record = record_of(result, is_open=names.is_open)
    programs = {"vega": javascript(), "page": resource("page.js")}
    style = resource("page.css")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        policy(programs.values(), [style]),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", contents.title),
        inline("style", style),
    )
    # As modules the programs keep their names to themselves and run once the page is there.
    scripts = [inline("script", code, type="module") for code in programs.values()]
    name = statistic(result)
    main, data = (
        Html(text.replace("squared MMD", name).replace("Squared MMD", f"{name[0].upper()}{name[1:]}"))
        for text in (_main(contents, record), _page_data(contents))
    )
    body = element("body", main, data, *scripts)
    return together([Html("<!doctype html>\n"), element("html", head, body, lang="en"), "\n"])


def _page_data(contents: Contents) -> str:
    """Return what the page's program needs, as data."""
    data = {
        "figures": [{"name": f.name, "spec": f.spec, "of_rows": f.of_rows} for f in contents.figures],
        "moments": [{"label": m.label, "sentences": m.sentences, "rows": m.rows} for m in contents.moments],
        "start": contents.start,
    }
    return script_data(data, "page-data")


def _main(contents: Contents, record: Record) -> Html:
    """Return all that is seen."""
    charts = element(
        "section",
        element("h2", "Charts"),
        _slider(contents, contents.slider) if contents.slider is not None else None,
        *map(_figure, contents.figures),
        *_notes(contents.notes),
        aria_label="Charts",
    )
    return element(
        "main",
        element("h1", contents.title),
        element("p", contents.answer, id="answer", class_="answer"),
        element("p", OPEN, class_="warning") if record.is_open else None,
        element("noscript", element("p", NO_SCRIPT, class_="warning")),
        charts,
        _tables(contents),
        _origin(contents, record),
    )


def _notes(notes: Iterable[str]) -> Iterable[Html]:
    return (element("p", note, class_="note") for note in notes)


def _slider(contents: Contents, name: str) -> Html:
    """Return the slider, and the sentences that it changes."""
    moment: Moment = contents.moments[contents.start]
    last, start = str(len(contents.moments) - 1), str(contents.start)
    range_ = {"type": "range", "id": "share", "min": "0", "max": last, "step": "1", "value": start}
    slider = element("input", **range_, autocomplete="off", aria_valuetext=moment.label)
    label = element("label", name, for_="share")
    chosen = element("output", moment.label, id="label", for_="share")
    paragraphs = (element("p", sentence) for sentence in moment.sentences)
    sentences = element("div", *paragraphs, id="sentences", aria_live="polite")
    return element("div", element("p", label, " ", chosen), slider, sentences, class_="slider")


def _figure(figure: Figure) -> Html:
    return element(
        "figure",
        element("h3", figure.title),
        element("div", id=f"chart-{figure.name}", class_="chart"),
        element("figcaption", figure.caption),
        class_="of-rows" if figure.of_rows else None,
    )


def _tables(contents: Contents) -> Html:
    """Return the main table, then that of single rows."""
    main, single, rows = contents.table, contents.rows, contents.moments[contents.start].rows
    # Without a slider its first column holds words, not shares, and no row is the current one.
    class_, current = ("named", None) if contents.slider is None else (None, contents.start)
    return element(
        "section",
        element("h2", "Tables"),
        _table(main, main.body, "curve", class_, current),
        None if single is None else _table(single, rows, "single", "of-rows"),
        aria_label="Tables",
    )


def _table(
    what: Table, body: Sequence[Sequence[str]], name: str, class_: str | None, current: int | None = None
) -> Html:
    return element(
        "div", table(what.head, body, what.caption, name, current), *_notes(what.notes), class_=class_
    )


def _origin(contents: Contents, record: Record) -> Html:
    """Return where the result comes from, what it assumes, and how to make it again."""
    return element(
        "section",
        element("h2", "Data"),
        _facts(record.data),
        None if record.is_open else element("p", CLOSED, class_="note"),
        element("h2", "Settings"),
        _facts([*contents.settings, *record.settings]),
        element("h2", "Assumptions"),
        element("p", contents.assumed),
        element("ul", *(element("li", assumption) for assumption in contents.assumptions)),
        *(element("p", remark) for remark in contents.remarks),
        element("h2", "Versions"),
        _facts(record.versions),
        element("h2", AGAIN),
        element("pre", element("code", record.recipe), tabindex="0", role="region", aria_label=AGAIN),
        class_="origin",
        aria_label="Where this comes from",
    )


def _facts(facts: Facts) -> Html:
    pairs = (together([element("dt", name), element("dd", value)]) for name, value in facts)
    return element("dl", *pairs)
