"""The sentences about audits of records, written once: for `summary()`, the command line and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmdbounds.words.phrases import (
    labellings_used,
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
from mmdbounds.words.testing import TRUE_GROUPS, sweep_conditions

if TYPE_CHECKING:
    from mmdbounds.results import AuditPlan, AuditResult

RANDOM = "Draw the rows at random from all rows as filed, and look up the true group of each."


def plan_summary(result: AuditPlan) -> str:
    """Return an `AuditPlan` in plain words."""
    lines = [f"  {'misfiled':>9}  {'check':>9}  {'find at most':>12}  {'probability':>11}"]
    for point in result.points:
        cells = f"{point.n_misfiled:>9,}  {point.n_checked:>9,}  {point.most_found:>12,}"
        lines.append(f"  {cells}  {number(point.power):>11}")
    return "\n".join([wrapped(plan_statement(result)), "", *lines, "", wrapped(_reading(result))])


def plan_statement(result: AuditPlan) -> str:
    """Say what is to be ruled out, and how many rows that takes at the least."""
    out = f"that {result.breakdown_n_moved:,} or more of the {rows(result.n_samples_Y)} are misfiled"
    few = result.points[0]
    return (
        f"Checking this many rows rules out, with {percent(result.audit_level)} confidence, {out}. {RANDOM} "
        f"If {_misfiled(few.n_misfiled)}, {few.n_checked:,} are enough; the more are misfiled, the more must "
        "be checked."
    )


def _misfiled(count: int) -> str:
    return "none is misfiled" if not count else f"{count:,} {'is' if count == 1 else 'are'} misfiled"


def _reading(result: AuditPlan) -> str:
    """Say how the table is to be read, by its middle row."""
    point = result.points[len(result.points) // 2]
    chance = f"with a probability of {number(point.power)}"
    if result.anytime:
        return (
            f"For example, if {_misfiled(point.n_misfiled)}, this is ruled out after at most "
            f"{rows(point.n_checked)} {chance}. The limit may be looked at after every row, and many "
            "audits end sooner."
        )
    return (
        f"For example, if {_misfiled(point.n_misfiled)}, check {point.n_checked:,}: {chance} at most "
        f"{point.most_found:,} of them turn out to be misfiled, which rules it out. Fix the number before "
        "you start; to look in between, plan with `anytime=True`."
    )


IN_ORDER = (
    "nobody who filed or sorted the rows could know the seed of the order, and rows were looked up in this "
    "order whatever they are like;"
)


def audit_conditions(n_refiled_to_y: int = 0, *, is_exact: bool = False) -> tuple[str, ...]:
    """Return what an audit rests on, one sentence each."""
    one_way, *others = sweep_conditions(is_exact=is_exact, n_refiled_to_y=n_refiled_to_y)
    return IN_ORDER, TRUE_GROUPS, one_way, *others


def audit_summary(result: AuditResult) -> str:
    """Return an `AuditResult` in plain words."""
    lines = [decision(result), looked_up(result), how_many(result), *numbers(result)]
    wanted = len(result.next_rows) and (result.by != "random" or not result.is_decided)
    head = ["", wrapped(next_head(result)), *next_names(result)] if wanted else []
    conditions = [wrapped(f"- {condition}", "  ") for condition in result.conditions]
    made = result.provenance
    used = settings(made, labellings_used(result), seed_used(made))
    return "\n".join(
        [*map(wrapped, lines), *head, "", "Right if", *conditions, "", wrapped(order(result)), wrapped(used)]
    )


def order(result: AuditResult) -> str:
    """Say what the order of the rows was made from, and who may have known it."""
    recorded = f"Recorded order: seed {result.provenance.seed}, sha256 {result.order_digest}."
    if result.drew_seed:
        why = "so that nobody who filed or sorted the rows could know which are looked up"
        return f"{recorded} The seed was drawn now, {why}. Note both before you look up the first row."
    if result.n_random or result.n_chosen:
        return recorded
    why = "whoever knew it when the rows were filed or sorted could choose which are looked up"
    return f"{recorded} The seed was known beforehand: {why}. Leave it out to draw one."


def decision(result: AuditResult) -> str:
    """Say what is decided, and why, or how many more rows are to be looked up."""
    level, y = percent(result.level), shown(result.name_y)
    if result.decision == "the difference stands":
        wrong = percent(result.level + 1 - result.audit_level)
        most = f"as many as {result.n_left:,} of the rows not looked up were misfiled"
        condition = f"even if {most}" if result.n_left else "with all misfiled rows found"
        return (
            f"The difference stands: at the {level} level the groups differ {condition}. If the true groups "
            f"did not differ, an audit would still say this with a probability of at most {wrong}, test and "
            "audit together."
        )
    if result.decision == "no difference shown":
        return f"At the {level} level no difference is shown even if nothing is misfiled: nothing to audit."
    if result.decision == "explained away":
        found = "row found is" if result.n_found == 1 else f"{result.n_found:,} rows found are"
        return (
            f"Explained away: once the {found} refiled, no difference is shown at the {level} level, even "
            "if no other row is misfiled."
        )
    unknown = f"the {rows(result.n_unknown)} filed under {y} that were not looked up"
    if result.n_more >= result.n_unknown:
        return f"Check more: all of {unknown} will probably be needed."
    enough = f"Check more: {result.n_more:,} of {unknown} should be enough"
    if not result.n_random:
        return f"{enough} if they are drawn at random and none of them is misfiled."
    return f"{enough}, in the given order, if misfiled rows are as frequent among them as so far."


def looked_up(result: AuditResult) -> str:
    """Say what was looked up, at random and chosen."""
    if not (result.n_random or result.n_chosen):
        return "No row was looked up yet."
    x = shown(result.name_x)
    y = f"{rows(result.n_samples_Y)} filed under {shown(result.name_y)}"
    at_random = f"{result.n_random:,} in the recorded random order ({_belong(result.n_found_random, x)})"
    chosen = f"{result.n_chosen:,} chosen in other ways ({_belong(result.n_found_chosen, x)})"
    kinds = [text for text, n in ((at_random, result.n_random), (chosen, result.n_chosen)) if n]
    return f"Looked up of the {y}: {' and '.join(kinds)}."


def _belong(count: int, x: str) -> str:
    return f"{count:,} {'belongs' if count == 1 else 'belong'} to {x}"


def how_many(result: AuditResult) -> str:
    """Say how many rows are misfiled, as far as the audit knows."""
    if not result.n_random:
        nothing = "nothing is known about how many are misfiled."
        return f"No row was drawn at random, so {nothing}" if result.n_chosen else nothing.capitalize()
    low, high = result.n_misfiled_range
    in_all = f"{low:,} to {high:,}" if low < high else f"{low:,}"
    return (
        f"With {percent(result.audit_level)} confidence, however often you look, {in_all} of the "
        f"{result.n_samples_Y:,} rows are misfiled, so at most {result.n_left:,} of the "
        f"{result.n_unknown:,} not looked up."
    )


def numbers(result: AuditResult) -> list[str]:
    """Say what the numbers are: breakdown, bounds and p-value."""
    first = result.breakdown_n_moved
    sentences = []
    if first:
        sentences.append(
            f"It would take {first:,} misfiled rows among those not looked up to explain the difference away."
        )
    elif first is None:
        sentences.append("No number of misfiled rows among those not looked up explains the difference away.")
    if result.lower is not None and result.upper is not None:
        low, high = number(result.lower), number(result.upper)
        if result.is_certified:
            low, high = proved_number(result.lower, "lower"), proved_number(result.upper, "upper")
        sure = "proved" if result.is_certified else "not proved"
        sentences.append(
            f"The {statistic(result)} is {number(result.observed)} with the rows found refiled, and between "
            f"{low} and {high} ({sure}) for the true groups."
        )
    if result.pvalue is not None and result.pvalue_of_test is not None:
        error = number(1 - result.audit_level)
        proof = "" if result.is_valid else " It is not proved that no labelling has a larger one."
        sentences.append(
            f"The p-value is at most {number(result.pvalue_of_test)}, or {number(result.pvalue)} with the "
            f"error of the audit ({error}) added.{proof}"
        )
    return sentences


def next_head(result: AuditResult) -> str:
    """Introduce the rows that are to be looked up next."""
    if result.by != "random":
        why = "in the order handed in"
        if result.by == "effect":
            at = f", if at most {result.effects_at:,} more are misfiled" if result.effects_at else ""
            why = f"for their effect on the lower bound{at}"
        return (
            f"Look up next, {why} (such rows narrow the bounds, but say nothing about how many are misfiled):"
        )
    return "Look up next, in this order and without leaving any out:"


def next_names(result: AuditResult) -> list[str]:
    """Name the rows that are to be looked up next, one in each line."""
    ids, file_rows = result.ids_next, result.file_rows_next
    return [
        "  "
        + row_name(
            "Y",
            int(place),
            None if ids is None else str(ids[i]),
            None if file_rows is None else int(file_rows[i]),
        )
        for i, place in enumerate(result.next_rows)
    ]
