"""What must hold of every call: a right answer or a clear refusal, and no certificate that is false.

No comparison has a tolerance of its own: certificates are compared with the extremes over all labellings up
to the error of long double, and values with the rounding that the package claims.
"""

from __future__ import annotations

import signal
import threading
import warnings
from contextlib import contextmanager

import numpy as np

import mmdbounds as mb
from fuzzing import naive
from fuzzing.calls import LENGTHS
from fuzzing.claims import Claims
from fuzzing.containers import MUST_REFUSE

MEDIAN = 1e-8
"""Relative error of the median distance: a product is taken only where the median is above 1e-3 of the
largest distance, so that eps times its square is lost at the most, 1e6 eps and a little."""


LONGEST = 100
"""Seconds for a call that takes a fraction of one, on a busy machine and before anything is compiled."""

UNDERFLOW = 4 * np.finfo(np.float64).tiny
"""float64 ends here: products of smaller numbers are zero, whatever computes them."""


class Violation(AssertionError):  # noqa: N818 -- it is what a run looks for
    """Something that must hold does not."""


class Refused(Exception):  # noqa: N818 -- it is as it should be
    """The package has refused a call as it should: one line, an error of its own."""


def answered(call, function, *arguments, **options):
    """Return what a function answers; a refusal must be an error of the package, on one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with time_limit():
                result = function(*arguments, **options)
        except mb.MmdBoundsError as error:
            if "\n" in str(error) or not str(error):
                raise Violation(f"the refusal is not one line: {str(error)!r}") from error
            if call.is_plain:
                raise Violation(f"an everyday call is refused: {error}") from error
            raise Refused(str(error)) from error
        except TimeoutError as error:
            raise Violation(f"no answer within {LONGEST} s") from error
        except Exception as error:
            raise Violation(f"{type(error).__name__} instead of an answer: {error}") from error
    foreign = [w for w in caught if not issubclass(w.category, mb.errors.MmdBoundsWarning)]
    if foreign:
        raise Violation(f"a warning that is not the package's: {foreign[0].message}")
    return result


@contextmanager
def time_limit():
    """End a call that does not come back, where the system has alarms."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(signum, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_that_it_may_answer(call):
    """There are calls that must be refused."""
    if not call.counts:
        raise Violation(f"no labelling fits {call.misfiling}, but there is an answer")
    if call.form in MUST_REFUSE:
        raise Violation(f"columns that do not belong together are compared: {call.form}")


def check_bounds(call):
    """`mmd_bounds`: certificates hold every labelling, values are those of their rows."""
    X, Y = answered_groups(call)
    result = answered(
        call,
        mb.mmd_bounds,
        X,
        Y,
        call.misfiling.argument(),
        exactly=call.misfiling.exactly,
        method=call.searched(),
        rng=call.rng,
        **call.options(),
    )
    check_that_it_may_answer(call)
    K = call.matrix(checked_bandwidth(call, result.provenance.bandwidth))
    claims = Claims(X, Y, call.with_bandwidth(result.provenance.bandwidth))
    p, q = call.rows.p, call.rows.q
    truths = [naive.extremes(K, p, q, count, call.estimator) for count in call.counts]
    error = max(truth.error for truth in truths)
    lower, upper = min(truth.lower for truth in truths), max(truth.upper for truth in truths)
    holds("certified", "lower", result.lower.certified, lower, error)
    holds("certified", "upper", result.upper.certified, upper, error)
    close("observed", result.observed, naive.value_at(K, p, q, [], [], call.estimator), claims.margin())
    for bound in (result.lower, result.upper):
        check_rows(call, bound, K, claims)


def holds(what, side, proved, truth, error):
    """A number that is said to be proved lies beyond the extreme of all labellings."""
    if proved is None:
        return
    beyond = proved - truth if side == "lower" else truth - proved
    if not beyond <= error + UNDERFLOW:  # also if it is not a number
        exact = np.format_float_scientific(truth, unique=True)
        raise Violation(
            f"the {what} {side} bound {proved!r} is false by {float(beyond):.3g}: "
            f"some labelling has {exact} (+-{float(error):.1g})"
        )


def check_rows(call, bound, K, claims):
    """The value of a bound is that of its rows, and their numbers are admissible."""
    if not np.isfinite(bound.value):
        raise Violation(f"the {bound.side} value is {bound.value}")
    if not bound.has_rows:
        return
    count = len(bound.rows), len(bound.rows_of_x)
    if bound.kind == "labelling" and count not in call.counts:
        raise Violation(f"{bound.side}: {count} rows move, which is not among {call.counts}")
    truth = naive.value_at(K, call.rows.p, call.rows.q, bound.rows, bound.rows_of_x, call.estimator)
    close(f"the {bound.side} value", bound.value, truth, claims.margin(*count))


def close(what, value, truth, margin):
    exact, error = truth
    if not abs(value - exact) <= margin + error + UNDERFLOW:
        raise Violation(f"{what} {value!r} is off by {abs(float(value - exact)):.3g}; claimed: {margin:.3g}")


def checked_bandwidth(call, bandwidth):
    """Return the bandwidth that was taken, which must be the one asked for, or the median."""
    if call.kernel not in LENGTHS:
        return None
    if call.bandwidth != "median":
        if bandwidth != call.bandwidth:
            raise Violation(f"bandwidth {bandwidth!r} instead of {call.bandwidth!r}")
        return bandwidth
    median = naive.median_distance(call.pooled, l1=call.kernel == "laplacian")
    if not abs(bandwidth - median) <= MEDIAN * median:
        raise Violation(f"the median distance {bandwidth!r} is off: {float(median)!r}")
    return bandwidth


def answered_groups(call):
    """Return X and Y in their containers; making groups of a table may be refused as well."""
    return answered(call, call.groups)


def check_statistic(call):
    """`mmd2`: the statistic as filed."""
    X, Y = answered_groups(call)
    if call.kernel in LENGTHS and call.bandwidth == "median":
        call = call.simplest(relative_bandwidth=1.0)
    value = answered(call, mb.mmd2, X, Y, **call.options())
    K = call.matrix(call.bandwidth if call.kernel in LENGTHS else None)
    truth = naive.value_at(K, call.rows.p, call.rows.q, [], [], call.estimator)
    close("mmd2", value, truth, Claims(X, Y, call.options()).margin())


def check_test(call):
    """`robust_test`: no labelling has a larger p-value, and no proof is false."""
    X, Y = call.groups()
    result = answered(
        call,
        mb.robust_test,
        X,
        Y,
        call.misfiling.argument(),
        exactly=call.misfiling.exactly,
        n_permutations=call.n_permutations,
        rng=call.rng,
        **call.options(),
    )
    if not result.is_valid and call.kernel != "function":
        raise Violation("the p-value of a handful of rows is not valid")
    bandwidth = checked_bandwidth(call, result.provenance.bandwidth)
    K = call.matrix(bandwidth)
    tested = {(each.n_moved, each.n_moved_of_x): each for each in result.counts}
    if set(tested) != set(call.counts):
        raise Violation(f"the counts {sorted(tested)} were tested instead of {sorted(call.counts)}")
    for count, each in tested.items():
        truth = naive.extremes(K, call.rows.p, call.rows.q, count, call.estimator)
        holds(f"certified (at {count})", "lower", each.certified, truth.lower, truth.error)
        reached = relabelled_pvalue(call, bandwidth, truth.lowest)
        if each.certified is not None and each.pvalue < reached:
            raise Violation(f"p = {each.pvalue} at {count}, but a labelling has {reached}")


def relabelled_pvalue(call, bandwidth, mark):
    """Return the ordinary p-value of the groups as `mark` labels them, by the same permutations."""
    Z = call.pooled
    if call.kernel == "precomputed":
        order = np.concatenate([np.flatnonzero(mark), np.flatnonzero(~mark)])
        Z = Z[np.ix_(order, order)]
        X, Y = Z[: mark.sum()], Z[mark.sum() :]
    else:
        X, Y = Z[mark], Z[~mark]
    plain = mb.robust_test(
        X, Y, 0.0, n_permutations=call.n_permutations, rng=call.rng, **call.with_bandwidth(bandwidth)
    )
    return plain.pvalue_as_filed


def check_sweep(call):
    """`sweep`: the bounds and p-values of its points, and the count up to which it says that it rejects."""
    X, Y = call.groups()
    p, q = call.rows.p, call.rows.q
    counts = [m for m, _ in call.counts]
    shares = sorted({m / (p + m) for m in counts})
    result = answered(
        call,
        mb.sweep,
        X,
        Y,
        epsilons=shares,
        n_permutations=call.n_permutations,
        rng=call.rng,
        **call.options(),
    )
    bandwidth = checked_bandwidth(call, result.provenance.bandwidth)
    K = call.matrix(bandwidth)
    for point in result.points:
        truth = naive.extremes(K, p, q, (point.n_moved, 0), call.estimator)
        at = f"certified (at {point.n_moved})"
        holds(at, "lower", point.lower_certified, truth.lower, truth.error)
        holds(at, "upper", point.upper_certified, truth.upper, truth.error)
        reached = relabelled_pvalue(call, bandwidth, truth.lowest)
        if point.lower_certified is not None and point.pvalue < reached:
            raise Violation(f"p = {point.pvalue} at {point.n_moved}, but a labelling has {reached}")
        held = result.holds_n_moved is not None and point.n_moved <= result.holds_n_moved
        if held and result.is_valid and reached > result.level:
            raise Violation(
                f"said to reject up to {result.holds_n_moved}, but {point.n_moved} give {reached}"
            )
