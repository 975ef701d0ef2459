"""The sentences about limited odds: a range for the populations, and where a finding breaks down."""

from __future__ import annotations

from mmdbounds.results import BoundsResult, OddsPoint, OddsSweepResult
from mmdbounds.words.phrases import (
    considered,
    listed,
    number,
    percent,
    proved_number,
    settings,
    shown,
    statistic,
    wrapped,
)

ABOUT = (
    "This is an estimate for the populations that the rows were drawn from, and sampling error comes on top. "
    "It says nothing about which of these rows are misfiled."
)


GUIDE = "This is a guide, not a test."


def range_finding(result: BoundsResult) -> str:
    """Say the range, the estimate for random misfiling, and the converse."""
    low, high = result.interval
    filed = f"As filed it is {number(result.observed)}."
    random = f"If misfiling was random, the estimate is {number(result.if_random)}."
    if result.odds == 1 and considered(result)[0] == "exactly":
        point = number(result.if_random)
        return f"The {statistic(result)} of the true populations is estimated at {point}. {filed} {ABOUT}"
    ends = f"{number(low)} and {number(high)}"
    proof = "the smallest and the largest value found; that no such odds give less or more is not proved"
    if result.is_certified:
        ends = f"{proved_number(low, 'lower')} and {proved_number(high, 'upper')}"
        proof = "proved: no such odds give an estimate outside"
        if any("cut off" in end.status for end in (result.lower, result.upper)):
            proof = "proved for all such odds, and cut off where no two populations have a value beyond"
    return (
        f"The {statistic(result)} of the true populations is estimated to be between {ends} ({proof}). "
        f"{filed} {random} If the odds differ by more, or more rows are misfiled, it can lie outside this "
        f"range. {ABOUT}"
    )


def odds_sweep_summary(result: OddsSweepResult) -> str:
    """Return an `OddsSweepResult` in plain words: the breakdown first, then a table of ranges."""
    made, drawn = result.provenance, f"{result.n_permutations:,} permutations, seed {result.provenance.seed}"
    lines = [wrapped(breakdown(result)), wrapped(ABOUT), "", *_table(result), ""]
    return "\n".join([*lines, wrapped(settings(made, "Method odds", drawn))])


def breakdown(result: OddsSweepResult) -> str:
    """Say how far from random misfiling must be to explain the difference away."""
    chance = f"what chance alone would give ({number(result.chance)}; 95 % of random labellings have less)"
    if result.observed <= result.chance:
        return f"Even as filed the {statistic(result)}, {number(result.observed)}, is no more than {chance}."
    how = "exactly" if result.exactly else "at most"
    assumed = (
        f"Assumed: {how} a given share of the true {shown(result.name_x)} rows is misfiled, with odds within "
        "a factor of one value."
    )
    places = [
        f"{each.odds:.3g} with {percent(each.epsilon)} misfiled"
        for each in result.breakdown
        if each.odds is not None
    ]
    never = [percent(each.epsilon) for each in result.breakdown if each.odds is None]
    if not places:
        return f"{assumed} The lower end stays above {chance} at every factor tried. {GUIDE}"
    holds = f" With {listed(never)} misfiled, it stays above that at every factor tried." if never else ""
    return (
        f"{assumed} The lower end falls to {chance} at a factor of {listed(places)}.{holds} Below that "
        f"factor the difference stands; beyond it misfiling alone could explain it. {GUIDE}"
    )


def _table(result: OddsSweepResult) -> list[str]:
    """Return the range at each share and factor."""
    lines = [f"  {'misfiled':>9} {'rows':>7} {'odds':>6} {'at least':>12} {'if random':>12} {'at most':>12}"]
    for point in result.points:
        low, high, star = _ends(point)
        lines.append(
            f"  {percent(point.epsilon):>9} {point.n_moved:>7,} {point.odds:>6g} {low:>12} "
            f"{number(point.point):>12} {high:>12}{star}"
        )
    if any(_ends(point)[2] for point in result.points):
        lines.append("  * the upper end is the largest value found; that none is larger is not proved")
    return lines


def _ends(point: OddsPoint) -> tuple[str, str, str]:
    low = number(point.lower)
    if point.lower_certified is not None:
        low = proved_number(point.lower_certified, "lower")
    if point.upper_certified is None:
        return low, number(point.upper), "*"
    return low, proved_number(point.upper_certified, "upper"), ""
