"""Threads: no order, no number of them, no error and no caller may leave a trace."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mmdbounds import kernels
from mmdbounds.sums import threads
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.cpu_quota import quota_of
from mmdbounds.sums.threads import in_order, one_blas_thread, thread_count

Z = np.random.default_rng(0).normal(size=(900, 3))
EVERYONE = slice(0, 900)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def _three_threads():
    """The caller has chosen a number of BLAS threads: other than one, whatever the machine."""
    with threadpool_limits(3, user_api="blas"):
        if set(blas_threads()) <= {1}:
            pytest.skip("this BLAS has one thread")
        yield


def in_threads(n_threads, work):
    """Return what the work gives in each of some threads."""
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, range(n_threads)))


@pytest.mark.usefixtures("_three_threads")
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_blas_is_held_from_any_thread_until_the_last_of_overlapping_calls_ends(n_threads):
    before, all_in = blas_threads(), threading.Barrier(n_threads)
    turns = [threading.Event() for _ in range(n_threads + 1)]
    turns[0].set()
    with one_blas_thread():  # the main thread has set a number, and has restored it
        pass

    def call(i):
        with one_blas_thread():
            all_in.wait(60)
            seen = [blas_threads()]
            assert turns[i].wait(60)  # one after the other
            seen.append(blas_threads())
        turns[i + 1].set()
        return seen

    for seen in in_threads(n_threads, call):
        assert all(set(numbers) == {1} for numbers in seen)
    assert blas_threads() == before


@pytest.mark.usefixtures("_three_threads")
def test_the_caller_may_go_on_setting_its_limits():
    before = blas_threads()
    with threadpool_limits(2, user_api="blas"):
        within = blas_threads()
        in_threads(1, lambda _: in_order_once())
        assert blas_threads() == within
    assert blas_threads() == before


def in_order_once():
    return [found for _, found in in_order([0], lambda _: blas_threads(), 1)]


@pytest.mark.usefixtures("_three_threads")
def test_the_same_bits_in_another_thread():
    W = np.random.default_rng(1).normal(size=(900, 40))

    def weighted(_=0):
        return BlockedSums(Z, kernels.RBF(1.0), few_rows=True).apply(EVERYONE, EVERYONE, W)

    alone = weighted()
    for found in in_threads(2, weighted):
        np.testing.assert_array_equal(found, alone)


class OfEachThread:
    """A BLAS with a number for each thread that calls it, as MKL has."""

    internal_api, user_api = "mkl", "blas"

    def __init__(self):
        self._here = threading.local()

    def get_num_threads(self):
        return getattr(self._here, "number", 8)

    def set_num_threads(self, number):
        self._here.number = number


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_blas_with_a_number_for_each_thread_is_held_in_each(n_threads, monkeypatch):
    library = OfEachThread()
    monkeypatch.setattr(threads, "_found_libraries", lambda _: ([], [library]))
    library.set_num_threads(5)
    seen = [found for _, found in in_order(range(9), lambda _: library.get_num_threads(), n_threads)]
    assert set(seen) == {1}
    assert library.get_num_threads() == 5
    assert in_threads(1, lambda _: library.get_num_threads()) == [8]


def test_libraries_are_told_apart_by_whose_number_they_set():
    class OpenMP(OfEachThread):
        internal_api, threading_layer = "openblas", "openmp"

    class OfNewer(OpenMP):
        def clear_controlling_thread(self, force=False):
            pass

    assert [threads._is_per_thread(kind()) for kind in (OfEachThread, OpenMP, OfNewer)] == [True, False, True]


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
from threadpoolctl import threadpool_info, threadpool_limits
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


def test_no_more_threads_than_the_quota_of_a_container(monkeypatch):
    monkeypatch.delenv("MMDBOUNDS_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "cpu_quota", lambda: None)
    cores = thread_count()
    for quota in (1, cores, cores + 7):
        monkeypatch.setattr(threads, "cpu_quota", lambda quota=quota: quota)
        assert thread_count() == min(cores, quota)
    monkeypatch.setenv("MMDBOUNDS_NUM_THREADS", "6")  # who sets a number means it
    assert thread_count() == 6


# version, what the process is in, and the files of the groups; then the cores
QUOTAS = {
    "none": ("0::/", {"cpu.max": "max 100000"}, None),
    "a container's own": ("0::/", {"cpu.max": "150000 100000"}, 2),
    "less than a core": ("0::/", {"cpu.max": "20000 100000"}, 1),
    "of a group": ("0::/a/b", {"a/b/cpu.max": "400000 100000"}, 4),
    "of one around it": ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
    "a path from outside": ("0::/host/pod", {"cpu.max": "200000 100000"}, 2),
    "version 1": (
        "4:memory:/\n3:cpu,cpuacct:/x",
        {"cpu,cpuacct/x/cpu.cfs_quota_us": "250000", "cpu,cpuacct/x/cpu.cfs_period_us": "100000"},
        3,
    ),
    "version 1, no quota": (
        "3:cpu:/",
        {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
        None,
    ),
    "version 1, linked": (
        "3:cpuacct,cpu:/",
        {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "50000"},
        2,
    ),
    "nothing to read": ("", {}, None),
    "no numbers": ("0::/", {"cpu.max": "much"}, None),
}


@pytest.mark.parametrize("case", QUOTAS)
def test_quotas_of_control_groups(case, tmp_path):
    listed, files, cores = QUOTAS[case]
    (tmp_path / "of_process").write_text(listed)
    for name, content in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    assert quota_of(tmp_path / "of_process", tmp_path / "groups") == cores
    assert quota_of(tmp_path / "gone", tmp_path / "gone") is None


def test_nothing_is_registered_for_forks():
    code = """
import os
seen = []
os.register_at_fork = lambda **hooks: seen.extend(hook.__module__ for hook in hooks.values())
import numpy as np, mmdbounds as mb
rows = np.random.default_rng(0).normal(size=(60, 2))
mb.mmd_bounds(rows[:30], rows[30:], 0.1, rng=0)
print([name for name in seen if name.startswith("mmdbounds")])
"""
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_begins_anew_though_another_thread_was_in_a_call():
    inside, done = threading.Event(), threading.Event()

    def call():
        with one_blas_thread():
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=call)
    thread.start()
    assert inside.wait(60)
    child = os.fork()
    if not child:
        with one_blas_thread():
            os._exit(0 if set(blas_threads()) <= {1} else 1)
    done.set()
    thread.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SHARED = """
import time
from concurrent.futures import ThreadPoolExecutor
import numpy as np, mmdbounds as mb
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(5000, 10)), rng.normal(0.2, 1, size=(5000, 10))
def call(_):
    return mb.mmd_bounds(X, Y, 0.1, method="s-sd", rng=0, progress=False).interval
def seconds(run):
    started = time.perf_counter()
    found = run()
    return time.perf_counter() - started, found
def shared():
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(call, range(8)))
call(0)
ratios = []
for _ in range(3):
    alone, want = seconds(lambda: list(map(call, range(8))))
    both, found = seconds(shared)
    assert found == want
    ratios.append(both / alone)
print(min(ratios))
"""


@pytest.mark.slow
def test_calls_shared_by_two_threads_take_no_longer():
    """Before, each took 20 to 50 times as long: BLAS was held only in calls of the first thread."""
    line = [sys.executable, "-c", SHARED]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=600)
    assert float(done.stdout) <= 1.2
