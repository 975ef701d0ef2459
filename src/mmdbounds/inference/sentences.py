"""The sentences of the tests, written once: for `summary()`, the command line and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmdbounds.phrases import number, percent, rows, shown, wrapped

if TYPE_CHECKING:
    from mmdbounds.inference.curve import SweepPoint, SweepResult
    from mmdbounds.inference.outcome import TestResult


def test_summary(result: TestResult) -> str:
    """Return a `TestResult` in plain words."""
    blocks = [_assumption(result), _statement(result), "", *_numbers(result), ""]
    return "\n".join(
        [*map(wrapped, blocks), *map(wrapped, _conditions(result)), "", wrapped(_settings(result))]
    )


test_summary.__test__ = False  # type: ignore[attr-defined]  # pytest collects names that begin so


def _assumption(result: TestResult) -> str:
    how = "up to" if result.at_most else "exactly"
    of_y = f"{result.most_moved:,} of the {result.n_samples_Y:,} filed under {shown(result.name_y)}"
    share = f"{percent(result.epsilon)} of the true {shown(result.name_x)} rows"
    return f"Assumed: {how} {share}, {of_y}, are misfiled."


def _statement(result: TestResult) -> str:
    if not result.is_valid:
        return (
            f"The largest p-value found is {number(result.pvalue)}. That no labelling has a larger one is "
            "not proved, so its validity is not guaranteed."
        )
    return (
        f"Whichever rows they are, the p-value for no difference between the true groups is at most "
        f"{number(result.pvalue)}. If more rows are misfiled, it can be larger."
    )


def _numbers(result: TestResult) -> list[str]:
    worst = f"with {rows(result.n_moved)} misfiled: squared MMD at least {number(result.statistic)}"
    as_filed = f"squared MMD {number(result.observed)}; valid only if nothing is misfiled"
    lines = [
        _line("worst case", result.pvalue, worst),
        _line("as filed", result.pvalue_as_filed, as_filed),
    ]
    if result.pvalue_range is not None:
        lines.append(_line("best case", result.pvalue_range[0], "no labelling has less; not a p-value"))
    return lines


def _line(name: str, pvalue: float, text: str) -> str:
    return f"  {name:<14}{number(pvalue):>8}   {text}"


def _conditions(result: TestResult) -> list[str]:
    return ["Valid if", *(f"- {condition}" for condition in result.conditions)]


def sweep_summary(result: SweepResult) -> str:
    """Return a `SweepResult` in plain words."""
    lines = [wrapped(breakdown(result)), wrapped(_breakdown_of_value(result)), "", *_curve(result)]
    return "\n".join([*lines, "", wrapped(_settings(result))])


def breakdown(result: SweepResult) -> str:
    """Say up to which share the finding holds, and its converse."""
    x, y = shown(result.name_x), shown(result.name_y)
    level, first = percent(result.level), result.breakdown_n_moved
    if first == 0:
        return f"At the {level} level the groups do not differ even if nothing is misfiled."
    holds = result.most_moved if first is None else first - 1
    share = f"up to {percent(result.share(holds))} of the true {x} rows"
    statement = (
        f"At the {level} level the groups differ even if {share} ({holds:,} of the {result.n_samples_Y:,} "
        f"filed under {y}) were misfiled."
    )
    converse = (
        "More were not tried."
        if first is None
        else "If more were, the difference could be an artefact of the filing."
    )
    doubts = "" if result.is_confirmed else " Not every smaller number was tested."
    return f"{statement} {converse}{doubts}" + ("" if result.is_valid else " This is not proved.")


def _breakdown_of_value(result: SweepResult) -> str:
    target, first = number(result.value), result.breakdown_of_value
    if first is None:
        return f"The lower bound of the squared MMD stays above {target} for all of them."
    return (
        f"The lower bound of the squared MMD reaches {target} at {percent(result.share(first))} "
        f"({rows(first)})."
    )


def _curve(result: SweepResult) -> list[str]:
    head = f"  {'misfiled':>9} {'rows':>7} {'at least':>11} {'at most':>11} {'p-value':>9}"
    return [head, *map(_point, result.points)]


def _point(point: SweepPoint) -> str:
    ends = (
        number(value if proved is None else proved) + ("*" if proved is None else " ")
        for value, proved in ((point.lower, point.lower_certified), (point.upper, point.upper_certified))
    )
    low, high = ends
    share = percent(point.epsilon)
    return f"  {share:>9} {point.n_moved:>7,} {low:>12}{high:>12} {number(point.pvalue):>8}"


def _settings(result: TestResult | SweepResult) -> str:
    made = result.provenance
    length = "" if made.bandwidth is None else f", bandwidth {made.bandwidth:.6g}"
    return (
        f"{result.n_permutations:,} permutations, seed {made.seed}; kernel {made.kernel}{length}; "
        f"{made.estimator} estimator; {made.dtype}, {made.backend} on {made.device}; "
        f"{made.seconds:.2g} s; mmdbounds {made.version}."
    )
