"""The sentences about several groups: bounds on HSIC, the test of independence, all pairs."""

from __future__ import annotations

from mmdbounds.results.several import HsicResult, IndependenceResult, LabelBound, PairwiseTable
from mmdbounds.words.phrases import (
    ROWS_NAMED,
    listed,
    number,
    percent,
    proved_number,
    row_name,
    rows,
    seed_used,
    settings,
    shown,
    statistic,
    wrapped,
)
from mmdbounds.words.testing import ROUNDING

EXTREME = {"lower": "smallest", "upper": "largest"}
NAMED = 6  # transitions, pairs or sizes named in a sentence
LARGE_GAP = 0.01  # of the width, from which on the gap between the proved and the attained value is said


def _assumption(result: HsicResult | IndependenceResult) -> str:
    """Say back what was understood: how many labels are wrong, and which way."""
    how = "exactly" if result.exactly else "at most"
    share = percent(result.n_moved / result.n_samples)
    sizes = listed([f"{n:,} {shown(g)}" for g, n in zip(result.groups, result.sizes, strict=True)])
    errors = "any group can stand for any other"
    if not result.is_any:
        named = [f"{shown(a)} recorded, {shown(b)} true" for a, b in result.transitions[:NAMED]]
        rest = len(result.transitions) - len(named)
        errors = f"possible errors: {'; '.join(named)}{f' and {rest} more' if rest else ''}"
    carry = "carries" if result.n_moved == 1 else "carry"
    wrong = f"{how} {rows(result.n_moved)} of {result.n_samples:,} ({share}) {carry} a wrong label"
    return f"Assumed: {wrong}; {errors}. Recorded: {sizes}."


def hsic_summary(result: HsicResult) -> str:
    """Return an `HsicResult` in plain words."""
    made = result.provenance
    lines = [wrapped(_assumption(result)), wrapped(_finding(result)), ""]
    lines += _side_lines(result.lower) if result.n_moved else []
    lines.append(f"  {'as recorded':<16}{number(result.observed):>12}")
    lines += _side_lines(result.upper) if result.n_moved else []
    return "\n".join([*lines, "", wrapped(settings(made, seed_used(made)))])


def _finding(result: HsicResult) -> str:
    """Say between which values the truth is, whether that is proved, and the converse."""
    if not result.n_moved:
        return f"No label is wrong, so the dependence (HSIC) is {number(result.observed)}."
    what = "the dependence (HSIC) between rows and true groups"
    filed = f"as recorded it is {number(result.observed)}."
    more = "more or fewer" if result.exactly else "more"
    last = f"If {more} labels are wrong, it can lie outside this range."
    low, high = result.interval
    if not result.is_certified:
        found = f"{what} can be as small as {number(low)} or as large as {number(high)}; {filed}"
        open_sides = [each for each in (result.lower, result.upper) if each.certified is None]
        sides = listed([f"{EXTREME[each.side]} value ({each.status})" for each in open_sides])
        return f"Depending on which labels they are, {found} Labels reach both; not proved: the {sides}."
    ends = f"{proved_number(low, 'lower')} and {proved_number(high, 'upper')}"
    return f"Whichever labels they are, {what} is between {ends} (proved); {filed} {_gaps(result)}{last}"


def _gaps(result: HsicResult) -> str:
    """Say for each side whose proof is far from what labels reach how far it is."""
    far = [b for b in (result.lower, result.upper) if (b.gap or 0.0) > LARGE_GAP * result.width]
    return "".join(
        f"Labels reach {number(each.value)} as the {EXTREME[each.side]} value: a gap of "
        f"{percent((each.gap or 0.0) / result.width)} of the width. "
        for each in far
    )


def _side_lines(bound: LabelBound) -> list[str]:
    """Return the lines of the table for one side."""
    if bound.certified is None:
        first = f"{EXTREME[bound.side] + ' found':<16}{number(bound.value):>12}   nothing proved"
    else:
        proved = proved_number(bound.certified, bound.side)
        reached = f"labels reach {number(bound.value)}" + (f"; {bound.status}" if bound.status else "")
        first = f"{EXTREME[bound.side]:<16}{proved:>12}   proved; {reached}"
    lines = [f"  {first}"]
    if bound.n_moved:
        first_rows = range(min(bound.n_moved, ROWS_NAMED))
        named = ", ".join(f"{_row(bound, i)} to {shown(bound.labels[i])}" for i in first_rows)
        rest = bound.n_moved - ROWS_NAMED
        more = f" and {rest:,} more" if rest > 0 else ""
        lines.append(wrapped(f"relabels {rows(bound.n_moved)}: {named}{more}", "    "))
    return lines


def _row(bound: LabelBound, i: int) -> str:
    name = None if bound.ids is None else bound.ids[i]
    return row_name("Z", bound.rows[i], name, None if bound.file_rows is None else bound.file_rows[i])


def independence_summary(result: IndependenceResult) -> str:
    """Return an `IndependenceResult` in plain words."""
    worst = listed([f"{n:,} {shown(g)}" for g, n in zip(result.groups, result.worst_sizes, strict=True)])
    floor = "proved: at these sizes HSIC is not smaller" if result.is_valid else "smallest HSIC found"
    as_filed = number(result.pvalue_as_filed)
    head = "Valid if" if result.is_valid else "Besides what is missing, it would be valid only if"
    lines = [
        wrapped(_assumption(result)),
        wrapped(_verdict(result)),
        "",
        f"  p-value         {number(result.pvalue):>12}   at the worst true sizes: {worst}",
        f"  statistic       {number(result.statistic):>12}   {floor}",
        f"  as recorded     {number(result.observed):>12}   ordinary permutation test: {as_filed}",
        "",
        head,
        *(wrapped(f"- {condition}", "  ") for condition in result.conditions),
        wrapped(ROUNDING),
    ]
    made = result.provenance
    permutations = f"{result.n_permutations:,} permutations"
    return "\n".join([*lines, "", wrapped(settings(made, permutations, seed_used(made)))])


def _verdict(result: IndependenceResult) -> str:
    """Say what the p-value is of, and whether it is valid."""
    pvalue = number(result.pvalue)
    if not result.n_moved:
        return f"No label is wrong, so this is the ordinary permutation test: its p-value is {pvalue}."
    if result.is_valid:
        sizes = f" All {result.n_considered:,} possible true sizes of the groups were considered."
        more = sizes if result.n_considered > 1 else ""
        return f"Whichever labels are wrong, the p-value of independence is at most {pvalue} (valid).{more}"
    why = "The lower bound is not proved."
    if result.n_sizes is None or result.n_considered < result.n_sizes:
        every = "more than 10,000" if result.n_sizes is None else f"{result.n_sizes:,}"
        why = f"Only {result.n_considered:,} of {every} possible true sizes of the groups were considered."
    return f"The largest p-value found is {pvalue}. {why} Its validity is not guaranteed."


def pairwise_summary(table: PairwiseTable) -> str:
    """Return a `PairwiseTable` in plain words, then the pairs."""
    headings = ("", statistic(table), "at least", "at most", "p-value", "adjusted")
    lines = [headings]
    for row in table.rows:
        proved = row.lower_certified is not None and row.upper_certified is not None
        low = row.lower if row.lower_certified is None or not proved else row.lower_certified
        high = row.upper if row.upper_certified is None or not proved else row.upper_certified
        pair = f"{shown(row.name_x)} - {shown(row.name_y)}"
        ends = (proved_number(low, "lower"), proved_number(high, "upper"))
        ends = ends if proved else (f"{number(low)} *", f"{number(high)} *")
        marked = "" if row.is_valid else " **"
        lines.append((pair, number(row.observed), *ends, number(row.pvalue) + marked, number(row.adjusted)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = [
        "  ".join([a.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))])
        for a, *rest in lines
    ]
    notes = [wrapped(_joint(table)), *_marks(table)]
    settings_line = f"{table.n_permutations:,} permutations; seed {table.seed}; adjusted: Holm's method."
    return "\n".join([wrapped(_different(table)), "", *body, "", *notes, "", settings_line])


def _different(table: PairwiseTable) -> str:
    """Say which pairs differ at the joint level."""
    level, n = percent(table.level), len(table.rows)
    pairs = [f"{shown(a)} and {shown(b)}" for a, b in table.different]
    if not pairs:
        return f"At the joint {level} level no two groups differ whatever the misfiling within each pair."
    some = "; ".join(pairs[:NAMED]) + (f" and {len(pairs) - NAMED} more" if len(pairs) > NAMED else "")
    which = "all of them" if len(pairs) == n and n > 1 else some
    return (
        f"At the joint {level} level {len(pairs)} of {n} pair{'s' if n > 1 else ''} of groups "
        f"differ{'s' if n == 1 else ''}, whichever rows were misfiled within each pair: {which}."
    )


def _joint(table: PairwiseTable) -> str:
    """Say what was assumed, and what may be said of all pairs at once."""
    how, given = "exactly" if table.exactly else "at most", {**table.misfiling}
    share = given.get("x_in_y")
    if share is not None and given == {"x_in_y": share, "y_in_x": share}:
        stated = f"{how} {percent(share)} of the true rows of either group are filed under the other"
    else:
        stated = f"{how} " + ", ".join(
            f"{name}={value}" for name, value in given.items() if name != "exactly"
        )
    return (
        f"Assumed for each pair by itself: {stated}. The bounds hold for all pairs at once. The adjusted "
        "p-values may be compared with the joint level."
    )


def _marks(table: PairwiseTable) -> list[str]:
    marks = []
    if any(row.lower_certified is None or row.upper_certified is None for row in table.rows):
        marks.append("* reached by labellings; not proved.")
    if not table.is_valid:
        marks.append("** validity not guaranteed.")
    return marks
