"""The page: every number of the paper, a verdict where there can be one, and what was tried elsewhere."""

from __future__ import annotations

import json
import re

import pytest

from made_reproductions import document, line
from mmdbounds.errors import MmdBoundsError
from mmdbounds.paper import printed, results
from mmdbounds.paper.experiments import EXPERIMENTS
from mmdbounds.paper.page import best_at, comparison, mismatches, page, points, write_page
from mmdbounds.paper.printed import Printed, note, verdict


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
    assert verdict(Printed(0.4, 0.07, 0.1, 0.001), line(fcr=fcr, miw=miw)) == expected


def test_a_table_by_hand():
    lines = [
        line(fcr=0.02, fcr_error=0.0198, miw=0.09, miw_error=0.004),
        line(method="SD", fcr=0.5, fcr_error=0.0707, miw=0.06, miw_error=0.005, n_crossed=3),
        line(method="S-SD", protocol="ours", miw=0.0961, miw_error=0.0037),
        line(method="Sharp", protocol="ours", miw=0.11, miw_error=0.0031, n_certified=48),
    ]
    rows = cells_of(comparison(printed.MAIN, "FOREST", lines, "method"))
    assert rows[0] == [
        "method", "FOREST printed: FCR", "MIW", "paper's protocol: FCR", "MIW", "ours: FCR", "MIW", "verdict",
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
    assert rows[0] == ["method", "MIMIC printed: FCR", "MIW", "paper's protocol: FCR", "MIW"]
    assert rows[2][:3] == ["S-SD", "0.0 ± 0.0", "0.137 ± 0.008"]
    assert mismatches(printed.MAIN, "COMPAS", [line(source="COMPAS", fcr=1.0)]) == []


def test_what_is_not_matched_is_said_with_what_was_tried():
    lines = [line(), line(method="SD", fcr=0.36, miw=0.0666), line(method="SD", protocol="ours", fcr=0.1)]
    (said,) = mismatches(printed.MAIN, "FOREST", lines)
    assert said.startswith(
        "FOREST, SD: FCR 0.9 printed, 0.36 here; MIW 0.027 printed, 0.067 here (+147 %). Tried on 50 draws"
    )
    steps = [line(method=str(s), miw=0.12, n_rows=2000) for s in (2, 50)]
    (said,) = mismatches(printed.STEPS_S_SD, "FOREST", steps)  # one note for both
    assert said.startswith("FOREST, S = 2: FCR 0.21 printed")
    assert said.count("S = 50: ") == 1
    assert "contradict each other" in said


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
    assert "Of 3 pairs of numbers that can be compared, 2 agree." in text


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
    assert "FOREST, NIH ChestX-ray14, Diabetes 130, COMPAS:\n\n- paper's protocol: U-statistic" in settings
    assert "BIO:\n\n- paper's protocol: V-statistic" in settings
    assert "S-SD: `s-sd` (n_steps=None, schedule='paper', weights='sums')" in settings
    assert "X is ALL, acute lymphoblastic leukaemia (47 rows)" in settings
    assert re.search(r"\| `main` \| 0 \| 1 \| 1\.5 \| here \|", text)


def test_the_page_is_made_of_what_is_in_the_folder(tmp_path):
    assert "Not run yet: `mmdbounds reproduce main`" in write_page(tmp_path).read_text()
    (tmp_path / "main.json").write_text(json.dumps(document("main", [line()])))
    text = write_page(tmp_path).read_text()
    assert "Not run yet: `mmdbounds reproduce main`" not in text
    assert "Not run yet: `mmdbounds reproduce n2000`" in text


def another_layout():
    old = document("main", [line()])
    del old["lines"][0]["n_certified"]
    return json.dumps(old)


@pytest.mark.parametrize("content", ["{", "[]", '{"type": "something else"}', another_layout()])
def test_a_file_that_holds_something_else_is_refused(content, tmp_path):
    (tmp_path / "main.json").write_text(content)
    with pytest.raises(MmdBoundsError, match=r"main\.json' does not hold the results of an experiment"):
        results.read_results(tmp_path, "main")
