"""The false coverage rate and the width of any method, on any groups whose truth is known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from mmdbounds._version import __version__
from mmdbounds.checks import MOST_TRIALS, check_count, check_processes, check_progress, check_seed
from mmdbounds.errors import MmdBoundsError
from mmdbounds.evaluation.asked import Asked, checked_groups, checked_sizes, labelled_methods
from mmdbounds.evaluation.checkpoint import Checkpoint
from mmdbounds.evaluation.coverage import coverage_of
from mmdbounds.evaluation.presets import Preset, preset_of
from mmdbounds.evaluation.workers import run_trials
from mmdbounds.mechanisms import MechanismLike, mechanism_name
from mmdbounds.problem import Bandwidth, DType, KernelLike
from mmdbounds.progress import TrialMeter
from mmdbounds.results import Estimator, Provenance
from mmdbounds.results.evaluation import Evaluation, Trial
from mmdbounds.search import Method
from mmdbounds.sums.threads import thread_count

DEFAULT_METHODS = ("sharp", "s-sd")


def evaluate(
    X_clean: Any,
    Y_clean: Any,
    epsilon: float,
    *,
    methods: str | Method | Iterable[str | Method] | Mapping[str, str | Method] | None = None,
    sizes: tuple[int | None, int | None] | None = None,
    replace: bool = False,
    n_trials: int = 100,
    only: Iterable[int] | None = None,
    mechanism: MechanismLike = "nonrandom",
    scale: str | None = None,
    preset: str | None = None,
    kernel: KernelLike = "rbf",
    bandwidth: Bandwidth = "median",
    estimator: Estimator | None = None,
    at_most: bool = False,
    backend: str = "auto",
    dtype: DType = "float64",
    working_memory: float = 1024,
    n_processes: int | None = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Simulate misfiling and count how often the truth lies outside the interval of each method.

    Each trial draws true groups, files m = floor(epsilon n_x) rows of X under Y (`simulate`), and lets every
    method bound the squared MMD from the groups as filed, with m known. The truth is the squared MMD
    of the true groups, with the same kernel.

    Parameters
    ----------
    X_clean, Y_clean : array-like of shape (n_x, d) and (n_y, d)
        The true groups: arrays, DataFrames, or what `groups` returns.
    epsilon : float
        Share of the true X to misfile.
    methods : list or dict, optional
        By default ``["sharp", "s-sd"]``. Names and method objects as `mmd_bounds` takes them; a dict gives
        them labels, ``{"50 steps": StepwiseDominance(n_steps=50)}``.
    sizes : (int, int), optional
        Rows of X and of Y to draw in each trial; `None`, for both or one of them, stands for as many as there
        are.
    replace : bool, default=False
        Whether rows are drawn with replacement. Without, and without `sizes`, every trial has the same true
        groups, and only the misfiling differs.
    n_trials : int, default=100
        Number of trials.
    only : sequence of int, optional
        The numbers of the trials to run instead, from 0: each comes out as it does among all the others.
    mechanism : {"nonrandom", "random"} or callable, default="nonrandom"
        Who is misfiled, as in `simulate`.
    scale : {"none", "standard"}, optional
        Whether the columns are standardised in each trial, over the rows drawn for both groups; by default
        they are not.
    preset : {"paper", "paper-bio", "ours"}, optional
        A protocol in place of `methods`, `scale` and `estimator`: the paper's six methods as the paper
        seems to have run them (on its gene expressions: ``"paper-bio"``), or as they should be
        run, with the sharp method beside them. The page on the paper says how they were chosen.
    kernel, bandwidth, estimator, at_most, backend, dtype
        As in `mmd_bounds` (`estimator` is ``"unbiased"`` unless given); the median bandwidth is that of the
        rows of the trial.
    working_memory : float, default=1024
        Budget in MiB, of each process.
    n_processes : int or None, default=1
        Processes that run trials at the same time; `None` takes one for each core. With more than one, a
        script must call this below ``if __name__ == "__main__":``, and functions given as `mechanism` or
        `kernel` must be found at the top of a module. The result is the same but for the seconds.
    checkpoint : file name, optional
        Keeps every trial as it is done. The same call goes on from there after it was stopped, and with a
        larger `n_trials` adds to it; a file with trials of another question is refused. Needs `rng`.
    rng : int or Generator, optional
        Seed. The result tells it.
    progress : bool, optional
        Show how many trials are done and how long the rest takes.

    Returns
    -------
    Evaluation
        For each method the share of trials whose truth is outside its interval, the mean width, both with
        standard errors, and all trials.

    Notes
    -----
    The ends of an interval count as inside. A certified interval is judged as it is; one whose ends were only
    found is given `Trial.rounding` on either side, because the truth may be the very labelling that
    was found, with its last digits added up in another order. An interval whose lower end is above its
    upper one is not turned round: it covers nothing.

    A trial draws from ``SeedSequence(seed, spawn_key=(trial,))`` alone, and all methods of a trial get
    the same seed, so that neither other trials nor other methods change what comes out.

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
    trials = _trial_numbers(n_trials, only)
    n_processes = thread_count() if n_processes is None else check_processes(n_processes)
    if checkpoint is not None and rng is None:
        msg = "`checkpoint` needs `rng`, a seed: without, a run that was stopped cannot go on."
        raise MmdBoundsError(msg)
    how = _how(preset, methods, scale, estimator)
    X, Y = checked_groups(X_clean, Y_clean)
    asked = Asked(
        X=X,
        Y=Y,
        epsilon=epsilon,
        methods=dict(how.methods),
        sizes=checked_sizes(sizes),
        replace=replace,
        scale=how.scale,
        mechanism=mechanism,
        kernel=kernel,
        bandwidth=bandwidth,
        estimator=how.estimator,
        at_most=at_most,
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
        seed=check_seed(rng),
    )
    kept = None if checkpoint is None else Checkpoint(checkpoint, asked)
    return _evaluation(asked, _collected(asked, trials, n_processes, kept, progress))


def _how(preset: str | None, methods: Any, scale: str | None, estimator: Estimator | None) -> Preset:
    """Return the protocol that was named, or the one that the single arguments make."""
    if preset is None:
        chosen = labelled_methods(DEFAULT_METHODS if methods is None else methods)
        return Preset(estimator or "unbiased", "none" if scale is None else scale, chosen)
    given = {"methods": methods, "scale": scale, "estimator": estimator}
    if also := [f"`{name}`" for name, value in given.items() if value is not None]:
        msg = f"`preset` stands for methods, scale and estimator; got {', '.join(also)} too. Leave one out."
        raise MmdBoundsError(msg)
    return preset_of(preset)


def _trial_numbers(n_trials: Any, only: Any) -> list[int]:
    """Return the numbers of the trials, ascending."""
    n_trials = check_count(n_trials, "n_trials", least=1, most=MOST_TRIALS)
    if only is None:
        return list(range(n_trials))
    if isinstance(only, str) or not isinstance(only, Iterable):
        msg = f"`only` must be a list of trial numbers; got {only!r}."
        raise MmdBoundsError(msg)
    numbers = sorted({check_count(trial, "only") for trial in only})
    if not numbers:
        msg = "`only` must name at least one trial; got none."
        raise MmdBoundsError(msg)
    return numbers


def _collected(
    asked: Asked,
    trials: Sequence[int],
    n_processes: int,
    checkpoint: Checkpoint | None,
    progress: bool | None,
) -> list[Trial]:
    """Return the trials in the order of their numbers; those that are kept already are not run again."""
    done = {} if checkpoint is None else checkpoint.load()
    missing = [trial for trial in trials if trial not in done]
    if checkpoint is not None and missing:
        checkpoint.begin()
    running = run_trials(asked, missing, n_processes)
    with TrialMeter(len(missing), show=progress) as meter, closing(running):
        for trial in running:
            if checkpoint is not None:
                checkpoint.keep(trial)
            done[trial.trial] = trial
            meter.add(1)
    return [done[trial] for trial in trials]


def _evaluation(asked: Asked, trials: list[Trial]) -> Evaluation:
    return Evaluation(
        methods=tuple(coverage_of(label, method, trials) for label, method in asked.methods.items()),
        trials=tuple(trials),
        mean_truth=float(np.mean([trial.truth for trial in trials])),
        mean_observed=float(np.mean([trial.observed for trial in trials])),
        epsilon=float(asked.epsilon),
        n_moved=asked.n_moved,
        at_most=bool(asked.at_most),
        n_x=asked.n_x,
        n_y=asked.n_y,
        n_samples_X=len(asked.X),
        n_samples_Y=len(asked.Y),
        replace=bool(asked.replace),
        scale=asked.scale,
        mechanism=mechanism_name(asked.mechanism),
        name_x=asked.X.name,
        name_y=asked.Y.name,
        provenance=_provenance(asked, trials),
    )


def _provenance(asked: Asked, trials: Sequence[Trial]) -> Provenance:
    kernel, first = asked.fixed_kernel(), trials[0]
    return Provenance(
        method="evaluate",
        options=asked.settings(),
        kernel=asked.kernel_name,
        kernel_options={} if kernel is None else kernel.options(),
        bandwidth=None if kernel is None else kernel.length,
        estimator=asked.estimator,
        backend=first.backend,
        device=first.device,
        dtype=first.dtype,
        seed=asked.seed,
        n_pairs=sum(trial.n_pairs for trial in trials),
        seconds=sum(trial.seconds for trial in trials),
        version=__version__,
        data=asked.X.record,
    )
