"""An audit of the rows filed under Y: from rows that were looked up to a decision, and to the next rows.

As in risk-limiting audits of elections, the breakdown is the margin. The audit goes on until more misfiled
rows than it allows would be needed to explain the difference away, or until the rows found have done so.

Looking again and again costs nothing. The limits on the number hold for all times together, and the p-value
at the true number is at least that of the true labelling, which is one and the same at every look: the
random labellings depend on the pooled rows and the seed alone, and so does whether all of a size are counted
instead. So a difference that is none is said to stand,
at any time, with a probability of at most level + (1 - audit_level).
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from mmdbounds.bounds import mmd_bounds
from mmdbounds.checks import (
    MOST_SEED,
    check_count,
    check_labellings,
    check_level,
    check_option,
    check_progress,
    check_seed,
)
from mmdbounds.contamination import Contamination
from mmdbounds.errors import MmdBoundsError, VerifiedWarning, counted, warn
from mmdbounds.inference.audit_plan import Stairs, rows_until_ruled_out
from mmdbounds.inference.audited_rows import (
    AuditedRows,
    AuditState,
    audited_rows,
    chosen_by,
    with_order,
)
from mmdbounds.inference.breakdown import Breakdown, find_breakdown
from mmdbounds.inference.robust import robust_test
from mmdbounds.number_limits import allowed_error
from mmdbounds.objective import Indices
from mmdbounds.problem import ComparisonOptions, compares, comparison
from mmdbounds.results import BoundsResult
from mmdbounds.results.audit import AuditResult, By, Decision
from mmdbounds.search.sharp import Sharp
from mmdbounds.words.auditing import audit_conditions

FEW_RANDOM = 5  # times as many chosen rows as rows in the recorded order: perhaps it was another order
SHOWN = Sharp(gap=0.02)  # the bounds of a look, which are read to two digits
RANKING = Sharp(certify=False)  # which orders rows, and needs no proof
FEW_MOVED = 0.1  # share of the rows not looked up that are taken as misfiled where rows are ranked
POWER = 0.9  # with which so many more rows decide, if misfiled rows are as frequent as they look


@compares()
def audit(
    X: Any,
    Y: Any,
    *,
    verified: tuple[Any, Any] | None = None,
    level: float = 0.05,
    audit_level: float = 0.95,
    n_next: int = 20,
    by: By = "random",
    order: Any = None,
    n_permutations: int = 999,
    rng: int | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> AuditResult:
    """Decide from rows that were looked up whether a difference stands, and name the next rows to look up.

    Rows of Y are looked up in a random order that `rng` and the names of the rows determine. Start with
    nothing looked up, look up the rows that the result names, and call again: the same `rng` continues the
    same audit. You may stop whenever you like, and look as often as you like.

    Parameters
    ----------
    X, Y, kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`. Of a table, `groups` reads what was looked up (``verified="column"``).
    verified : pair, optional
        What was looked up of the rows of `X` and of `Y`, if they are arrays; as in `mmd_bounds`.
    level : float, default=0.05
        Level of the test.
    audit_level : float, default=0.95
        Confidence of the limits on the number of misfiled rows.
    n_next : int, default=20
        How many rows to name.
    by : {"random", "effect"}, default="random"
        Which ones. ``"effect"``: those whose true group would change the lower bound most, if at most a tenth
        of the rows not looked up is misfiled (`AuditResult.effects_at`). They narrow the bounds faster, but
        say nothing about how many are misfiled; both kinds can be mixed.
    order : array-like, optional
        An order of your own: one number for each row of `Y`, such as the label-quality scores of cleanlab or
        ranks from 1. Rows with the smallest numbers are named first, equal ones in the recorded order; they
        count like those by effect. A Series with an index is brought to the rows by their names. Tables:
        `groups` has `order`.
    n_permutations : int, default=999
        As in `robust_test`.
    rng : int, optional
        Seed of the order and of the test. An audit that begins draws one, so that nobody who files or sorts
        the rows can know which are looked up; the result records it. To continue, give that one. One that is
        given when an audit begins is taken, and the result says that it was known beforehand. Another one
        begins another audit, in which the rows looked up so far count as chosen.

    Returns
    -------
    AuditResult
        The decision, the limits on the number misfiled, bounds, p-value and breakdown, and the next rows.

    Notes
    -----
    A row is identified by its name (`groups(..., id=)`) where these differ, else by its row in the file, else
    by its place in `Y`. Rows that were looked up belong to the random sample if no row before them in the
    order is missing; all others count as chosen, for whatever reason. If the true groups do not differ, an
    audit ever comes to say that the difference stands with a probability of at most `level` + 1 -
    `audit_level`.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(2, 1, size=(60, 2))
    >>> first = mb.audit(X, Y, n_next=30, rng=0)
    >>> first.decision
    'check more'
    >>> truth = np.full(60, "", dtype=object)
    >>> truth[first.next_rows] = "Y"  # all of them were filed rightly
    >>> mb.audit(X, Y, verified=(None, truth), rng=first.provenance.seed).decision
    'the difference stands'
    """
    started = time.perf_counter()
    level, alpha = check_level(level), allowed_error(audit_level, "audit_level")
    n_next = check_count(n_next, "n_next")
    check_option(by, "by", ("random", "effect"))
    n_permutations = check_labellings(n_permutations)
    check_progress(progress)
    how = comparison("audit", options)
    X, Y = with_order(X, Y, order)
    by = chosen_by(by, Y)
    rows, seed = _rows_in_order(X, Y, verified, how.kernel, rng, by)
    call = Calls({**options, "rng": seed, "progress": progress}, level, n_permutations)
    finding = _finding(rows, alpha, call)
    return AuditResult(
        **finding,
        **_books(rows.state),
        level=level,
        audit_level=float(audit_level),
        by=by,
        **_next_rows(rows, by, n_next, finding["n_left"], call),
        order_digest=rows.order_digest,
        drew_seed=rng is None,
        n_samples_X=rows.n_filed_x,
        n_samples_Y=rows.state.n_rows,
        name_x=rows.X.name,
        name_y=rows.Y.name,
        conditions=audit_conditions(rows.n_refiled_to_y, is_exact=call.margin.is_exact),
        n_permutations=n_permutations,
        is_exact=call.margin.is_exact,
        n_labellings=call.margin.n_labellings,
        provenance=replace(
            call.margin.provenance,
            method="audit",
            options={},
            misfiling={},
            seconds=time.perf_counter() - started,
        ),
    )


def check_audit(X: Any, Y: Any, *, kernel: Any, audit_level: float, by: By, rng: int | None) -> None:
    """Refuse what `audit` would refuse, before the work."""
    _rows_in_order(X, Y, None, kernel, rng, chosen_by(by, Y))
    allowed_error(audit_level, "audit_level")


class Calls:
    """The calls that an audit makes, with the same options."""

    margin: Breakdown

    def __init__(self, options: dict[str, Any], level: float, n_permutations: int) -> None:
        self.options = options
        self._test: dict[str, Any] = {"level": level, "n_permutations": n_permutations}

    def breakdown(self, rows: AuditedRows, most: int) -> Breakdown:
        """Return where the finding breaks down, with up to `most` misfiled rows."""
        self.margin = find_breakdown(rows.X, rows.Y, most, **self._test, **self.options)
        return self.margin

    def pvalue(self, rows: AuditedRows, most: int) -> tuple[float, bool]:
        """Return the largest p-value up to `most` misfiled rows, and whether it is valid."""
        amount = Contamination(n_moved=most)
        test = robust_test(rows.X, rows.Y, amount, **self._test, **self.options)
        return test.pvalue, test.is_valid

    def bounds(self, rows: AuditedRows, most: int, method: Sharp) -> BoundsResult:
        """Return the bounds with at most so many misfiled rows."""
        amount = Contamination(n_moved=most)
        return mmd_bounds(rows.X, rows.Y, amount, method=method, **self.options)


def _rows_in_order(
    X: Any, Y: Any, verified: Any, kernel: object, rng: int | None, by: By
) -> tuple[AuditedRows, int]:
    """Return the rows of the audit that `rng` began, or of a new one, and its seed."""
    seed = check_seed(None) if rng is None else check_count(rng, "rng", most=MOST_SEED)
    rows = audited_rows(X, Y, verified, kernel, seed)
    if rng is None and rows.state.n_random + rows.state.n_chosen:
        got = "rows were looked up, so `rng` must be the seed with which the audit began"
        new = f"for a new audit give one that nobody could know, such as {seed}"
        msg = f"{got}; got none. It is in the last lines of its result; {new}."
        raise MmdBoundsError(msg)
    _warn_of_choice(rows.state, seed, by)
    return rows, seed


def _books(state: AuditState) -> dict[str, Any]:
    names = ("n_random", "n_found_random", "n_chosen", "n_found_chosen", "n_unknown")
    return {name: getattr(state, name) for name in names}


def _finding(rows: AuditedRows, alpha: Fraction, call: Calls) -> dict[str, Any]:
    """Return what follows from the rows looked up: the fields up to the decision."""
    state, limits = rows.state, rows.state.misfiled(alpha)
    n_left = limits[1] - state.n_found
    testable = _most_testable(rows, call.options.get("estimator", "unbiased"))
    margin = call.breakdown(rows, testable)
    fields: dict[str, Any] = dict.fromkeys(("pvalue", "pvalue_of_test", "lower", "upper"))
    is_valid, is_certified = margin.is_valid, False
    if state.n_random and n_left <= testable:
        fields["pvalue_of_test"], is_valid = call.pvalue(rows, n_left)
        fields["pvalue"] = min(1.0, fields["pvalue_of_test"] + float(alpha))
        bounds = call.bounds(rows, n_left, SHOWN)
        (fields["lower"], fields["upper"]), is_certified = bounds.interval, bounds.is_certified
    decision = _decision(state, margin, fields["pvalue_of_test"], is_valid)
    return {
        **fields,
        "decision": decision,
        "n_more": _rows_to_go(state, margin, alpha) if decision == "check more" else 0,
        "n_misfiled_range": limits,
        "n_left": n_left,
        "is_valid": is_valid,
        "is_certified": is_certified,
        "observed": margin.observed,
        "breakdown_n_moved": margin.breakdown_n_moved,
        "most_moved": margin.most_moved,
    }


def _most_testable(rows: AuditedRows, estimator: str) -> int:
    """Return the largest number of misfiled rows that can be tested: a group must remain."""
    smallest = 2 if estimator == "unbiased" else 1
    return max(min(rows.state.n_unknown, len(rows.Y) - smallest), 0)


def _decision(state: AuditState, margin: Breakdown, pvalue: float | None, is_valid: bool) -> Decision:
    if margin.holds_n_moved is None:
        return "explained away" if state.n_found else "no difference shown"
    stands = pvalue is not None and pvalue <= margin.level and is_valid
    return "the difference stands" if stands else "check more"


def _rows_to_go(state: AuditState, margin: Breakdown, alpha: Fraction) -> int:
    """Return how many more rows in the order decide, if misfiled rows are as frequent as they look."""
    if margin.breakdown_n_moved is None:
        return min(1, state.n_unknown)
    least = state.n_found + margin.breakdown_n_moved
    share = state.n_found_random / max(state.n_random, 1)
    misfiled = state.n_found + round(share * state.n_unknown)
    if misfiled >= least:
        return state.n_unknown
    stairs = Stairs(state.n_rows, least, alpha, True)
    start = state.n_random, state.n_found_random
    return state.n_unknown_before(rows_until_ruled_out(stairs, misfiled, POWER, start)[0])


def _next_rows(rows: AuditedRows, by: By, count: int, n_left: int, call: Calls) -> dict[str, Any]:
    """Return the fields that name the rows to look up next."""
    effects_at = _effects_at(rows, n_left) if by == "effect" else None
    if effects_at is not None:
        chosen = _by_effect(rows, count, effects_at, call)
    elif by == "order":
        chosen = rows.next_by_order(count)
    else:
        chosen = rows.state.next_rows(count)
    return {
        "effects_at": effects_at,
        "next_rows": rows.places[chosen],
        "ids_next": None if rows.ids is None else rows.ids[chosen],
        "file_rows_next": None if rows.file_rows is None else rows.file_rows[chosen],
    }


def _by_effect(rows: AuditedRows, count: int, most: int, call: Calls) -> Indices:
    """Return the rows that change the lower bound most, once their true group is known."""
    if most < 1:
        return rows.state.next_rows(0)
    table = call.bounds(rows, most, RANKING).row_table()
    return np.array([rows.number_of[name] for name in table["id"][:count]], dtype=np.intp)


def _effects_at(rows: AuditedRows, n_left: int) -> int:
    """Return the number of misfiled rows at which effects are compared.

    At the start of an audit nearly all rows might be misfiled. With so many the bound says nothing, and the
    order of the rows is no better than chance: mislabelled rows come first where few are assumed.
    """
    few = max(round(FEW_MOVED * rows.state.n_unknown), 1)
    return min(max(n_left, 1), few, rows.state.n_unknown, len(rows.Y) - 2)


def _warn_of_choice(state: AuditState, seed: int, by: By) -> None:
    """Warn if the rows looked up look like a sample that was drawn in another way."""
    is_few = FEW_RANDOM * state.n_random < state.n_chosen if by == "random" else not state.n_random
    if not (state.n_chosen and is_few):
        return
    were = "was" if state.n_chosen == 1 else "were"
    warn(
        f"row {state.n_random + 1:,} of the recorded order (`rng=` {seed}) was not looked up, but "
        f"{counted(state.n_chosen, 'row')} after it {were}. Rows out of order count as chosen: they narrow "
        "the bounds, but do not say how many are misfiled. Was the audit begun with another seed?",
        VerifiedWarning,
    )
