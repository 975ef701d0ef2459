"""Searches for the extreme labellings, by name."""

from __future__ import annotations

from mmdbounds.errors import MmdBoundsError, did_you_mean
from mmdbounds.search.bootstrap import Bootstrap
from mmdbounds.search.exhaustive import Exhaustive
from mmdbounds.search.found import Found, Method, Task
from mmdbounds.search.quasi_newton import QuasiNewton
from mmdbounds.search.sharp import Sharp
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.search.submodular import Submodular

__all__ = [
    "METHODS",
    "Bootstrap",
    "Exhaustive",
    "Found",
    "Method",
    "QuasiNewton",
    "Sharp",
    "StepwiseDominance",
    "Submodular",
    "Task",
    "as_method",
]

METHODS: dict[str, Method] = {
    "sharp": Sharp(),
    "s-sd": StepwiseDominance(),
    "sd": StepwiseDominance(n_steps=1),
    "exhaustive": Exhaustive(),
    "qno": QuasiNewton(),
    "s-qno": QuasiNewton(n_steps=None),
    "sm": Submodular(),
    "bootstrap": Bootstrap(),
}


def as_method(method: str | Method) -> Method:
    """Return the search that `method` names or is."""
    if isinstance(method, type):
        msg = f"`method` must be a name or a method object; got a class. Did you mean {method.__name__}()?"
        raise MmdBoundsError(msg)
    if not isinstance(method, str) and hasattr(method, "both_sides"):
        return method
    if not isinstance(method, str) or method not in METHODS:
        hint = did_you_mean(method, METHODS) if isinstance(method, str) else ""
        known = ", ".join(map(repr, METHODS))
        msg = f"`method` must be one of {known} or a method object; got {method!r}.{hint}"
        raise MmdBoundsError(msg)
    return METHODS[method]
