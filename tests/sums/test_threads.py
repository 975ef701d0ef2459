"""Threads: no order, no number of them and no error may leave a trace; forks wait for them."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from mmdbounds import kernels
from mmdbounds.sums import threads
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.threads import one_blas_thread, thread_count

Z = np.random.default_rng(0).normal(size=(900, 3))
EVERYONE = slice(0, 900)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_is_held_to_one_thread_and_let_go_by_the_last_user():
    before = blas_threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_blas_is_held_in_the_first_call_of_a_process():
    # SciPy's BLAS is loaded with the compiled code, after the first limit could have been set.
    code = """
import numpy as np, mmdbounds as mb
from threadpoolctl import threadpool_info
from mmdbounds import compiled
from mmdbounds.sums.cpu import engines
seen = []
Engine = engines.FusedEngine if compiled.numba_is_there() else engines.PlainEngine
real = Engine.sums
def spy(self, *arguments):
    seen.append({p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"})
    return real(self, *arguments)
Engine.sums = spy
rng = np.random.default_rng(0)
mb.mmd_bounds(rng.normal(size=(3200, 2)), rng.normal(size=(3200, 2)), 0.01, method="s-sd")
print(set().union(*seen))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "{1}"


def test_calls_from_several_threads_at_once_agree():
    sums = BlockedSums(Z, kernels.RBF(1.0), block=(64, 32))
    W = np.random.default_rng(1).normal(size=(900, 3))
    alone = sums.apply(EVERYONE, EVERYONE, W)
    before = blas_threads()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: sums.apply(EVERYONE, EVERYONE, W), range(8)))
    assert all(np.array_equal(result, alone) for result in together)
    assert blas_threads() == before


def test_an_error_in_the_middle_leaves_no_thread_and_no_limit():
    before, n_threads = blas_threads(), threading.active_count()

    def stop(i, j, block):
        if i > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BlockedSums(Z, kernels.RBF(1.0), block=(64, 32), n_threads=3).fold(EVERYONE, EVERYONE, stop)
    assert blas_threads() == before
    assert threading.active_count() == n_threads


def test_an_error_in_a_kernel_comes_through():
    def broken(A, B):
        if len(A) == 64:
            msg = "my kernel broke"
            raise RuntimeError(msg)
        return A @ B.T

    with pytest.raises(RuntimeError, match="my kernel broke"):
        BlockedSums(Z, kernels.FunctionKernel(broken), block=(64, 32)).apply(EVERYONE, EVERYONE, np.ones(900))


def test_number_of_threads_can_be_set(monkeypatch):
    monkeypatch.setenv("MMDBOUNDS_NUM_THREADS", "3")
    assert thread_count() == 3
    for nonsense in ("0", "-1", "many", ""):
        monkeypatch.setenv("MMDBOUNDS_NUM_THREADS", nonsense)
        assert thread_count() >= 1


# Two threads compute all the time; children do the same, and are killed if they hang.
FORKING = """
import os, signal, threading, time
import numpy as np
import mmdbounds as mb
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(500, 3)), rng.normal(size=(500, 3))
def bounds():
    return mb.mmd_bounds(X, Y, 0.1, method="s-sd", working_memory=2, rng=0, progress=False).interval
want = bounds()
def work():
    while True:
        bounds()
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
for i in range(6):
    time.sleep(0.01 * i)
    child = os.fork()
    if not child:
        os._exit(0 if bounds() == want else 3)
    give_up = time.monotonic() + 30
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > give_up:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            print("a child hangs", flush=True)
            os._exit(1)
        time.sleep(0.01)
os._exit(0)
"""


@needs_fork
@pytest.mark.slow
def test_forks_while_threads_compute():
    """Products outside of the sums are not sheltered: on a busy machine a child has been seen to hang."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=100, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail("the process hangs in a fork")
    assert (done.returncode, done.stdout) == (0, "")


@needs_fork
def test_a_fork_waits_for_the_work_of_other_threads():
    begun, order = threading.Event(), []

    def work():
        with threads.no_fork():
            begun.set()
            time.sleep(0.05)
            order.append("work")

    thread = threading.Thread(target=work)
    with threads.no_fork():  # its own work does not count
        thread.start()
        assert begun.wait(60)
        child = os.fork()
        if not child:
            os._exit(0 if list(threads._at_work) == [threading.get_ident()] else 1)
        order.append("fork")
    thread.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert order == ["work", "fork"]
    assert not threads._at_work
    assert threads._n_forks == 0


@needs_fork
def test_work_can_begin_in_a_child_whose_other_threads_are_gone():
    with threads.no_fork():
        child = os.fork()
        if not child:
            with threads.no_fork():
                os._exit(len(threads._at_work) - 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
