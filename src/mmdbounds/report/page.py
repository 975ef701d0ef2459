"""One self-contained page: no request leaves it, and nothing that stands in the data can run in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mmdbounds.atomic_write import check_writable, write_whole
from mmdbounds.errors import MmdBoundsError
from mmdbounds.report.cells import row_names
from mmdbounds.report.contents import Contents
from mmdbounds.report.layout import Record, body
from mmdbounds.report.markup import Html, element, inline, policy, script_data, together
from mmdbounds.report.of_bounds import bounds_contents
from mmdbounds.report.of_sweep import sweep_contents
from mmdbounds.report.of_test import test_contents
from mmdbounds.report.recipe import recipe
from mmdbounds.report.record import data_facts, setting_facts, version_facts
from mmdbounds.report.rows import RowNames
from mmdbounds.report.runtime import javascript, resource
from mmdbounds.results import BoundsResult
from mmdbounds.results.curve import SweepResult
from mmdbounds.results.testing import RobustTestResult

KINDS = (BoundsResult, RobustTestResult, SweepResult)


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
        Whether the page may hold the names of single rows and, with `data`, their cells. By default rows
        go by their numbers, and of a file there is only its name and its sha256.
    data
        The file that the result was computed from, for the cells of the rows that the page shows.

    Raises
    ------
    MmdBoundsError
        If the page cannot be written, or `data` is another file.

    Notes
    -----
    The page makes no request, and its Content-Security-Policy allows none. It is about 1 MB, nearly all of it
    Vega, which draws the pictures, with its licences.
    """
    target = check_report(path)
    if not isinstance(result, KINDS):
        known = ", ".join(kind.__name__ for kind in KINDS)
        msg = f"a report is written of one of {known}; got {type(result).__name__}."
        raise MmdBoundsError(msg)
    names = row_names(result, include_rows=include_rows, data=data)
    write_whole(target, report_html(result, names).encode("utf-8"))


def check_report(path: str | os.PathLike[str]) -> Path:
    """Say now, not after the work, that a page cannot be written."""
    target = Path(path)
    check_writable(target)
    return target


def report_html(result: BoundsResult | RobustTestResult | SweepResult, names: RowNames) -> str:
    """Return the page."""
    contents = _contents(result, names)
    made = result.provenance
    record = Record(
        data=data_facts(result),
        settings=setting_facts(made),
        versions=version_facts(made),
        recipe=recipe(result),
        is_open=names.is_open,
    )
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
    page = element(
        "html", head, element("body", body(contents, record), _told(contents), *scripts), lang="en"
    )
    return together([Html("<!doctype html>\n"), page, "\n"])


def _contents(result: BoundsResult | RobustTestResult | SweepResult, names: RowNames) -> Contents:
    if isinstance(result, SweepResult):
        return sweep_contents(result, names)
    return test_contents(result) if isinstance(result, RobustTestResult) else bounds_contents(result, names)


def _told(contents: Contents) -> str:
    """Return what the page's program needs, as data."""
    told = {
        "figures": [{"name": f.name, "spec": f.spec, "of_rows": f.of_rows} for f in contents.figures],
        "moments": [{"label": m.label, "said": m.said, "rows": m.rows} for m in contents.moments],
        "start": contents.start,
    }
    return script_data(told, "told")
