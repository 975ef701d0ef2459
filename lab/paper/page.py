"""The page: each of the paper's numbers beside ours, the figures, and how everything was made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.paper.comparison import (
    HEADS,
    NOTHING,
    Documents,
    comparison,
    lines_of,
    markdown,
    mismatches,
    score,
)
from lab.paper.experiments import ALL, EXPERIMENTS, PROTOCOLS, SOURCES, Experiment, Setting, setting_of
from lab.paper.left_open import exchanged_tables, left_open
from lab.paper.presets import METHODS, SHARP
from lab.paper.printed import (
    CITATION,
    ERRORS_WITHIN,
    FCR_WITHIN,
    MIW_WITHIN,
    S_SD,
    PrintedTable,
)
from lab.paper.results import Line, read_results, trials_in_words
from mmdbounds.atomic_write import write_whole
from mmdbounds.words.phrases import percent


def points(lines: Sequence[Line], protocol: str, axis: str) -> str:
    """Return the points of a figure as a table: FCR and MIW of each method."""
    chosen = [line for line in lines if line.protocol == protocol]
    methods = dict.fromkeys(line.method for line in chosen)
    where = {(getattr(line, axis), line.method): line for line in chosen}
    head = ["N" if axis == "n_rows" else "epsilon", *methods]
    rows = []
    for value in dict.fromkeys(getattr(line, axis) for line in chosen):
        cells = [where.get((value, method)) for method in methods]
        rows.append([f"{value:g}", *(NOTHING if c is None else f"{c.fcr:.2f} / {c.miw:.4f}" for c in cells)])
    return markdown(head, rows)


def best_at(lines: Sequence[Line], protocol: str, axis: str) -> str:
    """Say at how many points S-SD has the lowest rate of the paper's methods."""
    chosen = [line for line in lines if line.protocol == protocol]
    values = list(dict.fromkeys(getattr(line, axis) for line in chosen))
    beaten = []
    for value in values:
        here = {line.method: line for line in chosen if getattr(line, axis) == value}
        others = [here[name] for name in METHODS if name in here and name != S_SD]
        better = min(others, key=lambda line: line.fcr)
        if better.fcr < here[S_SD].fcr:
            beaten.append(f"{value:g} ({better.method} {better.fcr:.2f}, S-SD {here[S_SD].fcr:.2f})")
    name = "N" if axis == "n_rows" else "epsilon"
    if not beaten:
        return f"S-SD has the lowest false coverage of the paper's methods at all {len(values)} points."
    return (
        f"S-SD has the lowest false coverage of the paper's methods at {len(values) - len(beaten)} of "
        f"{len(values)} points; not at {name} = {', '.join(beaten)}."
    )


PAGE = "index.md"

CLAIMS = {  # what the paper says about its figures, which show no numbers
    "IW_FCR": "widths fall with N for all methods, and S-SD has the lowest false coverage at every N.",
    "fig:FOREST_eps": "S-SD is tight and credible at every epsilon, Bootstrap only at negligible ones.",
    "fig:typical_est": "the estimate as filed tends to 0 as epsilon grows; S-SD always contains the truth.",
    "fig:n_mimic": "S-SD has the lowest false coverage at every N.",
    "fig:eps_mimic": "S-SD has the lowest false coverage at every epsilon.",
    "fig:eps_bio": "S-SD has the lowest false coverage at every epsilon; QNO never contains the truth.",
    "fig:randsamp": "false coverage and width fall with N for S-SD, S-QNO and QNO.",
    "fig:rand_eps": "S-SD gives the most credible bounds at every epsilon.",
}
ABOUT_FIGURES = (
    "The paper prints no numbers for its figures, so only its statements about them can be compared. "
    "In the tables, each cell is FCR / MIW."
)


def write_page(place: Path) -> Path:
    """Write the page from all results in a folder, and return its path."""
    found = {name: each for name in EXPERIMENTS if (each := read_results(place, name)) is not None}
    write_whole(place / PAGE, page(found).encode())
    return place / PAGE


def page(found: Documents) -> str:
    """Return the page; experiments not run yet show only the paper's numbers."""
    every = EXPERIMENTS.values()
    parts = [
        _opening(found),
        "## Settings\n\n" + _settings(found),
        "## What the paper leaves open\n\n" + left_open(),
        "## Two tables that look exchanged\n\n" + exchanged_tables(),
        "## Tables\n",
        *(_table_section(each, each.table, found.get(each.name)) for each in every if each.table is not None),
        f"## Figures\n\n{ABOUT_FIGURES}\n",
        *(_figure_section(each, found.get(each.name)) for each in every if each.table is None),
        "## How it was made\n\n" + _provenance(found),
    ]
    return "\n".join(parts)


def _counted(found: Documents) -> str:
    """Return how many numbers agree, and how often Sharp misses the truth."""
    count, said = score(found), ""
    if count.pairs:
        said = (
            f"Of {count.pairs} pairs of numbers that can be compared, {count.agree} agree. With the labels "
            f"of two tables as they are printed, {count.agree_as_labelled} agree (see *Two tables that look "
            "exchanged*). Below each table we list what was tried for the others. "
        )
    lines = [line for document in found.values() for line in lines_of(document) if line.method == SHARP]
    each_once = {setting_of(line): line for line in lines}.values()
    if each_once:
        missed = sum(round(line.fcr * line.n_trials) for line in each_once)
        n_trials = sum(line.n_trials for line in each_once)
        said += f"Sharp misses the truth in {missed or 'none'} of its {n_trials:,} trials. "
    return said


def _opening(found: Documents) -> str:
    agree = (
        f"Numbers agree if FCR differs by at most {FCR_WITHIN:g} or by {ERRORS_WITHIN} standard errors of "
        f"the difference, and MIW by at most {percent(MIW_WITHIN)}."
    )
    return (
        "# The paper's numbers beside ours\n\n"
        "<!-- written by `python -m lab.paper`; do not edit -->\n\n"
        f"{_counted(found)}Every table and figure of {CITATION}, run again. FCR is the share of trials in "
        "which the truth lies outside the interval; MIW is the mean width of the interval. Both are shown "
        "± their standard errors. *Printed* are the paper's numbers. *As read* is the reading of the paper "
        "that comes closest to them. *Ours* ranks by the gradient itself and has a further row, Sharp, "
        f"whose interval is proved to contain the value of every labelling with that count. {agree}\n\n"
        "The paper's MIMIC data are not open. Three open sets of the same shape are shown beside its MIMIC "
        "columns, under their own names. They are different data: their numbers are **not comparable** "
        "with the printed ones and get no verdict.\n"
    )


def _settings(found: Documents) -> str:
    """Return the protocols as they were run, grouping data sets that are treated alike."""
    known: dict[str, dict[str, str]] = {}
    for document in found.values():
        if document.get("family") == ALL:
            for each in document["protocols"]:
                known.setdefault(each["source"], {})[each["protocol"]] = _protocol(each)
    if not known:
        return "Nothing has been run yet.\n"
    alike: dict[str, list[str]] = {}
    for name in SOURCES:
        if name in known:
            text = "\n".join(known[name][each] for each in PROTOCOLS if each in known[name])
            alike.setdefault(text, []).append(name)
    kernel = "The kernel is RBF; its bandwidth is the median distance between the rows of the trial.\n"
    drawn = "\n".join(_drawn(name) for name in SOURCES if name in known)
    return "\n".join(
        [drawn, "", kernel, *(f"{', '.join(names)}:\n\n{text}\n" for text, names in alike.items())]
    )


def _drawn(name: str) -> str:
    source = SOURCES[name]
    how = "with replacement, within each group" if source.replace else "without replacement"
    groups = [(source.card.hidden, source.card.n_x), (source.card.among, source.card.n_y)]
    (x, n_x), (y, n_y) = reversed(groups) if source.is_exchanged else groups
    opposite = " The paper says the opposite (see below)." if source.is_exchanged else ""
    return f"- {name}: X is {x} ({n_x:,} rows), Y is {y} ({n_y:,} rows), drawn {how}.{opposite}"


def _protocol(each: dict[str, Any]) -> str:
    methods = "; ".join(f"{row}: {_method(method)}" for row, method in each["methods"].items())
    scale = "columns as they are" if each["scale"] == "none" else f"columns scaled ({each['scale']})"
    kind = "U-statistic" if each["estimator"] == "unbiased" else "V-statistic"
    return f"- {HEADS[each['protocol']]}: {kind}, {scale}. {methods}."


def _method(each: dict[str, Any]) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in each["options"].items())
    return f"`{each['method']}` ({options})"


def _heading(experiment: Experiment, document: dict[str, Any] | None) -> str:
    if document is None:
        ran = f"Not run yet: `python -m lab.paper {experiment.name}`."
    else:
        lines = lines_of(document)
        of_source = {name: [line for line in lines if line.source == name] for name in SOURCES}
        trials = "; ".join(f"{name}: {trials_in_words(here)}" for name, here in of_source.items() if here)
        ran = f"{trials}. Seed {document['rng']}."
    return f"### {experiment.title}\n\n`{experiment.name}`, in the paper `{experiment.label}`. {ran}\n"


def _table_section(experiment: Experiment, table: PrintedTable, document: dict[str, Any] | None) -> str:
    """Return a table of the paper, one part per setting, and where it is not matched."""
    lines, parts = lines_of(document), [_heading(experiment, document)]
    first = "steps" if table.rows[0].isdigit() else "method"
    sources = [setting.source for setting in experiment.settings]
    for setting in sorted(experiment.all_settings, key=lambda each: sources.index(each.source)):
        here = [line for line in lines if setting_of(line) == setting]
        parts.append(
            f"**{_caption(experiment, setting)}**\n\n{comparison(table, setting.source, here, first)}"
        )
    fitting = experiment.labelled(inferred=True)
    missed = [each for setting in fitting for each in mismatches(table, setting, lines)]
    if missed:
        parts.append("Not matched:\n\n" + "\n".join(f"- {each}" for each in missed) + "\n")
    return "\n".join([*parts, _picture(experiment, document)])


def _caption(experiment: Experiment, setting: Setting) -> str:
    """Return what a part of a table is about."""
    if SOURCES[setting.source].is_standin:
        return f"{setting.source} (stand-in for MIMIC: not comparable)"
    if setting.source not in {each.source for each in experiment.inferred}:
        return setting.source
    label = "the label that its numbers fit" if setting in experiment.inferred else "the label as printed"
    return f"{setting.source}, {label}: {setting.mechanism} misfiling, N = {setting.n_rows}"


def _figure_section(experiment: Experiment, document: dict[str, Any] | None) -> str:
    """Return a figure of the paper: its claim, our result, the picture and its points."""
    lines, parts = lines_of(document), [_heading(experiment, document)]
    parts.append(f"The paper says: {CLAIMS[experiment.label]}\n")
    shown = [name for name in PROTOCOLS if any(line.protocol == name for line in lines)]
    axis = "n_rows" if experiment.kind == "sizes" else "epsilon"
    for name in shown:
        found = _typical(lines, name) if experiment.kind == "typical" else best_at(lines, name, axis)
        parts.append(f"- {HEADS[name]}: {found}")
    parts.append("" if not shown else "\n" + _picture(experiment, document))
    if experiment.kind != "typical":
        parts += [f"{HEADS[name]}:\n\n{points(lines, name, axis)}" for name in shown]
    return "\n".join(parts)


def _typical(lines: list[Line], protocol: str) -> str:
    """Say how far the estimate as filed is from the truth, and where the S-SD bounds miss it."""
    parts = []
    for source in dict.fromkeys(line.source for line in lines):
        here = [x for x in lines if (x.source, x.protocol, x.method) == (source, protocol, "S-SD")]
        first, last = min(here, key=lambda x: x.epsilon), max(here, key=lambda x: x.epsilon)
        missed = [f"{line.epsilon:g} ({line.fcr:.2f})" for line in here if line.fcr > 0]
        parts.append(
            f"{source}: as filed {first.observed:.4f} at epsilon = {first.epsilon:g} and "
            f"{last.observed:.4f} at {last.epsilon:g}, truth {last.truth:.4f}; S-SD misses the truth "
            + (f"at epsilon (rate) {', '.join(missed)}" if missed else "never")
        )
    return "; ".join(parts) + "."


def _picture(experiment: Experiment, document: dict[str, Any] | None) -> str:
    return "" if document is None else f"![{experiment.title}]({experiment.name}.png)\n"


def _provenance(found: Documents) -> str:
    """Return seed, version, machine and time of every experiment."""
    if not found:
        return "Nothing has been run yet.\n"
    rows = [
        [
            f"`{name}`",
            str(document["rng"]),
            document["version"],
            f"{document['core_seconds'] / 60:.1f}",
            document["machine"],
        ]
        for name, document in found.items()
    ]
    return (
        markdown(["experiment", "seed", "version", "core minutes", "machine"], rows)
        + "\nCore minutes are the total time of all trials; a setting that several experiments share is "
        "counted in each. *As read* and *ours* use the same draws.\n"
    )
