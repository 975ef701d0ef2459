"""The study of the type-I error: its book-keeping, its ways to misfile, and its arithmetic."""

import collections
import json
import math

import numpy as np
import pytest

import mmdbounds as mb
from lab.studies import records, testing, type_one
from lab.studies.testing import Setting

TINY = (
    Setting("normal", 9, 8, 2, "lowest", 0.2, exactly=True),  # 1 row, where 8 filed rows would admit 2
    Setting("binary", 9, 8, 1, "adversary", 0.25, exactly=False),
    Setting("skewed", 8, 8, 1, "random", 0.2, exactly=False),
)


def study(path, *arguments, trials=3, processes=1, chosen=TINY):
    """Run the study on few rows."""
    options = ["--records", str(path), "--trials", str(trials), "--processes", str(processes)]
    return type_one.main([*options, "--permutations", "19", *arguments], chosen=chosen)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_seconds(found):
    return sorted(({**record, "seconds": 0.0} for record in found), key=testing.key)


@pytest.fixture
def counted(monkeypatch):
    """The trials that were run, as they are run."""
    ran = []
    original = type_one.run_trial

    def run_trial(job):
        ran.append((job.setting.name, job.trial))
        return original(job)

    monkeypatch.setattr(type_one, "run_trial", run_trial)
    return ran


def test_the_settings_of_the_issue():
    chosen = type_one.SETTINGS
    assert len(chosen) == len({s.name for s in chosen}) == 24
    assert type_one.testing.parse([], "type_one", "").trials == 1000
    assert testing.N_PERMUTATIONS == 199
    by_mechanism = collections.Counter(s.mechanism for s in chosen)
    assert set(by_mechanism) == {"random", *testing.MECHANISMS}
    assert min(by_mechanism.values()) >= 3
    sizes = {n for s in chosen for n in (s.n_x, s.n_y)}
    assert (min(sizes), max(sizes)) == (30, 200)
    assert {s.n_x == s.n_y for s in chosen} == {s.exactly for s in chosen} == {True, False}
    columns, shares = ({getattr(s, name) for s in chosen} for name in ("n_columns", "epsilon"))
    assert (min(columns), max(columns)) == (1, 50)
    assert (min(shares), max(shares)) == (0.02, 0.3)
    assert all(math.floor(s.epsilon * s.n_x + 1e-9) >= 1 for s in chosen)
    assert all(s.difference == "none" for s in chosen)
    assert sum(s.data == "binary" for s in chosen) >= 3


def test_every_trial_is_run_once_and_a_stopped_run_continues(tmp_path, counted):
    whole, stopped = tmp_path / "new folder" / "whole.jsonl", tmp_path / "stopped.jsonl"
    assert study(whole) == 0
    assert counted == [(s.name, t) for t in range(3) for s in TINY]
    kept = whole.read_bytes().splitlines(keepends=True)
    stopped.write_bytes(b"".join(kept[:4]) + kept[4][:-5])  # killed while it wrote the fifth line
    counted.clear()
    assert study(stopped) == 0
    assert counted == [(s.name, t) for t in range(3) for s in TINY][4:]
    assert without_seconds(lines(stopped)) == without_seconds(lines(whole))
    counted.clear()
    study(stopped)
    assert counted == []
    study(stopped, trials=4)
    assert counted == [(s.name, 3) for s in TINY]


def test_records_with_other_permutations_are_left_alone(tmp_path, counted):
    path = tmp_path / "records.jsonl"
    study(path, trials=1)
    counted.clear()
    study(path, "--permutations", "39", trials=1)
    assert len(counted) == len(TINY)
    assert len(lines(path)) == 2 * len(TINY)


def test_one_and_two_processes_give_the_same_table(tmp_path):
    found, rows = [], []
    for processes in (1, 2):
        path = tmp_path / f"{processes}.jsonl"
        assert study(path, processes=processes) == 0
        found.append(without_seconds(lines(path)))
        page = path.with_suffix(".md").read_text()
        rows.append([line.rsplit("|", 2)[0] for line in page.splitlines() if line.startswith("|")])
    assert found[0] == found[1]
    assert rows[0] == rows[1]
    assert len(rows[0]) == len(TINY) + 2
    assert len({line.count("|") for line in rows[0]}) == 1  # as many cells as heads


def test_any_trial_can_be_run_again_alone(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    study(path)
    wanted = lines(path)[-1]
    capsys.readouterr()
    assert study(path, "--again", wanted["setting"], str(wanted["trial"])) == 0
    assert without_seconds([json.loads(capsys.readouterr().out)]) == without_seconds([wanted])


@pytest.mark.parametrize("setting", TINY[:1] + TINY[2:], ids=lambda s: s.data)
def test_a_record_says_what_the_definition_says(setting):
    record = type_one.run_trial(testing.Job(setting, 4, 19))
    assert record["seed"] == records.seed_of("type one", setting.name, 4)
    rng = np.random.default_rng(record["seed"])
    X, Y = testing.draw(setting, rng)
    chosen = "random" if setting.mechanism == "random" else testing.lowest
    filed = mb.simulate(X, Y, setting.epsilon, mechanism=chosen, rng=rng)
    assert record["m"] == filed.n_moved == math.floor(setting.epsilon * setting.n_x)
    options = {"n_permutations": 19, "rng": record["seed"], "exactly": setting.exactly}
    amount = mb.Contamination(n_moved=record["m"]) if setting.exactly else setting.epsilon
    result = mb.robust_test(filed.X, filed.Y, amount, **options)
    assert (record["pvalue"], record["pvalue_as_filed"]) == (result.pvalue, result.pvalue_as_filed)
    assert record["is_valid"]
    assert record["most_moved"] == result.counts[-1].n_moved >= record["m"]


def test_the_true_count_is_always_among_those_tested():
    for setting in type_one.SETTINGS:
        m = math.floor(setting.epsilon * setting.n_x + 1e-9)
        assert mb.Contamination(setting.epsilon).n_moved_for(setting.n_x - m) >= m


def test_mechanisms_by_definition():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(9, 2))
    by_first = sorted(range(12), key=lambda i: X[i, 0])
    assert set(testing.lowest(X, Y, 4, rng)) == set(by_first[:4])
    assert set(testing.highest(X, Y, 4, rng)) == set(by_first[-4:])
    Z = np.concatenate([X, Y])
    bandwidth = np.median([math.dist(a, b) for i, a in enumerate(Z) for b in Z[:i]])

    def mean_kernel(a, others):
        return np.mean([math.exp(-(math.dist(a, b) ** 2) / (2 * bandwidth**2)) for b in others])

    by_witness = sorted(range(12), key=lambda i: mean_kernel(X[i], X) - mean_kernel(X[i], Y))
    assert set(testing.most_y_like(X, Y, 4, rng)) == set(by_witness[:4])
    assert set(testing.most_x_like(X, Y, 4, rng)) == set(by_witness[-4:])
    centres = set()
    for seed in range(40):
        rows = testing.cluster(X, Y, 4, np.random.default_rng(seed))
        nearest = sorted(range(12), key=lambda i, c=rows[0]: math.dist(X[i], X[c]))
        assert set(rows) == set(nearest[:4])
        centres.add(int(rows[0]))
    assert len(centres) > 6


def test_the_adversary_makes_the_groups_look_more_different_than_any_other_way():
    as_filed = collections.defaultdict(list)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
        for name, mechanism in {**testing.MECHANISMS, "random": "random"}.items():
            filed = mb.simulate(X, Y, 0.2, mechanism=mechanism, rng=rng)
            as_filed[name].append(mb.mmd2(filed.X, filed.Y))
    for name, values in as_filed.items():
        assert name == "adversary" or (np.array(values) <= np.array(as_filed["adversary"]) + 1e-12).all()
        assert name == "adversary" or np.mean(values) < 0.9 * np.mean(as_filed["adversary"])


def test_true_groups_are_drawn_as_said():
    rng = np.random.default_rng(0)
    for data, mean in (("normal", 0.0), ("binary", testing.RATE_OF_ONES), ("skewed", math.exp(0.5))):
        X, Y = testing.draw(Setting(data, 4000, 3000, 2, "random", 0.1, exactly=False), rng)
        assert (X.shape, Y.shape) == ((4000, 2), (3000, 2))
        np.testing.assert_allclose([X.mean(), Y.mean()], mean, rtol=0, atol=0.1)
    assert set(np.unique(testing.draw(Setting("binary", 50, 50, 1, "random", 0.1, True), rng)[0])) == {0, 1}
    apart = Setting("normal", 4000, 4000, 2, "random", 0.1, True)
    _, moved = testing.draw(apart._replace(difference="shift", size=2.0), rng)
    _, wide = testing.draw(apart._replace(difference="scale", size=3.0), rng)
    np.testing.assert_allclose(moved.mean(axis=0), [2, 0], rtol=0, atol=0.1)
    np.testing.assert_allclose(wide.std(axis=0), [3, 3], rtol=0, atol=0.2)


def made_records(pvalues, setting=TINY[0], **fields):
    base = {"setting": setting.name, "m": 2, "n_permutations": 19, "is_valid": True, "seconds": 0.5}
    base |= {"pvalue_as_filed": 0.05, "version": "1", **fields}
    return [base | {"trial": i, "pvalue": p} for i, p in enumerate(pvalues)]


def test_the_excess_by_hand():
    found = made_records([0.05] * 3 + [0.051] * 7)
    # 1 - 0.95^10 - 10 x 0.05 x 0.95^9 - 45 x 0.05^2 x 0.95^8 = 0.0115036
    assert type_one.excess(found, 1) == pytest.approx(0.0115036, abs=1e-7)
    assert type_one.excess(found, 4) == pytest.approx(0.0460143, abs=1e-6)
    assert type_one.excess(found, 200) == 1.0
    assert type_one.excess(made_records([1.0] * 10), 24) == 1.0
    assert type_one.failures(found, TINY[:1]) == [TINY[0].name]
    assert type_one.failures(made_records([0.05] * 2 + [1.0] * 8), TINY[:1]) == []


def test_a_row_by_hand():
    found = made_records([0.05, 0.2, 0.3, 1.0])
    found[3] |= {"is_valid": False, "pvalue_as_filed": 0.06}
    assert type_one.row(TINY[0], found, 3) == (
        "| normal, n = 9 + 8, d = 2 | lowest | exactly 0.2 | 2 | 4 | 25.0 ± 21.7 % | 0.56 "
        "| 75.0 ± 21.7 % | 75 % | 0.50 |"
    )
    assert "1 of 4 p-values are not proved." in type_one.totals(found, TINY[:1])


def test_too_many_rejections_are_reported_and_fail(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    assert study(path, trials=4) == 0
    found = lines(path)
    for record in found:
        record["pvalue"] = 0.05 if record["setting"] == TINY[1].name else 1.0
    path.write_text("".join(json.dumps(record) + "\n" for record in found))
    assert study(path, trials=4) == 1
    assert f"rejected too often: '{TINY[1].name}'" in capsys.readouterr().err
    page = path.with_suffix(".md").read_text()
    assert "in 1 of 3 settings; its largest rate is 100.0 % ('binary" in page
    assert f"mmdbounds {mb.__version__};" in page


def test_stopping_keeps_what_was_done(tmp_path, capsys, monkeypatch):
    path = tmp_path / "records.jsonl"
    original = type_one.run_trial

    def run_trial(job):
        if job.trial == 1:
            raise KeyboardInterrupt
        return original(job)

    monkeypatch.setattr(type_one, "run_trial", run_trial)
    with pytest.raises(SystemExit, match=r"^130$"):
        study(path)
    assert len(lines(path)) == len(TINY)
    assert "stopped; the same command resumes from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trials", "0"], "--trials, --processes and --permutations must be at least 1"),
        (["--permutations", "0"], "--trials, --processes and --permutations must be at least 1"),
        (["--again", "no such setting", "1"], "no trial '1' of a setting 'no such setting'"),
        (["--again", TINY[0].name, "one"], f"no trial 'one' of a setting '{TINY[0].name}'"),
    ],
)
def test_refusals(tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit, match=r"^2$"):
        study(tmp_path / "records.jsonl", *arguments)
    assert message in capsys.readouterr().err


def test_seeds_differ_between_settings_and_studies():
    names = [(s, c.name, t) for s in ("type one", "power") for c in type_one.SETTINGS for t in range(20)]
    assert len({records.seed_of(*name) for name in names}) == len(names)
    # Written down, because records kept for months must stay reproducible.
    assert type_one.SETTINGS[3].name == "normal, n = 100 + 100, d = 2, lowest, exactly 0.1"


@pytest.mark.slow
def test_the_level_is_kept_in_every_setting(tmp_path):
    assert type_one.main(["--records", str(tmp_path / "records.jsonl")]) == 0
    assert all(record["is_valid"] for record in lines(tmp_path / "records.jsonl"))
