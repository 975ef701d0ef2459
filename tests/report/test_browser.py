"""The page in a real browser: it draws, moves and prints, asks nobody, and runs nothing of the data."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import mmdbounds as mb
from mmdbounds.words import testing
from report.browser import Opened
from report.made import CELL, COLUMN, GROUP, HIDDEN, many_rows
from report.pdftext import pdf_text

pytestmark = pytest.mark.full

KINDS = ["swept", "bounded", "tested", "audited", "together"]
CHARTS = {"swept": 4, "open": 4, "bounded": 3, "many": 3, "tested": 1, "audited": 1, "together": 6}
WIDTHS = {"phone": (390, 844), "desktop": (1280, 900)}


@pytest.fixture(scope="module")
def pages(
    tmp_path_factory: pytest.TempPathFactory,
    table: Path,
    swept: mb.results.SweepResult,
    request: pytest.FixtureRequest,
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    paths = {kind: folder / f"{kind}.html" for kind in (*KINDS, "open", "many")}
    for kind in KINDS:
        mb.write_report(request.getfixturevalue(kind), paths[kind])
    swept.report(paths["open"], include_rows=True, data=table)
    many_rows(60_000).report(paths["many"])
    return paths


@pytest.fixture
def opened(browser: Any, pages: dict[str, Path]) -> Iterator[Any]:
    made: list[Opened] = []

    def open_page(kind: str, **context: Any) -> Opened:
        made.append(Opened(browser, pages[kind], **context))
        return made[-1]

    yield open_page
    for each in made:
        each.context.close()


@pytest.mark.parametrize("kind", [*KINDS, "open", "many"])
def test_it_draws_without_an_error_or_a_request(kind: str, opened: Any):
    view = opened(kind)
    charts = view.page.query_selector_all(".chart svg.marks")
    assert len(charts) == len(view.page.query_selector_all("figure")) == CHARTS[kind]
    assert all(chart.query_selector("path, line") for chart in charts)
    assert view.wrong == []
    assert view.requests == [view.address]


def test_names_of_the_file_stay_text(opened: Any):
    view = opened("open")
    words = view.text("body")
    for text in (COLUMN, GROUP, HIDDEN, CELL):
        assert text in words
    assert view.page.query_selector_all("img, b, iframe, object") == []
    assert len(view.page.query_selector_all("script")) == 3
    for place in range(5):
        move(view, place)
    row = view.page.query_selector("#single tbody th")
    assert row is not None
    assert view.page.query_selector_all("#single tbody script") == []
    assert view.wrong == []


def move(view: Any, place: int) -> None:
    """Move the slider by the keyboard."""
    view.page.focus("#share")
    view.page.keyboard.press("Home")
    for _ in range(place):
        view.page.keyboard.press("ArrowRight")
    places = view.page.query_selector_all("#curve tbody tr")
    assert places[place].get_attribute("aria-current") == "true"


def test_the_slider_moves_sentences_bounds_pvalues_and_rows(swept: mb.results.SweepResult, opened: Any):
    view = opened("swept")
    seen = []
    for place, point in enumerate(swept.points):
        move(view, place)
        said = view.text("#sentences")
        assert (f"{point.n_moved} of the 18 rows filed under" in said) == bool(point.n_moved)
        assert testing.pvalues_at(point, swept) in said
        assert view.text("#label") in view.page.get_attribute("#share", "aria-valuetext")
        assert view.text("tr[aria-current] th") == f"{100 * point.epsilon:.3g} %"
        rows = view.page.query_selector_all("#single tbody tr")
        assert len(rows) == (18 if point.n_moved else 0)
        assert view.page.is_visible("#single") == bool(point.n_moved)
        view.page.wait_for_timeout(50)  # until the charts are drawn anew
        drawn = "#chart-bounds .here_marks line"
        seen.append((said, view.page.get_attribute(drawn, "transform")))
    assert len({said for said, _ in seen}) == len({line for _, line in seen}) == 5
    assert view.page.get_attribute("#sentences", "aria-live") == "polite"
    assert view.wrong == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_slider_stands_below_its_share_of_the_chart(width: str, opened: Any):
    across, down = WIDTHS[width]
    view = opened("together", viewport={"width": across, "height": down})
    for place in range(5):
        move(view, place)
        view.page.wait_for_timeout(50)  # until the charts are drawn anew
        line = view.page.query_selector("#chart-bounds .here_marks line").bounding_box()
        slider, thumb = view.page.query_selector("#share").bounding_box(), 20
        ends = [float(view.page.get_attribute("#share", name)) for name in ("min", "max")]
        part = (float(view.page.input_value("#share")) - ends[0]) / (ends[1] - ends[0])
        at = slider["x"] + thumb / 2 + part * (slider["width"] - thumb)
        assert abs(line["x"] + line["width"] / 2 - at) <= 2  # pixels
    assert view.wrong == []


def test_dragging_stops_at_shares_that_were_computed(swept: mb.results.SweepResult, opened: Any):
    view = opened("swept")
    box = view.page.query_selector("#share").bounding_box()
    view.page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    share = float(view.page.input_value("#share"))
    assert min(abs(share - point.epsilon) for point in swept.points) < 1e-6
    assert f"{100 * share:.3g} %" in view.text("#label")


def test_hovering_shows_the_numbers(swept: mb.results.SweepResult, opened: Any):
    view = opened("swept", viewport={"width": 1280, "height": 900})
    line = view.page.query_selector("#chart-bounds .here_marks line")
    line.scroll_into_view_if_needed()
    box = line.bounding_box()
    view.page.mouse.move(box["x"] + 1, box["y"] + box["height"] / 2)
    view.page.wait_for_selector("#vg-tooltip-element.visible")
    shown = view.text("#vg-tooltip-element")
    [start] = [p for p in swept.points if f"{100 * p.epsilon:.3g} %" == view.text("tr[aria-current] th")]
    for heading, cell in testing.CURVE_COLUMNS:
        assert heading in shown
        assert cell(start) in shown
    assert view.wrong == []


@pytest.mark.parametrize("kind", ["together", "tested", "audited"])
def test_every_picture_can_be_saved_and_nothing_is_asked_for(kind: str, opened: Any):
    assert len(opened(kind).page.query_selector_all(".chart summary")) == CHARTS[kind]
    for k in range(CHARTS[kind]):
        view = opened(kind)  # anew: a browser asks before one page saves more than ten files
        chart = view.page.query_selector_all(".chart")[k]
        chart.query_selector("summary").click()
        links = chart.query_selector_all(".vega-actions a")
        assert [link.inner_text() for link in links] == ["Save as SVG", "Save as PNG"]
        for link, start in zip(links, (b"<svg", b"\x89PNG"), strict=True):
            with view.page.expect_download() as download:
                link.click()
            saved = Path(download.value.path()).read_bytes()
            assert saved.startswith(start)
            if start == b"<svg":
                assert ElementTree.fromstring(saved).tag == "{http://www.w3.org/2000/svg}svg"
        chart.query_selector("summary").click()
        assert view.requests == [view.address]
        assert view.wrong == []


def test_the_policy_stops_what_the_page_did_not_bring(opened: Any):
    view = opened("swept")
    view.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const image = document.createElement("img");
            image.src = "https://example.org/leak.png";
            document.body.append(image);
            const mark = document.createElement("p");
            mark.setAttribute("onclick", "window.ran = true");
            document.body.append(mark);
            mark.click();
        }"""
    )
    answer = view.page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'stopped')")
    compiled = view.page.evaluate(
        "() => new Promise(done => { addEventListener('securitypolicyviolation', e => done(e.blockedURI));"
        " setTimeout('window.ran = true', 0); setTimeout(() => done('no'), 500); })"
    )
    assert (answer, compiled) == ("stopped", "eval")
    assert view.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in view.wrong)
    stopped = [url for url, reason in view.failed if reason == "csp"]
    assert view.requests == [view.address, *stopped]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [*KINDS, "open"])
def test_it_fits_and_can_be_read_in_both_schemes(kind: str, width: str, scheme: str, opened: Any):
    across, down = WIDTHS[width]
    view = opened(kind, viewport={"width": across, "height": down}, color_scheme=scheme)
    assert view.page.evaluate("document.documentElement.scrollWidth") <= across
    for selector in ("#answer", ".note", "h2", "dt", ".chart .role-axis-label text", "figcaption"):
        assert contrast(view.page, selector) >= 4.5, selector  # what WCAG asks of text
    ground = view.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert view.wrong == []


def contrast(page: Any, selector: str) -> float:
    """The contrast of a text with what is behind it."""
    colours = page.evaluate(
        """selector => {
            const style = getComputedStyle(document.querySelector(selector));
            const text = selector.endsWith("text") ? style.fill : style.color;
            return [text, getComputedStyle(document.body).backgroundColor];
        }""",
        selector,
    )
    light, dark = sorted((luminance(colour) for colour in colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_prints_with_the_answer_on_white(scheme: str, swept: mb.results.SweepResult, opened: Any):
    view = opened("together", color_scheme=scheme)
    printed = unicodedata.normalize("NFKC", pdf_text(view.page.pdf(format="A4")))
    assert "".join(testing.breakdown(swept).split()) in printed
    assert "".join(view.text("#sentences").split()) in printed
    view.page.emulate_media(media="print")
    assert view.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert contrast(view.page, ".chart .role-axis-label text") >= 4.5
    assert not view.page.is_visible("#share")
    assert view.wrong == []


def test_what_the_keyboard_reaches_can_be_seen(opened: Any):
    view = opened("swept", viewport={"width": 1280, "height": 900})
    reached = []
    for _ in range(12):
        view.page.keyboard.press("Tab")
        name, width = view.page.evaluate(
            "() => { const e = document.activeElement; const s = getComputedStyle(e); "
            "return [e.id || e.tagName, parseFloat(s.outlineWidth)]; }"
        )
        if name == "BODY":
            break
        assert width >= 2
        reached.append(name)
    assert reached[0] == "share"
    assert reached.count("SUMMARY") == 4


def test_charts_and_tables_have_names(opened: Any):
    view = opened("swept")
    for chart in view.page.query_selector_all(".chart-wrapper"):
        assert chart.get_attribute("role") == "img"
        assert "The same numbers are in the table" in chart.get_attribute("aria-label")
    for table in view.page.query_selector_all("table"):
        assert view.page.query_selector(f"#{table.get_attribute('aria-labelledby')}").inner_text()
        assert table.query_selector_all("th[scope=col]")
        assert table.query_selector_all("th[scope=row]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["together", "tested", "audited"])
def test_axe_finds_nothing_serious(kind: str, scheme: str, opened: Any):
    from axe_playwright_python.sync_playwright import Axe

    view = opened(kind, color_scheme=scheme)
    # The page's policy lets no script in, so the check comes through the debugger.
    found = Axe().run(view.page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def test_without_javascript_the_answer_is_there(
    swept: mb.results.SweepResult, browser: Any, pages: dict[str, Path]
):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["swept"].as_uri())
    words = page.inner_text("main")
    assert testing.breakdown(swept) in words
    assert "The charts and the slider need JavaScript" in words
    context.close()
