"""Made-up results of `reproduce`, for tests of the page and the figures."""

from __future__ import annotations

from dataclasses import asdict

from lab.paper.experiments import EXPERIMENTS
from lab.paper.results import SCHEMA, TYPE, Line
from lab.paper.runs import protocols_of, runs_of


def line(**changes):
    """A line of FOREST under the paper's protocol."""
    fields = {
        "source": "FOREST",
        "n_rows": 100,
        "epsilon": 0.2,
        "mechanism": "nonrandom",
        "n_x": 50,
        "n_y": 50,
        "n_moved": 10,
        "protocol": "paper",
        "method": "S-SD",
        "n_trials": 50,
        "fcr": 0.0,
        "fcr_error": 0.0,
        "miw": 0.088,
        "miw_error": 0.003,
        "n_crossed": 0,
        "n_certified": 0,
        "lower": -0.01,
        "lower_error": 0.001,
        "upper": 0.078,
        "upper_error": 0.002,
        "truth": 0.011,
        "truth_error": 0.001,
        "observed": -0.002,
        "observed_error": 0.001,
        "seconds": 1.0,
    }
    return Line(**fields | changes)


def document(name, lines=None):
    """The results of an experiment, every number made up; or these lines."""
    experiment = EXPERIMENTS[name]
    if lines is None:
        lines = [
            line(
                source=run.setting.source,
                n_rows=run.setting.n_rows,
                epsilon=run.setting.epsilon,
                mechanism=run.setting.mechanism,
                protocol=protocol,
                method=method,
                n_trials=run.n_trials,
                n_certified=run.n_trials,
                fcr=place / 8,
                miw=0.01 * (place + 1),
            )
            for run in runs_of(experiment, "both")
            for place, (protocol, method) in enumerate(run.rows)
        ]
    return {
        "type": TYPE,
        "schema": SCHEMA,
        "name": name,
        "label": experiment.label,
        "title": experiment.title,
        "kind": experiment.kind,
        "family": experiment.family,
        "preset": "both",
        "rng": 0,
        "version": "1",
        "machine": "here",
        "core_seconds": 90.0,
        "protocols": [
            {
                "protocol": protocol,
                "source": source,
                "estimator": each.estimator,
                "scale": each.scale,
                "methods": {
                    row: {"method": m.name, "options": m.options()} for row, m in each.methods.items()
                },
            }
            for (protocol, source), each in protocols_of(experiment, "both").items()
        ],
        "lines": [asdict(each) for each in lines],
    }
