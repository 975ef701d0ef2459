"""Searches for the extreme labellings, and the one list of their names.

A method of the package is a class (see `protocol.Method`) and a line in `_BUILT_IN`; others are added with
`register_method`. A method is imported when it is used, so that listing the names costs nothing.
"""

from __future__ import annotations

import importlib
from collections import UserDict
from typing import TYPE_CHECKING, Any

from mmdbounds.errors import MmdBoundsError, did_you_mean, shown_value
from mmdbounds.kernels.registry import folded

if TYPE_CHECKING:
    from mmdbounds.search.exhaustive import Exhaustive
    from mmdbounds.search.protocol import EachSide, Found, Method, Task
    from mmdbounds.search.sharp import Sharp
    from mmdbounds.search.stepwise import StepwiseDominance

__all__ = ["METHODS", "EachSide", "Exhaustive", "Found", "Method", "Sharp", "StepwiseDominance", "Task"]
__all__ += ["as_method", "method_names", "register_method"]

# By name: the file, the class, and the options that make it this method.
_BUILT_IN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "sharp": ("sharp", "Sharp", {}),
    "s-sd": ("stepwise", "StepwiseDominance", {}),
    "sd": ("stepwise", "StepwiseDominance", {"n_steps": 1}),
    "exhaustive": ("exhaustive", "Exhaustive", {}),
}

_HOME = {class_name: module for module, class_name, _ in _BUILT_IN.values()}
_HOME |= dict.fromkeys(("EachSide", "Found", "Method", "Task"), "protocol")


class _Methods(UserDict[str, Any]):
    """The methods by name; those of the package are made when somebody asks for them."""

    def __getitem__(self, name: str) -> Method:
        if isinstance(self.data[name], tuple):
            module, class_name, options = self.data[name]
            self.data[name] = getattr(importlib.import_module(f"{__name__}.{module}"), class_name)(**options)
        method: Method = self.data[name]
        return method


METHODS = _Methods(_BUILT_IN)


def method_names() -> tuple[str, ...]:
    """Return the names that `method` may have; no method is imported for it."""
    return tuple(METHODS)


def register_method(method: Method) -> None:
    """Make a method known by its name, wherever a function takes `method`.

    Parameters
    ----------
    method
        An object with `name`, `is_random`, `check`, `options` and `both_sides`. A subclass of
        `mmdbounds.search.Method`, or of `EachSide` if it searches one side of one count at a time, inherits
        what it does not define.

    Examples
    --------
    >>> import numpy as np
    >>> from mmdbounds.objective import Labelling, Quadratic
    >>> from mmdbounds.search import EachSide, Found
    >>> class FirstRows(EachSide):
    ...     name = "first-rows"
    ...
    ...     def search(self, totals, counts, estimator, side):
    ...         return Found.at(Labelling(Quadratic(totals, counts, estimator), np.arange(counts.n_moved)))

    After ``register_method(FirstRows())``, ``mmd_bounds(X, Y, 0.1, method="first-rows")`` runs it.
    """
    _refuse_class(method)
    needed = ("name", "is_random", "check", "options", "both_sides")
    if missing := [f"`{name}`" for name in needed if not hasattr(method, name)]:
        msg = f"a method needs {', '.join(missing)}. Derive its class from mmdbounds.search.Method."
        raise MmdBoundsError(msg)
    if not isinstance(method.name, str) or not method.name or method.name in METHODS:
        msg = (
            f"the `name` of a method must be a text that no other method has; got {shown_value(method.name)}."
        )
        raise MmdBoundsError(msg)
    METHODS[method.name] = method


def as_method(method: str | Method) -> Method:
    """Return the search that `method` names or is."""
    _refuse_class(method)
    if not isinstance(method, str) and hasattr(method, "both_sides"):
        return method
    named = {folded(name): name for name in METHODS}  # "S-SD", as the paper writes it, and "s-sd"
    if not isinstance(method, str) or folded(method) not in named:
        hint = did_you_mean(method, METHODS) if isinstance(method, str) else ""
        known = ", ".join(map(repr, METHODS))
        msg = f"`method` must be one of {known} or a method object; got {shown_value(method)}.{hint}"
        raise MmdBoundsError(msg)
    return METHODS[named[folded(method)]]


def _refuse_class(method: Any) -> None:
    if isinstance(method, type):
        msg = f"`method` must be a name or a method object; got a class. Did you mean {method.__name__}()?"
        raise MmdBoundsError(msg)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
