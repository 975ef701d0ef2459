"""The sentences about confidence intervals and evaluations."""

from __future__ import annotations

from mmdbounds.results import ConfidenceInterval, Evaluation, MethodCoverage
from mmdbounds.words.phrases import (
    assumption,
    listed,
    number,
    percent,
    proved_number,
    rows,
    seed_used,
    settings,
    shown,
    statistic,
    wrapped,
)

SURE = 0.95  # confidence with which a rate is limited from trials without a single miss

CONDITIONS = (
    "Conditions: the rows of the true groups are independent draws from their populations; rows were "
    "misfiled, whichever and for whatever reason, but neither lost nor altered; and as many as assumed."
)


def interval_summary(result: ConfidenceInterval) -> str:
    """Return a `ConfidenceInterval` in plain words."""
    made = result.provenance
    last = settings(made, f"Bounds by {made.method}", seed_used(made))
    blocks = [assumption(result), _interval(result), *result.why, CONDITIONS, "", last]
    return "\n".join(map(wrapped, blocks))


def _interval(result: ConfidenceInterval) -> str:
    low, high = number(result.low), number(result.high)
    if result.label == "proved":
        low, high = proved_number(result.low, "lower"), proved_number(result.high, "upper")
    between = f"the MMD of the two populations (root scale) is between {low} and {high}"
    sure = "proved" if result.label == "proved" else "approximately; not proved"
    chance = f"Of that, up to {number(result.radius)} at each end allows for chance."
    return f"With {percent(result.level)} confidence {between} ({sure}). {chance}"


def evaluation_summary(result: Evaluation) -> str:
    """Return an `Evaluation` in plain words."""
    crossed = _crossed(result)
    return "\n".join(
        [
            wrapped(_what_was_done(result)),
            wrapped(finding(result)),
            *([wrapped(crossed)] if crossed else []),
            "",
            *_table(result),
            "",
            wrapped(settings(result.provenance, f"Seed {result.provenance.seed}")),
        ]
    )


def _what_was_done(result: Evaluation) -> str:
    x, y, m = shown(result.name_x), shown(result.name_y), result.n_moved
    scaled = ", standardised over the rows of both" if result.scale == "standard" else ""
    done = f"Simulated: {_drawn(result)}{scaled}"
    if not m:
        return f"{done}; the share is less than one of {result.n_x:,} {x} rows, so nothing was misfiled."
    stated = f"{'exactly' if result.exactly else 'at most'} {m:,}"
    return (
        f"{done}; {m:,} of the {result.n_x:,} {x} rows ({percent(m / result.n_x)}) "
        f"{'was' if m == 1 else 'were'} then filed under {y}, {_how_chosen(result)}. Every method was told "
        f"that {stated} of the {result.n_y + m:,} rows filed under {y} belong to {x}, not which."
    )


def _drawn(result: Evaluation) -> str:
    x, y = shown(result.name_x), shown(result.name_y)
    sizes, given = (result.n_x, result.n_y), (result.n_samples_X, result.n_samples_Y)
    if sizes == given and not result.replace:
        return (
            f"all {result.n_x:,} rows of {x} and {result.n_y:,} of {y} were taken as the truth in each trial"
        )
    how = "with" if result.replace else "without"
    return (
        f"in each trial {rows(result.n_x)} of {x} and {result.n_y:,} of {y} were drawn {how} replacement "
        f"from {given[0]:,} and {given[1]:,}"
    )


def _how_chosen(result: Evaluation) -> str:
    if result.mechanism == "random":
        return "chosen at random"
    if result.mechanism == "nonrandom":
        most = min(2 * result.n_moved, result.n_x)
        return f"drawn from the {most:,} that are most typical of {shown(result.name_x)}"
    return f"chosen by {shown(result.mechanism)}"


def finding(result: Evaluation) -> str:
    """Say how often the truth lay outside each interval, and what that does not say."""
    parts = [_outside(each, result) for each in result.methods]
    trials = f"{result.n_trials:,} trial{'' if result.n_trials == 1 else 's'}"
    proof = (
        "; a certified interval holds the truth whichever rows are misfiled, as long as the number is right"
        if any(each.n_certified for each in result.methods)
        else ""
    )
    return (
        f"In {trials} the truth lay {listed(parts)}.{_never(result)} Under another misfiling, or on other "
        f"data, a rate can be different{proof}."
    )


def _outside(each: MethodCoverage, result: Evaluation) -> str:
    kind = "certified interval" if each.n_certified == result.n_trials else "interval"
    return f"outside the {kind} of {shown(each.label)} in {percent(each.false_coverage_rate)}"


def _never(result: Evaluation) -> str:
    """Say what is left possible where no trial missed and nothing is proved."""
    if not any(not each.n_missed and each.n_certified < result.n_trials for each in result.methods):
        return ""
    most = 1 - (1 - SURE) ** (1 / result.n_trials)
    return (
        f" Where that never happened and nothing is proved, it can still happen in up to {percent(most)} "
        f"of such trials ({percent(SURE)} confidence)."
    )


def _crossed(result: Evaluation) -> str:
    parts = [f"{each.n_crossed:,} of {shown(each.label)}" for each in result.methods if each.n_crossed]
    if not parts:
        return ""
    return f"Intervals whose lower end is above the upper one, which cover nothing: {listed(parts)}."


def _table(result: Evaluation) -> list[str]:
    width = max(11, *(len(shown(each.label)) for each in result.methods))
    lines = [f"  {'method':<{width}}  {'truth outside':>16}  {'mean width':>22}  {'proved in':>10}"]
    for each in result.methods:
        proved = f"{each.n_certified:,}" if each.n_certified else "-"
        cells = _cells(
            each.false_coverage_rate,
            each.false_coverage_rate_error,
            each.mean_interval_width,
            each.mean_interval_width_error,
        )
        lines.append(f"  {shown(each.label):<{width}}{cells}  {proved:>10}")
        if each.attained_false_coverage_rate is not None and each.attained_mean_interval_width is not None:
            cells = _cells(
                each.attained_false_coverage_rate,
                each.attained_false_coverage_rate_error or 0.0,
                each.attained_mean_interval_width,
                each.attained_mean_interval_width_error,
            )
            lines.append(f"  {'  as found':<{width}}{cells}")
    truth = f"The {statistic(result)} of the true groups is {number(result.mean_truth)} on average"
    return [*lines, "", wrapped(f"{truth}, as filed {number(result.mean_observed)}. {ERRORS}")]


ERRORS = "In brackets: standard errors."


def _cells(rate: float, rate_error: float, width: float, width_error: float | None) -> str:
    outside = f"{percent(rate)} ({100 * rate_error:.2g})"
    wide = number(width) if width_error is None else f"{number(width)} ({width_error:.2g})"
    return f"  {outside:>16}  {wide:>22}"
