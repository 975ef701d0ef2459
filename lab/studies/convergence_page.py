"""Page and figure of the convergence study."""

from __future__ import annotations

import numpy as np

from lab.paper.figures import STYLES
from lab.paper.page import markdown
from lab.paper.printed import SD
from mmdbounds.plotting.canvas import empty_figure, legend, rendered

LARGEST_ROOT = 2**0.5
"""No root MMD with a kernel between 0 and 1 is larger."""

FROM = 100
"""Rates are fitted from this n on; smaller samples do not show them yet."""

ABOUT = """\
Two populations on six atoms each, whose sharp bounds (Claim 1) are computed exactly. They were picked from a
few thousand random ones: one where S-SD converges to the bounds, and one where it does not. They show what
can happen, not how often. Errors are those of the root MMD, the scale of the propositions. *Tends to* is the
error on a sample in exactly the proportions of the population: it is 0 for a method that converges. *Rate* is
the slope of log error against log n from n = {start} on; sampling alone gives about -0.5. The radii hold with
probability {confidence:g}. No root MMD exceeds 1.41, so a larger radius says nothing; the radius of
Proposition 1 grows with n.
"""


def write(document, path):
    """Write page and figure beside the file of records."""
    for suffix, content in drawn(document).items():
        path.with_suffix(f".{suffix}").write_bytes(content)
    path.with_suffix(".md").write_text(page(document, path.stem), encoding="utf-8")


def drawn(document):
    """Return the figure as PNG and SVG, by suffix."""
    return rendered(lambda: _figure(document))


def page(document, name="convergence"):
    """Return the study: what is known, how far off each method is, and what it tends to."""
    trials = max(line["n_trials"] for line in document["lines"])
    parts = [
        f"# {document['title']}\n",
        ABOUT.format(start=FROM, confidence=1 - document["delta"]),
        _beyond(document["lines"]),
        f"![{document['title']}]({name}.png)\n",
    ]
    for population in document["populations"]:
        for place, side in enumerate(("lower", "upper")):
            lines = [
                line
                for line in document["lines"]
                if (line["population"], line["side"]) == (population["name"], side)
            ]
            bound = population["bounds"][place]
            limits = {name: abs(both[place] - bound) for name, both in population["limits"].items()}
            head = f"**{population['name']}, {side} bound** (root MMD {bound:.4f} in the population)"
            parts.append(f"{head}\n\n{_table(lines, limits)}")
    parts.append(
        f"{trials} samples for each n; seed {document['rng']}. Made by `python -m lab.studies.convergence`, "
        f"mmdbounds {document['version']}, in {document['core_seconds'] / 60:.1f} core minutes; "
        f"{document['machine']}.\n"
    )
    return "\n".join(parts)


def _beyond(lines):
    """Say where SD exceeds the radius of Proposition 3: epsilon is not "sufficiently small" there."""
    beyond = [x for x in lines if x["method"] == SD and x["mean_error"] > x["radius_proposition_3"]]
    if not beyond:
        return "In every setting, the mean error of SD is within the radius of Proposition 3.\n"
    places = "; ".join(
        f"{x['population']}, {x['side']}, n = {x['n']}: {x['mean_error']:.3f} against "
        f"{x['radius_proposition_3']:.3f}"
        for x in beyond
    )
    return (
        f"The mean error of SD exceeds the radius of Proposition 3 ({places}): this epsilon is not "
        '"sufficiently small".\n'
    )


def _table(lines, limits):
    methods = list(dict.fromkeys(line["method"] for line in lines))
    by_size = {}
    for line in lines:
        by_size.setdefault(line["n"], {})[line["method"]] = line
    rows = []
    for n, here in by_size.items():
        first = here[methods[0]]
        radii = [f"{first[f'radius_proposition_{number}']:.2f}" for number in (1, 3)]
        errors = [
            f"{here[name]['mean_error']:.4f} ± {here[name]['mean_error_error']:.4f}" for name in methods
        ]
        rows.append([str(n), *errors, *radii])
    rows.append(["rate", *(_rate(lines, name) for name in methods), "", ""])
    rows.append(["tends to", *(f"{limits[name]:.4f}" for name in methods), "", ""])
    return markdown(["n", *methods, "radius of Prop. 1", "radius of Prop. 3"], rows)


def _rate(lines, method):
    """Return the slope of the error against n, both as logarithms."""
    chosen = [
        line for line in lines if line["method"] == method and line["n"] >= FROM and line["mean_error"] > 0
    ]
    if len(chosen) < 2:
        return ""
    x, y = (np.log([line[name] for line in chosen]) for name in ("n", "mean_error"))
    return f"{np.polyfit(x, y, 1)[0]:.2f}"


def _figure(document):
    """Draw error against n, a column for each population and a row for each side."""
    names = [population["name"] for population in document["populations"]]
    figure, axes = empty_figure(
        2,
        len(names),
        figsize=(0.6 + 3.9 * len(names), 6.4),
        sharex=True,
        sharey=True,
    )
    for column, population in enumerate(document["populations"]):
        for row, side in enumerate(("lower", "upper")):
            lines = [
                line
                for line in document["lines"]
                if (line["population"], line["side"]) == (population["name"], side)
            ]
            _panel(axes[row, column], lines)
            axes[row, 0].set_ylabel(f"error of the {side} bound, root MMD")
        axes[0, column].set_title(population["name"], fontsize=9)
        axes[1, column].set_xlabel("n, true size of each group")
    sizes = sorted({line["n"] for line in document["lines"]})
    axes[0, 0].set_xticks(sizes, [str(n) for n in sizes])
    axes[0, 0].minorticks_off()
    legend(figure, axes, ncols=4)
    return figure


def _panel(panel, lines):
    panel.set(xscale="log", yscale="log")
    for method in dict.fromkeys(line["method"] for line in lines):
        here = [line for line in lines if line["method"] == method]
        colour, marker = STYLES[method]
        panel.errorbar(
            [line["n"] for line in here],
            [line["mean_error"] for line in here],
            [line["mean_error_error"] for line in here],
            color=colour,
            marker=marker,
            markersize=7 if marker == "*" else 4.5,
            linewidth=1.3,
            capsize=1.5,
            label=method,
        )
    one = [line for line in lines if line["method"] == lines[0]["method"]]
    n = [line["n"] for line in one]
    for number, style in ((1, ":"), (3, "--")):
        radii = [line[f"radius_proposition_{number}"] for line in one]
        panel.plot(
            n, radii, color="0.4", linestyle=style, linewidth=1.2, label=f"radius of Proposition {number}"
        )
    panel.plot(
        n,
        [n[0] ** 0.5 / size**0.5 * 0.1 for size in n],
        color="0.8",
        linewidth=1,
        label="falls like $n^{-1/2}$",
    )
    panel.axhline(LARGEST_ROOT, color="0.8", linestyle="-.", linewidth=1, label="largest possible root MMD")
