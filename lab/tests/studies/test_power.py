"""The study of power: the rule by its definition, the comparison by hand, and the book-keeping."""

import json
import math
import os

import numpy as np
import pytest

import mmdbounds as mb
from lab.studies import power, records, testing
from lab.studies.testing import Setting
from problems import naive_mmd2

TINY = (
    Setting("normal", 10, 9, 2, "lowest", 0.2, True, "shift", 3.0),
    Setting("normal", 9, 10, 1, "random", 0.15, False, "scale", 2.0),
)
ROUNDING = 1e-12


def study(path, *arguments, trials=2, data_sets=()):
    options = ["--records", str(path), "--trials", str(trials), "--processes", "1", "--permutations", "19"]
    return power.main([*options, *arguments], chosen=TINY, data_sets=data_sets)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def made_matrix(seed, n):
    Z = np.random.default_rng(seed).normal(size=(n, 2))
    return np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / 2)


@pytest.mark.parametrize("seed", range(3))
def test_roots_by_definition(seed):
    p, n = 5 + seed, 14
    K = made_matrix(seed, n)
    observed, null = power.root_statistics(K, p, 7, np.random.default_rng(seed))
    assert observed == pytest.approx(math.sqrt(naive_mmd2(K, np.arange(n) < p, "biased")), abs=ROUNDING)
    rng = np.random.default_rng(seed)
    for value in null:
        in_x = np.isin(np.arange(n), rng.permutation(n)[:p])
        assert value == pytest.approx(math.sqrt(naive_mmd2(K, in_x, "biased")), abs=ROUNDING)
    assert len(null) == 7


@pytest.mark.parametrize("seed", range(20))
def test_the_rule_is_a_quantile_and_a_margin(seed):
    """Reject if the root exceeds the quantile over permutations and itself by the margin."""
    rng = np.random.default_rng(seed)
    observed, null = rng.normal(2.0, 1.0), rng.normal(size=39)
    margin = power.raised_by(int(rng.integers(4)), 20, 30)
    quantile = np.sort(null)[math.ceil(0.95 * 40) - 1]  # of 40 values, the observed one the largest of all
    assert (power.rule_pvalue(observed, null, margin) <= 0.05) == (observed > quantile + margin)


def test_the_margin_by_hand():
    assert power.raised_by(5, 95, 105) == pytest.approx(2 * 5 * 1.41421356 / 95, rel=1e-8)
    assert power.raised_by(0, 95, 105) == 0.0


def test_one_row_replaced_moves_the_root_by_no_more_than_half_the_margin():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, Y = rng.normal(size=(6, 1)), rng.normal(size=(9, 1))
        other = X.copy()
        other[0] = rng.normal(0, 100)
        roots = [math.sqrt(mb.mmd2(Z, Y, bandwidth=1.0, estimator="biased")) for Z in (X, other)]
        assert abs(roots[0] - roots[1]) <= power.raised_by(1, 6, 9) / 2


def test_a_record_says_what_the_definition_says():
    record = power.run_trial(testing.Job(TINY[0], 3, 19))
    rng = np.random.default_rng(record["seed"])
    X, Y = testing.draw(TINY[0], rng)
    filed = mb.simulate(X, Y, 0.2, mechanism=testing.lowest, rng=rng)
    amount = mb.Contamination(n_moved=2)
    result = mb.robust_test(filed.X, filed.Y, amount, exactly=True, n_permutations=19, rng=record["seed"])
    assert (record["m"], record["most_moved"], record["pvalue"]) == (2, 2, result.pvalue)
    observed = math.sqrt(mb.mmd2(filed.X, filed.Y, estimator="biased"))
    K = testing.kernel_matrix(filed.X, filed.Y)
    root, null = power.root_statistics(K, 8, 19, np.random.default_rng([record["seed"], 1]))
    assert root == pytest.approx(observed, abs=ROUNDING)
    above = np.count_nonzero(null >= observed - 2 * 2 * math.sqrt(2) / 8 - ROUNDING)
    assert record["pvalue_of_rule"] == (1 + above) / 20


def made_records(ours, rule, setting=TINY[0]):
    base = {"setting": setting.name, "m": 2, "n_permutations": 19, "seconds": 0.5, "version": "1"}
    return [
        base | {"trial": i, "pvalue": a, "pvalue_of_rule": b, "pvalue_as_filed": 0.01}
        for i, (a, b) in enumerate(zip(ours, rule, strict=True))
    ]


def test_the_deficit_by_hand():
    yes, no = 0.05, 0.5
    assert power.deficit(made_records([yes, no], [yes, no]), 3) == 1.0
    # Of six trials that differ the rule rejects in all: 1 / 64.
    found = made_records([no] * 6 + [yes], [yes] * 7)
    assert power.deficit(found, 1) == pytest.approx(1 / 64)
    assert power.deficit(found, 3) == pytest.approx(3 / 64)
    assert power.failures(found, TINY[:1]) == [TINY[0].name]
    assert power.deficit(made_records([yes] * 7, [no] * 6 + [yes]), 1) == 1.0
    # Five of six: 7 / 64, not enough.
    found = made_records([no] * 5 + [yes], [yes] * 5 + [no])
    assert power.failures(found, TINY[:1]) == []


def test_a_row_by_hand():
    found = made_records([0.05, 0.05, 0.05, 0.5], [0.05, 0.2, 0.2, 0.2])
    assert power.row(TINY[0], found, 2) == (
        "| normal, n = 10 + 9, d = 2 | shift 3 | lowest | exactly 0.2 | 2 | 4 | 75.0 ± 21.7 % "
        "| 25.0 ± 21.7 % | 100.0 ± 0.0 % | 1 | 0.50 |"
    )


def real_record(name, holds, holds_of_rule, **fields):
    base = {"setting": name, "sizes": [90, 60], "above": False, "is_proved": True, "seconds": 2.0}
    base |= {"holds": holds, "holds_of_rule": holds_of_rule}
    return base | {"version": "1", **fields}


def test_the_second_table_by_hand():
    data_sets = [power.DataSet(name, None, 0.3) for name in "abc"]
    found = [
        real_record("a", 10, 0),
        real_record("b", 30, 10, above=True, is_proved=False),
        real_record("c", 0, -1),
    ]
    assert power.data_table(found, data_sets)[2:] == [
        "| a | 90 + 60 | 0.100 (10 rows) | 0.000 (0 rows) | yes | 2.0 |",
        "| b | 90 + 60 | at least 0.250 (30 rows) | 0.100 (10 rows) | no | 2.0 |",
        "| c | 90 + 60 | 0.000 (0 rows) | not at all | yes | 2.0 |",
    ]
    assert power.failures([], (), found) == []
    assert power.failures([], (), [real_record("a", 3, 4)]) == ["a"]


@pytest.mark.parametrize("shift", [0.0, 1.2, 6.0])
def test_how_long_each_holds_by_a_scan(monkeypatch, shift):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(30, 2)), rng.normal(shift, 1, size=(25, 2))
    monkeypatch.setattr(power, "real_groups", lambda name, folder: (X, Y))
    data = power.DataSet("made up", None, 0.3)
    record = power.run_data(power.DataJob(data, None, n_permutations=99))
    most = mb.Contamination(0.3).n_moved_for(30)
    options = {"exactly": True, "n_permutations": 99, "rng": record["seed"]}
    rejects = [
        mb.robust_test(X, Y, mb.Contamination(n_moved=m), **options).pvalue <= 0.05 for m in range(most + 1)
    ]
    assert record["holds"] == [*rejects, False].index(False) - 1
    assert record["above"] == all(rejects)
    assert record["is_proved"]
    assert record["holds_of_rule"] <= record["holds"]
    root, null = power.root_statistics(
        testing.kernel_matrix(X, Y), 30, 99, np.random.default_rng([record["seed"], 1])
    )
    slack = (root - np.sort(null)[94]) / (2 * math.sqrt(2) / 25)
    assert record["holds_of_rule"] == max(-1, math.ceil(slack) - 1)
    assert (record["holds"] >= 0) == (shift > 0)


def test_every_trial_is_run_once_and_a_stopped_run_continues(tmp_path, capsys, monkeypatch):
    path = tmp_path / "records.jsonl"
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(12, 1)), rng.normal(4, 1, size=(12, 1))
    monkeypatch.setattr(power, "real_groups", lambda name, folder: groups)
    data_sets = (power.DataSet("made up", None, 0.2),)
    assert study(path, data_sets=data_sets) == 0
    kept = path.read_bytes().splitlines(keepends=True)
    names = [(record["setting"], record["trial"]) for record in lines(path)]
    assert names == [(s.name, t) for t in range(2) for s in TINY] + [("made up", 0)]
    page = path.with_suffix(".md").read_text()
    assert page.count("\n| normal, n = ") == 2
    assert "| made up | 12 + 12 | at least 0.200 (3 rows) | " in page
    assert "The rule does significantly better in 0 of 3 rows." in page
    assert f"mmdbounds {mb.__version__};" in page
    path.write_bytes(b"".join(kept[:3]))
    assert study(path, data_sets=data_sets) == 0
    for new, old in zip(lines(path), map(json.loads, kept), strict=True):
        assert new | {"seconds": 0} == old | {"seconds": 0}
    capsys.readouterr()
    assert study(path, "--again", TINY[1].name, "1") == 0
    again = json.loads(capsys.readouterr().out)
    assert again | {"seconds": 0} == lines(path)[3] | {"seconds": 0}


def test_a_better_rule_is_reported_and_fails(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    assert study(path, trials=6) == 0
    found = lines(path)
    for record in found:
        if record["setting"] == TINY[1].name:
            record.update({"pvalue": 1.0, "pvalue_of_rule": 0.05})
    path.write_text("".join(json.dumps(record) + "\n" for record in found))
    assert study(path, trials=6) == 1
    assert f"another test does better: '{TINY[1].name}'" in capsys.readouterr().err


def test_the_settings():
    chosen = power.SETTINGS
    assert len(chosen) == len({s.name for s in chosen}) == 12
    assert {s.difference for s in chosen} == {"shift", "scale"}
    assert all(math.floor(s.epsilon * s.n_x + 1e-9) >= 1 for s in chosen)
    assert len({data.name for data in power.DATA_SETS}) == 5
    assert "normal, n = 100 + 100, d = 2, shift 1, lowest, exactly 0.1" in {s.name for s in chosen}


def test_missing_data_are_refused_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("MMDBOUNDS_DATA", raising=False)
    records_file = tmp_path / "records.jsonl"
    for arguments, message in (
        ([], "name the folder with the data"),
        (["--data", str(tmp_path)], "does not hold mimic_standin_compas.npz, forest_covertype.npz"),
    ):
        with pytest.raises(SystemExit, match=r"^2$"):
            study(records_file, *arguments, data_sets=power.DATA_SETS)
        assert message in capsys.readouterr().err
    assert not records_file.exists()


@pytest.fixture
def data():
    folder = os.environ.get("MMDBOUNDS_DATA")
    if folder is None:
        pytest.skip("MMDBOUNDS_DATA does not name the folder with the data")
    return folder


@pytest.mark.data
def test_the_real_groups(data):
    sizes = {d.name: [np.asarray(g).shape for g in power.real_groups(d.name, data)] for d in power.DATA_SETS}
    assert sizes == {
        "breast cancer": [(212, 30), (357, 30)],
        "COMPAS logits": [(1910, 2), (1245, 2)],
        "FOREST standardised, 700 + 700": [(700, 54), (700, 54)],
        "BIO: Golub, normal scores standardised": [(47, 7128), (25, 7128)],
        "Golub, intensities standardised": [(47, 7129), (25, 7129)],
    }


@pytest.mark.data
def test_golub_as_measured_before(data):
    record = power.run_data(power.DataJob(power.DATA_SETS[-1], data))
    assert 0.15 <= record["holds"] / (47 + record["holds"]) <= 0.2
    assert record["holds_of_rule"] == 0
    assert record["seed"] == records.seed_of("power", "Golub, intensities standardised", 0)


@pytest.mark.data
@pytest.mark.slow
def test_the_rule_is_never_the_more_powerful(data, tmp_path):
    assert power.main(["--data", data, "--records", str(tmp_path / "records.jsonl")]) == 0
