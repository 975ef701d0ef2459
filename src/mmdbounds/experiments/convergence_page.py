"""The part of the page about the convergence study."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.experiments.configs import CONVERGENCE
from mmdbounds.experiments.printed import SD
from mmdbounds.experiments.tables import markdown

FROM = 100
"""Rates are fitted from this n on: before, they are not yet rates."""

ABOUT = """\
Two populations on six atoms each, whose sharp bounds (Claim 1) are computed exactly. They were picked from a
few thousand random ones, one where S-SD arrives and one where it does not: they show what can happen, not how
often. Errors are those of the
root MMD, the scale of the propositions. *Tends to* is the error on a sample in exactly the proportions of the
population: a method that converges has 0 there. *Rate* is the slope of log error against log n from
n = {start} on; sampling alone gives about -0.5. The radii hold with probability {confidence:g}. No root MMD
exceeds 1.41, so a radius above that says nothing; Proposition 1's grows with n.
"""


def convergence_section(document: dict[str, Any] | None) -> str:
    """Return the study: what is known, how far off each method is, and what it tends to."""
    if document is None:
        return f"Not run yet: `mmdbounds reproduce {CONVERGENCE}`.\n"
    trials = max(line["n_trials"] for line in document["lines"])
    parts = [
        f"### {document['title']}\n",
        f"`{CONVERGENCE}`. {trials} samples for each n. Seed {document['rng']}.\n",
        ABOUT.format(start=FROM, confidence=1 - document["delta"]),
        _beyond(document["lines"]),
        f"![{document['title']}]({CONVERGENCE}.png)\n",
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
    return "\n".join(parts)


def _beyond(lines: list[dict[str, Any]]) -> str:
    """Say where SD is off by more than Proposition 3 allows: epsilon is not "sufficiently small" there."""
    beyond = [x for x in lines if x["method"] == SD and x["mean_error"] > x["radius_proposition_3"]]
    if not beyond:
        return "Wherever we looked, SD is within the radius of Proposition 3 on average.\n"
    places = "; ".join(
        f"{x['population']}, {x['side']}, n = {x['n']}: {x['mean_error']:.3f} against "
        f"{x['radius_proposition_3']:.3f}"
        for x in beyond
    )
    return (
        f"SD is off by more than the radius of Proposition 3 on average ({places}): this epsilon is not "
        '"sufficiently small".\n'
    )


def _table(lines: list[dict[str, Any]], limits: dict[str, float]) -> str:
    methods = list(dict.fromkeys(line["method"] for line in lines))
    by_size: dict[int, dict[str, dict[str, Any]]] = {}
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


def _rate(lines: list[dict[str, Any]], method: str) -> str:
    """Return the slope of the error against n, both as logarithms."""
    chosen = [
        line for line in lines if line["method"] == method and line["n"] >= FROM and line["mean_error"] > 0
    ]
    if len(chosen) < 2:
        return ""
    x, y = (np.log([line[name] for line in chosen]) for name in ("n", "mean_error"))
    return f"{np.polyfit(x, y, 1)[0]:.2f}"
