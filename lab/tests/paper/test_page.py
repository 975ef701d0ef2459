"""The page: every number of the paper, a verdict where there can be one, and what was tried elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from lab.paper import printed, results
from lab.paper.comparison import comparison, mismatches, score
from lab.paper.experiments import EXPERIMENTS, Setting
from lab.paper.page import best_at, page, points, write_page
from lab.paper.printed import Printed, note, verdict
from made_reproductions import document, line
from mmdbounds.errors import MmdBoundsError

ROOT = Path(__file__).resolve().parents[3]


def cells_of(text):
    """The cells of all rows of all Markdown tables."""
    return [
        [cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row[:1] == "|"
    ]


@pytest.mark.parametrize(
    "found", [{}, {name: document(name) for name in EXPERIMENTS}], ids=["before", "after"]
)
def test_every_printed_number_is_on_the_page(found):
    text = page(found)
    for experiment in EXPERIMENTS.values():
        if experiment.table is None:
            continue
        start = text.index(f"### {experiment.title}\n")
        section = text[start : text.index("\n### ", start + 1)]
        rows = cells_of(section)
        for (row, column), cell in experiment.table.cells.items():
            shown = [f"{cell.fcr} ± {cell.fcr_error}", f"{cell.miw} ± {cell.miw_error}"]
            assert any(cells[0] == row and cells[1:3] == shown for cells in rows), (row, column)
        assert ("Not run yet" in section) == (not found)


@pytest.mark.parametrize(
    ("fcr", "miw", "expected"),
    [
        (0.40, 0.100, "agrees"),
        (0.45, 0.115, "agrees"),  # the limits themselves
        (0.35, 0.085, "agrees"),
        (0.46, 0.100, "FCR differs"),
        (0.34, 0.085, "FCR differs"),
        (0.40, 0.1151, "MIW differs"),
        (0.40, 0.0849, "MIW differs"),
        (1.00, 0.2, "both differ"),
    ],
)
def test_verdicts(fcr, miw, expected):
    assert verdict(Printed(0.4, 0.0, 0.1, 0.001), line(fcr=fcr, miw=miw)) == expected


def test_rates_may_differ_by_two_standard_errors():
    # 2 sqrt(0.06^2 + 0.08^2) = 0.2
    cell = Printed(0.4, 0.06, 0.1, 0.001)
    for fcr, expected in ((0.6, "agrees"), (0.2, "agrees"), (0.61, "FCR differs"), (0.19, "FCR differs")):
        assert verdict(cell, line(fcr=fcr, fcr_error=0.08, miw=0.1)) == expected


def test_an_impossible_error_excuses_no_more_than_fifty_trials_would():
    # 0.091 is printed for 0.21; sqrt(0.21 * 0.79 / 50) = 0.0576, twice of which is 0.115.
    cell = printed.STEPS_S_SD.cells["2", "FOREST"]
    for fcr, expected in ((0.32, "agrees"), (0.33, "FCR differs")):
        assert verdict(cell, line(fcr=fcr, miw=0.082)) == expected
    possible = printed.STEPS_S_SD.cells["3", "FOREST"]
    assert possible.possible_error == possible.fcr_error == 0.034  # of a hundred trials


def test_a_table_by_hand():
    lines = [
        line(fcr=0.02, fcr_error=0.0198, miw=0.09, miw_error=0.004),
        line(method="SD", fcr=0.5, fcr_error=0.0707, miw=0.06, miw_error=0.005, n_crossed=3),
        line(method="S-SD", protocol="ours", miw=0.0961, miw_error=0.0037),
        line(method="Sharp", protocol="ours", miw=0.11, miw_error=0.0031, n_certified=48),
    ]
    rows = cells_of(comparison(printed.MAIN, "FOREST", lines, "method"))
    assert rows[0] == [
        "method", "FOREST printed: FCR", "MIW", "as read: FCR", "MIW", "ours: FCR", "MIW", "verdict",
    ]  # fmt: skip
    by_row = {cells[0]: cells[1:] for cells in rows[2:]}
    assert by_row["S-SD"][:4] == ["0.0 ± 0.0", "0.088 ± 0.003", "0.02 ± 0.020", "0.0900 ± 0.0040"]
    assert by_row["S-SD"][4:] == ["0.00 ± 0.000", "0.0961 ± 0.0037", "agrees"]
    assert by_row["SD"][2:] == ["0.50 ± 0.071", "0.0600 ± 0.0050 (3 crossed)", "", "", "both differ"]
    assert by_row["Sharp"] == ["", "", "", "", "0.00 ± 0.000", "0.1100 ± 0.0031 (2 not proved)", ""]
    assert by_row["QNO"][2:] == ["", "", "", "", ""]


def test_standins_are_shown_beside_mimic_and_not_judged():
    found = {"main": document("main", [line(source="COMPAS", fcr=1.0)])}
    text = page(found)
    assert "**COMPAS (stand-in for MIMIC: not comparable)**" in text
    rows = cells_of(comparison(printed.MAIN, "COMPAS", [line(source="COMPAS", fcr=1.0)], "method"))
    assert rows[0] == ["method", "MIMIC printed: FCR", "MIW", "as read: FCR", "MIW"]
    assert rows[2][:3] == ["S-SD", "0.0 ± 0.0", "0.137 ± 0.008"]
    assert mismatches(printed.MAIN, Setting("COMPAS"), [line(source="COMPAS", fcr=1.0)]) == []


def test_what_is_not_matched_is_said_with_what_was_tried():
    lines = [line(), line(method="SD", fcr=0.36, miw=0.0666), line(method="SD", protocol="ours", fcr=0.1)]
    (said,) = mismatches(printed.MAIN, Setting("FOREST"), lines)
    assert said.startswith(
        "FOREST, SD: FCR 0.9 printed, 0.36 here; MIW 0.027 printed, 0.067 here (+147 %). About 2,400 joint"
    )
    assert mismatches(printed.MAIN, Setting("FOREST", 2000), lines) == []  # another setting
    steps = [line(method=str(s), miw=0.12, n_rows=2000) for s in (2, 50)]
    (said,) = mismatches(printed.STEPS_S_SD, Setting("FOREST", 2000), steps)  # one note for both
    assert said.startswith("FOREST, S = 2: FCR 0.21 printed")
    assert said.count("S = 50: ") == 1
    assert "which no reading gives" in said


def test_every_number_that_can_be_compared_has_a_note():
    for table in printed.TABLES.values():
        for row, column in table.cells:
            if column != printed.MIMIC:
                assert len(note(column, row)) > 50


def test_the_score_counts_what_agrees():
    lines = [
        line(),
        line(method="SD"),
        line(source="BIO", n_rows=72, fcr=0.1, miw=0.075),
        line(source="COMPAS"),
    ]
    text = page({"main": document("main", lines)})
    assert "Of 3 pairs of numbers that can be compared, 2 agree. With the labels of two tables as" in text


def test_two_tables_are_counted_under_the_labels_that_fit():
    fits = {"n2000": ("random", 100, 0.128), "random": ("random", 2000, 0.107)}
    labelled = {"n2000": ("nonrandom", 2000), "random": ("random", 100)}
    found = {}
    for name, (mechanism, n_rows, miw) in fits.items():
        as_labelled = dict(zip(("mechanism", "n_rows"), labelled[name], strict=True))
        found[name] = document(
            name, [line(mechanism=mechanism, n_rows=n_rows, miw=miw), line(**as_labelled, miw=0.2)]
        )
    assert score(found) == (2, 2, 0)
    found["random"]["lines"].append(asdict(line(source="BIO", mechanism="random", fcr=0.07, miw=0.08)))
    found["random"]["lines"][-1]["n_rows"] = 72
    assert score(found) == (3, 3, 1)  # BIO has one label only
    text = page(found)
    assert "With the labels of two tables as they are printed, 1 agree (see" in text
    assert "**FOREST, the label as printed: nonrandom misfiling, N = 2000**" in text
    assert "**FOREST, the label that its numbers fit: random misfiling, N = 100**" in text
    start = text.index("### The same with N = 2000")
    section = cells_of(text[start : text.index("\n### ", start + 1)])
    assert [cells[-1] for cells in section if cells[0] == "S-SD" and len(cells) == 6] == [
        "MIW differs",
        "agrees",
    ]
    assert "Not matched" not in text  # by the labels that fit everything agrees


def test_sharp_is_counted_over_all_settings_each_once():
    def sharp(**changes):
        return line(method="Sharp", protocol="ours", n_trials=50, **changes)

    shared, other = sharp(), sharp(epsilon=0.5)
    found = {"main": document("main", [shared, other])}
    assert "Sharp misses the truth in none of its 100 trials." in page(found)
    found["random"] = document("random", [shared, sharp(epsilon=0.9, fcr=0.04)])
    assert "Sharp misses the truth in 2 of its 150 trials." in page(found)


def test_the_readme_says_what_the_page_says():
    said = [
        re.search(r"[Oo]f (\d+) pairs of numbers that can be\s+compared,\s+(\d+) agree", path.read_text())
        for path in (ROOT / "README.md", ROOT / "lab" / "paper" / "results" / "index.md")
    ]
    assert said[0].groups() == said[1].groups()


def test_who_is_best_at_each_point():
    lines = [
        line(epsilon=epsilon, method=method, fcr=fcr)
        for epsilon, rates in ((0.1, (0.0, 0.0)), (0.2, (0.3, 0.2)), (0.5, (0.1, 0.4)))
        for method, fcr in zip(("S-SD", "SD"), rates, strict=True)
    ]
    said = best_at(lines, "paper", "epsilon")
    assert said.endswith("at 2 of 3 points; not at epsilon = 0.2 (SD 0.20, S-SD 0.30).")
    sharp = line(epsilon=0.5, method="Sharp", fcr=0.0)  # not one of the paper's
    assert best_at([x for x in lines if x.epsilon != 0.2] + [sharp], "paper", "epsilon").endswith(
        "at all 2 points."
    )


def test_the_points_of_a_figure():
    lines = [line(n_rows=n, method=m, fcr=0.5, miw=n / 1000) for n in (20, 50) for m in ("S-SD", "SD")]
    assert cells_of(points(lines, "paper", "n_rows")) == [
        ["N", "S-SD", "SD"],
        ["---", "---:", "---:"],
        ["20", "0.50 / 0.0200", "0.50 / 0.0200"],
        ["50", "0.50 / 0.0500", "0.50 / 0.0500"],
    ]


def test_the_typical_estimate_in_words():
    lines = [
        line(epsilon=0.1, observed=0.02, truth=0.03),
        line(epsilon=0.9, observed=0.0012, truth=0.0312, fcr=0.04),
    ]
    text = page({"typical": document("typical", lines)})
    assert (
        "as filed 0.0200 at epsilon = 0.1 and 0.0012 at 0.9, truth 0.0312; S-SD misses the truth at" in text
    )
    assert "epsilon (rate) 0.9 (0.04)." in text


def test_fewer_trials_are_said():
    lines = [
        line(source="BIO", n_rows=72, method=method, n_trials=n, epsilon=0.5)
        for method, n in (("S-SD", 100), ("QNO", 10), ("S-QNO", 10))
    ]
    text = page({"bio-epsilons": document("bio-epsilons", lines)})
    assert "BIO: 100 trials, 10 for QNO and S-QNO. Seed 0." in text


def test_settings_and_provenance_are_told():
    text = page({"main": document("main")})
    settings = text[text.index("## Settings") : text.index("## Tables")]
    assert "FOREST, NIH ChestX-ray14, Diabetes 130, COMPAS:\n\n- as read: U-statistic" in settings
    assert "BIO:\n\n- as read: U-statistic" in settings
    assert "max_iterations=1," in settings
    assert "X is Spruce-Fir (cover type 1) (211,840 rows)" in settings
    assert "S-SD: `s-sd` (n_steps=None, schedule='even', weights='plain')" in settings
    assert "X is ALL, acute lymphoblastic leukaemia (47 rows)" in settings
    assert re.search(r"\| `main` \| 0 \| 1 \| 1\.5 \| here \|", text)


def test_the_page_is_made_of_what_is_in_the_folder(tmp_path):
    assert "Not run yet: `python -m lab.paper main`" in write_page(tmp_path).read_text()
    (tmp_path / "main.json").write_text(json.dumps(document("main", [line()])))
    text = write_page(tmp_path).read_text()
    assert "Not run yet: `python -m lab.paper main`" not in text
    assert "Not run yet: `python -m lab.paper n2000`" in text


def test_results_of_older_protocols_count_as_not_run(tmp_path):
    (tmp_path / "main.json").write_text(json.dumps(document("main", [line()]) | {"schema": 1}))
    assert results.read_results(tmp_path, "main") is None
    assert "Not run yet: `python -m lab.paper main`" in write_page(tmp_path).read_text()


def another_layout():
    old = document("main", [line()])
    del old["lines"][0]["n_certified"]
    return json.dumps(old)


def of_the_future():
    return json.dumps(document("main", [line()]) | {"schema": 1000})


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"type": "something else"}', another_layout(), of_the_future()]
)
def test_a_file_that_holds_something_else_is_refused(content, tmp_path):
    (tmp_path / "main.json").write_text(content)
    with pytest.raises(MmdBoundsError, match=r"main\.json' does not hold the results of an experiment"):
        results.read_results(tmp_path, "main")
