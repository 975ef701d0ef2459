"""Trials in processes of their own: the same table, and nothing left behind however it ends."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import mmdbounds as mb
from evaluation.made_methods import Drawn, Fixed, clean, last_rows, product, without_seconds
from mmdbounds.evaluation import evaluate, process_pool
from mmdbounds.journal import read_journal

X, Y = clean()
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_one_and_two_processes_give_the_same_table(tmp_path):
    before = {name: os.environ.get(name) for name in process_pool.ONE_EACH}
    question = {
        "epsilon": 0.2,
        "methods": {"s-sd": "s-sd", "every": "exhaustive", "drawn": Drawn()},
        "sizes": (6, 7),
        "scale": "standard",
        "mechanism": last_rows,
        "kernel": product,
        "n_trials": 5,
        "rng": 3,
    }
    path = tmp_path / "trials.jsonl"
    two = evaluate(X, Y, **question, n_processes=2, checkpoint=path)
    one = evaluate(X, Y, **question)
    assert [trial.trial for trial in two.trials] == [0, 1, 2, 3, 4]
    assert without_seconds(two.records) == without_seconds(one.records)
    kept = read_journal(path)
    assert kept is not None
    assert (len(kept.records), kept.is_torn) == (1 + 5, False)  # the design, then the trials
    for mine, theirs in zip(one.methods, two.methods, strict=True):
        assert mine.false_coverage_rate == theirs.false_coverage_rate
        assert mine.mean_interval_width == theirs.mean_interval_width
    assert {name: os.environ.get(name) for name in process_pool.ONE_EACH} == before


def test_what_cannot_be_sent_is_named():
    def local(*_):
        raise AssertionError("never called")

    for name, options in (
        ("mechanism", {"mechanism": local}),
        ("kernel", {"kernel": local}),
        (r"methods\['mine'\]", {"methods": {"mine": Unsendable()}}),
    ):
        message = rf"^`{name}` cannot be sent to other processes; got .* use n_processes=1\.$"
        with pytest.raises(mb.MmdBoundsError, match=message):
            evaluate(X, Y, 0.2, **{"methods": ["sd"], **options}, n_processes=2, n_trials=2, rng=0)


class Unsendable(Fixed):
    def __reduce__(self):
        raise TypeError("not me")


def test_a_single_trial_needs_no_process(monkeypatch):
    monkeypatch.setattr(process_pool, "ProcessPoolExecutor", None)
    assert evaluate(X, Y, 0.2, methods=["sd"], n_processes=8, n_trials=1, rng=0).n_trials == 1


def test_one_thread_each_is_put_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with process_pool.one_thread_each():
        assert {os.environ[name] for name in process_pool.ONE_EACH} == {"1"}
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no masks of signals")
def test_ctrl_c_waits_while_a_process_is_started():
    """Also if another thread, such as one of BLAS, catches the signal that this thread does not let in."""
    done, started = threading.Event(), []
    other = threading.Thread(target=done.wait)
    other.start()

    def start():
        with process_pool._without_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
            started.append("whole")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            start()
        assert started == ["whole"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        done.set()
        other.join()


@pytest.mark.slow
def test_one_process_per_core_and_sharp_are_the_same_too():
    question = {"epsilon": 0.2, "sizes": (30, 30), "n_trials": 8, "rng": 0}
    one = evaluate(X, Y, **question)
    every = evaluate(X, Y, **question, n_processes=None)
    assert without_seconds(one.records) == without_seconds(every.records)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "error", "message"),
    [
        ("raises ours", mb.MmdBoundsError, r"^trial \d, method 'bad': no luck\.$"),
        ("raises", ZeroDivisionError, "a bug"),
        ("ends its process", mb.MmdBoundsError, r"^a process of the pool has ended .* n_processes=1\.$"),
    ],
)
def test_what_goes_wrong_in_a_process_stops_all(does, error, message):
    with pytest.raises(error, match=message) as caught:
        evaluate(X, Y, 0.2, methods={"bad": Fixed(does=does)}, n_processes=2, n_trials=4, rng=0)
    if does == "raises":
        assert "method 'bad'" in caught.value.__notes__[0]


def running(marker):
    """Return the processes whose environment carries a marker."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


SCRIPT = """
import sys
from evaluation.made_methods import Fixed, clean
from mmdbounds.evaluation import evaluate
if __name__ == "__main__":
    X, Y = clean()
    methods = ["sd"] if sys.argv[1] == "short" else {"slow": Fixed(does="takes long")}
    evaluate(X, Y, 0.2, methods=methods, n_processes=2, n_trials=100_000, rng=0, checkpoint=sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc")
@pytest.mark.parametrize("trials", ["short", "long"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nobody_goes_on_after_the_end(how, trials, tmp_path):
    """Ctrl-C goes to the whole group, as a terminal sends it; a kill to the first process alone."""
    marker, path, script = f"EVALUATED={tmp_path}", tmp_path / "trials.jsonl", tmp_path / "script.py"
    script.write_text(SCRIPT)
    name, _, value = marker.partition("=")
    process = subprocess.Popen(
        [sys.executable, str(script), trials, str(path)],
        env={**ENVIRONMENT, name: value},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    give_up = time.monotonic() + 60
    while len(running(marker)) < 3 or (trials == "short" and path.read_bytes().count(b"\n") < 10):
        assert process.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.05)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)
    else:
        process.send_signal(how)
    started = time.monotonic()
    _, complaints = process.communicate(timeout=30)  # far less than a long trial takes
    while running(marker):
        assert time.monotonic() < started + 30
        time.sleep(0.05)
    if how == signal.SIGINT:
        assert complaints.count("Traceback") == complaints.count("\nKeyboardInterrupt") == 1
    whole = path.read_bytes().splitlines()
    if trials == "short":
        evaluate(X, Y, 0.2, methods=["sd"], n_trials=1, rng=0, checkpoint=path)
        assert len(whole) >= 10
