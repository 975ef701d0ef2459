"""The command that makes a result again: built from the fields of the result, each word quoted for a shell.

Nothing is taken over as text: a saved result can come from anybody, and people paste what they read here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from mmdbounds.contamination import Contamination
from mmdbounds.inference.curve import SweepResult
from mmdbounds.inference.outcome import TestResult
from mmdbounds.kernels import SHIPPED
from mmdbounds.results import BoundsResult, Provenance
from mmdbounds.search import METHODS

APPROXIMATE = {"random features": "features", "nystrom": "landmarks"}
METHOD_OPTIONS = {"sharp": ("n_starts", "certify", "gap"), "s-sd": ("n_steps", "schedule")}
CERTIFY = {True: "yes", False: "no"}
STDIN = "<stdin>"
"""What a table that was piped in is called in its record."""

Words = list[str]


def command(result: BoundsResult | TestResult | SweepResult, amount: Contamination | None) -> str | None:
    """Return the command line that makes a result again, `None` if it cannot be said or shown in one line."""
    if amount is None and not isinstance(result, SweepResult):
        return None
    name, *how = _of_result(result)
    words = ["mmdbounds", name, *_of_table(result.provenance.data), *_of_amount(amount)]
    words += [*how, *_of_comparison(result.provenance)]
    return shlex.join(words) if all(word.isprintable() for word in words) else None


def _options(given: Mapping[str, Any]) -> Words:
    """Return options as they are typed: `None` and `False` are left out, lists are repeated."""
    words: Words = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                words.append(flag)
            elif each is not None and each is not False:
                words += [flag, str(each)]
    return words


def _of_result(result: BoundsResult | TestResult | SweepResult) -> Words:
    """Return the name of the command and what only it knows."""
    if isinstance(result, SweepResult):
        shares = [point.n_moved / (result.n_samples_X + point.n_moved) for point in result.points]
        given = {"level": float(result.level), "value": float(result.value), "epsilons": shares}
        return ["sweep", *_options({**given, "n_permutations": int(result.n_permutations)})]
    if isinstance(result, TestResult):
        given = {"n_permutations": int(result.n_permutations), "beta": float(result.beta)}
        flags = {"best_case": result.pvalue_range is not None, "exactly": not result.at_most}
        return ["test", *_options({**given, **flags})]
    return ["bounds", *_options({"at_most": bool(result.at_most)}), *_of_method(result.provenance)]


def _of_method(made: Provenance) -> Words:
    if made.method not in METHODS:
        return ["--method", "YOUR_METHOD"]
    options = {name: made.options.get(name) for name in METHOD_OPTIONS.get(made.method, ())}
    if isinstance(certify := options.get("certify"), bool):
        options["certify"] = CERTIFY[certify]
    return ["--method", made.method, *_options(options)]


def _of_amount(amount: Contamination | None) -> Words:
    stated = amount.stated() if amount else {}
    return _options({"epsilon" if name == "x_in_y" else name: value for name, value in stated.items()})


def _of_table(record: Mapping[str, Any]) -> Words:
    """Return the file and how it became two groups; a name that looks like an option gets a folder."""
    file = str(record.get("source"))
    file = "-" if file == STDIN else f"./{file}" if file.startswith("-") else file
    names = {
        "group": record.get("group_column"),
        "hidden": record.get("hidden"),
        "among": record.get("among"),
        "id": record.get("id_column"),
        "unit": record.get("unit_column"),
        "columns": record.get("asked_columns"),
        "exclude": record.get("excluded_columns"),
        "scale": record.get("scale"),
        "missing": record.get("missing"),
        "na": record.get("na"),
        "encoding": record.get("encoding"),
    }
    return [file, *_options({name: _as_text(value) for name, value in names.items()})]


def _as_text(value: Any) -> Any:
    """Return names as text, so that none of them is taken for a flag."""
    if value is None:
        return None
    return [str(each) for each in value] if isinstance(value, list | tuple) else str(value)


def _of_comparison(made: Provenance) -> Words:
    size = APPROXIMATE.get(made.kernel)
    options = made.kernel_options
    kernel = options.get("kernel") if size else made.kernel
    given: dict[str, Any] = {
        "kernel": kernel if kernel in SHIPPED else "YOUR_KERNEL",
        "bandwidth": None if made.bandwidth is None else float(made.bandwidth),
        **({size: int(options["n_features"])} if size else {}),
        "estimator": str(made.estimator),
        "dtype": str(made.dtype),
        "rng": None if made.seed is None else int(made.seed),
    }
    return _options(given)
