"""The sentences of the tests, written once: for `summary()`, the command line and the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mmdbounds.words.phrases import (
    assumption,
    changes,
    labellings_used,
    number,
    others,
    percent,
    proved_number,
    restrictions,
    rows,
    seed_used,
    settings,
    shown,
    statistic,
    wrapped,
)

if TYPE_CHECKING:
    from mmdbounds.results import (
        FrontierResult,
        Knowledge,
        RobustTestResult,
        Side,
        SweepPoint,
        SweepResult,
    )

RELABELLED = (
    "rows were only relabelled, never lost or altered; which rows, and how many, may have been chosen after "
    "seeing all of the data;"
)
EXCHANGEABLE = (
    "if the groups do not differ, their rows are exchangeable: no clusters, pairs or order in time;"
)
UNITS_EXCHANGEABLE = (
    "if the groups do not differ, their units are exchangeable: no pairs or order in time; all rows of a "
    "unit were filed together;"
)
BLIND = (
    "kernel, bandwidth, scaling and columns were chosen without looking at the labels (nothing here looks at "
    "them), and epsilon was not tuned on them{but};"
)
TRUE_GROUPS = "what was looked up is the true group;"
LIMITS_HOLD = "rows that are said not to be misfiled are not, and limits are kept;"
FRESH = "the seed was not chosen by its result: the permutations are fresh, uniform draws."
FRESH_ROWS = "the seed was not chosen by its result: the row of each unit is a fresh, uniform draw."
ROUNDING = "Ties, including differences due to rounding, count against rejection."


def conditions(
    beta: float = 0.0,
    *,
    of_units: bool = False,
    is_exact: bool = False,
    at_most: bool = False,
    known: Knowledge | None = None,
) -> tuple[str, ...]:
    """Return what the validity of a p-value rests on, one sentence each."""
    but = f" (but for a probability of {beta:g}, which is part of the p-value)" if beta else ""
    numbers = "no more rows are misfiled than assumed" if at_most else "as many rows are misfiled as assumed"
    others = _others(of_units, is_exact, ", or beta covers what that does" if beta else "")
    return (f"{numbers}{but}, and {RELABELLED}", *_of_known(known), *others)


def sweep_conditions(
    *,
    of_units: bool = False,
    is_exact: bool = False,
    known: Knowledge | None = None,
    n_refiled_to_y: int = 0,
) -> tuple[str, ...]:
    """Return the same for a sweep, which assumes no number."""
    one_way = f"rows of one group are misfiled under the other, not both ways, and {RELABELLED}"
    if refiled := n_refiled_to_y if known is None else known.n_refiled_to_y:
        one_way = f"apart from the {rows(refiled)} that were refiled the other way, {one_way}"
    return (one_way, *_of_known(known), *_others(of_units, is_exact))


def frontier_conditions(
    *, of_units: bool = False, is_exact: bool = False, known: Knowledge | None = None
) -> tuple[str, ...]:
    """Return the same for a frontier, which allows for both ways."""
    return (RELABELLED, *_of_known(known), *_others(of_units, is_exact))


def _of_known(known: Knowledge | None) -> tuple[str, ...]:
    """Return what is taken on trust about single rows."""
    if known is None:
        return ()
    looked_up = known.n_verified_x or known.n_verified_y
    limits = known.is_restricted or known.is_restricted_x or known.limits_of_x or known.limits_of_y
    return (*((TRUE_GROUPS,) if looked_up else ()), *((LIMITS_HOLD,) if limits else ()))


def _others(of_units: bool, is_exact: bool, but: str = "") -> tuple[str, ...]:
    seed = (FRESH,) if not is_exact else (FRESH_ROWS,) if of_units else ()  # or nothing is drawn
    return UNITS_EXCHANGEABLE if of_units else EXCHANGEABLE, BLIND.format(but=but), *seed


def robust_summary(result: RobustTestResult) -> str:
    """Return a `RobustTestResult` in plain words."""
    lines = [wrapped(assumption(result)), *units_lines(result), wrapped(statement(result)), ""]
    lines += [*_numbers(result), *_multiples(result), *_kernels(result)]
    return "\n".join([*lines, "", *closing(result)])


def _settings(result: RobustTestResult | SweepResult | FrontierResult) -> str:
    made = result.provenance
    return settings(made, labellings_used(result), seed_used(made))


def units_lines(result: RobustTestResult | SweepResult | FrontierResult) -> list[str]:
    """Say that one row a unit was drawn, if so."""
    return [wrapped(result.units_note)] if result.units_note else []


def statement(result: RobustTestResult) -> str:
    """Say what follows, and its converse."""
    pvalue = number(result.pvalue)
    if result.n_admissible == 1 and not (result.n_moved or result.n_moved_of_x):
        ordinary = "Nothing is misfiled, so this is the ordinary permutation test"
        return f"{ordinary}: its p-value is {pvalue}.{_counted(result)}"
    if not result.is_valid:
        return f"The largest p-value found is {pvalue}. {_missing(result)} Its validity is not guaranteed."
    loose = "" if result.is_tight else " The proof is not tight: the largest one may be smaller."
    loose = _undecided(result) or loose
    return (
        f"Whichever rows they are, the p-value for no difference between the true groups{_over(result)} is "
        f"at most {pvalue} (proved).{loose}{_counted(result)} If {others(result)} rows are misfiled, it can "
        "be larger."
    )


def _over(result: RobustTestResult) -> str:
    return f", over {len(result.parts)} kernels together," if result.parts else ""


def _undecided(result: RobustTestResult) -> str:
    """Say that the level is not decided about, if so."""
    if result.is_significant is not None:
        return ""
    return f" At the {percent(result.level)} level this is undecided: the proof is not tight enough."


def _counted(result: RobustTestResult) -> str:
    """Say that no chance is left in the p-value, if so."""
    return " It is exact: all labellings of the true sizes were counted." if result.is_exact else ""


def _missing(result: RobustTestResult) -> str:
    """Say what keeps the p-value from being valid."""
    sentences = []
    if len(result.counts) < result.n_admissible:
        tested = f"{len(result.counts):,} of the {result.n_admissible:,} possible numbers of misfiled rows"
        sentences.append(f"Only {tested} were tested; between them nothing is proved.")
    if any(count.certified is None for count in result.counts):
        sentences.append("That no labelling has a larger one is not proved.")
    return " ".join(sentences)


def _numbers(result: RobustTestResult) -> list[str]:
    moved = rows(result.n_moved) + (
        f" of {shown(result.name_y)} and {rows(result.n_moved_of_x)} of {shown(result.name_x)}"
        if result.most_moved_of_x
        else ""
    )
    name = "largest statistic" if result.parts else statistic(result)
    bound = f"is at least {proved_number(result.statistic, 'lower')}"
    if not (result.n_moved or result.n_moved_of_x):  # it is the value as filed, and rounded like it
        bound = f"is {number(result.statistic)}"
    if not result.is_valid:
        bound = f"of {number(result.statistic)} was found"
    as_filed = f"the {name} is {number(result.observed)}; valid only if nothing is misfiled"
    plus = f", and beta = {result.beta:g} added" if result.beta else ""
    return [
        _line("worst case", result.pvalue, f"with {moved} misfiled, the {name} {bound}{plus}"),
        _line("as filed", result.pvalue_as_filed, as_filed),
    ]


def _multiples(result: RobustTestResult) -> list[str]:
    """Say how large the statistics are, in multiples of what chance makes; nothing of those below 0."""
    worst, filed = result.in_null_quantiles, result.as_filed_in_null_quantiles
    sentences = []
    if worst is not None and worst > 0:
        sentences.append(f"{proved_number(worst, 'lower')} in the worst case")
    if filed is not None and filed > 0:
        sentences.append(f"{number(filed)} as filed")
    name, scale = statistic(result), "multiples of the 95 % quantile of its null"
    line = f"{name[0].upper()}{name[1:]} in {scale}: {', '.join(sentences)}."
    return [wrapped(line)] if sentences else []


def _line(name: str, pvalue: float, text: str) -> str:
    return f"  {name:<12}{number(pvalue):>8}   {text}"


def conditions_head(result: RobustTestResult | SweepResult | FrontierResult) -> str:
    """Introduce what the validity rests on."""
    return "Valid if" if result.is_valid else "Besides what is missing, it would be valid only if"


def closing(result: RobustTestResult | SweepResult | FrontierResult) -> list[str]:
    """Return the conditions, and the settings below them."""
    each = [wrapped(f"- {condition}", "  ") for condition in result.conditions]
    return [conditions_head(result), *each, wrapped(ROUNDING), "", wrapped(_settings(result))]


def sweep_summary(result: SweepResult) -> str:
    """Return a `SweepResult` in plain words."""
    lines = [wrapped(tried(result)), *units_lines(result), wrapped(breakdown(result))]
    lines += [wrapped(breakdown_of_value(result)), "", *_curve(result), ""]
    return "\n".join([*lines, *closing(result)])


def tried(result: SweepResult) -> str:
    """Say how far the curve goes."""
    most = f"{result.most_moved:,} of the {rows(result.n_samples_Y)} filed under {shown(result.name_y)}"
    share = f"{percent(result.share(result.most_moved))} of the true {shown(result.name_x)} rows"
    which = restrictions(result.knowledge, "y")
    return f"Tried: from no misfiled rows up to {share}, that is {most}{which}.{changes(result)}"


def breakdown(result: SweepResult) -> str:
    """Say up to which share the finding holds, and its converse."""
    level, holds = percent(result.level), result.holds_n_moved
    if holds is None:
        return f"At the {level} level no difference is shown even if nothing is misfiled."
    x, y = shown(result.name_x), shown(result.name_y)
    share = f"up to {percent(result.share(holds))} of the true {x} rows"
    where = f"{holds:,} of the {result.n_samples_Y:,} filed under {y}"
    condition = f"even if {share} ({where}) were misfiled" if holds else "if nothing is misfiled"
    proof = "" if result.is_valid and result.is_confirmed else " That is not proved."
    return f"At the {level} level the groups differ {condition}.{proof} {_converse(result)}"


def _converse(result: SweepResult) -> str:
    if result.breakdown_n_moved is None:
        doubt = "" if result.is_confirmed else "Not every number was tested. "
        return f"{doubt}More were not tried."
    if not result.is_confirmed:
        return (
            f"Not every number was tested: {result.breakdown_n_moved:,} is the first of those tested with "
            "which the difference could be an artefact of the filing."
        )
    if not result.is_tight:
        return "For more that could not be proved."
    more = "more were" if result.holds_n_moved else "a single row is"
    return f"If {more}, the difference could be an artefact of the filing."


def breakdown_of_value(result: SweepResult) -> str:
    """Say where the lower bound reaches the value asked about."""
    target, first = number(result.value), result.breakdown_of_value
    filed = f"As filed the {statistic(result)} is {number(result.observed)}"
    if first == 0:
        return f"{filed}, which is not above {target}."
    if first is None:
        return f"{filed}; its lower bound stays above {target} for all of them."
    return f"{filed}; its lower bound reaches {target} with {rows(first)} ({percent(result.share(first))})."


def pvalues_at(point: SweepPoint, result: SweepResult) -> str:
    """Say what the p-values at one point of the curve are, and whether they show a difference."""
    level, worst = percent(result.level), number(point.pvalue)
    differ = "the groups differ" if point.pvalue <= result.level else "no difference is shown"
    verdict = f"at the {level} level {differ}"
    if not point.n_moved:
        return f"The p-value of the ordinary permutation test is {worst}: {verdict}."
    if point.lower_certified is None:
        return f"The largest p-value found is {worst}: {verdict}. That none is larger is not proved."
    return f"Whichever rows they are, the p-value is at most {worst} (proved): {verdict}."


def _curve_end(point: SweepPoint, side: Side) -> str:
    """Return one bound in digits; where nothing is misfiled it is the value as filed."""
    value, proved = getattr(point, side), getattr(point, f"{side}_certified")
    if proved is None:
        return f"{number(value)}*"
    return proved_number(proved, side) if point.n_moved else number(value)


CURVE_COLUMNS: tuple[tuple[str, Callable[[SweepPoint], str]], ...] = (
    ("misfiled", lambda point: percent(point.epsilon)),
    ("rows", lambda point: f"{point.n_moved:,}"),
    ("at least", lambda point: _curve_end(point, "lower")),
    ("at most", lambda point: _curve_end(point, "upper")),
    ("null 95 %", lambda point: "" if point.null_quantile is None else number(point.null_quantile)),
    ("worst p", lambda point: number(point.pvalue) + ("*" if point.lower_certified is None else "")),
)
"""The curve as a table, in `summary()` and on the page: heading and cell; a star marks what is not proved."""


def curve_notes(result: SweepResult) -> list[str]:
    """Explain what stands in the curve as a table."""
    notes = []
    if any(point.null_quantile is not None for point in result.points):
        exceeds = f"the {statistic(result)} exceeds it in 5 % of the cases"
        notes.append(f"null 95 %: without a difference, {exceeds}")
    if any(point.lower_certified is None or point.upper_certified is None for point in result.points):
        notes.append("* reached by a labelling, not proved")
    return notes


def curve_cells(point: SweepPoint) -> tuple[str, ...]:
    """Return one point of the curve in digits."""
    return tuple(cell(point) for _, cell in CURVE_COLUMNS)


def _curve(result: SweepResult) -> list[str]:
    head = tuple(heading for heading, _ in CURVE_COLUMNS)
    lines = [head, *map(curve_cells, result.points)]
    return [*map(_line_of_curve, lines), *(f"  {note}" for note in curve_notes(result))]


def _line_of_curve(cells: tuple[str, ...]) -> str:
    """Return a line in which digits stand below each other, and stars behind them."""
    share, count, *ends = cells
    padded = [f"{cell.rstrip('*'):>11}{'*' if cell.endswith('*') else ' '}" for cell in ends]
    return f"  {share:>9} {count:>7}{''.join(padded)}".rstrip()


def _kernels(result: RobustTestResult) -> list[str]:
    """Return a table of the kernels, if there are several."""
    if not result.parts:
        return []
    names = {statistic(part) for part in result.parts}
    heading = f"   {names.pop() if len(names) == 1 else 'statistic'} at least"
    lines = ["", "Each kernel by itself, in the worst case:"]
    lines.append(f"  {'kernel':<14}{'bandwidth':>11}{heading}{'in sd of the null':>20}")
    for part in result.parts:
        length = "-" if part.bandwidth is None else number(part.bandwidth)
        least = "not proved" if part.certified is None else proved_number(part.certified, "lower")
        size = "-" if part.standardised is None else number(part.standardised)
        mark = "  decisive" if part is result.decisive else ""
        lines.append(f"  {part.kernel:<14}{length:>11}{least:>{len(heading)}}{size:>20}{mark}")
    return lines
