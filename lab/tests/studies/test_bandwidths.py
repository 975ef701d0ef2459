"""The study of several bandwidths: its book-keeping, and that it asks what it says."""

import json

import numpy as np

import mmdbounds as mb
from lab.studies import bandwidths, testing
from lab.studies.testing import Setting

TINY = (
    Setting("normal", 9, 8, 2, "farthest", 0.2, False, "scale", 0.5),
    Setting("skewed", 8, 8, 1, "random", 0.2, False),
)


def study(path, *arguments, trials=2):
    options = ["--records", str(path), "--trials", str(trials), "--processes", "1", "--permutations", "19"]
    return bandwidths.main([*options, *arguments], chosen=TINY)


def test_a_trial_by_hand():
    job = testing.Job(TINY[0], 0, 19)
    record = bandwidths.run_trial(job)
    filed = bandwidths.file(TINY[0], np.random.default_rng(record["seed"]))
    clean = filed.X, filed.Y
    for name, lengths in (("median", "median"), ("0.5, 1", ["0.5 median", "median"])):
        result = mb.robust_test(*clean, 0.2, bandwidth=lengths, n_permutations=19, rng=record["seed"])
        assert record[f"pvalue, {name}"] == result.pvalue


def test_the_farthest_rows_are_mislabelled():
    X, Y = testing.draw(TINY[0], np.random.default_rng(0))
    filed = bandwidths.file(TINY[0], np.random.default_rng(0))
    far = np.argmax(np.linalg.norm(X, axis=1))
    assert {tuple(row) for row in X} - {tuple(row) for row in filed.X} == {tuple(X[far])}
    assert tuple(X[far]) in {tuple(row) for row in filed.Y}
    assert len(filed.Y) == len(Y) + 1


def test_a_stopped_run_continues_and_the_page_has_a_row_for_each_setting(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    assert study(path) == 0
    kept = path.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["trial"] for line in kept] == [0, 0, 1, 1]
    page = path.with_suffix(".md").read_text("utf-8")
    assert page.count("\n| normal, n = ") == 1
    assert "| skewed, n = 8 + 8, d = 1 | nothing | random | up to 0.2 | 2 |" in page
    path.write_bytes(b"".join(kept[:3]))
    assert study(path) == 0
    again = [json.loads(line) | {"seconds": 0} for line in path.read_bytes().splitlines()]
    assert again == [json.loads(line) | {"seconds": 0} for line in kept]
