"""One trial: its design (all settings, checked once), how it runs, and the file that keeps trials."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mmdbounds import journal
from mmdbounds._version import __version__
from mmdbounds.atomic_write import check_writable
from mmdbounds.baselines import Baseline
from mmdbounds.bounds import mmd_bounds
from mmdbounds.checks import check_count, check_flag, check_option, check_path, check_share, is_list
from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts, check_sizes
from mmdbounds.errors import DataError, MmdBoundsError, shown_value
from mmdbounds.kernels import FunctionKernel, Kernel, kernel_class, takes_bandwidth
from mmdbounds.mechanisms import (
    MechanismLike,
    Simulated,
    check_from_rows,
    check_mechanism,
    misfiled_count,
    simulate,
)
from mmdbounds.objective import Indices, observed_mmd2
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results.evaluation import Trial, TrialBounds
from mmdbounds.results.serialize import plain
from mmdbounds.search import Method
from mmdbounds.search.protocol import check_exact_count
from mmdbounds.sums.bandwidth import median_factor, resolve_kernel
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group, as_groups
from mmdbounds.tables.scaling import SCALES, standardise, varying_columns

Sizes = tuple[int | None, int | None]
TYPE, SCHEMA = "mmdbounds evaluation trials", 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """What is evaluated, on which data, and how: all that a trial needs besides its number."""

    X: Group  # the true groups
    Y: Group
    epsilon: float
    methods: Mapping[str, Method | Baseline]  # by their labels
    sizes: Sizes  # rows drawn from each group in a trial; None takes all of them
    replace: bool
    scale: str
    mechanism: MechanismLike
    how: Comparison
    exactly: bool
    seed: int  # with the number of a trial it determines everything random in it

    def __post_init__(self) -> None:
        check_share(self.epsilon, "epsilon")
        check_option(self.scale, "scale", SCALES)
        check_flag(self.replace, "replace")
        check_flag(self.exactly, "exactly")
        check_mechanism(self.mechanism)
        for name, group, size in zip(("X_clean", "Y_clean"), (self.X, self.Y), self.sizes, strict=True):
            if size is not None and size > len(group) and not self.replace:
                msg = (
                    f"`sizes` must not exceed the {len(group)} rows of `{name}` unless rows are drawn with "
                    f"replacement (`replace`); got {size}."
                )
                raise MmdBoundsError(msg)
        if (kernel := self.fixed_kernel()) is not None:
            check_from_rows(kernel)
        # Refuse now, not in the first trial, too few rows or too many for a method.
        p, q = self.n_x - self.n_moved, self.n_y + self.n_moved
        for counts in (Counts(0, 0, self.n_x, self.n_y), Counts(0, 0, p, q)):
            check_sizes(counts, counts.n_x, counts.n_y, unbiased=self.how.estimator == "unbiased")
        for method in self.methods.values():
            check_exact_count(method, Contamination(n_moved=self.n_moved, exactly=self.exactly))
            method.check(Counts(self.n_moved, 0, self.n_x, self.n_y), p, q)

    @property
    def n_x(self) -> int:
        """Rows of the true X in each trial."""
        return len(self.X) if self.sizes[0] is None else self.sizes[0]

    @property
    def n_y(self) -> int:
        """Rows of the true Y in each trial."""
        return len(self.Y) if self.sizes[1] is None else self.sizes[1]

    @property
    def n_moved(self) -> int:
        """Rows of the true X that each trial files under Y."""
        return misfiled_count(self.epsilon, None, self.n_x)

    @cached_property
    def all_rows(self) -> tuple[Float64s, Float64s]:
        """All rows of the true groups, scaled once."""
        return scaled(self.X.values, self.Y.values, self.scale)

    def fixed_kernel(self) -> Kernel | None:
        """Return the kernel if it is the same in every trial, `None` if its bandwidth depends on the rows."""
        kernel, bandwidth = self.how.kernel, self.how.bandwidth
        if median_factor(bandwidth) is not None and takes_bandwidth(kernel):
            return None
        return resolve_kernel(kernel, bandwidth, self.X.values[:1])

    @property
    def kernel_name(self) -> str:
        """Name of the kernel."""
        kernel = self.fixed_kernel() or self.how.kernel
        return kernel.name if isinstance(kernel, Kernel) else kernel_class(str(kernel)).name

    def settings(self) -> dict[str, Any]:
        """Return the design as plain data, without the rows; functions by name, whatever they contain."""
        kernel = self.fixed_kernel()
        return {
            "epsilon": float(self.epsilon),
            "methods": {
                label: {"name": each.name, "class": _name_in_module(type(each)), "options": each.options()}
                for label, each in self.methods.items()
            },
            "sizes": [self.n_x, self.n_y],
            "replace": bool(self.replace),
            "scale": self.scale,
            "mechanism": _name_in_module(self.mechanism),
            "kernel": self.kernel_name if kernel is None else _kernel_settings(kernel),
            "bandwidth": self.how.bandwidth if kernel is None else kernel.length,
            "estimator": self.how.estimator,
            "exactly": bool(self.exactly),
            "backend": self.how.backend,
            "dtype": self.how.dtype,
            "working_memory": float(self.how.working_memory),
            "rng": self.seed,
        }

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings, digests of the data and the version, as they come back from a JSON file."""
        data = {"X_clean": _digest(self.X), "Y_clean": _digest(self.Y), "version": __version__}
        return dict(json.loads(json.dumps(plain(self.settings() | data), default=repr)))


def checked_groups(X_clean: Any, Y_clean: Any) -> tuple[Group, Group]:
    """Return the true groups without row names, which other processes do not need."""
    arguments = ("X_clean", "Y_clean")
    x, y = (
        Group(group.values, name=argument[0] if group.name == argument else group.name, record=group.record)
        for argument, group in zip(arguments, as_groups(X_clean, Y_clean, arguments), strict=True)
    )
    return x, y


def scaled(X: Float64s, Y: Float64s, scale: str) -> tuple[Float64s, Float64s]:
    """Return the groups, with their columns standardised over the rows of both if `scale` says so."""
    if scale == "none":
        return X, Y
    pooled = np.concatenate([X, Y])
    varying = varying_columns(pooled)
    Z = np.zeros_like(pooled)  # a column that is constant in these rows stays 0
    Z[:, varying] = standardise(pooled[:, varying])
    return Z[: len(X)], Z[len(X) :]


def checked_sizes(sizes: Any) -> Sizes:
    """Return how many rows of each group a trial draws; `None` means all."""
    if sizes is None:
        return None, None
    pair = list(sizes) if is_list(sizes) else []
    if len(pair) != 2:
        came = shown_value(sizes)
        msg = f"`sizes` must be a pair (rows of X, rows of Y), each a number or None; got {came}."
        raise MmdBoundsError(msg)
    of_x, of_y = (None if size is None else check_count(size, "sizes", least=1) for size in pair)
    return of_x, of_y


def _kernel_settings(kernel: Kernel) -> dict[str, Any]:
    settings: dict[str, Any] = {"name": kernel.name, "options": dict(kernel.options())}
    if isinstance(kernel, FunctionKernel):
        settings["function"] = _name_in_module(kernel.function)
    return settings


def _name_in_module(thing: Any) -> str:
    """Return a name as it is; for a function, class or object its module and name (of its class)."""
    if isinstance(thing, str):
        return thing
    known = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{known.__module__}.{known.__qualname__}"


def _digest(group: Group) -> str:
    """Return the SHA-256 of the rows; -0 and 0 are the same value."""
    digest = hashlib.sha256(repr(group.shape).encode())
    digest.update(np.ascontiguousarray(group.values + 0.0).data)
    return digest.hexdigest()


def run_trial(design: Design, trial: int) -> Trial:
    """Run one trial: draw the true groups, misfile rows, run every method, and keep the truth.

    All randomness comes from the seed and the number of the trial, in three streams: the rows drawn, the rows
    misfiled, and one seed for all methods. So a trial does not depend on other trials or on the process it
    runs in, nor a method on other methods.
    """
    started = time.perf_counter()
    streams = np.random.SeedSequence(design.seed, spawn_key=(trial,)).spawn(3)
    drawing, misfiling = map(np.random.default_rng, streams[:2])
    seed = int(streams[2].generate_state(1)[0])
    with _named_in_errors(f"trial {trial}"):
        X, Y = _drawn_groups(design, drawing)
        filed = simulate(
            X,
            Y,
            design.epsilon,
            mechanism=design.mechanism,
            kernel=design.how.kernel,
            bandwidth=design.how.bandwidth,
            working_memory=design.how.working_memory,
            rng=misfiling,
            progress=False,
        )
        how = dataclasses.replace(design.how, kernel=filed.kernel, bandwidth="median")
        totals = pose(X, Y, how).one_pass(Meter())  # of the true groups, with the same kernel as the bounds
    found, n_pairs, observed = {}, 0, math.nan
    for label, method in design.methods.items():
        with _named_in_errors(f"trial {trial}, method {label!r}"):
            found[label], pairs, observed = _outcome(method, design, filed, how, seed)
            n_pairs += pairs
    return Trial(
        trial=trial,
        n_moved=filed.n_moved,
        truth=observed_mmd2(totals, design.how.estimator),
        observed=observed,
        rounding=totals.margin,
        bandwidth=filed.kernel.length,
        bounds=found,
        backend=totals.sums.backend,
        device=totals.sums.device,
        dtype=totals.sums.dtype,
        n_pairs=n_pairs,
        seconds=time.perf_counter() - started,
    )


def _drawn_groups(design: Design, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Return the true groups of a trial, scaled over the rows of both."""
    if design.sizes == (None, None) and not design.replace:
        return design.all_rows
    of_x, of_y = (
        _drawn_rows(len(group), size, design.replace, rng)
        for group, size in zip((design.X, design.Y), design.sizes, strict=True)
    )
    return scaled(design.X.values[of_x], design.Y.values[of_y], design.scale)


def _drawn_rows(n: int, size: int | None, replace: bool, rng: np.random.Generator) -> Indices:
    if size is None and not replace:
        return np.arange(n)
    return np.asarray(rng.choice(n, n if size is None else size, replace=replace))


def _outcome(
    method: Method | Baseline, design: Design, filed: Simulated, how: Comparison, seed: int
) -> tuple[TrialBounds, int, float]:
    """Return what a method or baseline says, how many pairs it took, and the value as labelled."""
    told = Contamination(n_moved=filed.n_moved)
    options: dict[str, Any] = {**vars(how), "rng": seed}
    if isinstance(method, Baseline):
        one = method.interval(filed.X, filed.Y, told, **options)
        bounds = TrialBounds(lower=one.lower, upper=one.upper, seconds=one.seconds)
        return _checked_bounds(bounds), one.n_pairs, one.observed
    result = mmd_bounds(
        filed.X, filed.Y, told, method=method, exactly=design.exactly, progress=False, **options
    )
    bounds = TrialBounds(
        lower=float(result.lower.value),
        upper=float(result.upper.value),
        lower_certified=None if result.lower.certified is None else float(result.lower.certified),
        upper_certified=None if result.upper.certified is None else float(result.upper.certified),
        seconds=result.provenance.seconds,
    )
    return _checked_bounds(bounds), result.provenance.n_pairs, result.observed


def _checked_bounds(bounds: TrialBounds) -> TrialBounds:
    """Refuse ends that are not finite: comparisons with NaN would decide the coverage."""
    for name in ("lower", "lower_certified", "upper", "upper_certified"):
        value = getattr(bounds, name)
        if value is not None and not math.isfinite(value):
            msg = f"both ends must be finite; got {value} as `{name}`."
            raise MmdBoundsError(msg)
    return bounds


@contextmanager
def _named_in_errors(where: str) -> Iterator[None]:
    """Name the trial in errors; an error that is not of this package keeps its type."""
    try:
        yield
    except MmdBoundsError as error:
        msg = f"{where}: {error}"
        raise MmdBoundsError(msg) from error
    except Exception as error:
        error.add_note(f"This was in {where} of `evaluate`.")
        raise


class Checkpoint:
    """The trials of one evaluation, kept in a file; one with trials of another is refused, never changed."""

    def __init__(self, path: str | os.PathLike[str], design: Design) -> None:
        self._path = check_path(path, "checkpoint")
        self._header: dict[str, Any] = {"type": TYPE, "schema": SCHEMA, "asked": design.fingerprint()}
        self._labels = set(design.methods)
        self._kept: journal.Contents | None = None

    def load(self) -> dict[int, Trial]:
        """Return the trials in the file by their numbers; a half-written one is ignored."""
        self._kept = journal.read_journal(self._path)
        if self._kept is None or not self._kept.records:
            return {}
        first, *others = self._kept.records
        self._check_header(_parsed(first))
        trials: dict[int, Trial] = {}
        for record in others:
            trial = self._trial(_parsed(record))
            trials.setdefault(trial.trial, trial)
        return trials

    def begin(self) -> None:
        """Prepare the file for more trials: drop a half-written one, or write the first record."""
        check_writable(self._path, is_read=True)
        if self._kept is not None and self._kept.is_torn:
            journal.drop_torn(self._path, self._kept.n_bytes)
        if self._kept is None or not self._kept.records:
            journal.append(self._path, _content(self._header))

    def keep(self, trial: Trial) -> None:
        """Write one trial, whole and at once, so that a run that is stopped loses none."""
        journal.append(self._path, _content(trial.to_dict()))

    def _check_header(self, header: Any) -> None:
        """Refuse a file that is something else, or has trials of another evaluation."""
        if not isinstance(header, Mapping) or header.get("type") != TYPE:
            raise journal.damaged(self._path)
        if header == self._header:
            return
        theirs, ours = header.get("asked"), self._header["asked"]
        known = theirs if isinstance(theirs, Mapping) else {}
        differs = [name for name in ours if known.get(name) != ours[name]] or ["schema"]
        raise journal.other_problem(self._path, "trials", differs)

    def _trial(self, saved: Any) -> Trial:
        try:
            trial = Trial.from_dict(saved)
        except DataError:
            trial = None
        if trial is None or not isinstance(trial.trial, int) or set(trial.bounds) != self._labels:
            raise journal.damaged(self._path)
        return trial


def _content(data: dict[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False).encode()


def _parsed(record: memoryview) -> Any:
    try:
        return json.loads(bytes(record))
    except ValueError:
        return None
