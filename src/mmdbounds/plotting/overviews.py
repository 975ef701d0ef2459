"""The pictures of whole results: bounds and p-values against the share, a test, an evaluation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.plotting import canvas
from mmdbounds.results import (
    BoundsResult,
    ConfidenceInterval,
    Evaluation,
    RobustTestResult,
    SweepResult,
)
from mmdbounds.words.bounds import ends as interval_digits
from mmdbounds.words.phrases import assumption, number, percent, proved_number, rows, statistic

ONE_LINE = (6.4, 2.4)
TITLE_WIDTH = 86
BAR: dict[str, Any] = {"color": canvas.BLUE, "linewidth": 8, "solid_capstyle": "butt"}
Ends = list[tuple[float, str]]  # both ends of an interval, and how they are printed
UNPROVED = "found by a labelling, not proved"
COLOURS = (canvas.BLUE, canvas.ORANGE, canvas.BLACK, canvas.VERMILION, canvas.SKY, canvas.GREEN, canvas.PINK)
MARKERS = "os*^DvP"  # colours and markers of the methods, in turn


def plot_bounds(result: SweepResult | BoundsResult | ConfidenceInterval, ax: Any = None) -> Any:
    """Draw how small and how large the squared MMD can be.

    Parameters
    ----------
    result : SweepResult, BoundsResult or ConfidenceInterval
        For a sweep, the bounds against the share of misfiled rows, with the value as filed, what chance alone
        would give (the 95 % quantile of the null) and the breakdown. A single result is one interval on a
        line. In a confidence interval, which is on the root scale, the part due to misfiling is drawn
        thicker than the margin for chance. Hollow markers are values that a labelling reaches but
        nothing proves.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if none is given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> curve = mb.sweep(X, Y, epsilons=[0, 0.1, 0.2], n_permutations=99, rng=0)
    >>> ax = mb.plotting.plot_bounds(curve)  # doctest: +SKIP
    """
    canvas.check_result(result, (SweepResult, BoundsResult, ConfidenceInterval), "plot_bounds")
    if isinstance(result, SweepResult):
        return _against_share(result, ax)
    new = canvas.axes_for(ax, ONE_LINE)
    ends = _confidence(new, result) if isinstance(result, ConfidenceInterval) else _one_share(new, result)
    for (value, text), side, aside in zip(ends, ("right", "left"), (-8, 8), strict=True):
        new.annotate(text, (value, 0), (aside, 0), textcoords="offset points", ha=side, va="center")
    new.set(ylim=(-1, 1), yticks=[])
    new.spines["left"].set_visible(False)
    new.margins(x=0.25)
    canvas.small_numbers(new, "x")
    return canvas.explain(new, given=ax)


def _against_share(result: SweepResult, given: Any) -> Any:
    """Draw the bounds of a sweep."""
    ax, points, ends = canvas.axes_for(given), result.points, []
    places = [point.epsilon for point in points]
    for side, style in (("upper", canvas.UPPER), ("lower", canvas.LOWER)):
        proofs = [getattr(point, f"{side}_certified") for point in points]
        values = [
            getattr(point, side) if proof is None else proof
            for point, proof in zip(points, proofs, strict=True)
        ]
        ax.plot(places, values, **style, label=f"{side} bound")
        _mark_unproved(ax, places, values, proofs, style)
        ends.append(values)
    ax.fill_between(places, *ends, color=canvas.SKY, alpha=0.25, linewidth=0)
    ax.axhline(result.observed, **canvas.AS_FILED, label=f"as filed: {number(result.observed)}")
    if any(p.null_quantile is not None for p in points):
        chance = [math.nan if p.null_quantile is None else p.null_quantile for p in points]
        ax.plot(places, chance, **canvas.CHANCE, label=canvas.CHANCE_LABEL)
    _label_shares(ax, result)
    ax.set_ylabel(f"{statistic(result)} of the true groups")
    canvas.small_numbers(ax, "y")
    return canvas.explain(ax, given=given)


def _one_share(ax: Any, result: BoundsResult) -> Ends:
    """Draw one interval, its value as filed, and labellings that do not reach the proved ends."""
    low, high = result.interval
    ax.plot([low, high], [0, 0], **BAR, label=_proof(result))
    ax.plot([result.observed], [0], "D", color="black", markersize=6, label="as filed")
    if result.odds is not None:
        ax.plot([result.if_random], [0], "o", color=canvas.ORANGE, markersize=7, label="if random")
    for bound, style in ((result.lower, canvas.LOWER), (result.upper, canvas.UPPER)):
        if result.is_certified and bound.gap is not None and bound.gap > 0.01 * abs(result.width):
            ax.plot([bound.value], [0], **{**style, **canvas.HOLLOW}, label=f"{bound.side} value reached")
    ax.set_xlabel(f"{statistic(result)} of the true groups")
    ax.set_title(canvas.lines_of(assumption(result).replace("$", r"\$"), TITLE_WIDTH), fontsize="small")
    return list(zip((low, high), interval_digits(result), strict=True))


def _proof(result: BoundsResult) -> str:
    if result.odds is not None:
        return f"estimate for the populations, odds within a factor of {result.odds:g}"
    kinds = [bound.kind for bound in (result.lower, result.upper) if bound.kind != "labelling"]
    if kinds:
        return f"from {kinds[0]}, not bounds"
    if result.is_crossed:
        return "the two bounds cross"
    if not result.is_certified:
        return "found by labellings, not proved"
    return "possible values (proved)"


def _confidence(ax: Any, result: ConfidenceInterval) -> Ends:
    """Draw a confidence interval: what is due to misfiling, and the margin for chance beyond."""
    label = f"{percent(result.level)} confidence, {result.label}"
    ax.plot([result.low, result.high], [0, 0], color=canvas.GREY, linewidth=3, label=label)
    if result.parts:
        low = min(math.sqrt(max(part.lower, 0.0)) for part in result.parts)
        high = max(math.sqrt(max(part.upper, 0.0)) for part in result.parts)
        ax.plot([low, high], [0, 0], **BAR, label="due to misfiling alone")
    ax.set_xlabel("MMD of the two populations (root scale)")
    if result.label == "proved":
        digits = proved_number(result.low, "lower"), proved_number(result.high, "upper")
    else:
        digits = number(result.low), number(result.high)
    return list(zip((result.low, result.high), digits, strict=True))


def plot_pvalues(result: SweepResult, ax: Any = None) -> Any:
    """Draw the smallest and the largest p-value that the misfiling allows against its share.

    Only the largest is a p-value; the smallest says what the most favourable labelling would give. The
    scale is logarithmic. Hollow markers are p-values that rest on no proof.

    Parameters
    ----------
    result : SweepResult
        The curve.
    ax : matplotlib.axes.Axes, optional
        As in `plot_bounds`; the axes are returned.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> curve = mb.sweep(X, Y, epsilons=[0, 0.1, 0.2], n_permutations=99, rng=0)
    >>> ax = mb.plotting.plot_pvalues(curve)  # doctest: +SKIP
    """
    canvas.check_result(result, (SweepResult,), "plot_pvalues")
    given, ax, points = ax, canvas.axes_for(ax), result.points
    places = [point.epsilon for point in points]
    worst = np.array([point.pvalue for point in points])
    # No lines from share to share: between them a p-value can leap.
    # The largest p-value belongs to the smallest statistic, and looks like it.
    ax.plot(places, worst, **{**canvas.LOWER, **canvas.FILLED}, label="worst case: the p-value")
    _mark_unproved(ax, places, worst, [point.lower_certified for point in points], canvas.LOWER)
    ax.axhline(result.level, **canvas.AS_FILED, label=f"level {percent(result.level)}")
    _label_shares(ax, result)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: number(value))
    ax.set_ylim(0.7 * min([*worst, result.level]), 1.4)
    ax.set_ylabel("p-value for no difference")
    return canvas.explain(ax, given=given)


def _label_shares(ax: Any, result: SweepResult) -> None:
    """Mark the first share with which the finding could be an artefact, and label the axis."""
    first, share = result.breakdown_n_moved, result.breakdown_epsilon
    if first is None or share is None:
        ax.plot([], [], " ", label=f"no breakdown up to {percent(result.share(result.most_moved))}")
    else:
        word = "breakdown" if result.is_confirmed else "breakdown (among those tested)"
        where = f"{percent(share)}, {rows(first)}" if first else "not significant even as filed"
        ax.axvline(share, **canvas.BREAKDOWN, label=f"{word}: {where}")
    x, y = canvas.name_text(result.name_x), canvas.name_text(result.name_y)
    ax.set_xlabel(canvas.lines_of(f"share of the true {x} rows filed under {y} (epsilon)"))
    canvas.in_percent(ax.xaxis)


def _mark_unproved(ax: Any, places: Any, values: Any, proofs: list[Any], style: dict[str, Any]) -> None:
    """Draw hollow markers over values that a labelling reaches but nothing proves."""
    unproved = [i for i, proof in enumerate(proofs) if proof is None]
    if unproved:
        label = "_again" if UNPROVED in ax.get_legend_handles_labels()[1] else UNPROVED
        hollow = {**style, **canvas.HOLLOW}
        ax.plot([places[i] for i in unproved], [values[i] for i in unproved], **hollow, label=label)


def plot_null(result: RobustTestResult, ax: Any = None, *, bounds: BoundsResult | None = None) -> Any:
    """Draw the statistic of a test, in the worst case and as filed, beside its null distribution.

    The null distribution is that for the group sizes in the worst case; the p-value as filed has another,
    for the sizes as filed.

    Parameters
    ----------
    result : RobustTestResult
        The test.
    ax : matplotlib.axes.Axes, optional
        As in `plot_bounds`; the axes are returned.
    bounds : BoundsResult, optional
        Bounds for the same groups, shaded: where the statistic of the true groups can be. Not for
        several kernels, whose statistic is in standard deviations.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> test = mb.robust_test(X, Y, epsilon=0.1, n_permutations=99, rng=0)
    >>> ax = mb.plotting.plot_null(test)  # doctest: +SKIP
    """
    canvas.check_result(result, (RobustTestResult,), "plot_null")
    if bounds is not None:
        if result.parts:
            msg = "`bounds` must be left out for a test with several kernels, which has another scale."
            raise MmdBoundsError(msg)
        canvas.check_result(bounds, (BoundsResult,), "plot_null(..., bounds=...)")
    given, ax = ax, canvas.axes_for(ax)
    n_bins = max(10, min(40, math.isqrt(len(result.null))))
    shares = None if result.null_weights is None else 100 * result.null_weights
    which = "all labellings" if result.is_exact else f"{result.n_labellings:,} random labellings"
    label = f"chance alone: {which}"
    ax.hist(
        result.null, weights=shares, bins=n_bins, color="0.7", edgecolor="0.4", linewidth=0.5, label=label
    )
    if bounds is not None:
        label = f"possible values ({'proved' if bounds.is_certified else 'not proved'})"
        ax.axvspan(*bounds.interval, color=canvas.SKY, alpha=0.25, linewidth=0, label=label)
    ax.axvline(result.statistic, color=canvas.BLUE, linewidth=2, label=_worst_case(result))
    filed = f"{number(result.observed)} (p = {number(result.pvalue_as_filed)} if nothing is misfiled)"
    ax.axvline(result.observed, **canvas.AS_FILED, label=f"as filed: {filed}")
    if result.null_quantile is not None:
        ax.axvline(result.null_quantile, **canvas.CHANCE, label=canvas.CHANCE_LABEL)
    ax.set_xlabel(canvas.lines_of(_statistic(result)))
    ax.set_ylabel("random labellings" if shares is None else "labellings (%)")
    canvas.small_numbers(ax, "x")
    return canvas.explain(ax, given=given)


def _worst_case(result: RobustTestResult) -> str:
    """Say which statistic it is, rounded so that it stays proved, and its p-value."""
    pvalue = number(result.pvalue)
    if not result.is_valid:
        return f"worst case: {number(result.statistic)} found (p = {pvalue}, not proved)"
    return f"worst case: at least {proved_number(result.statistic, 'lower')} (p = {pvalue})"


def _statistic(result: RobustTestResult) -> str:
    moved = f"(worst case: {rows(result.n_moved)} misfiled)"
    return f"{statistic(result)} {moved}"


def plot_coverage(result: Evaluation, ax: Any = None) -> Any:
    """Draw the false coverage rate of each method against the mean width of its interval.

    Low and to the left is good: rarely wrong, and narrow. Bars are standard errors.

    Parameters
    ----------
    result : Evaluation
        The evaluation.
    ax : matplotlib.axes.Axes, optional
        As in `plot_bounds`; the axes are returned.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(40, 2))
    >>> found = mb.evaluate(X, Y, epsilon=0.1, methods=["s-sd", "sd"], n_trials=5, rng=0, progress=False)
    >>> ax = mb.plotting.plot_coverage(found)  # doctest: +SKIP
    """
    canvas.check_result(result, (Evaluation,), "plot_coverage")
    given, ax = ax, canvas.axes_for(ax)
    for place, method in enumerate(result.methods):
        ax.errorbar(
            [method.mean_interval_width],
            [method.false_coverage_rate],
            xerr=[method.mean_interval_width_error or 0.0],
            yerr=[method.false_coverage_rate_error],
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=8,
            markeredgecolor=canvas.BLACK,
            linestyle="",
            capsize=3,
            label=f"{canvas.name_text(method.label)}: {method.n_missed} of {result.n_trials} missed",
        )
    ax.set_ylim(-0.05, 1.05)
    canvas.in_percent(ax.yaxis)
    canvas.small_numbers(ax, "x")
    ax.set_xlabel(f"mean width of the interval ({statistic(result)})")
    ax.set_ylabel("trials that miss the truth")
    return canvas.explain(ax, given=given)
