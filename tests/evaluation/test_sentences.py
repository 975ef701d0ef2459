"""What a person reads, and the line that says how long it takes."""

import dataclasses
import re

import pytest

from evaluation.made_methods import Fixed, clean, last_rows
from mmdbounds import Group
from mmdbounds.evaluation import evaluate
from notebooks import page_of

X, Y = clean()


def one_line(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def found():
    methods = {
        "wide": Fixed(-9, 9),
        "off": Fixed(5, 6),
        "crossed": Fixed(9, -9),
        "proved": Fixed(0, 0.5, -9, 9),
    }
    groups = Group(X, name="ill"), Group(Y, name="well")
    return evaluate(*groups, 0.2, methods=methods, sizes=(10, 12), n_trials=4, rng=7)


def test_summary(found):
    said = one_line(found.summary())
    assert said.startswith(
        "Simulated: in each trial 10 rows of ill and 12 of well were drawn without replacement from 30 and "
        "40; 2 of the 10 ill rows (20 %) were then filed under well, drawn from the 4 that are most typical "
        "of ill. Every method was told that exactly 2 of the 14 rows filed under well belong to ill, not "
        "which. In 4 trials the truth lay outside the interval of wide in 0 %, outside the interval of off "
        "in 100 %, outside the interval of crossed in 100 % and outside the certified interval of proved in "
        "0 %. "
        "Where that never happened and nothing is proved, it can still happen in up to 52.7 % of such trials "
        "(95 % confidence). Under another misfiling, or on other data, a rate can be different; a certified "
        "interval holds the truth whichever rows are misfiled, as long as the number is right. "
        "Intervals whose lower end is above the upper one, which cover nothing: 4 of crossed. "
    )
    assert re.search(
        r"Seed 7; kernel rbf, bandwidth median; unbiased estimator; float64, matrix on cpu; ", said
    )
    lines = found.summary().splitlines()
    assert max(map(len, lines)) <= 100
    table = [re.split(r"  +", line.strip()) for line in lines if line.startswith("  ")]
    assert table[0] == ["method", "truth outside", "mean width", "proved in"]
    assert table[1:] == [
        ["wide", "0 % (0)", "18 (0)", "-"],
        ["off", "100 % (0)", "1 (0)", "-"],
        ["crossed", "100 % (0)", "18 (0)", "-"],
        ["proved", "0 % (0)", "18 (0)", "4"],
        ["as found", *table[5][1:]],
    ]
    assert table[5][2] == "0.5 (0)"
    assert f"is {found.mean_truth:.4g} on average, as filed {found.mean_observed:.4g}. In brackets" in said


def test_the_limit_is_the_rate_that_so_often_shows_no_miss():
    """With 60 trials, 4.87 % gives none in 5 of 100 cases."""
    assert abs((1 - 0.0487) ** 60 - 0.05) < 1e-4
    found = evaluate(X, Y, 0.2, methods={"wide": Fixed(-9, 9)}, n_trials=1, rng=7)
    many = dataclasses.replace(found, trials=found.trials * 60)
    assert "in up to 4.87 % of such trials" in one_line(many.summary())
    proved = evaluate(X, Y, 0.2, methods={"proved": Fixed(0, 1, -9, 9)}, n_trials=1, rng=7)
    assert "never happened" not in one_line(proved.summary())
    missed = evaluate(X, Y, 0.2, methods={"off": Fixed(5, 6)}, n_trials=1, rng=7)
    assert "never happened" not in one_line(missed.summary())
    assert "In 1 trial the truth lay outside the interval of off in 100 %. Under" in one_line(
        missed.summary()
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "all 30 rows of X and 40 of Y were taken as the truth in each trial; 6 of"),
        ({"sizes": (30, 40)}, "all 30 rows of X"),
        (
            {"replace": True},
            "in each trial 30 rows of X and 40 of Y were drawn with replacement from 30 and 40;",
        ),
        ({"sizes": (5, None)}, "1 of the 5 X rows (20 %) was then filed under Y"),
        ({"scale": "standard"}, "in each trial, standardised over the rows of both; 6"),
        ({"mechanism": "random"}, "filed under Y, chosen at random."),
        ({"mechanism": last_rows}, "filed under Y, chosen by last_rows."),
        ({"exactly": False}, "told that at most 6 of the 46 rows filed under Y belong to X, not which."),
        ({"epsilon": 0.01}, "the share is less than one of 30 X rows, so nothing was misfiled. In 1 trial"),
        ({"kernel": "linear"}, "Seed 0; kernel linear; unbiased"),
        ({"bandwidth": 2.5}, "kernel rbf, bandwidth 2.5;"),
    ],
)
def test_words(options, words):
    found = evaluate(X, Y, **{"epsilon": 0.2, "methods": ["sd"], "n_trials": 1, "rng": 0, **options})
    assert words in one_line(found.summary())


def test_shown_in_a_notebook(found):
    assert page_of(found).tables


def test_trials_are_counted_for_those_who_watch(capsys, monkeypatch):
    for name in ("PATIENCE", "INTERVAL", "IN_LOG"):
        monkeypatch.setattr(f"mmdbounds.progress.{name}", -1.0)
    evaluate(X, Y, 0.2, methods=["sd"], n_trials=3, rng=0, progress=True)
    shown = capsys.readouterr().err
    assert re.findall(r"trial \d of 3", shown) == ["trial 2 of 3", "trial 3 of 3", "trial 3 of 3"]
    assert re.fullmatch(r"mmdbounds: trial 3 of 3  \d+ s", shown.splitlines()[-1])
    evaluate(X, Y, 0.2, methods=["sd"], n_trials=3, rng=0)
    assert capsys.readouterr().err == ""
