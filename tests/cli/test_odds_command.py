"""``mmdbounds odds``, and ``mmdbounds bounds --odds``."""

import csv
import io
import json

import numpy as np
import pytest

import mmdbounds as mb

ASKED = ["--group", "group", "--hidden", "case", "--among", "control", "--rng", "0", "--id", "patient"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"x{i},case,{value:.3f}" for i, value in enumerate(rng.normal(size=20))]
    lines += [f"y{i},control,{value:.3f}" for i, value in enumerate(rng.normal(2, 1, size=25))]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["patient,group,value", *lines]))
    return str(path)


@pytest.fixture
def groups(table):
    return mb.groups(table, "group", hidden="case", among="control", id="patient")


def numbers(text):
    """What was found; the command line also records its table."""
    return {name: value for name, value in json.loads(text).items() if name != "provenance"}


def test_bounds_with_odds(said, table, groups):
    asked = ["bounds", table, *ASKED, "--epsilon", "0.2", "--odds", "2"]
    want = mb.mmd_bounds(*groups, mb.Contamination(0.2, odds=2), rng=0)
    assert numbers(said(*asked, "--json")) == numbers(want.to_json())
    assert "with odds of being misfiled within a factor of 2 of one value" in " ".join(said(*asked).split())
    assert said(*asked, "-q").split() == [repr(each) for each in want.interval]


def test_odds_over_shares_and_factors(said, table, groups):
    asked = ["odds", table, *ASKED, "--n-permutations", "19", "--epsilons", "0.1", "--epsilons", "0.4"]
    asked += ["--odds", "1", "--odds", "3", "--rng", "4"]
    want = mb.odds_sweep(*groups, [0.1, 0.4], [1, 3], n_permutations=19, rng=4)
    assert numbers(said(*asked, "--json")) == numbers(want.to_json())
    rows = list(csv.DictReader(io.StringIO(said(*asked, "--csv"))))
    assert [float(row["lower"]) for row in rows] == [point.lower for point in want.points]
    shown = [
        [repr(each.epsilon), "none" if each.odds is None else repr(each.odds)] for each in want.breakdown
    ]
    assert [line.split() for line in said(*asked, "-q").splitlines()] == shown
    assert "This is a guide, not a test." in " ".join(said(*asked).split())


def test_what_is_refused(refused, table):
    asked = ["bounds", table, *ASKED, "--epsilon", "0.2", "--odds", "2"]
    assert refused(*asked, "--method", "s-sd").startswith(
        "`odds` has a method of its own; got `--method s-sd`"
    )
    assert refused(*asked, "--y-in-x", "0.1").startswith("`odds` cannot be combined with two-way misfiling")
