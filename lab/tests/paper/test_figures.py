"""Figures show what they should; the same numbers give the same bytes."""

from __future__ import annotations

import pytest

from lab.paper import figures
from lab.paper.experiments import EXPERIMENTS
from lab.paper.printed import METHODS
from made_reproductions import document, line
from mmdbounds.errors import MmdBoundsError
from mmdbounds.plotting import canvas

KINDS = ["main", "n2000", "steps-s-qno", "forest-sizes", "bio-epsilons", "typical"]


def test_without_matplotlib_there_is_one_line(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MmdBoundsError, match=r"^figures need matplotlib, which is not installed\. Install"):
        canvas.check_available()


def test_every_method_has_a_colour_and_a_marker_of_its_own():
    assert [*METHODS, "Sharp"] == list(figures.STYLES)
    for place in (0, 1):
        assert len({style[place] for style in figures.STYLES.values()}) == len(figures.STYLES)


@pytest.mark.full
@pytest.mark.parametrize("name", KINDS)
def test_a_figure_of_each_kind(name):
    made = document(name)
    first, second = figures.drawn(made), figures.drawn(made)
    assert first == second
    assert first["png"].startswith(b"\x89PNG")
    text = first["svg"].decode()
    assert "Date" not in text
    for source in {s.source for s in EXPERIMENTS[name].settings}:
        assert source in text
    assert "our protocol" in text
    assert ("nonrandom," in text) == (name == "n2000")  # a data set that is there twice


@pytest.mark.full
def test_the_points_are_where_the_numbers_say(monkeypatch):
    lines = [line(epsilon=e, method="S-SD", fcr=f, miw=w) for e, f, w in ((0.1, 0.0, 0.02), (0.5, 0.5, 0.2))]
    drawn = []
    monkeypatch.setattr(figures, "rendered", lambda draw: drawn.append(draw()))
    figures.drawn(document("forest-epsilons", lines))
    left, right = drawn[0].axes
    assert left.get_yscale() == "log"
    for panel, wanted in ((left, [0.02, 0.2]), (right, [0.0, 0.5])):
        (curve,) = (
            artist
            for artist in panel.lines
            if artist.get_label() == "_nolegend_"
            and len(artist.get_xdata()) == 2
            and artist.get_linestyle() == "-"
        )
        assert list(curve.get_ydata()) == wanted
        assert all(abs(x - e) < 0.02 for x, e in zip(curve.get_xdata(), (0.1, 0.5), strict=True))
