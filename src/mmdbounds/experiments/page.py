"""The page: each of the paper's numbers beside ours, the figures, and how all of it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmdbounds.evaluation.presets import PAPER
from mmdbounds.experiments import folder, tables
from mmdbounds.experiments.compare import FCR_WITHIN, MIW_WITHIN, verdict
from mmdbounds.experiments.configs import CONVERGENCE, EXPERIMENTS, Experiment
from mmdbounds.experiments.convergence_page import convergence_section
from mmdbounds.experiments.lines import Line, trials_in_words
from mmdbounds.experiments.printed import PAPER as CITATION
from mmdbounds.experiments.printed import PrintedTable
from mmdbounds.experiments.protocols import ALL, PROTOCOLS
from mmdbounds.experiments.sources import SOURCES
from mmdbounds.words.phrases import percent

PAGE = "index.md"

CLAIMS = {
    "IW_FCR": "widths fall with N for all methods, and S-SD has the lowest false coverage at every N.",
    "fig:FOREST_eps": "S-SD is tight and credible at every epsilon, Bootstrap only at negligible ones.",
    "fig:typical_est": "the estimate as filed goes to 0 as epsilon grows; S-SD always holds the truth.",
    "fig:n_mimic": "S-SD has the lowest false coverage at every N.",
    "fig:eps_mimic": "S-SD has the lowest false coverage at every epsilon.",
    "fig:eps_bio": "S-SD has the lowest false coverage at every epsilon; QNO never holds the truth.",
    "fig:randsamp": "false coverage and width fall with N for S-SD, S-QNO and QNO.",
    "fig:rand_eps": "S-SD gives the most credible bounds at every epsilon.",
}
"""What the paper says about its figures, which carry no numbers."""

ABOUT_FIGURES = (
    "The paper prints no numbers for its figures, so there is nothing to compare but what it says about "
    "them. In the tables each cell is FCR / MIW."
)

Documents = dict[str, dict[str, Any]]


def write_page(place: Path) -> Path:
    """Write the page from all results in a folder, and return where it is."""
    names = (*EXPERIMENTS, CONVERGENCE)
    found = {name: document for name in names if (document := folder.read_results(place, name)) is not None}
    folder.write_text(place / PAGE, page(found))
    return place / PAGE


def page(found: Documents) -> str:
    """Return the page; what was not run yet is shown with the paper's numbers alone."""
    every = EXPERIMENTS.values()
    parts = [
        _opening(found),
        "## Settings\n\n" + _settings(found),
        "## Tables\n",
        *(_table_section(each, each.table, found.get(each.name)) for each in every if each.table is not None),
        f"## Figures\n\n{ABOUT_FIGURES}\n",
        *(_figure_section(each, found.get(each.name)) for each in every if each.table is None),
        "## A study that the paper does not have\n",
        convergence_section(found.get(CONVERGENCE)),
        "## How it was made\n\n" + _provenance(found),
    ]
    return "\n".join(parts)


def _opening(found: Documents) -> str:
    agree, judged = _score(found)
    score = (
        f"Of {judged} pairs of numbers that can be compared, {agree} agree. "
        "Below each table stands what was tried for the others. "
        if judged
        else ""
    )
    return (
        "# The paper's numbers beside ours\n\n"
        "<!-- written by `mmdbounds reproduce`; do not edit -->\n\n"
        f"Every table and figure of {CITATION}, run again. FCR is the share of trials in which the truth "
        "lies outside the interval, MIW the mean width of the interval, both ± their standard errors. "
        "*Printed* are the paper's numbers; *paper's protocol* is the reading of the paper that comes "
        "closest to them; *ours* has exact counts and a further row, Sharp, whose interval is proved to "
        f"hold every labelling with that count. Numbers agree if FCR differs by at most {FCR_WITHIN:g} and "
        f"MIW by at most {percent(MIW_WITHIN)}. {score}\n\n"
        "The paper's MIMIC data are not open. Three open sets of the same shape stand beside its MIMIC "
        "columns under their own names. They are other data: their numbers are **not comparable** with "
        "the printed ones and are not judged.\n"
    )


def _lines(document: dict[str, Any] | None) -> list[Line]:
    return [] if document is None else [Line.from_dict(each) for each in document["lines"]]


def _score(found: Documents) -> tuple[int, int]:
    """Return how many printed pairs (FCR, MIW) the paper's protocol gives, and of how many."""
    verdicts = []
    for experiment in EXPERIMENTS.values():
        for line in _lines(found.get(experiment.name)):
            source = SOURCES[line.source]
            if experiment.table is None or line.protocol != PAPER or source.is_standin:
                continue
            said = experiment.table.cells.get((line.method, source.column))
            verdicts += [] if said is None else [verdict(said, line)]
    return verdicts.count("agrees"), len(verdicts)


def _settings(found: Documents) -> str:
    """Return what the protocols are as they were run, data sets that are treated alike together."""
    known: dict[str, dict[str, str]] = {}
    for document in found.values():
        if document.get("family") == ALL:
            for each in document["protocols"]:
                known.setdefault(each["source"], {})[each["protocol"]] = _protocol(each)
    if not known:
        return "Nothing was run yet.\n"
    alike: dict[str, list[str]] = {}
    for name in SOURCES:
        if name in known:
            text = "\n".join(known[name][each] for each in PROTOCOLS if each in known[name])
            alike.setdefault(text, []).append(name)
    kernel = "The kernel is RBF, its bandwidth the median distance of the rows of the trial.\n"
    drawn = "\n".join(_drawn(name) for name in SOURCES if name in known)
    return "\n".join(
        [drawn, "", kernel, *(f"{', '.join(names)}:\n\n{text}\n" for text, names in alike.items())]
    )


def _drawn(name: str) -> str:
    source = SOURCES[name]
    how = "with replacement, within each group" if source.replace else "without replacement"
    return (
        f"- {name}: X is {source.card.hidden} ({source.card.n_x:,} rows), Y is {source.card.among} "
        f"({source.card.n_y:,} rows), drawn {how}."
    )


def _protocol(each: dict[str, Any]) -> str:
    methods = "; ".join(f"{row}: {_method(method)}" for row, method in each["methods"].items())
    scale = "columns as they are" if each["scale"] == "none" else f"columns scaled ({each['scale']})"
    kind = "U-statistic" if each["estimator"] == "unbiased" else "V-statistic"
    return f"- {tables.HEADS[each['protocol']]}: {kind}, {scale}. {methods}."


def _method(each: dict[str, Any]) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in each["options"].items())
    return f"`{each['method']}` ({options})"


def _heading(experiment: Experiment, document: dict[str, Any] | None) -> str:
    if document is None:
        ran = f"Not run yet: `mmdbounds reproduce {experiment.name}`."
    else:
        lines = _lines(document)
        of_source = {name: [line for line in lines if line.source == name] for name in SOURCES}
        said = "; ".join(f"{name}: {trials_in_words(here)}" for name, here in of_source.items() if here)
        ran = f"{said}. Seed {document['rng']}."
    return f"### {experiment.title}\n\n`{experiment.name}`, in the paper `{experiment.label}`. {ran}\n"


def _table_section(experiment: Experiment, table: PrintedTable, document: dict[str, Any] | None) -> str:
    """Return a table of the paper, a part for each data set, and where it is not matched."""
    lines, parts = _lines(document), [_heading(experiment, document)]
    first = "steps" if table.rows[0].isdigit() else "method"
    sources = dict.fromkeys(setting.source for setting in experiment.settings)
    missed: list[str] = []
    for source in sources:
        standin = SOURCES[source].is_standin
        head = f"{source} (in place of MIMIC: not comparable)" if standin else source
        parts.append(f"**{head}**\n\n{tables.comparison(table, source, lines, first)}")
        missed += tables.mismatches(table, source, lines)
    if missed:
        parts.append("Not matched:\n\n" + "\n".join(f"- {each}" for each in missed) + "\n")
    return "\n".join([*parts, _picture(experiment, document)])


def _figure_section(experiment: Experiment, document: dict[str, Any] | None) -> str:
    """Return a figure of the paper: what is said about it, what came out, the picture and its points."""
    lines, parts = _lines(document), [_heading(experiment, document)]
    parts.append(f"The paper says: {CLAIMS[experiment.label]}\n")
    shown = [name for name in PROTOCOLS if any(line.protocol == name for line in lines)]
    axis = "n_rows" if experiment.kind == "sizes" else "epsilon"
    for name in shown:
        found = _typical(lines, name) if experiment.kind == "typical" else tables.best_at(lines, name, axis)
        parts.append(f"- {tables.HEADS[name]}: {found}")
    parts.append("" if not shown else "\n" + _picture(experiment, document))
    if experiment.kind != "typical":
        parts += [f"{tables.HEADS[name]}:\n\n{tables.points(lines, name, axis)}" for name in shown]
    return "\n".join(parts)


def _typical(lines: list[Line], protocol: str) -> str:
    """Say how far the estimate as filed is from the truth, and where the bounds of S-SD miss it."""
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
        return "Nothing was run yet.\n"
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
        tables.markdown(["experiment", "seed", "version", "core minutes", "machine"], rows)
        + "\nCore minutes are the time of all trials added up; a setting that several experiments share is "
        "counted in each. Both protocols see the same draws.\n"
    )
