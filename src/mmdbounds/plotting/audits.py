"""The pictures of audits."""

from __future__ import annotations

from typing import Any

from mmdbounds.plotting import canvas
from mmdbounds.results import AuditPlan
from mmdbounds.words.phrases import percent, rows


def plot_plan(result: AuditPlan, ax: Any = None) -> Any:
    """Draw how many rows an audit must check against how many are misfiled.

    Parameters
    ----------
    result : AuditPlan
        The plan.
    ax : matplotlib.axes.Axes, optional
        As in `plot_bounds`; the axes are returned.

    Examples
    --------
    >>> import mmdbounds as mb
    >>> ax = mb.plotting.plot_plan(mb.plan_audit(357, 34))  # doctest: +SKIP
    """
    canvas.check_result(result, (AuditPlan,), "plot_plan")
    given, ax = ax, canvas.axes_for(ax)
    misfiled, checked = zip(*((point.n_misfiled, point.n_checked) for point in result.points), strict=True)
    sure = (
        f"to rule the breakdown out ({percent(result.audit_level)} confidence), probability {result.power:g}"
    )
    ax.plot(misfiled, checked, color=canvas.BLUE, marker="o", label=sure)
    breakdown = f"breakdown: {rows(result.breakdown_n_moved)}"
    ax.axvline(result.breakdown_n_moved, **canvas.BREAKDOWN, label=breakdown)
    ax.axhline(result.n_samples_Y, **canvas.AS_FILED, label=f"all {rows(result.n_samples_Y)}")
    ax.set_ylim(bottom=0)
    ax.locator_params(integer=True)  # of rows there are no halves
    ax.set_xlabel("rows that are misfiled")
    ax.set_ylabel("rows to check, drawn at random")
    return canvas.explain(ax, given=given)
