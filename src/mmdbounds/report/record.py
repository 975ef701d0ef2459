"""Where a result comes from: data, settings, versions, and how to make it again.

That is the command line where there was one, else lines of Python. Both are built from the fields of the
result and quoted for the shell or as Python. No text is taken over as it is: a saved result can come from
anybody, and people paste what they read here.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmdbounds._version import __version__
from mmdbounds.contamination import Contamination
from mmdbounds.kernels import SHIPPED
from mmdbounds.kernels.registry import shipped_class
from mmdbounds.results import (
    AuditResult,
    BoundsResult,
    ColumnTable,
    Provenance,
    Result,
    RobustTestResult,
    SweepResult,
)
from mmdbounds.words.phrases import others_in_words, restrictions, rows, shown, typed

Facts = list[tuple[str, str]]
Reproducible = BoundsResult | RobustTestResult | SweepResult | AuditResult
COMMANDS = {AuditResult: "audit", BoundsResult: "bounds", RobustTestResult: "test", SweepResult: "sweep"}
Options = Mapping[str, Any]

# The public class of each method; a test compares it with the methods there are.
METHOD_CLASSES = {
    "sharp": "Sharp",
    "s-sd": "StepwiseDominance",
    "sd": "StepwiseDominance",
    "exhaustive": "Exhaustive",
}
# The options of a method that are flags of the command line.
METHOD_FLAGS = {"sharp": ("n_starts", "certify", "gap"), "s-sd": ("n_steps", "schedule")}
# Flags of single commands that `mmdbounds report`, which runs several, does not have.
OF_ONE_COMMAND = {
    *("method", "n_starts", "certify", "gap", "n_steps", "schedule"),
    *("epsilons", "value", "audit_level", "by", "beta"),
}
STDIN = "<stdin>"  # what a table that was piped in is called in its record
COLUMNS_NAMED = 40  # columns named on a page; the others are counted
CHART_VERSIONS = "Vega 6.4.0, Vega-Lite 6.5.0"  # what draws the charts; a test compares it with the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Where a result comes from, as names and values, and how to make it again."""

    data: Facts
    settings: Facts
    versions: Facts
    recipe: str
    provenance: Provenance  # of the result that stands for all
    is_open: bool  # whether the page contains names or values of rows


def record_of(results: Sequence[Result], today: datetime.date, *, is_open: bool) -> Record:
    """Return where results come from that belong together."""
    known: list[Any] = [result for result in results if isinstance(result, Reproducible)]
    # Of several, the first that searched says most.
    first = next((result for result in known if isinstance(result, BoundsResult)), known[0])
    made = first.provenance
    python, numpy = f"Python {platform.python_version()}", f"NumPy {importlib.metadata.version('numpy')}"
    page = f"{today.isoformat()}, mmdbounds {__version__}, {python}, {numpy}, {CHART_VERSIONS}"
    return Record(
        data=_data_facts(first),
        settings=_setting_facts(made),
        versions=[("result", f"mmdbounds {made.version}"), ("this page", page)],
        recipe=recipe(results),
        provenance=made,
        is_open=is_open,
    )


def _data_facts(result: Any) -> Facts:
    """Return what is said of the data: of the file its name and sum, of the columns their names."""
    record = result.provenance.data
    facts = [
        ("group X", f"{shown(result.name_x)}, {rows(result.n_samples_X)}"),
        ("group Y", f"{shown(result.name_y)}, {rows(result.n_samples_Y)}"),
    ]
    if not record:
        return [("source", "arrays, used as given"), *facts, *_known_facts(result)]
    source = record.get("source")
    facts = [
        ("source", "a DataFrame" if source is None else shown(source)),
        ("sha256", str(record.get("sha256") or "")),
        ("read as", shown(record.get("read_as") or "")),
        ("group column", shown(record.get("group_column"))),
        *facts,
        ("rows left out", _left_out(record)),
        ("columns compared", _names(record.get("columns"))),
        ("constant columns, left out", _names(record.get("dropped_constant_columns"))),
        ("empty columns, left out", _names(record.get("dropped_empty_columns"))),
        ("missing cells", _missing(record)),
        ("scale", shown(record.get("scale"))),
        *_known_facts(result),
    ]
    return [(name, value) for name, value in facts if value]


def _known_facts(result: Any) -> Facts:
    """Return what was known of single rows, in numbers."""
    known, record = getattr(result, "knowledge", None), result.provenance.data
    if known is None:
        return []
    verified = known.n_verified_x + known.n_verified_y
    n_refiled = known.n_refiled_to_x + known.n_refiled_to_y
    column = f", by column {shown(record['verified_column'])}" if "verified_column" in record else ""
    of_y = f"{known.n_may_move_y:,} of the {rows(result.n_samples_Y)} of group Y"
    return [
        ("rows verified", f"{verified:,}, of which {n_refiled:,} refiled{column}" if verified else ""),
        ("rows that may be misfiled", f"{of_y}{restrictions(known, 'y')}"),
    ]


def _left_out(record: Mapping[str, Any]) -> str:
    """Return which rows of the table were not compared."""
    others = others_in_words(record)
    counts = {
        f"of other groups{f' ({others})' if others else ''}": record.get("n_other_groups"),
        "without a group": record.get("n_missing_group"),
        "with missing cells": sum(record.get("n_dropped_rows") or ()),
    }
    return ", ".join(f"{rows(count)} {which}" for which, count in counts.items() if count)


def _missing(record: Mapping[str, Any]) -> str:
    """Say how many cells were filled, where some were."""
    filled = sum((record.get("n_filled_cells") or {}).values())
    how = f"{filled:,} filled: numbers with the median, others with the most frequent value"
    return how if filled else ""


def _names(names: Any) -> str:
    """Return how many columns there are, and the names of the first; nothing if there are none."""
    given = [shown(name) for name in names or ()]
    if not given:
        return ""
    more = f" and {len(given) - COLUMNS_NAMED:,} more" if len(given) > COLUMNS_NAMED else ""
    return f"{len(given):,}: {', '.join(given[:COLUMNS_NAMED])}{more}"


def _setting_facts(made: Provenance) -> Facts:
    """Return how the groups were compared."""
    several = made.options.get("kernels")
    each = [made] if several is None else _each_kernel(made, several)
    options = {name: value for name, value in made.options.items() if name != "kernels"}
    return [
        ("method", _with_options(made.method, options)),
        ("kernel", "; ".join(map(_kernel_fact, each))),
        ("estimator", made.estimator),
        ("computed in", f"{made.dtype}, {made.backend} on {made.device}"),
        ("kernel values", f"{made.n_pairs:,} in {made.seconds:.2g} s"),
        ("seed", "not needed" if made.seed is None else str(made.seed)),
    ]


def _kernel_fact(made: Provenance) -> str:
    length = {} if made.bandwidth is None else {"bandwidth": f"{made.bandwidth:.6g}"}
    return _with_options(made.kernel, {**made.kernel_options, **length})


def _with_options(name: str, options: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{key} {shown(value)}" for key, value in options.items() if value is not None)
    return f"{shown(name)} ({listed})" if listed else shown(name)


def recipe(results: Reproducible | Sequence[Result]) -> str:
    """Return the command line where there was one, else lines of Python."""
    every: Sequence[Any] = results if isinstance(results, Sequence) else [results]
    known = [result for result in every if isinstance(result, Reproducible)]
    record = known[0].provenance.data
    if record.get("by_command") is True and (typed := _command(known)) is not None:
        return typed
    calls = [_call(result) for result in known]
    calls += [_columns_call(result) for result in every if isinstance(result, ColumnTable)]
    last = calls if len(calls) == 1 else [f"mb.write_report([{', '.join(calls)}], 'report.html')"]
    return "\n".join(["import mmdbounds as mb", *_groups_call(record), *last])


def _amount(result: Reproducible) -> Contamination | None:
    """Return how much was taken as misfiled, as it was stated; a curve has its points."""
    stated = {name: value for name, value in result.provenance.misfiling.items() if name != "exactly"}
    is_stated = stated and not isinstance(result, SweepResult | AuditResult)
    return Contamination(**stated) if is_stated else None


def _limits(made: Provenance) -> dict[str, int | float]:
    """Return the limits by stratum, checked: a saved result may hold anything."""
    limits = made.misfiling.get("limits")
    return {} if limits is None else Contamination(limits=limits).limits or {}


def _test_options(result: Reproducible) -> dict[str, Any]:
    """Return the options of tests and sweeps that are the same in Python and on the command line."""
    if isinstance(result, BoundsResult):
        return {}
    drawn: dict[str, Any] = {"level": float(result.level), "n_permutations": int(result.n_permutations)}
    if isinstance(result, AuditResult):
        by = {} if result.by == "order" else {"by": str(result.by)}  # which the order itself says
        return {"audit_level": float(result.audit_level), **by, **drawn}
    if isinstance(result, SweepResult):
        return {"value": float(result.value), **drawn}
    amount = _amount(result)  # whose own error is added anyway
    beta = float(result.beta) - (0.0 if amount is None else amount.beta)
    return {**drawn, "beta": max(round(beta, 12), 0.0)}


def _table_options(record: Options) -> dict[str, Any]:
    columns = {
        name: record.get(f"{name}_column") for name in ("id", "verified", "may_move", "strata", "order")
    }
    groups, how = (
        {name: record.get(name) for name in names}
        for names in (("hidden", "among"), ("scale", "missing", "encoding", "decimal", "sheet", "header_row"))
    )
    asked = record.get("dates", "refuse")
    dates = {} if asked == "refuse" else {"dates": asked}
    fold = {"fold_labels": True} if record.get("fold_labels") is True else {}
    return {**groups, **columns, **how, **dates, **fold, "na": record.get("na") or None}


def _comparison_options(made: Provenance) -> dict[str, Any]:
    seed = None if made.seed is None else int(made.seed)
    return {"estimator": str(made.estimator), "dtype": str(made.dtype), "rng": seed}


# The command line


def _command(results: Sequence[Reproducible]) -> str | None:
    """Return the command line, `None` if the amount is not known or a name cannot stand in a line."""
    flags: dict[str, Any] = {}
    for result in results:
        amount = _amount(result)
        if amount is None and not isinstance(result, SweepResult | AuditResult):
            return None
        stated = {} if amount is None else amount.stated()
        stated.pop("limits", None)
        flags |= {**_amount_flags(stated), **_test_options(result), **_own_flags(result)}
    made = results[-1].provenance
    if several := len(results) > 1:
        flags = {name: value for name, value in flags.items() if name not in OF_ONE_COMMAND}
    # A search may draw nothing, but one row per unit was drawn.
    seed = made.data.get("units", {}).get("seed") if made.seed is None else made.seed
    flags["limit"] = [f"{name}={limit!r}" for name, limit in _limits(made).items()]
    flags |= {**_kernel_flags(made), **_comparison_options(made), "rng": None if seed is None else int(seed)}
    name = "report" if several else COMMANDS[type(results[0])]
    out = {"out": "report.html"} if several else {}
    words = ["mmdbounds", name, *_table_words(made.data), *_flags({**flags, **out})]
    return typed(words) if all(word.isprintable() for word in words) else None


def _amount_flags(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return how much is misfiled as it is typed."""
    flags = {"epsilon" if name == "x_in_y" else name: value for name, value in stated.items()}
    if "n_checked" in flags:
        flags = {"audit": f"{flags.pop('n_found', 0)}/{flags.pop('n_checked')}", **flags}
    if isinstance(flags.get("prevalence"), list | tuple):
        flags["prevalence"] = "-".join(map(str, flags["prevalence"]))
    return flags


def _flags(given: Options) -> list[str]:
    """Return options as they are typed: `None` and `False` are left out, lists are repeated."""
    words: list[str] = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                words.append(flag)
            elif each is not None and each is not False:
                words += [flag, str(each)]
    return words


def _table_words(record: Options) -> list[str]:
    """Return the file and how it became two groups; a name that looks like an option gets a folder."""
    file = str(record.get("source"))
    file = "-" if file == STDIN else f"./{file}" if file.startswith("-") else file
    own = {"unit": "unit_column", "columns": "asked_columns", "exclude": "excluded_columns"}
    options = {
        "group": record.get("group_column"),
        **_table_options(record),
        **{flag: record.get(name) for flag, name in own.items()},
    }
    return [file, *_flags({name: _as_text(value) for name, value in options.items()})]


def _as_text(value: Any) -> Any:
    """Return names as text, so that none of them is taken for a flag."""
    if value is None or value is True:
        return value
    return [str(each) for each in value] if isinstance(value, list | tuple) else str(value)


def _own_flags(result: Reproducible) -> dict[str, Any]:
    """Return the flags that only one command has, or that differ from the keywords of Python."""
    if isinstance(result, SweepResult):
        shares = [point.n_moved / (result.n_samples_X + point.n_moved) for point in result.points]
        return {"epsilons": shares, "exactly": bool(result.exactly)}
    method, options = result.provenance.method, result.provenance.options
    if isinstance(result, AuditResult):
        return {}
    if isinstance(result, RobustTestResult):
        return {"exactly": bool(result.exactly)}
    if method not in METHOD_CLASSES:
        return {"exactly": bool(result.exactly), "method": "YOUR_METHOD"}
    flags = {name: options.get(name) for name in METHOD_FLAGS.get(method, ())}
    return {"exactly": bool(result.exactly), "method": method, **flags, **_proof_flag(options)}


def _proof_flag(options: Options) -> dict[str, Any]:
    """Return `--certify` as it is typed where somebody has; a saved result may hold anything."""
    certify = options.get("certify")
    return {"certify": "yes" if certify else "no"} if isinstance(certify, bool) else {}


def _each_kernel(made: Provenance, several: Sequence[Options]) -> list[Provenance]:
    """Return how a result would have been made with each of several kernels alone."""
    return [
        dataclasses.replace(
            made,
            options={},
            kernel=str(each["kernel"]),
            bandwidth=each["bandwidth"],
            kernel_options={k: v for k, v in each.items() if k not in ("kernel", "bandwidth")},
        )
        for each in several
    ]


def _kernel_flags(made: Provenance) -> dict[str, Any]:
    if several := made.options.get("kernels"):
        flags = [_kernel_flags(one) for one in _each_kernel(made, several)]
        names = list(dict.fromkeys(each["kernel"] for each in flags))
        lengths = [each["bandwidth"] for each in flags] if len(names) == 1 else []  # else all are medians
        return {"kernel": ",".join(names), "bandwidth": ",".join(map(repr, lengths)) or None}
    kernel, more = made.kernel, {"exponent": made.kernel_options.get("exponent")}
    bandwidth = None if made.bandwidth is None else float(made.bandwidth)
    return {"kernel": kernel if kernel in SHIPPED else "YOUR_KERNEL", "bandwidth": bandwidth, **more}


# The lines of Python


class _Code(str):
    """A value that is code already."""

    __slots__ = ()


def _keywords(options: Options) -> str:
    """Return keywords as they are typed; `None` is what a keyword is without it."""
    return ", ".join(
        f"{name}={value if isinstance(value, _Code) else repr(value)}"
        for name, value in options.items()
        if value is not None
    )


def _groups_call(record: Options) -> list[str]:
    """Return how the table became X and Y; nothing for arrays."""
    if not record:
        return []
    source = "df" if record.get("source") is None else repr(record["source"])
    options = {**_table_options(record), "columns": record.get("columns")}
    return [f"X, Y = mb.groups({source}, {record.get('group_column')!r}, {_keywords(options)})"]


def _columns_call(result: ColumnTable) -> str:
    stated = {name: value for name, value in result.misfiling.items() if name != "exactly"}
    amount = _amount_code(Contamination(**stated), {})
    return f"mb.column_table(X, Y, {amount}{', exactly=True' if result.exactly else ''})"


def _call(result: Reproducible) -> str:
    made = result.provenance
    options = {**_test_options(result), "kernel": _Code(_kernel(made)), **_comparison_options(made)}
    if isinstance(result, BoundsResult):
        options = {"method": _Code(_method(made)), **options}
    elif getattr(result, "units_note", ""):
        options["unit"] = _Code("(units_of_x, units_of_y)")
    if isinstance(result, AuditResult):
        if "verified_column" not in made.data:
            options = {"verified": _Code("(None, verified_of_y)"), **options}
        if result.by == "order" and "order_column" not in made.data:
            options["order"] = _Code("order_of_y")
        return f"mb.audit(X, Y, {_keywords(options)})"
    known, named = result.knowledge, "verified_column" in made.data
    if known is not None and known.n_verified_x + known.n_verified_y and not named:
        options["verified"] = _Code("(verified_of_x, verified_of_y)")
    exactly = {"exactly": True} if result.exactly else {}  # else a limit, as everywhere
    if isinstance(result, SweepResult):
        # By their counts, which are shorter than the shares, and exact.
        counts = ", ".join(f"{point.n_moved:d}" for point in result.points)
        shares = _Code(f"[m / ({result.n_samples_X:d} + m) for m in ({counts},)]")
        if which := _keywords(_which_code(result)):
            options["which"] = _Code(f"mb.Contamination({which})")
        return f"mb.sweep(X, Y, {_keywords({'epsilons': shares, **exactly, **options})})"
    function = "robust_test" if isinstance(result, RobustTestResult) else "mmd_bounds"
    options = {**exactly, **options}
    return f"mb.{function}(X, Y, {_amount_code(_amount(result), _which_code(result))}, {_keywords(options)})"


def _which_code(result: BoundsResult | RobustTestResult | SweepResult) -> dict[str, Any]:
    """Return the keywords that say which rows can be misfiled; what came as an array is not known here."""
    known, record, limits = result.knowledge, result.provenance.data, _limits(result.provenance)
    which: dict[str, Any] = {}
    if known is not None and known.is_restricted and "may_move_column" not in record:
        which["may_move"] = _Code("may_move")
    if limits and "strata_column" not in record:
        which["strata"] = _Code("strata")
    return {**which, "limits": limits} if limits else which


def _amount_code(amount: Contamination | None, which: Options) -> str:
    """Return how much is misfiled as it is typed."""
    given = {} if amount is None else {**amount.stated(), **which}
    if list(given) == ["x_in_y"]:
        return f"epsilon={given['x_in_y']!r}"
    return "your_amount" if amount is None else f"mb.Contamination({_keywords(given)})"


def _kernel(made: Provenance) -> str:
    """Return the kernel with its length and options; of a function only its name is known."""
    if several := made.options.get("kernels"):
        return f"[{', '.join(_kernel(one) for one in _each_kernel(made, several))}]"
    if made.kernel == "precomputed":
        return repr(made.kernel)
    cls, given = shipped_class(made.kernel), dict(made.kernel_options)
    if made.bandwidth is not None:
        given = {"bandwidth": made.bandwidth, **given}
    # In a saved result names of options can be any text.
    if cls is None or not given.keys() <= {field.name for field in dataclasses.fields(cls)}:
        return "your_kernel"
    return f"mb.kernels.{cls.__name__}({_keywords(given)})"


def _method(made: Provenance) -> str:
    """Return the method with all its options; `None` is not the default of each."""
    if made.method not in METHOD_CLASSES or not all(map(str.isidentifier, made.options)):
        return "your_method"
    options = ", ".join(f"{name}={value!r}" for name, value in made.options.items())
    return f"mb.{METHOD_CLASSES[made.method]}({options})"
