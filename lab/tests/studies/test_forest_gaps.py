"""The study of the gaps: its book-keeping on made-up rows."""

import json

import pytest

import mmdbounds as mb
from lab.studies import drawing, forest_gaps

CHOSEN = [forest_gaps.Setting(drawing.MADE_UP, size) for size in (12, 20)]


def study(path, *arguments):
    return forest_gaps.main(
        ["--records", str(path), "--draws", "3", "--method", "exhaustive", *arguments], chosen=CHOSEN
    )


def test_every_draw_is_run_once_and_a_stopped_run_continues(tmp_path, monkeypatch):
    path = tmp_path / "records.jsonl"
    monkeypatch.setattr(forest_gaps, "warm_up", lambda *_: None)
    assert study(path) == 0
    kept = path.read_bytes().splitlines(keepends=True)
    found = [json.loads(line) for line in kept]
    assert [(r["setting"], r["trial"]) for r in found] == [(s.name, t) for s in CHOSEN for t in range(3)]
    assert [r["m"] for r in found] == [1, 1, 1, 2, 2, 2]
    path.write_bytes(b"".join(kept[:4]) + kept[4][:30])
    assert study(path) == 0
    again = path.read_bytes().splitlines(keepends=True)
    assert again[:4] == kept[:4]
    for new, old in zip(map(json.loads, again[4:]), found[4:], strict=True):
        assert new | {"run": new["run"] | {"seconds": 0}} == old | {"run": old["run"] | {"seconds": 0}}
    assert path.with_suffix(".md").read_text().count("\n| made up, N = ") == 2


def test_the_settings_of_the_issue():
    names = [setting.name for setting in forest_gaps.settings()]
    assert len(names) == len(set(names)) == 11
    assert "FOREST standardised, N = 2000, Sharp()" in names
    assert "BIO, N = 72, Sharp(gap=0)" in names
    assert "FOREST raw, N = 100, Sharp(certify=False)" in names


def test_a_row_by_hand():
    runs = [
        {"lower": 1.0, "upper": 2.0, "lower_certified": 1.0 - gap, "upper_certified": 2.0, "seconds": seconds}
        for gap, seconds in ((0.0, 1.0), (0.01, 2.0), (0.05, 6.0))
    ]
    setting = forest_gaps.Setting("here", 10, (("gap", 0),))
    assert forest_gaps.row(setting, runs, None) == (
        "| here, N = 10 | `Sharp(gap=0)` | 3 | 1.00 % | 5.00 % | 0.00 % | 0.00 % | 33 % | 2 | 6 |"
    )
    runs[1]["lower_certified"] = None
    assert "| 3 | - | - | 0.00 % |" in forest_gaps.row(setting, runs, None)


def test_draws_with_and_without_a_proof_are_the_same():
    plain, hasty = (forest_gaps.Setting(drawing.MADE_UP, 12, o) for o in ((), (("certify", False),)))
    first, second = (forest_gaps.run_draw(s, 1, None, "s-sd") for s in (plain, hasty))
    assert first["seed"] == second["seed"]
    assert first["run"]["upper"] == second["run"]["upper"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--draws", "0"], "--draws must be at least 1"), (["--method", "sharpest"], "`method` must be one of")],
)
def test_refusals(tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit, match=r"^2$"):
        study(tmp_path / "records.jsonl", *arguments)
    assert message in capsys.readouterr().err


def test_versions_are_on_the_page(tmp_path):
    study(tmp_path / "records.jsonl")
    assert f"mmdbounds {mb.__version__};" in (tmp_path / "records.md").read_text()
