"""The picture of the frontier shows the numbers of the result."""

from __future__ import annotations

from typing import Any

import pytest

import mmdbounds as mb
from made import make_provenance
from mmdbounds.results import FrontierPoint, FrontierResult

pytestmark = pytest.mark.full


@pytest.fixture(autouse=True)
def pyplot():
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def point(epsilon: float, y_in_x: float | None, *, is_tight: bool = True) -> FrontierPoint:
    return FrontierPoint(
        epsilon=epsilon,
        y_in_x=y_in_x,
        n_moved=1,
        n_moved_of_x=2,
        breakdown_y_in_x=0.0 if y_in_x is None else y_in_x + 0.01,
        is_tight=is_tight,
    )


def made(*points: FrontierPoint) -> FrontierResult:
    return FrontierResult(
        points=points,
        observed=0.3,
        level=0.05,
        most_y_in_x=0.4,
        is_valid=True,
        n_permutations=99,
        n_samples_X=27,
        n_samples_Y=30,
        name_x="ill",
        name_y="well",
        provenance=make_provenance(),
    )


def drawn(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines()}


def test_the_line_is_that_of_the_points():
    ax = made(point(0.0, 0.2), point(0.1, 0.12, is_tight=False), point(0.2, None)).plot()
    lines = drawn(ax)
    [line] = [line for label, line in lines.items() if label.startswith("the groups differ at the 5 % level")]
    assert line.get_xydata().tolist() == [[0.0, 0.2], [0.1, 0.12]]
    assert lines["perhaps more"].get_xydata().tolist() == [[0.1, 0.12]]
    assert lines["not with 20 % one way alone"].get_xdata()[0] == 0.2
    assert "ill rows filed under well" in ax.get_xlabel()
    assert "well rows filed under" in ax.get_ylabel().replace("\n", " ")


def test_a_finding_that_survives_nothing_is_drawn_too():
    assert set(drawn(made(point(0.0, None)).plot())) == {"not with 0 % one way alone"}


def test_other_results_are_refused():
    with pytest.raises(
        mb.MmdBoundsError, match=r"^`plot_frontier` draws results of type FrontierResult; got int"
    ):
        mb.plotting.plot_frontier(3)
