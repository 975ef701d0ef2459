"""How to make a result again: the command, or the call that it stands for, built from the result's fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from mmdbounds.contamination import Contamination
from mmdbounds.inference.curve import SweepResult
from mmdbounds.inference.outcome import TestResult
from mmdbounds.kernels.registry import shipped_class
from mmdbounds.report.command import command
from mmdbounds.results import BoundsResult, Provenance
from mmdbounds.search import METHODS

APPROXIMATE = {"random features": ("RandomFeatures", "n_features"), "nystrom": ("Nystrom", "n_landmarks")}
"""Class and size of the kernels that stand for another one."""


def recipe(result: BoundsResult | TestResult | SweepResult) -> str:
    """Return the command line where there was one, else lines of Python."""
    record = result.provenance.data
    if record.get("by_command") is True and (typed := command(result, _stated(result))) is not None:
        return typed
    return "\n".join(["import mmdbounds as mb", *_groups(record), _call(result)])


def _groups(record: Mapping[str, Any]) -> list[str]:
    """Return how the table became X and Y; nothing for arrays."""
    if not record:
        return []
    source = "df" if record.get("source") is None else repr(record["source"])
    options = {
        "hidden": record.get("hidden"),
        "among": record.get("among"),
        "id": record.get("id_column"),
        "columns": record.get("columns"),
        "scale": record.get("scale"),
        "missing": record.get("missing"),
        "na": record.get("na") or None,
        "encoding": record.get("encoding"),
    }
    return [f"X, Y = mb.groups({source}, {record.get('group_column')!r}, {_keywords(options)})"]


def _call(result: BoundsResult | TestResult | SweepResult) -> str:
    made = result.provenance
    how = {
        "kernel": _Code(_kernel(made)),
        "estimator": made.estimator,
        "dtype": made.dtype,
        "rng": made.seed,
    }
    if isinstance(result, SweepResult):
        options: dict[str, Any] = {
            "epsilons": _Code(_shares(result)),
            "level": result.level,
            "value": result.value,
            "n_permutations": result.n_permutations,
            "unit": _unit(result),
        }
        return f"mb.sweep(X, Y, {_keywords({**options, **how})})"
    amount = _amount(_stated(result))
    if isinstance(result, TestResult):
        options = {
            "at_most": result.at_most,
            "n_permutations": result.n_permutations,
            "best_case": result.pvalue_range is not None,
            "beta": result.beta,
            "unit": _unit(result),
        }
        return f"mb.robust_test(X, Y, {amount}, {_keywords({**options, **how})})"
    options = {"method": _Code(_method(made)), "at_most": result.at_most}
    return f"mb.mmd_bounds(X, Y, {amount}, {_keywords({**options, **how})})"


class _Code(str):
    """A value that is code already."""

    __slots__ = ()


def _keywords(options: Mapping[str, Any]) -> str:
    """Return keywords as they are typed; `None` is what a keyword is without it."""
    return ", ".join(
        f"{name}={value if isinstance(value, _Code) else repr(value)}"
        for name, value in options.items()
        if value is not None
    )


def _stated(result: BoundsResult | TestResult | SweepResult) -> Contamination | None:
    """Return how much was taken as misfiled, as it was stated; a curve has its points."""
    stated = result.provenance.misfiling
    return Contamination(**stated) if stated and not isinstance(result, SweepResult) else None


def _amount(stated: Contamination | None) -> str:
    """Return how much is misfiled as it is typed."""
    if stated is None:
        return "your_amount"
    given = stated.stated()
    if list(given) == ["x_in_y"]:
        return f"epsilon={given['x_in_y']!r}"
    return f"mb.Contamination({_keywords(given)})"


def _shares(result: SweepResult) -> str:
    """Return the shares of a curve by their counts, which are shorter and exact."""
    counts = ", ".join(f"{point.n_moved:d}" for point in result.points)
    return f"[m / ({result.n_samples_X:d} + m) for m in ({counts},)]"


def _unit(result: TestResult | SweepResult) -> _Code | None:
    return _Code("(units_of_x, units_of_y)") if result.units_note else None


def _kernel(made: Provenance) -> str:
    """Return the kernel with its length and options; of a function only its name is known."""
    if made.kernel == "precomputed":
        return repr(made.kernel)
    options = dict(made.kernel_options)
    if made.kernel not in APPROXIMATE:
        return _exact_kernel(made.kernel, made.bandwidth, options)
    name, size = APPROXIMATE[made.kernel]
    how = _keywords({size: options.pop("n_features", None), "seed": options.pop("seed", None)})
    return f"mb.{name}({_exact_kernel(options.pop('kernel', ''), made.bandwidth, options)}, {how})"


def _exact_kernel(name: str, bandwidth: float | None, options: Mapping[str, Any]) -> str:
    cls = shipped_class(name)
    given = {"bandwidth": bandwidth, **options} if bandwidth is not None else options
    if cls is None or not _are_options(given, cls):
        return "your_kernel"
    return f"mb.{cls.__name__}({_keywords(given)})"


def _are_options(given: Mapping[str, Any], of: type[Any]) -> bool:
    """Return whether all names are options of a class: of a saved result they can be any text."""
    return given.keys() <= {field.name for field in dataclasses.fields(of)}


def _method(made: Provenance) -> str:
    """Return the method with all its options; `None` is not the default of each."""
    if made.method not in METHODS or not _are_options(made.options, type(METHODS[made.method])):
        return "your_method"
    options = ", ".join(f"{name}={value!r}" for name, value in made.options.items())
    return f"mb.{type(METHODS[made.method]).__name__}({options})"
