"""The study of approximate kernels: its book-keeping, and a small slice of what it shows."""

import json

import pytest

from mmdbounds.sums.features import residual
from studies import drawing, feature_errors

CHOSEN = [
    feature_errors.Setting(drawing.MADE_UP, "rbf", 64),
    feature_errors.Setting(drawing.MADE_UP, "matern32", 20, landmarks=True, method="sharp"),
]


def study(path, *arguments):
    return feature_errors.main(
        ["--records", str(path), "--draws", "5", "--rows", "150", *arguments], chosen=CHOSEN
    )


def test_stated_errors_hold_in_a_small_slice(tmp_path, monkeypatch):
    monkeypatch.setattr(residual, "FEW_ROWS", 0)  # or all pairs of so few rows would be taken
    monkeypatch.setattr(residual, "ROWS_PER_FEATURE", 0)
    monkeypatch.setattr(residual, "MOST_DRAWS", 4000)
    path = tmp_path / "records.jsonl"
    assert study(path) == 0
    kept = path.read_bytes().splitlines(keepends=True)
    found = [json.loads(line) for line in kept]
    assert [(r["setting"], r["trial"]) for r in found] == [(s.name, t) for s in CHOSEN for t in range(5)]
    every = [one for record in found for one in record["runs"].values()]
    assert all(one["margin"] > 0 for one in every)
    held = [feature_errors.error(one) <= one["stated"] for one in every]
    assert all(held)  # 99 % is what is promised; the bound is wider
    assert all(one["proved"] for record in found[5:] for one in record["runs"].values())
    assert found[0]["runs"]["observed"]["proved"] is None
    path.write_bytes(b"".join(kept[:3]) + kept[3][:30])
    assert study(path) == 0
    assert path.read_bytes().splitlines(keepends=True)[:4] == kept[:4]
    page = path.with_suffix(".md").read_text()
    assert page.count("\n| made up, ") == 2
    assert "\n| **all** | 10 |" in page


def test_a_row_by_hand():
    one = {"value": 1.0, "truth": 1.1, "stated": 0.2, "margin": 0.1, "proved": None}
    off = {**one, "truth": 1.4}
    runs = [{"lower": one, "observed": one, "upper": off}, {"lower": one, "observed": off, "upper": off}]
    assert feature_errors.row("x", runs) == "| x | 2 | 100.0 % | 50.0 % | 0.0 % | 0.25 | 0.2 | 1.2 | - |"


def test_the_runs_of_the_full_study():
    assert len({setting.name for setting in feature_errors.SETTINGS}) == 8
    assert 8 * feature_errors.parse([]).draws == 200


def test_refusals(tmp_path, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        study(tmp_path / "records.jsonl", "--draws", "0")
    assert "--draws must be at least 1" in capsys.readouterr().err
