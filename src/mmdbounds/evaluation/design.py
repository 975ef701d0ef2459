"""The design of an evaluation: all its settings, checked once, and what tells two designs apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mmdbounds._version import __version__
from mmdbounds.checks import (
    check_count,
    check_flag,
    check_option,
    check_share,
)
from mmdbounds.contamination import Counts, check_sizes
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, kernel_class, takes_bandwidth
from mmdbounds.mechanisms import (
    MechanismLike,
    check_from_rows,
    check_mechanism,
    misfiled_count,
)
from mmdbounds.problem import Comparison
from mmdbounds.results.serialize import plain
from mmdbounds.search import Method, as_method
from mmdbounds.sums.bandwidth import resolve_kernel
from mmdbounds.sums.features import ApproximateKernel
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group, as_groups
from mmdbounds.tables.scaling import SCALES, standardise, varying_columns

Sizes = tuple[int | None, int | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """What is evaluated, on which data, and how: all that a trial needs besides its number.

    Attributes
    ----------
    X, Y
        The true groups.
    methods
        The methods by their labels.
    sizes
        Rows drawn from each group in a trial; `None` takes all of them.
    how
        How the groups are compared.
    seed
        With the number of a trial it determines everything random in it.
    """

    X: Group
    Y: Group
    epsilon: float
    methods: Mapping[str, Method]
    sizes: Sizes
    replace: bool
    scale: str
    mechanism: MechanismLike
    how: Comparison
    at_most: bool
    seed: int

    def __post_init__(self) -> None:
        check_share(self.epsilon, "epsilon")
        check_option(self.scale, "scale", SCALES)
        check_flag(self.replace, "replace")
        check_flag(self.at_most, "at_most")
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
        self._check_counts()

    def _check_counts(self) -> None:
        """Refuse now, not in the first trial, too few rows or too many for a method."""
        p, q = self.n_x - self.n_moved, self.n_y + self.n_moved
        for counts in (Counts(0, 0, self.n_x, self.n_y), Counts(0, 0, p, q)):
            check_sizes(counts, counts.n_x, counts.n_y, unbiased=self.how.estimator == "unbiased")
        for method in self.methods.values():
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

    @property
    def takes_all(self) -> bool:
        """Whether every trial has the same true groups: all rows."""
        return self.sizes == (None, None) and not self.replace

    @cached_property
    def all_rows(self) -> tuple[Float64s, Float64s]:
        """All rows of the true groups, scaled once."""
        return scaled(self.X.values, self.Y.values, self.scale)

    def fixed_kernel(self) -> Kernel | None:
        """Return the kernel if it is the same in every trial, `None` if its bandwidth depends on the rows."""
        kernel, bandwidth = self.how.kernel, self.how.bandwidth
        by_rows = isinstance(bandwidth, str) and bandwidth == "median"
        if by_rows and takes_bandwidth(kernel):
            return None
        if isinstance(kernel, ApproximateKernel) and kernel.follows_rows:
            return None
        return resolve_kernel(kernel, bandwidth, self.X.values[:1])

    @property
    def kernel_name(self) -> str:
        """Name of the kernel."""
        kernel = self.fixed_kernel() or self.how.kernel
        return kernel.name if isinstance(kernel, Kernel) else kernel_class(str(kernel)).name

    def settings(self) -> dict[str, Any]:
        """Return the design as plain data, without the rows.

        Functions are identified by name, so a change inside one goes unnoticed.
        """
        kernel = self.fixed_kernel()
        return {
            "epsilon": float(self.epsilon),
            "methods": {label: _method_settings(method) for label, method in self.methods.items()},
            "sizes": [self.n_x, self.n_y],
            "replace": bool(self.replace),
            "scale": self.scale,
            "mechanism": _name_in_module(self.mechanism),
            "kernel": self.kernel_name if kernel is None else _kernel_settings(kernel),
            "bandwidth": "median" if kernel is None else kernel.length,
            "estimator": self.how.estimator,
            "at_most": bool(self.at_most),
            "backend": self.how.backend,
            "dtype": self.how.dtype,
            "working_memory": float(self.how.working_memory),
            "rng": self.seed,
        }

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings, digests of the data and the version, as they come back from a JSON file."""
        whole = {
            **self.settings(),
            "X_clean": _digest(self.X),
            "Y_clean": _digest(self.Y),
            "version": __version__,
        }
        return dict(json.loads(json.dumps(plain(whole), default=repr)))


def checked_groups(X_clean: Any, Y_clean: Any) -> tuple[Group, Group]:
    """Return the true groups without row names, which other processes do not need."""
    arguments = ("X_clean", "Y_clean")
    given = dict(zip(arguments, as_groups(X_clean, Y_clean, arguments), strict=True))
    x, y = (
        Group(group.values, name=argument[0] if group.name == argument else group.name, record=group.record)
        for argument, group in given.items()
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
    pair = list(sizes) if isinstance(sizes, Iterable) and not isinstance(sizes, str | Mapping) else []
    if len(pair) != 2:
        msg = f"`sizes` must be a pair (rows of X, rows of Y), each a number or None; got {sizes!r}."
        raise MmdBoundsError(msg)
    of_x, of_y = (None if size is None else check_count(size, "sizes", least=1) for size in pair)
    return of_x, of_y


def labelled_methods(methods: Any) -> dict[str, Method]:
    """Return the methods by their labels, which are their names unless given."""
    if isinstance(methods, str) or hasattr(methods, "both_sides"):
        methods = [methods]
    if not isinstance(methods, Iterable):
        msg = f"`methods` must be a list of methods, or a dict of them by label; got {methods!r}."
        raise MmdBoundsError(msg)
    if isinstance(methods, Mapping):
        pairs = [(label, as_method(method)) for label, method in methods.items()]
    else:
        pairs = [(m if isinstance(m, str) else as_method(m).name, as_method(m)) for m in methods]
    labels = [label for label, _ in pairs]
    if not labels:
        msg = "`methods` must name at least one method; got none."
        raise MmdBoundsError(msg)
    if wrong := [label for label in labels if not isinstance(label, str) or not label]:
        msg = f"`methods` must have strings as labels; got {wrong[0]!r}."
        raise MmdBoundsError(msg)
    if twice := [label for label in labels if labels.count(label) > 1]:
        msg = (
            f"`methods` must have different labels; got {twice[0]!r} twice. Give labels: {{'label': method}}."
        )
        raise MmdBoundsError(msg)
    return dict(pairs)


def _method_settings(method: Method) -> dict[str, Any]:
    return {"name": method.name, "class": _name_in_module(type(method)), "options": method.options()}


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
