"""The sentences about audits of records, written once: for `summary()`, the command line and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmdbounds.words.phrases import number, percent, rows, wrapped

if TYPE_CHECKING:
    from mmdbounds.results import AuditPlan

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
        f"This many rows to check rule out, with {percent(result.audit_level)} confidence, {out}. {RANDOM} "
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
