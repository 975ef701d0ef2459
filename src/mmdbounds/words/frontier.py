"""The sentences of the frontier of misfiling both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmdbounds.words.phrases import changes, number, percent, restrictions, shown, statistic, wrapped
from mmdbounds.words.testing import closing, units_lines

if TYPE_CHECKING:
    from mmdbounds.results.curve import FrontierPoint, FrontierResult

COLUMNS = ("{x} in {y}", "rows", "{y} in {x} up to", "rows", "explained from")
"""The frontier as a table; the last column is the first share of Y with which it breaks down."""


def frontier_summary(result: FrontierResult) -> str:
    """Return a `FrontierResult` in plain words."""
    lines = [
        wrapped(tried(result)),
        *units_lines(result),
        wrapped(statement(result)),
        "",
        *_table(result),
        "",
    ]
    return "\n".join([*lines, *closing(result)])


def tried(result: FrontierResult) -> str:
    """Say how far the frontier goes."""
    x, y = shown(result.name_x), shown(result.name_y)
    one = f"up to {percent(result.points[-1].epsilon)} of the true {x} rows filed under {y}"
    other = f"up to {percent(result.most_y_in_x)} of the true {y} rows filed under {x}"
    of_y, of_x = (restrictions(result.knowledge, letter) for letter in "yx")
    filed = f"As filed the {statistic(result)} is {number(result.observed)}."
    return f"Tried: {one}{of_y} and, at the same time, {other}{of_x}.{changes(result)} {filed}"


def statement(result: FrontierResult) -> str:
    """Say what the finding survives at the ends of the frontier, and the converse."""
    level, held = percent(result.level), [point for point in result.points if point.y_in_x is not None]
    if not held:
        least = result.points[0].epsilon
        return f"At the {level} level no difference is shown even with {percent(least)} misfiled one way."
    ends = [_survived(point, result) for point in ([held[0], held[-1]] if len(held) > 1 else held)]
    also = f", or if {ends[1]}" if len(ends) > 1 else ""
    finding = f"At the {level} level the groups differ even if {ends[0]}{also} (proved)."
    broken = [point for point in result.points if point.breakdown_y_in_x is not None]
    if not broken:
        return f"{finding} More were not tried."
    if not all(point.is_tight for point in broken):
        return f"{finding} For some larger shares that could not be proved."
    return f"{finding} Beyond the shares below, the difference could be an artefact of the filing."


def _survived(point: FrontierPoint, result: FrontierResult) -> str:
    x, y = shown(result.name_x), shown(result.name_y)
    amount = f"up to {percent(point.epsilon)}" if point.epsilon else "none"
    other = f"up to {percent(point.y_in_x)}" if point.y_in_x else "none"
    return f"{amount} of the true {x} rows and {other} of the true {y} rows are misfiled"


def cells(point: FrontierPoint) -> tuple[str, ...]:
    """Return one point of the frontier in digits; a star marks where the proof may not be tight."""
    share, first = point.y_in_x, point.breakdown_y_in_x
    where = "not up to here" if first is None else percent(first) + ("" if point.is_tight else "*")
    if share is None:
        return percent(point.epsilon), "", "none", "", where
    counts = f"{point.n_moved:,}", f"{point.n_moved_of_x:,}"
    return percent(point.epsilon), counts[0], percent(share), counts[1], where


def _table(result: FrontierResult) -> list[str]:
    names = {"x": shown(result.name_x), "y": shown(result.name_y)}
    lines = [tuple(column.format(**names) for column in COLUMNS), *map(cells, result.points)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    table = ["  " + "  ".join(f"{c:>{w}}" for c, w in zip(line, widths, strict=True)) for line in lines]
    loose = any(not point.is_tight for point in result.points)
    return [*table, *(["  * no labelling was found that explains it away there"] if loose else [])]
