"""Lines and their files: numbers by hand."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np

from lab.paper.results import Line, line_of, mean_and_error, to_csv, trials_in_words
from made_reproductions import line
from mmdbounds.evaluation import evaluate


def test_mean_and_standard_error_by_hand():
    assert mean_and_error([1.0, 2.0, 6.0]) == (3.0, math.sqrt((4 + 1 + 9) / 2 / 3))
    assert mean_and_error([5.0]) == (5.0, 0.0)


def test_a_line_is_counted_from_the_trials():
    rng = np.random.default_rng(0)
    found = evaluate(
        rng.normal(size=(40, 2)),
        rng.normal(0.5, 1, size=(40, 2)),
        0.3,
        methods=["sd"],
        sizes=(9, 8),
        n_trials=20,
        rng=3,
    )
    made = line_of(
        found,
        "sd",
        source="here",
        n_rows=17,
        epsilon=0.3,
        mechanism="nonrandom",
        protocol="ours",
        method="SD",
    )
    lower, upper, truth = (
        np.array(values)
        for values in zip(
            *((t.bounds["sd"].lower, t.bounds["sd"].upper, t.truth) for t in found.trials), strict=True
        )
    )
    missed = (truth < lower - 1e-12) | (truth > upper + 1e-12)
    assert 0 < missed.sum() < 20
    assert made.fcr == missed.mean()
    np.testing.assert_allclose(made.fcr_error, np.sqrt(missed.mean() * (1 - missed.mean()) / 20), rtol=1e-12)
    widths = abs(upper - lower)
    np.testing.assert_allclose(
        (made.miw, made.miw_error), (widths.mean(), widths.std(ddof=1) / 20**0.5), rtol=1e-12
    )
    np.testing.assert_allclose(
        (made.lower, made.upper, made.truth), (lower.mean(), upper.mean(), truth.mean()), rtol=1e-12
    )
    assert made.n_crossed == np.sum(lower > upper + 1e-12)
    assert (made.n_x, made.n_y, made.n_moved, made.n_trials, made.n_certified) == (9, 8, 2, 20, 0)


def test_a_line_survives_its_fields():
    assert Line.from_dict(asdict(line())) == line()


def test_csv_has_no_times():
    rows = [asdict(line(seconds=seconds, miw=1 / 3)) for seconds in (1.0, 2.0)]
    head, first, second = to_csv(rows).splitlines()
    assert "seconds" not in head.split(",")
    assert first == second
    assert first.split(",")[head.split(",").index("miw")] == "0.3333333333"


def test_trials_in_words():
    assert trials_in_words([line(), line(method="SD")]) == "50 trials"
    assert trials_in_words([line(n_trials=1)]) == "1 trial"
    few = [line(method=method, n_trials=10) for method in ("QNO", "S-QNO", "QNO")]
    assert trials_in_words([line(), *few]) == "50 trials, 10 for QNO and S-QNO"
