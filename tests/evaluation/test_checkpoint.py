"""A run that was stopped goes on and gives the same table; files of other questions are left alone."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import mmdbounds as mb
from evaluation.made_methods import Fixed, clean, last_rows, without_seconds
from mmdbounds.evaluation import evaluate, workers
from mmdbounds.evaluation.checkpoint import Checkpoint

X, Y = clean()
QUESTION = {"epsilon": 0.2, "methods": ["s-sd", "exhaustive"], "sizes": (6, 7), "rng": 3}


def run(path, **changes):
    return evaluate(X, Y, checkpoint=path, **{**QUESTION, "n_trials": 6, **changes})


def same(one, other):
    """Return whether two evaluations are the same but for the seconds."""
    return without_seconds(one.records) == without_seconds(other.records) and all(
        mine.false_coverage_rate == theirs.false_coverage_rate
        and mine.mean_interval_width == theirs.mean_interval_width
        and mine.mean_interval_width_error == theirs.mean_interval_width_error
        for mine, theirs in zip(one.methods, other.methods, strict=True)
    )


@pytest.fixture
def ran(monkeypatch):
    """The numbers of the trials that are run, as they are run."""
    numbers = []
    original = workers.run_trial

    def run_trial(asked, trial):
        numbers.append(trial)
        return original(asked, trial)

    monkeypatch.setattr(workers, "run_trial", run_trial)
    return numbers


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trials.jsonl"


def test_one_line_a_trial_below_the_question(path):
    found = run(path)
    first, *others = map(json.loads, path.read_text().splitlines())
    assert first["asked"]["epsilon"] == 0.2
    assert first["asked"]["sizes"] == [6, 7]
    assert others == found.records
    assert same(found, evaluate(X, Y, **QUESTION, n_trials=6))


def test_trials_are_on_disk_as_soon_as_they_are_done(path, monkeypatch):
    seen = []
    original = workers.run_trial

    def run_trial(asked, trial):
        seen.append(len(path.read_bytes().splitlines()))
        return original(asked, trial)

    monkeypatch.setattr(workers, "run_trial", run_trial)
    run(path)
    assert seen == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "cut", ["whole lines", "half a line", "half the first line", "nothing", "no line end"]
)
def test_goes_on_where_it_was(cut, path, ran):
    whole = run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    left = {
        "whole lines": b"".join(lines[:3]),
        "half a line": b"".join(lines[:3]) + lines[3][:-9],
        "half the first line": lines[0][:-30],
        "nothing": b"",
        "no line end": b"".join(lines[:4]).removesuffix(b"\n"),
    }[cut]
    path.write_bytes(left)
    ran.clear()
    again = run(path)
    assert ran == ([0, 1, 2, 3, 4, 5] if cut in ("half the first line", "nothing") else [2, 3, 4, 5])
    assert same(again, whole)
    kept = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert without_seconds(kept[1:]) == without_seconds(whole.records)


def test_a_finished_run_is_not_repeated_nor_its_file_written(path, ran, monkeypatch):
    whole = run(path)
    before = path.read_bytes()
    ran.clear()
    path.chmod(0o400)
    monkeypatch.setattr(Checkpoint, "begin", None)  # a chmod does not hold back everybody
    assert same(run(path), whole)
    assert run(path, only=[4]).records == [whole.records[4]]
    assert ran == []
    assert path.read_bytes() == before


def test_more_trials_are_added_and_order_is_by_number(path, ran):
    run(path, only=[5, 2])
    assert ran == [2, 5]
    found = run(path)
    assert ran == [2, 5, 0, 1, 3, 4]
    assert [trial.trial for trial in found.trials] == [0, 1, 2, 3, 4, 5]
    assert same(found, evaluate(X, Y, **QUESTION, n_trials=6))


def test_a_trial_that_goes_wrong_leaves_the_others(path, monkeypatch):
    original = workers.run_trial

    def run_trial(asked, trial):
        if trial == 3:
            raise KeyboardInterrupt
        return original(asked, trial)

    monkeypatch.setattr(workers, "run_trial", run_trial)
    with pytest.raises(KeyboardInterrupt):
        run(path)
    assert [json.loads(line)["trial"] for line in path.read_text().splitlines()[1:]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epsilon": 0.3}, "epsilon"),
        ({"methods": ["s-sd"]}, "methods"),
        ({"methods": {"s-sd": mb.StepwiseDominance(n_steps=2), "exhaustive": "exhaustive"}}, "methods"),
        ({"methods": {"exhaustive": Fixed(), "s-sd": "s-sd"}}, "methods"),
        ({"sizes": (7, 7)}, "sizes"),
        ({"replace": True}, "replace"),
        ({"scale": "standard"}, "scale"),
        ({"mechanism": "random"}, "mechanism"),
        ({"mechanism": last_rows}, "mechanism"),
        ({"kernel": "imq"}, "kernel"),
        ({"kernel": mb.RBF(1.0)}, "kernel, bandwidth"),
        ({"bandwidth": 2.0}, "kernel, bandwidth"),
        ({"estimator": "biased"}, "estimator"),
        ({"at_most": True}, "at_most"),
        ({"rng": 4}, "rng"),
        ({"working_memory": 64}, "working_memory"),
    ],
)
def test_another_question_is_refused(changes, named, path):
    run(path, n_trials=1)
    before = path.read_bytes()
    message = f"has trials of another question: it differs in {named}. Name another file"
    with pytest.raises(mb.MmdBoundsError, match=re.escape(message)):
        run(path, **changes)
    assert path.read_bytes() == before


def test_other_data_and_another_version_are_refused(path, monkeypatch):
    run(path, n_trials=1)
    other = X.copy()
    other[29, 1] += 1e-9
    with pytest.raises(mb.MmdBoundsError, match=r"differs in X_clean\. "):
        evaluate(other, Y, **QUESTION, checkpoint=path)
    with pytest.raises(mb.MmdBoundsError, match=r"differs in X_clean, Y_clean\. "):
        evaluate(Y, X, **QUESTION, checkpoint=path)
    monkeypatch.setattr("mmdbounds.evaluation.asked.__version__", "9.9")
    with pytest.raises(mb.MmdBoundsError, match=r"differs in version\. "):
        run(path)


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b"hello", b'{"type": "other"}\n', b"[1]\n", b"\n", b"\x00\xff\n"]
)
def test_a_file_that_is_something_else_is_left_alone(content, path):
    path.write_bytes(content)
    with pytest.raises(mb.MmdBoundsError, match=r"trials\.jsonl is no file of trials\. Name another file"):
        run(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"trial": 1}', "null"])
def test_a_line_that_is_no_trial_is_named(line, path):
    run(path, n_trials=2)
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(mb.MmdBoundsError, match=r"line 4 of .*trials\.jsonl is no trial\. Remove that line"):
        run(path)


def test_files_that_cannot_be_used(tmp_path, path):
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot read .*: Is a directory\.$"):
        run(tmp_path)
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot write .*: No such file or directory\.$"):
        run(tmp_path / "none" / "trials.jsonl")


def test_a_full_disk_is_said_and_leaves_whole_lines(path, monkeypatch):
    run(path, n_trials=2)
    before = path.read_bytes()

    class Full(io.FileIO):
        def write(self, line):
            return super().write(line[:10])

    monkeypatch.setattr("pathlib.Path.open", lambda self, mode="r", buffering=-1: Full(self, mode.strip("b")))
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot write .*: No space left on device\.$"):
        run(path, n_trials=3)
    monkeypatch.undo()
    assert path.read_bytes() == before


SCRIPT = """
import sys, time
from evaluation.test_checkpoint import X, Y, QUESTION
from mmdbounds.evaluation import evaluate, workers
original = workers.run_trial
def run_trial(asked, trial):
    time.sleep(0.02)
    return original(asked, trial)
workers.run_trial = run_trial
evaluate(X, Y, checkpoint=sys.argv[1], n_trials=1000, **QUESTION)
"""


def test_killed_in_the_middle_and_continued(path):
    """Killed for good, with no chance to tidy up."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], env=environment)
    try:
        give_up = time.monotonic() + 60
        while not path.exists() or path.read_bytes().count(b"\n") < 5:
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    kept = path.read_bytes().count(b"\n") - 1
    assert 4 <= kept < 1000
    n_trials = kept + 3
    found = run(path, n_trials=n_trials)
    assert same(found, evaluate(X, Y, **QUESTION, n_trials=n_trials))
    assert path.read_bytes().count(b"\n") == 1 + n_trials
