"""What a page says around its numbers: what was compared and assumed, how large that is, text to paste."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from mmdbounds.results import (
    AuditResult,
    BoundsResult,
    ColumnTable,
    Provenance,
    Result,
    RobustTestResult,
    SweepPoint,
    SweepResult,
)
from mmdbounds.words import auditing, bounds, columns, testing
from mmdbounds.words.phrases import (
    assumption,
    labellings_used,
    limited_odds,
    rows,
    shown,
    statistic,
)

Kind = TypeVar("Kind", bound=Result)

MMD = "The squared maximum mean discrepancy (squared MMD)"
ENERGY = (
    "The energy distance (twice the mean distance between the groups, less the mean distances within them)"
)
MEANING = (
    "{} says how far apart two groups are in all columns "
    "together: in means, spreads, shapes and how columns go together. It is 0 for groups that do not differ, "
    "and the larger the more they differ; estimated from few rows, it is a little above or below 0 by chance."
)
MISFILED = "A row is misfiled if it belongs to the one group and is filed under the other."
PAPER = (
    "Nafshi R, Makar M. Partial identification of kernel based two sample tests with mismeasured data. "
    "arXiv:2308.03570, 2023."
)
SOFTWARE = (
    "The mmdbounds developers. mmdbounds: bounds on the kernel two-sample statistic when rows are filed "
    "under the wrong group. Version {}."
)


def first_of(results: Sequence[Result], kind: type[Kind]) -> Kind | None:
    """Return the first result of a kind, `None` if there is none."""
    return next((result for result in results if isinstance(result, kind)), None)


def compared(result: Any) -> str:
    """Say who X and Y are."""
    x, y = shown(result.name_x), shown(result.name_y)
    return (
        f"X is {x} ({rows(result.n_samples_X)}), Y is {y} ({rows(result.n_samples_Y)}). Some rows "
        f"that belong to {x} may be filed under {y}{_other_way(result)}. {MISFILED}"
    )


def _other_way(result: Any) -> str:
    return ", or the other way round" if getattr(result, "n_moved_of_x", 0) else ""


def measured(made: Provenance) -> str:
    """Say what the statistic measures."""
    return MEANING.format(ENERGY if made.kernel == "energy" else MMD)


def _any_rows(result: Any) -> bool:
    """Return whether rows are misfiled, and nothing is assumed about which."""
    known = getattr(result, "knowledge", None) is not None or limited_odds(result)
    return bool(result.n_moved) and not known


def point_at(curve: SweepResult | None, result: BoundsResult | None) -> SweepPoint | None:
    """Return the point of a curve that is about the same misfiling as bounds."""
    if curve is None or result is None or result.n_moved_of_x or result.exactly != curve.exactly:
        return None
    return next((point for point in curve.points if point.n_moved == result.n_moved), None)


def effect_sizes(results: Sequence[Result]) -> list[str]:
    """Say how large the difference is on scales that people know, one sentence each."""
    found, curve = first_of(results, BoundsResult), first_of(results, SweepResult)
    table, test = first_of(results, ColumnTable), first_of(results, RobustTestResult)
    sentences = []
    point = point_at(curve, found)
    multiples = None if point is None else point.in_null_quantiles
    if multiples is not None:
        low, high = multiples
        sentences.append(_times(curve, f"between {_factor(low)} and {_factor(high)}"))
    elif test is not None and (least := test.in_null_quantiles) is not None:
        sentences.append(_times(test, f"{'at least' if test.is_valid else 'found to be'} {_factor(least)}"))
    if table is not None and (best := columns.best_column(table)):
        sentences.append(best)
    return sentences


def _factor(multiple: float) -> str:
    return f"{multiple:.2g}" if abs(multiple) < 100 else f"{multiple:,.0f}"


def _times(result: Any, what: str) -> str:
    return (
        f"Compared with chance: the {statistic(result)} is {what} times the value that chance alone stays "
        "below in 95 % of the cases if the groups do not differ."
    )


def methods(results: Sequence[Result], made: Provenance) -> str:
    """Return a paragraph for the methods of a paper."""
    first: Any = results[0]
    x, y = shown(first.name_x), shown(first.name_y)
    length = "" if made.bandwidth is None else f", bandwidth {made.bandwidth:.3g}"
    measure = f"squared maximum mean discrepancy (MMD; {made.estimator} estimator, {made.kernel} kernel"
    if made.kernel == "energy":
        power = made.kernel_options.get("exponent", 1)
        measure = f"energy distance ({made.estimator} estimator, exponent {power:g}"
    features = made.data.get("columns") or ()
    scale = {"standard": ", standardised over all rows", "robust": ", scaled by median and quartiles"}
    of_columns = f"; {len(features)} columns{scale.get(str(made.data.get('scale')), '')}" if features else ""
    groups = (
        f"We compared {rows(first.n_samples_X)} of {x} with {first.n_samples_Y:,} of {y} by the "
        f"{measure}{length}{of_columns})."
    )
    sentences = [groups, f"Some rows that belong to {x} may have been filed under {y}{_other_way(first)}."]
    known = [r for r in results if isinstance(r, BoundsResult | RobustTestResult)]
    if known:
        stated = assumption(known[0]).removeprefix("Assumed: ")
        sentences.append(f"We assumed that {stated[0].lower()}{stated[1:]}")
        sentences += ["Nothing was assumed about which ones."] if _any_rows(known[0]) else []
        proved = all(r.is_certified if isinstance(r, BoundsResult) else r.is_valid for r in known)
        sentences += ["The results hold for every set of rows that this allows."] if proved else []
    if any(isinstance(result, ColumnTable) for result in results):
        sentences.append(
            f"Standardised differences are means of {x} less means of {y}, divided by the standard deviation "
            "over all rows, with bounds over the same misfilings."
        )
    tests = [r for r in results if isinstance(r, SweepResult | RobustTestResult | AuditResult)]
    if tests:
        most = "the largest" if tests[0].is_valid else "the largest found"
        sentences.append(
            f"P-values are from a permutation test ({labellings_used(tests[0])}), {most} over all admissible "
            "labellings. They assume that rows are exchangeable between the groups if there is no "
            "difference, and that rows were only relabelled."
        )
    seed = "" if made.seed is None else f", seed {made.seed}"
    sentences.append(f"Computed with mmdbounds {made.version} (Nafshi and Makar, arXiv:2308.03570){seed}.")
    return " ".join(sentences)


def findings(results: Sequence[Result]) -> str:
    """Return the sentences for the results of a paper."""
    found, curve = first_of(results, BoundsResult), first_of(results, SweepResult)
    table, audit = first_of(results, ColumnTable), first_of(results, AuditResult)
    test = first_of(results, RobustTestResult)
    sentences = [] if found is None else [assumption(found), bounds.finding(found)]
    if curve is not None:
        point = point_at(curve, found)
        sentences += [] if point is None else [testing.pvalues_at(point, curve)]
        sentences.append(testing.breakdown(curve))
    sentences += [] if test is None else [*([] if found else [assumption(test)]), testing.statement(test)]
    sentences += [] if audit is None else [auditing.decision(audit)]
    sentences += [] if table is None else [columns.statement(table)]
    return " ".join(sentences)


def citations(version: str) -> list[str]:
    """Return what to cite, one entry each."""
    return [PAPER, SOFTWARE.format(version)]
