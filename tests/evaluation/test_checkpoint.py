"""A run that was stopped resumes and gives the same table; files of other evaluations are left alone."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mmdbounds as mb
from evaluation.made_methods import Fixed, clean, last_rows, without_seconds
from mmdbounds import journal
from mmdbounds.evaluation import evaluate
from mmdbounds.evaluation import run as evaluation_run
from mmdbounds.evaluation.trials import Checkpoint

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
    original = evaluation_run.run_trial

    def run_trial(design, trial):
        numbers.append(trial)
        return original(design, trial)

    monkeypatch.setattr(evaluation_run, "run_trial", run_trial)
    return numbers


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trials.journal"


def records(path):
    return [json.loads(bytes(record)) for record in journal.read_journal(path).records]


def test_one_record_per_trial_below_the_design(path):
    found = run(path)
    first, *others = records(path)
    assert first["asked"]["epsilon"] == 0.2
    assert first["asked"]["sizes"] == [6, 7]
    assert others == found.records
    assert same(found, evaluate(X, Y, **QUESTION, n_trials=6))


def test_trials_are_on_disk_as_soon_as_they_are_done(path, monkeypatch):
    seen = []
    original = evaluation_run.run_trial

    def run_trial(design, trial):
        seen.append(len(records(path)))
        return original(design, trial)

    monkeypatch.setattr(evaluation_run, "run_trial", run_trial)
    run(path)
    assert seen == [1, 2, 3, 4, 5, 6]


CUTS = {"whole records": 0, "a letter": 1, "half a line": 70, "a line": 85, "half a record": 200}
"""Bytes behind two trials."""


@pytest.mark.parametrize("cut", [*CUTS, "half the first record", "nothing"])
def test_goes_on_where_it_was(cut, path, ran):
    whole = run(path)
    content = path.read_bytes()
    n_bytes = [len(b"".join(journal.framed(journal.read_journal(path).records[:n]))) for n in range(5)]
    left = content[: n_bytes[3] + CUTS[cut]] if cut in CUTS else content[: {"nothing": 0}.get(cut, 45)]
    path.write_bytes(left)
    ran.clear()
    again = run(path)
    assert ran == ([0, 1, 2, 3, 4, 5] if cut not in CUTS else [2, 3, 4, 5])
    assert same(again, whole)
    assert n_bytes[4] - n_bytes[3] > 200
    assert without_seconds(records(path)[1:]) == without_seconds(whole.records)


def test_a_finished_run_is_not_repeated_nor_its_file_written(path, ran, monkeypatch):
    whole = run(path)
    before = path.read_bytes()
    ran.clear()
    path.chmod(0o400)
    monkeypatch.setattr(Checkpoint, "begin", None)  # a chmod does not hold back everybody
    assert same(run(path), whole)
    assert ran == []
    assert path.read_bytes() == before


def test_more_trials_are_added_and_order_is_by_number(path, ran):
    run(path, n_trials=2)
    assert ran == [0, 1]
    found = run(path)
    assert ran == [0, 1, 2, 3, 4, 5]
    assert [trial.trial for trial in found.trials] == [0, 1, 2, 3, 4, 5]
    assert same(found, evaluate(X, Y, **QUESTION, n_trials=6))


def test_a_trial_that_goes_wrong_leaves_the_others(path, monkeypatch):
    original = evaluation_run.run_trial

    def run_trial(design, trial):
        if trial == 3:
            raise KeyboardInterrupt
        return original(design, trial)

    monkeypatch.setattr(evaluation_run, "run_trial", run_trial)
    with pytest.raises(KeyboardInterrupt):
        run(path)
    assert [record["trial"] for record in records(path)[1:]] == [0, 1, 2]


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
        ({"kernel": "matern52"}, "kernel"),
        ({"kernel": mb.kernels.RBF(1.0)}, "kernel, bandwidth"),
        ({"bandwidth": 2.0}, "kernel, bandwidth"),
        ({"estimator": "biased"}, "estimator"),
        ({"exactly": False}, "exactly"),
        ({"rng": 4}, "rng"),
        ({"working_memory": 64}, "working_memory"),
    ],
)
def test_another_evaluation_is_refused(changes, named, path):
    run(path, n_trials=1)
    before = path.read_bytes()
    message = f"has trials of another problem: it differs in {named}. Name another file"
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
    monkeypatch.setattr("mmdbounds.evaluation.trials.__version__", "9.9")
    with pytest.raises(mb.MmdBoundsError, match=r"differs in version\. "):
        run(path)


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b"hello", b'{"type": "other"}\n', b"[1]\n", b"\n", b"\x00\xff\n"]
)
def test_a_file_that_is_something_else_is_left_alone(content, path):
    path.write_bytes(content)
    with pytest.raises(
        mb.MmdBoundsError, match=r"trials\.journal is damaged, or is not a checkpoint of this version\. Name"
    ):
        run(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("record", [b"nonsense", b"[]", b'{"trial": 1}', b"null"])
def test_a_record_that_is_no_trial_is_refused(record, path):
    run(path, n_trials=2)
    journal.append(path, record)
    with pytest.raises(mb.MmdBoundsError, match=r"trials\.journal is damaged, .* or remove this one"):
        run(path)


@pytest.mark.long
def test_no_flipped_bit_changes_a_result(path):
    """Every part of a small file: a flip is found, or the trial is run again."""
    whole = run(path, n_trials=2)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    n_found = 0
    for place in [
        *range(130),
        *range(len(content) - 20, len(content)),
        *rng.integers(len(content), size=300),
    ]:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            kept = Checkpoint(path, whole_design()).load()
        except mb.MmdBoundsError as error:
            assert re.search("is damaged, or is not a checkpoint.* or remove this one", str(error))  # noqa: PT017
            n_found += 1
        else:
            assert [whole.records[number] for number in kept] == [trial.to_dict() for trial in kept.values()]
    assert n_found == 450


@pytest.mark.long
def test_no_truncated_file_changes_a_result(path):
    whole = run(path, n_trials=2)
    content = path.read_bytes()
    for length in range(0, len(content), 3):
        path.write_bytes(content[:length])
        kept = Checkpoint(path, whole_design()).load()
        assert [whole.records[number] for number in kept] == [trial.to_dict() for trial in kept.values()]


def whole_design():
    """The design of the evaluation in `run`."""
    designs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mmdbounds.evaluation.run.Checkpoint", lambda path, design: designs.append(design))
        evaluate(X, Y, checkpoint="never", n_trials=1, **QUESTION)
    return designs[0]


def test_files_that_cannot_be_used(tmp_path, path):
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot read .*: Is a directory\.$"):
        run(tmp_path)
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot write .*: there is no folder .*none\.$"):
        run(tmp_path / "none" / "trials.jsonl")


def test_a_full_disk_is_said_and_leaves_whole_lines(path, monkeypatch):
    run(path, n_trials=2)
    before = path.read_bytes()

    written = os.write
    monkeypatch.setattr(journal.os, "write", lambda file, content: written(file, content[:10]))
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot write .*: No space left on device\.$"):
        run(path, n_trials=3)
    monkeypatch.undo()
    assert path.read_bytes() == before


SCRIPT = """
import sys, time
from evaluation.test_checkpoint import X, Y, QUESTION
from mmdbounds import journal
from mmdbounds.evaluation import evaluate, run
original = run.run_trial
def run_trial(design, trial):
    time.sleep(0.02)
    return original(design, trial)
run.run_trial = run_trial
evaluate(X, Y, checkpoint=sys.argv[1], n_trials=1000, **QUESTION)
"""


def test_killed_in_the_middle_and_continued(path):
    """Killed for good, with no chance to tidy up."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], env=environment)
    try:
        give_up = time.monotonic() + 60
        while not path.exists() or path.read_bytes().count(b"\n") < 11:
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    kept = len(records(path)) - 1
    assert 4 <= kept < 1000
    n_trials = kept + 3
    found = run(path, n_trials=n_trials)
    assert same(found, evaluate(X, Y, **QUESTION, n_trials=n_trials))
    assert len(records(path)) == 1 + n_trials
