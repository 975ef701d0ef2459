"""The page from top to bottom: answer, pictures, tables, and where all of it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mmdbounds.report.contents import Contents, Figure, Moment, Table
from mmdbounds.report.markup import Html, element, table, together
from mmdbounds.report.record import Facts

CLOSED = "Rows go by their numbers: this page holds neither their names nor their values."
OPEN = (
    "This page holds names or values of single rows, because that was asked for. Keep it where the data may "
    "be kept."
)
NO_SCRIPT = "The pictures and the slider need JavaScript; the answer, the tables and the record do not."


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Where a result comes from.

    Attributes
    ----------
    data, settings, versions
        Names and values.
    recipe
        How to make the result again.
    is_open
        Whether the page holds names or values of rows.
    """

    data: Facts
    settings: Facts
    versions: Facts
    recipe: str
    is_open: bool


def body(contents: Contents, record: Record) -> Html:
    """Return all that is seen."""
    return element(
        "main",
        element("h1", contents.title),
        element("p", contents.answer, id="answer", class_="answer"),
        element("p", OPEN, class_="warning") if record.is_open else None,
        element("noscript", element("p", NO_SCRIPT, class_="warning")),
        _pictures(contents),
        _tables(contents),
        _origin(contents, record),
    )


def _pictures(contents: Contents) -> Html:
    moment = contents.moments[contents.start]
    return element(
        "section",
        element("h2", "Picture"),
        _slider(contents, moment) if contents.slider is not None else None,
        *map(_figure, contents.figures),
        *(element("p", note, class_="note") for note in contents.notes),
        aria_label="Picture",
    )


def _slider(contents: Contents, moment: Moment) -> Html:
    """Return the slider, and the sentences that it changes."""
    slider = element(
        "input",
        type="range",
        id="share",
        min="0",
        max=str(len(contents.moments) - 1),
        step="1",
        value=str(contents.start),
        autocomplete="off",
        aria_valuetext=moment.label,
    )
    label = element("label", contents.slider or "", for_="share")
    shown = element("output", moment.label, id="label", for_="share")
    said = element("div", *(element("p", each) for each in moment.said), id="said", aria_live="polite")
    return element("div", element("p", label, " ", shown), slider, said, class_="slider")


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
    moment = contents.moments[contents.start]
    single = contents.rows
    named = "named" if contents.slider is None else None  # its first column holds words, not shares
    return element(
        "section",
        element("h2", "Table"),
        _table(contents.table, contents.table.body, "curve", named, _current(contents)),
        None if single is None else _table(single, moment.rows, "single", "of-rows"),
        aria_label="Table",
    )


def _current(contents: Contents) -> int | None:
    return None if contents.slider is None else contents.start


def _table(
    what: Table,
    cells: Iterable[Sequence[str]],
    name: str,
    class_: str | None,
    current: int | None = None,
) -> Html:
    notes = (element("p", note, class_="note") for note in what.notes)
    return element("div", table(what.head, cells, what.caption, name, current), *notes, class_=class_)


def _origin(contents: Contents, record: Record) -> Html:
    """Return where the result comes from, what it assumes, and how to make it again."""
    assumed = (element("li", each) for each in contents.assumptions)
    return element(
        "section",
        element("h2", "Data"),
        _facts(record.data),
        element("p", CLOSED, class_="note") if not record.is_open else None,
        element("h2", "Settings"),
        _facts([*contents.settings, *record.settings]),
        element("h2", "Assumptions"),
        element("p", contents.assumed),
        element("ul", *assumed),
        *(element("p", remark) for remark in contents.remarks),
        element("h2", "Versions"),
        _facts(record.versions),
        element("h2", "Make it again"),
        element(
            "pre", element("code", record.recipe), tabindex="0", role="region", aria_label="Make it again"
        ),
        class_="origin",
        aria_label="Where this comes from",
    )


def _facts(facts: Facts) -> Html:
    pairs = (together([element("dt", name), element("dd", value)]) for name, value in facts)
    return element("dl", *pairs)
