"""What stands on the page, what must not, and what can never become markup or a request."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.report.of_sweep import EXACTLY
from mmdbounds.words import testing
from report.made import CELL, COLUMN, GROUP, HIDDEN, NAMES, Parsed, many_rows, page_data

pytestmark = pytest.mark.usefixtures("without_vega")

KINDS = ["swept", "bounded", "tested"]


@pytest.fixture
def page_of(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    def write(kind: Any, **options: Any) -> str:
        result = request.getfixturevalue(kind) if isinstance(kind, str) else kind
        result.report(tmp_path / "page.html", **options)
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_first_the_answer_then_picture_table_and_where_it_comes_from(kind: str, page_of: Any):
    headings = Parsed(page_of(kind)).under("h2")
    assert headings == [
        "Charts",
        "Tables",
        "Data",
        "Settings",
        "Assumptions",
        "Versions",
        "Reproduce this result",
    ]
    page = page_of(kind)
    assert page.index('id="answer"') < page.index("<h2>Charts")


def test_the_answer_of_a_sweep_is_its_statement_and_converse(swept: mb.results.SweepResult, page_of: Any):
    page = Parsed(page_of("swept"))
    assert testing.breakdown(swept) in page.words
    assert testing.breakdown(swept).count(". ") == 1
    assert (
        " ".join(swept.summary().split()).count(testing.breakdown(swept)) == 1
    )  # the same words as anywhere


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_a_file_stay_text(kind: str, page_of: Any):
    page = page_of(kind, **({} if kind == "tested" else {"include_rows": True}))
    parsed = Parsed(page)
    known = {"html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p"}
    known |= {"noscript", "div", "figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td", "dl"}
    known |= {"dt", "dd", "ul", "li", "pre", "code", "script", "label", "input", "output"}
    assert {tag for tag, _ in parsed.tags} <= known
    assert len(parsed.named("script")) == page.count("</script>") == 3
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert GROUP in parsed.words
    assert HIDDEN in parsed.words
    assert COLUMN in parsed.words
    assert (CELL in parsed.words) == (kind != "tested")


@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_allows_this_code_and_nothing_else(kind: str, page_of: Any):
    page = page_of(kind)
    code = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert (len(code), len(style)) == (2, 1)

    def sums(texts: list[str]) -> str:
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    policies = [m["content"] for m in Parsed(page).named("meta") if m.get("http-equiv")]
    sources = f"default-src 'none'; script-src {sums(code)}; style-src {sums(style)}"
    assert policies == [f"{sources}; base-uri 'none'; form-action 'none'"]
    assert page.index("Content-Security-Policy") < page.index("<style>")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_on_the_page_has_an_address(kind: str, page_of: Any):
    page = page_of(kind)
    assert "://" not in page
    assert not {"src", "href", "action", "style"} & {name for _, found in Parsed(page).tags for name in found}


def test_rows_go_by_their_numbers_unless_asked(groups: Any, table: Path, page_of: Any):
    cells = [line.split(",")[2] for line in table.read_text().splitlines()[1:]]
    names = [*groups[0].ids.tolist(), *groups[1].ids.tolist()]
    for kind in ("swept", "bounded"):
        page = page_of(kind)
        assert "row 2" in page
        assert not [name for name in [*names, *cells] if name in page]
        assert "this page contains neither their names nor their values" in page
        assert "secret-folder" not in page
    opened = page_of("swept", include_rows=True)
    assert "patient-004" in opened
    assert not [cell for cell in cells if cell in opened]
    assert "This page contains names or values of single rows" in Parsed(opened).words
    whole = page_of("bounded", include_rows=True, data=table)
    assert [cell for cell in cells if cell in whole]
    assert "secret-folder" not in whole


def test_cells_stand_beside_the_right_row(bounded: mb.results.BoundsResult, table: Path, page_of: Any):
    lines = [line.rsplit(",", 3) for line in table.read_text().splitlines()[1:]]
    [moment] = page_data(page_of("bounded", include_rows=True, data=table))["moments"]
    assert len(moment["rows"]) == bounded.n_samples_Y
    for name, *_, value, age, sex in moment["rows"]:
        number = int(re.search(r"\(row (\d+)\)$", name)[1])
        assert [value, age, sex] == lines[number - 1][1:]
        assert lines[number - 1][0].startswith(f'"{name.removesuffix(f" (row {number})")}"')


def test_each_share_has_its_sentences_and_rows(swept: mb.results.SweepResult, page_of: Any):
    moments = page_data(page_of("swept"))["moments"]
    assert len(moments) == len(swept.points) == 5
    for moment, point in zip(moments, swept.points, strict=True):
        assumed, found, pvalues = moment["sentences"]
        assert f"{point.n_moved} of the 18 rows filed" in assumed
        assert (
            moment["label"]
            == f"{100 * point.epsilon:.3g} % ({point.n_moved} row{'s' * (point.n_moved != 1)})"
        )
        assert f"{point.pvalue:.4g}" in pvalues
        assert ("no difference is shown" in pvalues) == (point.pvalue > swept.level)
        assert f"{swept.observed:.4g}" in found
        assert ("(proved)" in found) == bool(point.n_moved)
        assert len(moment["rows"]) == (18 if point.n_moved else 0)
    assert moments[0]["sentences"][1].startswith("Nothing is misfiled")


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("swept", "mmdbounds.words.testing.CURVE_COLUMNS"),
        ("swept", "mmdbounds.report.rows.ROW_COLUMNS"),
        ("bounded", "mmdbounds.report.rows.ROW_COLUMNS"),
        ("bounded", "mmdbounds.report.single_share.BOUNDS_COLUMNS"),
        ("tested", "mmdbounds.report.single_share.TEST_COLUMNS"),
    ],
)
def test_a_column_is_added_in_one_place(
    kind: str, columns: str, page_of: Any, monkeypatch: pytest.MonkeyPatch
):
    before = page_of(kind)
    module, name = columns.rsplit(".", 1)
    monkeypatch.setattr(
        columns, (*getattr(sys.modules[module], name), ("added & new", lambda item: "<i>cell</i>"))
    )
    after = page_of(kind)
    assert "added" not in before
    assert Parsed(after).under("th").count("added & new") == 1
    assert "<i>" not in after.replace("\\u003ci", "")
    shown = Parsed(after).under("td").count("<i>cell</i>")
    n_rows = {"ROW_COLUMNS": 18, "CURVE_COLUMNS": 5}.get(name, 3)
    assert shown == n_rows
    if "ROW" in name:  # at every share of the slider
        moments = page_data(after)["moments"]
        assert all(row[-1] == "<i>cell</i>" for moment in moments for row in moment["rows"])


def test_columns_with_nothing_to_say_are_left_out(groups: Any, page_of: Any):
    results = [mb.mmd_bounds(*groups, 0.2, exactly=True, method=method, rng=0) for method in ("sharp", "qno")]
    heads = [Parsed(page_of(result)).under("th") for result in results]
    assert ["proved limit" in head for head in heads] == [True, False]
    assert ["rows moved" in head for head in heads] == [True, False]


def test_values_of_a_test_are_printed_alike_in_chart_and_table(
    tested: mb.results.RobustTestResult, page_of: Any
):
    page = page_of("tested")
    [figure] = page_data(page)["figures"]
    marks = {mark["f1"]: mark["f2"] for mark in figure["spec"]["datasets"]["marks"]}
    cells = Parsed(page).under("td")
    assert {marks["lower bound"], marks["as filed"]} <= set(cells)


def test_the_slider_starts_where_the_finding_still_holds(swept: mb.results.SweepResult, page_of: Any):
    page = page_of("swept")
    start = page_data(page)["start"]
    assert swept.points[start].n_moved <= swept.holds_n_moved < swept.points[start + 1].n_moved
    [slider] = Parsed(page).named("input")
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "4", str(start))
    assert slider["aria-valuetext"] == page_data(page)["moments"][start]["label"]
    assert [label["for"] for label in Parsed(page).named("label")] == [slider["id"]]
    assert not Parsed(page_of("bounded")).named("input")


def test_of_60_000_rows_the_page_shows_some_and_says_so(page_of: Any):
    result = many_rows(60_000)
    page = page_of(result)
    assert "Shown: the 30 of 60,000 rows that are worth checking first." in page
    [moment] = page_data(page)["moments"]
    largest = np.argsort(-result.lower.effects)[:30]
    assert [row[0] for row in moment["rows"]] == [f"row {place + 1}" for place in largest]
    assert len(page) < 60_000


def test_rows_of_the_same_name_are_page_data_apart(groups: Any, page_of: Any):
    X, Y = (mb.Group(each.values, ids=["same"] * len(each)) for each in groups)
    result = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=2), rng=0)
    [moment] = page_data(page_of(result, include_rows=True))["moments"]
    names = [row[0] for row in moment["rows"]]
    assert sorted(names) == sorted(f"same, Y[{place}]" for place in range(18))


@pytest.mark.parametrize("method", ["qno", "bootstrap", mb.StepwiseDominance(schedule="paper")])
def test_values_that_no_rows_reach_have_a_page_too(method: Any, groups: Any, page_of: Any):
    result = mb.mmd_bounds(*groups, 0.2, exactly=True, method=method, rng=0)
    page = page_of(result)
    assert ('id="single"' in page) == (result.lower.kind == "resized labelling")
    assert 'id="chart-rows"' not in page  # nothing is known of what its rows do
    assert "nothing proved" not in page
    assert page_of(mb.mmd_bounds(*groups, 0.0, rng=0)).count("<table") == 1


def test_the_page_says_where_curve_and_answer_differ(groups: Any, page_of: Any):
    for exactly in (False, True):
        result = mb.sweep(*groups, epsilons=[0.1, 0.2], exactly=exactly, n_permutations=19, rng=0)
        page = page_of(result)
        assert (EXACTLY in page) == exactly
        how = "exactly" if exactly else "at most"
        sentences = page_data(page)["moments"][1]["sentences"]
        assert sentences[0].startswith(f"Assumed: {how} ")


def test_two_way_rows_are_named_by_their_group(groups: Any, page_of: Any):
    X, Y = (each.values for each in groups)
    result = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=2, n_moved_of_x=2), rng=0)
    names = [row[0] for row in page_data(page_of(result))["moments"][0]["rows"]]
    assert {name[:2] for name in names} == {"X[", "Y["}


def test_nothing_is_written_that_cannot_be(swept: mb.results.SweepResult, tmp_path: Path, table: Path):
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*: there is no folder"):
        swept.report(tmp_path / "none" / "a.html")
    with pytest.raises(MmdBoundsError, match=r"^a report needs one of BoundsResult, .*; got int\.$"):
        mb.write_report(3, tmp_path / "a.html")
    with pytest.raises(MmdBoundsError, match=r"^`data` needs `include_rows=True`"):
        swept.report(tmp_path / "a.html", data=table)
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("50", "51"))
    with pytest.raises(
        DataError, match=r"^`data` must be the file the result .*; got a different file, other\.csv\.$"
    ):
        swept.report(tmp_path / "a.html", include_rows=True, data=other)
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_the_page_of_a_test_shows_no_rows(tested: mb.results.RobustTestResult, tmp_path: Path):
    with pytest.raises(MmdBoundsError, match=r"^`include_rows` must be False for a test"):
        tested.report(tmp_path / "a.html", include_rows=True)


def test_what_is_not_proved_is_not_called_proved(swept: mb.results.SweepResult, page_of: Any):
    points = [
        dataclasses.replace(p, lower_certified=None, upper_certified=None, best_case=None)
        for p in swept.points
    ]
    result = dataclasses.replace(swept, points=tuple(points), is_valid=False)
    page = page_of(result)
    assert "(proved)" not in page
    assert "Besides what is missing, it would be valid only if" in page
    assert "* reached by a labelling, not proved" in page


def test_a_saved_result_gives_the_same_page(swept: mb.results.SweepResult, page_of: Any):
    again = mb.results.SweepResult.from_dict(swept.to_dict())
    assert page_of(again) == page_of("swept")


def test_arrays_have_a_page(page_of: Any):
    rng = np.random.default_rng(0)
    result = mb.mmd_bounds(rng.normal(size=(9, 2)), rng.normal(size=(12, 2)), 0.2, rng=0)
    words = Parsed(page_of(result)).words
    assert "arrays, used as given" in words
    assert "Y[0]" in words


def test_facts_of_the_file(swept: mb.results.SweepResult, table: Path, page_of: Any):
    words = Parsed(page_of("swept")).words
    assert hashlib.sha256(table.read_bytes()).hexdigest() in words
    assert "patients.csv" in words
    assert f"3: {COLUMN}, age, sex" in words
    assert NAMES["group"] in words
