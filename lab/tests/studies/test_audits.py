"""The study of audits: who is misfiled, what is looked up, and the book-keeping."""

import json

import numpy as np
import pytest

from lab.studies import audits, drawing
from lab.studies.audits import Setting

TINY = (
    Setting(drawing.MADE_UP, 60, "true groups", "random"),
    Setting(drawing.MADE_UP, 40, "no difference", "highest"),
)


def study(path, trials=1):
    options = ["--records", str(path), "--trials", str(trials), "--processes", "1", "--permutations", "39"]
    return audits.main(options, chosen=TINY)


def test_the_study_runs_and_continues(tmp_path, capsys):
    path = tmp_path / "audits.jsonl"
    assert study(path) == 0
    first = path.read_text()
    real, null = map(json.loads, first.splitlines())
    assert (real["n_misfiled"], real["n_rows"]) == (3, 33)
    assert set(real["widths"]) == {"0.05", "0.1", "0.2"}
    assert all(0 <= width <= 1 + 1e-3 for both in real["widths"].values() for width in both)
    assert null["widths"] == {}
    assert null["decision"] in ("no difference shown", "explained away", "the difference stands")
    assert real["n_checked"] <= real["n_rows"]
    assert study(path) == 0
    assert path.read_text() == first
    assert "| made up | no difference | highest | 1 |" in path.with_suffix(".md").read_text()
    capsys.readouterr()


def test_the_rows_that_are_looked_up_have_their_true_group():
    filed = audits.filed_groups(TINY[0], np.random.default_rng(0))
    rows = np.array([int(filed.rows_of_y[0]), *set(range(5)) - set(filed.rows_of_y.tolist())])
    of_x, truth = audits.looked_up(filed, rows)
    assert of_x is None
    assert truth[rows[0]] == "X"
    assert set(truth[rows[1:]]) == {"Y"}
    assert (truth == "").sum() == len(filed.Y) - len(rows)


def test_too_many_wrong_decisions_are_found():
    wrong = {"setting": TINY[1].name, "decision": "the difference stands"}
    right = {"setting": TINY[1].name, "decision": "explained away"}
    assert audits.failures([wrong] * 40 + [right] * 60, TINY[1:]) == [TINY[1].name]
    assert audits.failures([wrong] * 10 + [right] * 90, TINY[1:]) == []


@pytest.mark.parametrize("mechanism", ["random", "nonrandom", "highest"])
def test_the_highest_rows_are_misfiled(mechanism):
    filed = audits.filed_groups(
        Setting(drawing.MADE_UP, 40, "true groups", mechanism), np.random.default_rng(1)
    )
    assert filed.n_moved == 2
    if mechanism == "highest":
        assert filed.Y[filed.rows_of_y, 0].min() > filed.X[:, 0].max()
