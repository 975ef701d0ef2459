"""What stands on the page, what must not, and what can never become markup or a request."""

from __future__ import annotations

import base64
import dataclasses
import datetime
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

KINDS = ["swept", "bounded", "tested", "audited", "together"]


SECTIONS = {
    "swept": ["How much misfiling could explain the difference"],
    "bounded": ["Bounds on the difference"],
    "tested": ["How large the difference is", "Test for a difference"],
    "audited": ["Audit of the records"],
    "together": [
        "How large the difference is",
        "Bounds on the difference",
        "How much misfiling could explain the difference",
        "Column by column",
    ],
}


@pytest.fixture
def page_of(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    def write(kind: Any, **options: Any) -> str:
        result = request.getfixturevalue(kind) if isinstance(kind, str) else kind
        mb.write_report(result, tmp_path / "page.html", **options)
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_first_the_answer_then_picture_table_and_where_it_comes_from(kind: str, page_of: Any):
    page = page_of(kind)
    headings = Parsed(page).under("h2")
    origin = ["Text for a paper", "Data", "Settings", "Assumptions", "Versions", "Reproduce this result"]
    assert headings[0] == "What was compared"
    assert headings[1:-6] == SECTIONS[kind]
    assert headings[-6:] == origin
    assert page.index('id="answer"') < page.index("<h2>")


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
    known |= {"dt", "dd", "ul", "li", "pre", "code", "span", "script", "label", "input", "output"}
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
        assert (f"{point.n_moved} of the 18 rows filed" in assumed) == bool(point.n_moved)
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
    n_rows = {"ROW_COLUMNS": 18, "CURVE_COLUMNS": 5, "TEST_COLUMNS": 2}.get(name, 3)
    assert shown == n_rows
    if "ROW" in name:  # at every share of the slider
        moments = page_data(after)["moments"]
        assert all(row[-1] == "<i>cell</i>" for moment in moments for row in moment["rows"])


def test_columns_with_nothing_to_say_are_left_out(groups: Any, page_of: Any):
    results = [mb.mmd_bounds(*groups, 0.2, method=method, rng=0) for method in ("sharp", "s-sd")]
    heads = [Parsed(page_of(result)).under("th") for result in results]
    assert ["proved limit" in head for head in heads] == [True, False]


def test_values_of_a_test_are_printed_alike_in_chart_and_table(
    tested: mb.results.RobustTestResult, page_of: Any
):
    page = page_of("tested")
    [figure] = page_data(page)["figures"]
    marks = {mark["f1"]: mark["f2"] for mark in figure["spec"]["datasets"]["marks"]}
    cells = Parsed(page).under("td")
    assert {marks["lower bound"], marks["as filed"]} <= set(cells)


def test_the_slider_is_on_the_scale_of_the_chart(swept: mb.results.SweepResult, page_of: Any):
    page = page_of("swept")
    start = page_data(page)["start"]
    shares = [point.epsilon for point in swept.points]
    assert [moment["share"] for moment in page_data(page)["moments"]] == shares
    [slider] = Parsed(page).named("input")
    ends = [float(slider[name]) for name in ("min", "max", "value")]
    assert ends == [shares[0], shares[-1], shares[start]]
    for figure in page_data(page)["figures"][:2]:
        first = figure["spec"]["layer"][0]["encoding"]["x"]["scale"]
        assert (first["domain"], first["nice"]) == (ends[:2], False)
    assert slider["aria-valuetext"] == page_data(page)["moments"][start]["label"]
    assert [label["for"] for label in Parsed(page).named("label")] == [slider["id"]]
    assert not Parsed(page_of("bounded")).named("input")


@pytest.mark.parametrize(("breakdown", "expected"), [(None, 2), (8, 2), (2, 2), (1, 1)])
def test_the_slider_starts_at_ten_percent_or_the_breakdown(
    breakdown: int | None, expected: int, swept: mb.results.SweepResult, page_of: Any
):
    shares = {0: 0.0, 1: 1 / 15, 2: 0.11, 6: 0.3}  # of 14 rows
    points = [dataclasses.replace(swept.points[0], epsilon=e, n_moved=m) for m, e in shares.items()]
    result = dataclasses.replace(swept, points=tuple(points), breakdown_n_moved=breakdown)
    assert page_data(page_of(result))["start"] == expected


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


def test_values_that_are_no_bounds_have_a_page_too(groups: Any, page_of: Any):
    printed = mb.StepwiseDominance(schedule="paper")
    page = page_of(mb.mmd_bounds(*groups, 0.2, exactly=True, method=printed, rng=0))
    assert 'id="single"' in page
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
    with pytest.raises(MmdBoundsError, match=r"^a report needs results of type BoundsResult, .*; got int\.$"):
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


def test_results_that_do_not_belong_together_make_no_page(
    swept: mb.results.SweepResult, columns: mb.results.ColumnTable, groups: Any, tmp_path: Path
):
    path = tmp_path / "a.html"
    with pytest.raises(MmdBoundsError, match=r"^a report needs at least one of .*; got ColumnTable\.$"):
        mb.write_report(columns, path)
    with pytest.raises(MmdBoundsError, match=r"^a report shows one result of each type; got SweepResult, Sw"):
        mb.write_report([swept, swept], path)
    X, Y = groups
    other = mb.column_table(X, Y[1:], 0.1)
    with pytest.raises(
        MmdBoundsError, match=r"^the results of a report must be about the same rows; got 32 "
    ):
        mb.write_report([swept, other], path)
    assert not path.exists()


def test_one_number_for_one_thing(together: Any, page_of: Any):
    """The curve is nowhere wider than the bounds on the same page allow."""
    _, swept, bounded = together
    low, high = bounded.lower.certified - 0.01, bounded.upper.certified + 0.01
    points = [dataclasses.replace(p, lower_certified=low, upper_certified=high) for p in swept.points]
    loose = dataclasses.replace(swept, points=tuple(points))
    [curve] = [f for f in page_data(page_of([bounded, loose]))["figures"] if f["name"] == "bounds"]
    for drawn, point in zip(curve["spec"]["datasets"]["points"], loose.points, strict=True):
        within = point.n_moved <= bounded.n_moved
        expected = bounded.interval if within else (low, high)
        assert (drawn["f2"], drawn["f3"]) == expected
    other = dataclasses.replace(bounded, provenance=dataclasses.replace(bounded.provenance, bandwidth=9.0))
    [curve] = [f for f in page_data(page_of([other, loose]))["figures"] if f["name"] == "bounds"]
    assert {(d["f2"], d["f3"]) for d in curve["spec"]["datasets"]["points"]} == {(low, high)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_explains_itself(kind: str, page_of: Any):
    words = " ".join(Parsed(page_of(kind)).words.split())
    for text in (
        f"{HIDDEN} (X) and {GROUP} (Y)",
        "maximum mean discrepancy",
        f"X is {HIDDEN} (14 rows), Y is {GROUP} (18 rows)",
        "We compared 14 rows of",
        "arXiv:2308.03570",
        mb.__version__,
        datetime.date.today().isoformat(),
    ):
        assert text in words
    assert ("standardised difference" in words) == (kind == "together")
    if kind in ("bounded", "together"):  # the share as it was typed, with what whole rows make of it
        assert "at most 20 % of the true" in words
        assert "that is at most 3 of the 18 rows" in words
        assert "or 17.6 %" in words


def test_columns_are_a_table_in_units_of_the_data(columns: mb.results.ColumnTable, page_of: Any):
    cells = Parsed(page_of("together")).under("td")
    age = next(row for row in columns.rows if row.name == "age")
    assert 50 <= age.mean_x <= 57
    assert f"{age.mean_x:.4g}" in cells
    assert f"{age.difference:.3g}\n({age.difference_lower:.3g} to {age.difference_upper:.3g})" in cells


def test_categories_of_a_few_rows_are_not_named(swept: mb.results.SweepResult, page_of: Any):
    rng = np.random.default_rng(0)
    cells = ["known disease"] * 4 + ["none"] * 20 + ["some"] * 8
    data = {"where": [HIDDEN] * 14 + [GROUP] * 18, "illness": rng.permutation(cells).tolist()}
    X, Y = mb.groups(data, "where", hidden=HIDDEN, among=GROUP)
    table = mb.column_table(X, Y, 0.2)
    page = page_of([swept, table])
    assert "illness=some" in page
    assert "known disease" not in page
    assert "illness=(rare, 1)" in Parsed(page).under("th")
    assert "known disease" in page_of([swept, table], include_rows=True)


def test_the_page_of_an_audit_names_rows_only_if_asked(audited: mb.results.AuditResult, page_of: Any):
    assert audited.decision == "check more"
    words = Parsed(page_of("audited")).words
    assert "Check more" in words
    assert audited.order_digest in words
    first = audited.ids_next[0]
    assert f"row {audited.file_rows_next[0]} " in f"{words} "
    assert first not in words
    assert first in Parsed(page_of("audited", include_rows=True)).words


def test_the_page_of_a_test_shows_no_rows(tested: mb.results.RobustTestResult, tmp_path: Path):
    with pytest.raises(MmdBoundsError, match=r"^`include_rows` must be False for a test"):
        tested.report(tmp_path / "a.html", include_rows=True)


def test_what_is_not_proved_is_not_called_proved(swept: mb.results.SweepResult, page_of: Any):
    points = [dataclasses.replace(p, lower_certified=None, upper_certified=None) for p in swept.points]
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
