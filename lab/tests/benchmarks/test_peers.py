"""The programs that compare with other packages: limits, agreement, pages; small ones really run."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from lab.benchmarks.peers import environments, measuring, page, picture, rows, run
from lab.benchmarks.peers.peers import AGREES, FOLDER, OURS, PEERS, REFERENCES
from tolerances import of_mmd2

ROOT = Path(__file__).parents[3]
BANDWIDTH = 3.0


def program(name):
    """Return a program as a module; it runs where its package is installed."""
    sys.path.insert(0, str(FOLDER / "programs"))
    try:
        spec = importlib.util.spec_from_file_location(name, FOLDER / "programs" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
        for left in ("timed", "relaxation"):
            sys.modules.pop(left, None)
    return module


def groups(p=30, q=25, d=6):
    rng = np.random.default_rng(5)
    return rng.normal(size=(p, d)), rng.normal(0.5, 1.0, size=(q, d))


def gaussian(A, B):
    return np.array([[np.exp(-((a - b) ** 2).sum() / (2 * BANDWIDTH**2)) for b in B] for a in A])


def naive_unbiased(X, Y):
    xx, yy, xy = gaussian(X, X), gaussian(Y, Y), gaussian(X, Y)
    off_x, off_y = (K.sum() - np.trace(K) for K in (xx, yy))
    p, q = len(X), len(Y)
    return off_x / (p * (p - 1)) + off_y / (q * (q - 1)) - 2 * xy.mean()


def done(peer="frouros", n=1000, seconds=1.0, peak_mib=100.0, **more):
    about = {"peer": peer, "n": n, "p": n // 2, "q": n - n // 2, "status": "done", "seconds": seconds}
    about |= {"peak_mib": peak_mib, "difference": None, "value": 0.1, "versions": {peer: "1.0", "numpy": "2"}}
    return about | {"date": "2026-01-01", "machine": "a machine", "version": "0.1", "source": "s"} | more


# -- the programs


@pytest.mark.parametrize("name", ["ours_mmd2", "with_scikit_learn", "with_scikit_learn_whole"])
def test_programs_compute_the_definition(name):
    X, Y = groups()
    assert program(name).squared_mmd(X, Y, BANDWIDTH, 5) == pytest.approx(naive_unbiased(X, Y), abs=1e-12)


@pytest.mark.full
def test_torch_computes_the_definition():
    X, Y = groups()
    found = program("with_torch")
    found.BLOCK = 8  # several blocks, the last ones smaller
    assert found.squared_mmd(X, Y, BANDWIDTH, 5) == pytest.approx(naive_unbiased(X, Y), abs=1e-12)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Please import `.*` from the `scipy:DeprecationWarning")  # autograd's
def test_hyppo_is_turned_back_into_a_squared_mmd():
    X, Y = groups()
    statistic = program("with_hyppo").statistic(X, Y, BANDWIDTH, 5)
    expected = gaussian(X, X).mean() + gaussian(Y, Y).mean() - 2 * gaussian(X, Y).mean()
    assert rows.mmd2_of_hyppo(statistic, X, Y, BANDWIDTH) == pytest.approx(expected, abs=1e-12)
    assert statistic != pytest.approx(expected, rel=0.1)  # it is another number before that


def test_the_quadratic_programme_is_the_value_of_labellings():
    X, Y = groups(p=9, q=8)
    H, h, c = program("relaxation").quadratic_programme(X, Y, BANDWIDTH, 3)
    for moved in ([0, 1, 2], [2, 5, 7]):
        t = np.zeros(len(Y))
        t[moved] = 1.0
        stay = np.setdiff1d(np.arange(len(Y)), moved)
        A, B = np.concatenate([X, Y[moved]]), Y[stay]
        value = gaussian(A, A).mean() + gaussian(B, B).mean() - 2 * gaussian(A, B).mean()
        assert t @ H @ t / 2 + h @ t + c == pytest.approx(value, rel=0, abs=of_mmd2(17))


def test_our_floor_is_below_equal_shares_and_our_bounds_are_in_order():
    X, Y = groups(p=20, q=24)
    floor = program("ours_floor").smallest_value(X, Y, BANDWIDTH, 4)
    H, h, c = program("relaxation").quadratic_programme(X, Y, BANDWIDTH, 4)
    shares = np.full(len(Y), 4 / len(Y))
    assert floor <= shares @ H @ shares / 2 + h @ shares + c
    stepwise, sharp = (program(name).both_sides(X, Y, BANDWIDTH, 4) for name in ("ours_s_sd", "ours_sharp"))
    assert sharp["is_certified"]
    assert sharp["lower"] <= stepwise["lower"] <= stepwise["upper"] <= sharp["upper"]


@pytest.mark.full
def test_clarabel_agrees_with_our_floor():
    X, Y = groups(p=60, q=70)
    ours, theirs = (
        program(name).smallest_value(X, Y, BANDWIDTH, 9) for name in ("ours_floor", "with_clarabel")
    )
    assert ours == pytest.approx(theirs, abs=AGREES["floor"])
    assert ours <= theirs + 1e-9  # a proof is no larger than the optimum


def test_every_peer_has_its_files_and_every_file_its_peer():
    assert all(peer.path.is_file() for peer in PEERS)
    lists = {file.stem for file in (FOLDER / "requirements").glob("*.txt")}
    assert {peer.environment for peer in PEERS} == lists | {OURS}
    named = {peer.program for peer in PEERS} | {"timed", "relaxation"}
    assert {file.stem for file in (FOLDER / "programs").glob("*.py")} == named
    assert set(picture.STYLES) == {peer.name for peer in PEERS}
    assert set(REFERENCES.values()) <= {peer.name for peer in PEERS}


# -- one measurement


@pytest.fixture
def source(tmp_path):
    X, Y = groups(p=90, q=110)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", Y)
    return rows.Source("made-up rows", tmp_path / "X.npy", tmp_path / "Y.npy", 90, 110, BANDWIDTH)


def written(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(text)
    return path


def test_a_program_is_measured(source):
    found = measuring.measure(sys.executable, PEERS[0].path, source.request(160))
    X, Y = source.rows(160)
    assert (len(X), len(Y)) == (72, 88)
    assert found["status"] == "done"
    assert found["value"] == pytest.approx(mb.mmd2(X, Y, bandwidth=BANDWIDTH), rel=0, abs=of_mmd2(160))
    assert 0 < found["seconds"] < 60
    assert 10 < found["before_mib"] < found["peak_mib"] + 4 < 4000  # the two are read from different counters
    assert found["versions"]["mmdbounds"] == mb.__version__


def test_requests_keep_the_proportion_and_end_where_the_rows_do(source):
    request = source.request(100)
    assert (request["p"], request["q"], request["n_moved"]) == (45, 55, 11)  # floor(0.2 / 0.8 * 45)
    assert (source.request(1000)["p"], source.request(1000)["q"]) == (90, 110)


def test_a_program_that_fails_says_its_last_line(tmp_path):
    path = written(tmp_path, "raise RuntimeError('no such device')")
    found = measuring.measure(sys.executable, path, {})
    assert found == {"status": "failed", "reason": "RuntimeError: no such device"}
    silent = written(tmp_path, "")
    assert measuring.measure(sys.executable, silent, {}) == {"status": "failed", "reason": "no output"}


SLEEPS = (
    "import json, pathlib, sys, time; pathlib.Path(json.loads(sys.argv[1])['begun']).touch(); time.sleep(60)"
)


def test_a_program_is_ended_where_it_takes_too_long_or_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "SECONDS", 0.2)
    assert measuring.measure(sys.executable, written(tmp_path, SLEEPS), {}) == {"status": "seconds"}
    monkeypatch.setattr(measuring, "SET_UP", 0.2)
    late = written(tmp_path, "import time; time.sleep(60)")
    assert measuring.measure(sys.executable, late, {}) == {"status": "set-up"}
    monkeypatch.setattr(measuring, "SET_UP", 60)
    monkeypatch.setattr(measuring, "held_mib", lambda pid: measuring.MIB + 1.0)
    assert measuring.measure(sys.executable, late, {}) == {"status": "memory"}


def test_memory_of_a_process_is_read():
    assert 10 < measuring.held_mib(os.getpid()) < 100_000
    assert measuring.held_mib(2**30) == 0.0


@pytest.mark.parametrize(
    ("before", "n", "expected"),
    [
        ([], 2000, None),
        ([done(n=1000, seconds=10.0)], 2000, None),  # 40 s
        ([done(n=1000, seconds=40.0)], 2000, ("seconds", 160.0)),
        ([done(n=1000, seconds=2.0), done(n=2000, seconds=16.0)], 4000, ("seconds", 128.0)),  # cubic
        ([done(n=1000, seconds=2.0), done(n=2000, seconds=3.0)], 4000, None),  # flat so far: a square
        ([done(n=1000, seconds=1e-3), done(n=2000, seconds=10.0)], 4000, None),  # at most power 3.5: 113 s
        (
            [done(n=1000, peak_mib=200.0), done(n=2000, seconds=1.0, peak_mib=3200.0)],
            5000,
            ("memory", 24200.0),
        ),
    ],
)
def test_what_is_foreseen(before, n, expected):
    found = measuring.foreseen(before, n)
    if expected is None:
        assert found is None
    else:
        assert found["status"] == expected[0]
        assert found["foreseen"] == pytest.approx(expected[1], rel=1e-12)


# -- the run


@pytest.fixture
def options(tmp_path):
    return run.parse(["--cache", str(tmp_path), "--sizes", "100", "200", "400", "--no-write"])


@pytest.fixture
def measured(monkeypatch):
    """Let nothing be run; note what would be."""
    asked = []

    def pretend(python, path, request):
        asked.append((path.stem, request["p"] + request["q"]))
        if path.stem == "with_hyppo":
            return {"status": "failed", "reason": "broken"}
        return {"status": "done", "value": 0.25, "seconds": 50.0, "peak_mib": 1.0, "versions": {}}

    monkeypatch.setattr(run, "measure", pretend)
    return asked


def test_a_run_stops_where_it_is_foreseen_names_what_is_missing_and_continues(
    source, options, measured, capsys
):
    peers = run.chosen(["mmdbounds", "frouros", "KeOps", "hyppo"])
    pythons = {OURS: ("python", ""), "frouros": ("python", ""), "hyppo": ("python", "")}
    pythons["keops"] = (None, "no network")
    found = run.collect(peers, source, options, pythons)
    tried = [("ours_mmd2", 100), ("with_frouros", 100), ("with_hyppo", 100)]
    assert measured == tried  # 200 rows would need 200 s; hyppo failed; KeOps is not there
    status = {(r["peer"], r["n"]): r["status"] for r in found}
    assert status["mmdbounds", 200] == "seconds"
    assert status["KeOps", 100] == "not installed"
    assert ("mmdbounds", 400) not in status
    assert next(r for r in found if r["peer"] == "frouros" and r["n"] == 100)["difference"] == 0.0
    assert run.verdict(found, pythons) == 1
    said = capsys.readouterr().err
    assert "not installed: keops. no network" in said
    assert "hyppo failed at 100 rows: broken" in said
    assert "would need about 200 s: not tried" in said
    measured.clear()
    run.collect(peers, source, options, pythons)
    assert measured == [("with_hyppo", 100)]  # only what failed is tried again


def test_a_number_that_differs_is_said(capsys):
    right, wrong = done(difference=1e-12), done(n=2000, difference=1e-3)
    assert run.verdict([right], {}) == 0
    assert run.verdict([right, wrong], {}) == 1
    assert "frouros at 2,000 rows is off by 1.0e-03" in capsys.readouterr().err


def test_hyppo_is_compared_after_it_was_turned_back(source):
    X, Y = source.rows(200)
    peer = next(peer for peer in PEERS if peer.name == "hyppo")
    wrong = run.difference(peer, {"status": "done", "n": 200, "value": 0.0}, source, {})
    assert wrong == pytest.approx(
        mb.mmd2(X, Y, bandwidth=BANDWIDTH, estimator="biased"), rel=0, abs=of_mmd2(200)
    )


def test_an_unknown_peer_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        run.chosen(["keeops"])
    assert "there is no peer 'keeops'. The peers are mmdbounds; scikit-learn" in capsys.readouterr().err


def test_an_interpreter_for_nobody_is_refused(capsys):
    assert run.given_pythons(["jax=/some/python=3"]) == {"jax": "/some/python=3"}
    with pytest.raises(SystemExit, match="2"):
        run.given_pythons(["jaxx=/some/python"])
    assert "there is no environment 'jaxx'" in capsys.readouterr().err


def test_environments(tmp_path, monkeypatch, capsys):
    assert environments.interpreter(OURS, tmp_path) == (sys.executable, "")
    assert environments.interpreter("jax", tmp_path, {"jax": "/some/python"}) == ("/some/python", "")
    monkeypatch.setattr(environments, "_made", lambda *_: "ERROR: no matching distribution")
    assert environments.interpreter("jax", tmp_path) == (None, "ERROR: no matching distribution")

    def made(folder, python, requirements):
        folder.mkdir(parents=True)
        assert requirements.is_file()
        return ""

    monkeypatch.setattr(environments, "_made", made)
    python, _ = environments.interpreter("jax", tmp_path)
    assert "installing jax==" in capsys.readouterr().err
    monkeypatch.setattr(environments, "_made", lambda *_: pytest.fail("made twice"))
    assert environments.interpreter("jax", tmp_path) == (python, "")


def test_peers_do_not_see_our_pins(monkeypatch):
    monkeypatch.setenv("PIP_CONSTRAINT", "constraints.txt")
    monkeypatch.setenv("PYTHONPATH", "src")
    assert not {"PIP_CONSTRAINT", "PYTHONPATH"} & set(environments.plain_environment())


# -- what is written

FOUND = [
    done("mmdbounds", 1000, 0.0123),
    done("frouros", 1000, 0.5, difference=2e-16),
    done("KeOps", 1000, 0.2) | {"status": "not installed"},
    done("mmdbounds, S-SD", 1000, 0.02),
    done("OSQP", 1000, 3.0, difference=4e-9),
    done("mmdbounds", 20_000, 2.0, peak_mib=1234.0),
    done("frouros", 20_000) | {"status": "seconds", "foreseen": 200.0},
    done("OSQP", 20_000) | {"status": "memory", "foreseen": 2e5},
]


def test_tables():
    tables = page.in_tables(FOUND, "made-up rows")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in tables.splitlines() if "|" in line]
    table = {row[0]: row[1:] for row in cells}
    assert table["**mmdbounds**"] == ["0.012", "2", "1,234", "100", ""]  # 2e8 pairs in 2 s
    assert table["frouros"] == ["0.5", "time", "100", "1", "2e-16"]
    assert table["KeOps"] == ["not installed", "", "", "", ""]
    assert table["OSQP"][:2] == ["3", "memory"]
    assert table["**mmdbounds, S-SD**"] == ["0.02", "", "100", "25"]
    assert table["rows"][:4] == ["1k", "20k", "MiB", "M pairs/s"]
    assert "Made-up rows, 54 columns" in tables
    assert "frouros 1.0" in tables


def test_csv_has_a_line_for_each_measurement():
    lines = list(csv.DictReader(io.StringIO(page.as_csv(FOUND))))
    assert len(lines) == len(FOUND)
    assert lines[0]["seconds"] == "0.0123"
    assert (lines[6]["peer"], lines[6]["n"], lines[6]["status"]) == ("frouros", "20000", "seconds")


def test_the_page_of_the_docs_keeps_what_is_written_by_hand():
    text = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    once = page.with_made_part(text, "| a table |\n")
    assert page.with_made_part(once, "| a table |\n") == once
    assert "| a table |" in once
    before, after = text.split(page.BEGIN)[0], text.split(page.END)[1]
    assert once.startswith(before)
    assert once.endswith(after)


def test_names_in_the_picture_do_not_overlap():
    heights = {"a": 0.5, "b": 0.51, "c": 0.99, "d": 0.995, "e": 0.1}
    moved = picture.spread(heights, 0.05)
    placed = sorted(moved.values())
    assert sorted(moved, key=moved.get) == sorted(heights, key=heights.get)
    assert min(np.diff(placed)) >= 0.05 - 1e-12
    assert moved["e"] == 0.1
    assert (moved["a"] + moved["b"]) / 2 == pytest.approx(0.505, abs=1e-12)  # both give way


@pytest.mark.full
def test_the_picture_is_drawn_and_everything_is_written(tmp_path):
    for folder in ("lab/benchmarks/results", "docs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs" / "peers.md").write_text(f"before\n{page.BEGIN}old\n{page.END}after\n")
    page.write(FOUND, "made-up rows", tmp_path)
    assert (tmp_path / "lab" / "benchmarks" / "results" / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "docs" / "peers.md").read_text().count("| **mmdbounds** |") == 1
    assert (tmp_path / "lab" / "benchmarks" / "results" / "peers.md").read_text().startswith("# Beside other")
