"""`evaluate`: the false coverage and the width of any method where the truth is known."""

from __future__ import annotations

import functools
import math
import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Unpack

import numpy as np

from mmdbounds import baselines
from mmdbounds._version import __version__
from mmdbounds.baselines import Baseline
from mmdbounds.checks import (
    MOST_TRIALS,
    check_count,
    check_processes,
    check_progress,
    check_seed,
    is_list,
)
from mmdbounds.errors import MmdBoundsError, shown_value
from mmdbounds.evaluation.process_pool import run_in_processes
from mmdbounds.evaluation.trials import Checkpoint, Design, checked_groups, checked_sizes, run_trial
from mmdbounds.kernels.registry import folded
from mmdbounds.mechanisms import MechanismLike, mechanism_name
from mmdbounds.problem import ComparisonOptions, compares, comparison
from mmdbounds.progress import Meter
from mmdbounds.results import Provenance
from mmdbounds.results.evaluation import Evaluation, MethodCoverage, Trial
from mmdbounds.results.serialize import plain
from mmdbounds.search import Method, as_method
from mmdbounds.sums.threads import thread_count
from mmdbounds.tables.group import group_fields

MethodLike = str | Method | Baseline
DEFAULT_METHODS = ("sharp", "s-sd")


@compares()
def evaluate(
    X_clean: Any,
    Y_clean: Any,
    epsilon: float,
    *,
    methods: MethodLike | Iterable[MethodLike] | Mapping[str, MethodLike] | None = None,
    sizes: tuple[int | None, int | None] | None = None,
    replace: bool = False,
    n_trials: int = 100,
    mechanism: MechanismLike = "nonrandom",
    scale: str = "none",
    exactly: bool = True,
    n_processes: int | None = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> Evaluation:
    """Simulate misfiling and count how often the truth lies outside the interval of each method.

    Each trial draws true groups, files m = floor(epsilon n_x) rows of X under Y (`simulate`), and bounds the
    squared MMD from the groups as filed by every method, with m known. The truth is the squared MMD of the
    true groups, with the same kernel.

    Parameters
    ----------
    X_clean, Y_clean : array-like of shape (n_x, d) and (n_y, d)
        The true groups: arrays, DataFrames, or what `groups` returns.
    epsilon : float
        Share of the true X to misfile.
    methods : list or dict, optional
        By default ``["sharp", "s-sd"]``. Names and method objects as `mmd_bounds` takes them, and `baselines`
        by name (``"s-qno"``, ``"qno"``, ``"sm"``, ``"bootstrap"``) or as objects; a dict gives
        them labels, ``{"50 steps": StepwiseDominance(n_steps=50)}``.
    sizes : (int, int), optional
        Rows of X and of Y to draw in each trial; `None`, for both or one of them, means as many as there are.
    replace : bool, default=False
        Whether rows are drawn with replacement. Without, and without `sizes`, every trial has the same true
        groups, and only the misfiling differs.
    n_trials : int, default=100
        Number of trials.
    mechanism : {"nonrandom", "random"} or callable, default="nonrandom"
        Which rows are misfiled, as in `simulate`.
    scale : {"none", "standard"}, default="none"
        Whether to standardise the columns in each trial, over the rows drawn for both groups.
    exactly : bool, default=True
        Whether the methods are told the exact number of misfiled rows, as in the paper, or that at most this
        many are misfiled.
    kernel, bandwidth, estimator, backend, dtype
        As in `mmd_bounds`; the median bandwidth is that of the rows of the trial.
    working_memory : float, default=1024
        Memory budget of each process in MiB.
    n_processes : int or None, default=1
        Number of processes that run trials; `None` means one per core. With more than one, a script must call
        this below ``if __name__ == "__main__":``, and functions given as `mechanism` or `kernel` must be
        defined at the top level of a module. The results are the same, except for the seconds.
    checkpoint : file name, optional
        Keeps every trial as it finishes. After a stop, the same call resumes from the file; a larger
        `n_trials` adds trials to it. A file with trials of another evaluation is refused. Needs `rng`.
    rng : int or Generator, optional
        Seed, recorded in the result.
    progress : bool, optional
        Show how many trials are done, and the time so far.

    Returns
    -------
    Evaluation
        For each method the share of trials whose truth is outside its interval, the mean width, both with
        standard errors, and all trials.

    Notes
    -----
    The ends of an interval count as inside. A certified interval is judged as it is. An attained interval is
    widened by `Trial.rounding` on both sides: the truth may be the labelling that was found, summed in
    another order. An interval whose lower end is above its upper end is not reversed: it covers nothing.

    All randomness of a trial comes from ``SeedSequence(seed, spawn_key=(trial,))``, and all methods of a
    trial get the same seed. So other trials or other methods do not change a result.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(300, 2)), rng.normal(1, 1, size=(300, 2))
    >>> found = mb.evaluate(X, Y, epsilon=0.2, sizes=(20, 20), n_trials=5, rng=0)
    >>> found["sharp"].false_coverage_rate
    0.0
    >>> found["s-sd"].mean_interval_width < found["sharp"].mean_interval_width
    True
    """
    check_progress(progress)
    trials = range(check_count(n_trials, "n_trials", least=1, most=MOST_TRIALS))
    n_processes = thread_count() if n_processes is None else check_processes(n_processes)
    if checkpoint is not None and rng is None:
        msg = "`checkpoint` needs a seed (`rng`): without one, a run that was stopped cannot resume."
        raise MmdBoundsError(msg)
    X, Y = checked_groups(X_clean, Y_clean)
    design = Design(
        X=X,
        Y=Y,
        epsilon=epsilon,
        methods=labelled_methods(DEFAULT_METHODS if methods is None else methods),
        sizes=checked_sizes(sizes),
        replace=replace,
        scale=scale,
        mechanism=mechanism,
        how=comparison("evaluate", options),
        exactly=exactly,
        seed=check_seed(rng),
    )
    kept = None if checkpoint is None else Checkpoint(checkpoint, design)
    return _evaluation(design, _collected(design, trials, n_processes, kept, progress))


def as_method_or_baseline(method: Any) -> Method | Baseline:
    """Return what a name stands for, and an object as it is."""
    if isinstance(method, Baseline):
        return method
    named = {folded(name): name for name in baselines.NAMES}
    is_named = isinstance(method, str) and folded(method) in named
    return baselines.baseline(named[folded(method)]) if is_named else as_method(method)


def labelled_methods(methods: Any) -> dict[str, Method | Baseline]:
    """Return methods and baselines by their labels, which are their names unless given."""
    if isinstance(methods, str | Baseline) or hasattr(methods, "both_sides"):
        methods = [methods]
    if not (isinstance(methods, Mapping) or is_list(methods)):
        msg = f"`methods` must be a list of methods, or a dict of them by label; got {shown_value(methods)}."
        raise MmdBoundsError(msg)
    if isinstance(methods, Mapping):
        pairs = [(label, as_method_or_baseline(method)) for label, method in methods.items()]
    else:
        chosen = [(m, as_method_or_baseline(m)) for m in methods]
        pairs = [(m if isinstance(m, str) else made.name, made) for m, made in chosen]
    labels = [label for label, _ in pairs]
    if not labels:
        msg = "`methods` must name at least one method; got none."
        raise MmdBoundsError(msg)
    if wrong := [label for label in labels if not isinstance(label, str) or not label]:
        msg = f"`methods` must have strings as labels; got {shown_value(wrong[0])}."
        raise MmdBoundsError(msg)
    if twice := [label for label in labels if labels.count(label) > 1]:
        hint = "Give labels: {'label': method}."
        msg = f"`methods` must have different labels; got {twice[0]!r} twice. {hint}"
        raise MmdBoundsError(msg)
    return dict(pairs)


def _collected(
    design: Design,
    trials: Sequence[int],
    n_processes: int,
    checkpoint: Checkpoint | None,
    progress: bool | None,
) -> list[Trial]:
    """Return the trials in the order of their numbers; those in the checkpoint are not run again."""
    done = {} if checkpoint is None else checkpoint.load()
    missing = [trial for trial in trials if trial not in done]
    if checkpoint is not None and missing:
        checkpoint.begin()
    if min(n_processes, len(missing)) > 1:
        _check_can_be_sent(design)
    running = run_in_processes(functools.partial(run_trial, design), missing, n_processes)
    with Meter("trial", show=progress) as meter, closing(running):
        for k, trial in enumerate(running, start=1):
            if checkpoint is not None:
                checkpoint.keep(trial)
            done[trial.trial] = trial
            meter.phase("trial", k, len(missing))
    return [done[trial] for trial in trials]


def _check_can_be_sent(design: Design) -> None:
    """Refuse functions and methods that another process cannot import, and say which."""
    things: dict[str, Any] = {"mechanism": design.mechanism, "kernel": design.how.kernel}
    things |= {f"methods[{label!r}]": method for label, method in design.methods.items()}
    for name, thing in things.items():
        try:
            pickle.dumps(thing)
        except Exception as error:  # whatever a user's object does when it is pickled
            msg = (
                f"`{name}` cannot be sent to other processes; got {shown_value(thing)}. Define it at the top "
                "level of a module, or use n_processes=1."
            )
            raise MmdBoundsError(msg) from error


def _evaluation(design: Design, trials: list[Trial]) -> Evaluation:
    return Evaluation(
        methods=tuple(coverage_of(label, method, trials) for label, method in design.methods.items()),
        trials=tuple(trials),
        mean_truth=float(np.mean([trial.truth for trial in trials])),
        mean_observed=float(np.mean([trial.observed for trial in trials])),
        epsilon=float(design.epsilon),
        n_moved=design.n_moved,
        exactly=bool(design.exactly),
        n_x=design.n_x,
        n_y=design.n_y,
        **group_fields(design.X, design.Y),
        replace=bool(design.replace),
        scale=design.scale,
        mechanism=mechanism_name(design.mechanism),
        provenance=_provenance(design, trials),
    )


def coverage_of(label: str, method: Method | Baseline, trials: Sequence[Trial]) -> MethodCoverage:
    """Return the rates of one method over the trials."""
    bounds = [trial.bounds[label] for trial in trials]
    missed = [not trial.covers(label) for trial in trials]
    widths = [each.width for each in bounds]
    n_certified = sum(each.is_certified for each in bounds)
    attained: dict[str, Any] = {}
    if n_certified:
        found = [not trial.attained_covers(label) for trial in trials]
        averages = _averages(found, [abs(each.upper - each.lower) for each in bounds])
        attained = {f"attained_{name}": value for name, value in averages.items()}
    return MethodCoverage(
        label=label,
        method=method.name,
        options=plain(method.options()),
        n_missed=sum(missed),
        **_averages(missed, widths),
        n_crossed=sum(trial.is_crossed(label) for trial in trials),
        n_certified=n_certified,
        **attained,
        mean_seconds=float(np.mean([each.seconds for each in bounds])),
    )


def _averages(missed: Sequence[bool], widths: Sequence[float]) -> dict[str, Any]:
    n, rate = len(missed), sum(missed) / len(missed)
    return {
        "false_coverage_rate": rate,
        "false_coverage_rate_error": math.sqrt(rate * (1 - rate) / n),
        "mean_interval_width": float(np.mean(widths)),
        "mean_interval_width_error": float(np.std(widths, ddof=1)) / math.sqrt(n) if n > 1 else None,
    }


def _provenance(design: Design, trials: Sequence[Trial]) -> Provenance:
    kernel, first = design.fixed_kernel(), trials[0]
    return Provenance(
        method="evaluate",
        options=design.settings(),
        kernel=design.kernel_name,
        kernel_options={} if kernel is None else kernel.options(),
        bandwidth=None if kernel is None else kernel.length,
        estimator=design.how.estimator,
        backend=first.backend,
        device=first.device,
        dtype=first.dtype,
        seed=design.seed,
        n_pairs=sum(trial.n_pairs for trial in trials),
        seconds=sum(trial.seconds for trial in trials),
        version=__version__,
        data=design.X.record,
    )
