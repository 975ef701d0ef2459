"""A run that was stopped goes on and ends with the same bits; files of other problems are left alone."""

import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mmdbounds as mb
from interrupted import stopped_after, told
from mmdbounds import journal, kernels
from mmdbounds.progress import Meter
from mmdbounds.sums import checkpoint as module
from mmdbounds.sums import plan
from mmdbounds.sums.checkpoint import Checkpoint, fingerprint
from mmdbounds.sums.cpu import blocked
from mmdbounds.sums.cpu.blocked import BlockedSums

RNG = np.random.default_rng(8)
X, Y = RNG.normal(size=(300, 3)), RNG.normal(0.4, 1.0, size=(400, 3))
Z = np.concatenate([X, Y])
EVERYONE = slice(0, 700)
STEPS = mb.StepwiseDominance(n_steps=2)
BLOCKED = {"working_memory": 1, "rng": 5}  # no room for a matrix of 700 rows


@pytest.fixture(autouse=True)
def _short_sums_count(monkeypatch):
    """Keep every sum, write after every strip, and cut the sums into many strips."""
    monkeypatch.setattr(module, "WORTH", 0)
    monkeypatch.setattr(module, "INTERVAL", 0.0)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(plan, "block_shape", lambda dtype: (64, 32))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sums.journal"


def bounds(path=None, epsilon=0.25, **options):
    """100 rows move in two steps: one sum for the pass, and two for each side."""
    return mb.mmd_bounds(
        X, Y, epsilon, checkpoint=path, **{"method": STEPS, "exactly": True, **BLOCKED, **options}
    )


def header(path):
    return json.loads(bytes(journal.read_journal(path).records[0]))


QUESTIONS = {
    "two steps": {},
    "ten steps": {"method": "s-sd"},
    "one step": {"method": "sd"},
    "a row a step": {"method": mb.StepwiseDominance(n_steps=1000)},
    "printed schedule": {"method": mb.StepwiseDominance(schedule="paper")},
    "biased": {"estimator": "biased"},
    "float32": {"dtype": "float32"},
    "without a product": {"kernel": "laplacian"},
    "two-way": {"epsilon": mb.Contamination(n_moved=40, n_moved_of_x=20)},
    "at most": {"epsilon": mb.Contamination(n_moved=3), "exactly": False},
    "sharp": {"method": mb.Sharp(n_starts=2, gap=0.3)},
}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.long
def test_goes_on_with_the_same_bits(name, path):
    options = QUESTIONS[name]
    whole = bounds(**options)
    left = []
    for n_strips in (0, 3, 5, 11):  # one stop after the other: each run does some more
        stopped_after(n_strips, lambda: bounds(path, **options))
        left.append(sum(about["done"] for about in header(path)["sums"].values()))
    assert left == sorted(left)
    assert left[0] == 1  # the strip that was added when the stop came
    assert left[-1] > 11
    last = bounds(path, **options)
    assert told(last) == told(whole)
    assert last.provenance.n_pairs < whole.provenance.n_pairs - 64 * 32 * 11
    assert os.listdir(path.parent) == [path.name]


def naive(weights):
    """K[150:650, :] @ weights, one pair after the other."""
    result = np.zeros((500, weights.shape[1]))
    for i, row in enumerate(Z[150:650]):
        values = np.exp(-((Z - row) ** 2).sum(axis=1) / (2 * 1.5**2))
        result[i] = [sum(values * column) for column in weights.T]
    return result


@pytest.mark.parametrize("kind", ["sums", "products"])
def test_a_sum_in_three_runs_is_the_naive_one(kind, path):
    weights = np.zeros((700, 2))
    weights[:300, 0] = weights[300:, 1] = 1.0
    if kind == "products":
        weights += np.random.default_rng(0).normal(size=weights.shape)
    counted = []

    def one_run():
        meter = Meter()
        counted.append(meter)
        sums = BlockedSums(Z, kernels.RBF(1.5), meter=meter)
        with Checkpoint(path) as sums.checkpoint:
            sums.checkpoint.attach(fingerprint(Z, kernels.RBF(1.5), "float64"), 1024)
            return sums.apply(slice(150, 650), EVERYONE, weights)

    for _ in range(2):
        stopped_after(2, one_run)
    found = one_run()
    np.testing.assert_allclose(found, naive(weights), rtol=1e-12)
    alone = BlockedSums(Z, kernels.RBF(1.5)).apply(slice(150, 650), EVERYONE, weights)
    np.testing.assert_array_equal(found, alone)
    # Eight strips: two counted and a third added before the first stop, three more before the second.
    assert [meter.n_pairs for meter in counted] == [2 * 64 * 700, 2 * 64 * 700, (64 + 52) * 700]
    np.testing.assert_array_equal(one_run(), alone)
    assert counted[-1].n_pairs == 0


def test_long_strips_have_fewer_rows_so_that_a_stop_comes_soon(monkeypatch):
    monkeypatch.setattr(blocked, "LONGEST", 700 * 3 * 150)  # 150 rows of 700 columns with 3 numbers each
    counted = []
    monkeypatch.setattr(Meter, "add", lambda self, pairs: counted.append(pairs))
    weights = np.random.default_rng(0).normal(size=(700, 2))
    found = BlockedSums(Z, kernels.RBF(1.5), block=(512, 256)).apply(slice(150, 650), EVERYONE, weights)
    np.testing.assert_allclose(found, naive(weights), rtol=1e-9)
    assert counted == [128 * 700] * 3 + [116 * 700]


def test_what_is_kept_does_not_change_with_what_was_returned(path):
    sums = BlockedSums(Z, kernels.RBF(1.5))
    with Checkpoint(path) as sums.checkpoint:
        sums.checkpoint.attach({}, 1024)
        first = sums.apply(EVERYONE, EVERYONE, np.ones(700))
        expected = first.copy()
        first[:] = 0
        np.testing.assert_array_equal(sums.apply(EVERYONE, EVERYONE, np.ones(700)), expected)


def test_a_finished_file_answers_at_once_and_is_not_written_again(path, monkeypatch):
    whole = bounds(path)
    before, sums = path.read_bytes(), header(path)["sums"]
    assert all(about["done"] == about["n_strips"] for about in sums.values())
    monkeypatch.setattr(module, "write_whole", None)
    again = bounds(path)
    assert told(again) == told(whole)
    # What is left are the blocks of single rows, which no sum needs.
    assert again.provenance.n_pairs == whole.provenance.n_pairs - sum(s["n_pairs"] for s in sums.values())
    assert path.read_bytes() == before


def test_another_question_on_the_same_rows_finds_the_pass(path):
    bounds(path)
    one_pass = max(about["n_pairs"] for about in header(path)["sums"].values())
    for other in ({"epsilon": 0.1}, {"method": mb.Sharp(n_starts=1, certify=False)}, {"estimator": "biased"}):
        alone, helped = bounds(**other), bounds(path, **other)
        assert told(helped) == told(alone)
        assert helped.provenance.n_pairs <= alone.provenance.n_pairs - one_pass


def test_a_strip_that_was_added_in_part_counts_for_nothing(path, monkeypatch):
    before = written_by_hand(path)
    monkeypatch.setattr(module, "INTERVAL", 1e9)

    def go_on(*, halfway):
        kept = Checkpoint(path)
        kept.attach({}, 1024)
        one = kept.sums(EVERYONE, EVERYONE, np.ones((700, 1)), (), 3, 10)
        with kept:
            for strip in range(2):
                with kept.adding(one):
                    one.values += 1
                    if halfway and strip == 1:
                        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go_on(halfway=True)
    assert path.read_bytes() == before
    go_on(halfway=False)
    assert [about["done"] for about in header(path)["sums"].values()] == [3]


def written_by_hand(path):
    """Write a file with one strip of three; return its content."""
    with Checkpoint(path) as kept:
        kept.attach({}, 1024)
        with kept.adding(kept.sums(EVERYONE, EVERYONE, np.ones((700, 1)), (), 3, 10)):
            pass
    return path.read_bytes()


def test_two_threads_at_once(path):
    alone = BlockedSums(Z, kernels.RBF(1.0))
    sums = BlockedSums(Z, kernels.RBF(1.0), n_threads=2)
    rows = [np.arange(i, 700, 3) for i in range(3)]

    def column_sums(k):
        return sums.apply(EVERYONE, rows[k % 3], np.ones(len(rows[k % 3])))

    with Checkpoint(path) as sums.checkpoint, ThreadPoolExecutor(3) as pool:
        sums.checkpoint.attach({}, 1024)
        found = list(pool.map(column_sums, range(3)))
    for mine, chosen in zip(found, rows, strict=True):
        np.testing.assert_array_equal(mine, alone.apply(EVERYONE, chosen, np.ones(len(chosen))))
    assert len(header(path)["sums"]) == 3
    with Checkpoint(path) as sums.checkpoint:
        sums.checkpoint.attach({}, 1024)
        np.testing.assert_array_equal(column_sums(1), found[1])


def test_the_sums_of_the_fewest_pairs_make_room(path):
    sums = BlockedSums(Z, kernels.RBF(1.0))
    with Checkpoint(path) as sums.checkpoint:
        sums.checkpoint.attach({}, 4 * 3 * 700 * 8 / 2**20)  # a quarter of it holds three sums
        for n in (10, 500, 30, 20, 400):
            sums.apply(EVERYONE, slice(0, n), np.ones(n))
        sums.apply(EVERYONE, EVERYONE, np.random.default_rng(0).normal(size=(700, 4)))  # too large to keep
    assert [about["n_pairs"] for about in header(path)["sums"].values()] == [350000, 21000, 280000]


def test_what_is_short_is_not_kept_and_makes_no_file(path, monkeypatch):
    monkeypatch.setattr(module, "WORTH", 10**6)
    assert told(bounds(path)) == told(bounds())
    assert not path.exists()
    mb.mmd_bounds(X, Y, 0.1, method="s-sd", checkpoint=path)  # the matrix is kept: a moment's work
    assert not path.exists()


def test_written_now_and_then(path, monkeypatch):
    now, writings = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "INTERVAL", 20.0)
    monkeypatch.setattr(module, "PAUSE", 50.0)

    def write(*_):
        writings.append(now[0])
        now[0] += 1.0  # slow: the next writing has to wait for 50 seconds

    monkeypatch.setattr(module, "write_whole", write)
    kept = Checkpoint(path)
    kept.attach({}, 1024)
    one = kept.sums(EVERYONE, EVERYONE, np.ones((700, 1)), (), 100, 10)
    with kept:
        while now[0] < 130.0:
            with kept.adding(one):
                now[0] += 3.0
    # Due after 20 seconds, then 50 after 22 and after 74; strips end every third second; then the end.
    assert writings == [21.0, 73.0, 125.0, 132.0]
    with kept.adding(one):  # by a thread that is late
        now[0] += 1000.0
    assert len(writings) == 4


def test_a_disk_that_fills_up_is_said_once_and_stops_nothing(path, monkeypatch):
    def full(where, content):
        msg = f"cannot write {where}: No space left on device."
        raise mb.MmdBoundsError(msg)

    monkeypatch.setattr(module, "write_whole", full)
    with pytest.warns(
        mb.errors.MmdBoundsWarning, match=r"No space left on device\. The work continues"
    ) as said:
        result = bounds(path)
    assert len(said) == 1
    assert told(result) == told(bounds())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"kernel": "matern52"}, "kernel"),
        ({"kernel": mb.kernels.RBF(1.0)}, "bandwidth"),
        ({"bandwidth": 2.0}, "bandwidth"),
        ({"kernel": "linear"}, "kernel, bandwidth"),
        ({"dtype": "float32"}, "dtype"),
    ],
)
def test_sums_of_another_kernel_are_refused(changes, named, path):
    bounds(path)
    before = path.read_bytes()
    message = (
        f"sums.journal has sums of another problem: it differs in {named}. Name another file for `checkpoint`"
    )
    with pytest.raises(mb.MmdBoundsError, match=re.escape(message)):
        bounds(path, **changes)
    assert path.read_bytes() == before


def test_sums_of_other_rows_and_of_another_version_are_refused(path, monkeypatch):
    first = {
        "epsilon": 0.1,
        "exactly": True,
        "method": "s-sd",
        "bandwidth": 1.0,
        "checkpoint": path,
        **BLOCKED,
    }
    mb.mmd_bounds(X, Y, **first)
    before = path.read_bytes()
    other = Y.copy()
    other[399, 2] += 1e-12
    for groups in ((X, other), (Y, X), (X[:299], Y)):
        with pytest.raises(mb.MmdBoundsError, match=r"it differs in rows\. Name another"):
            mb.mmd_bounds(*groups, **first)
    monkeypatch.setattr("mmdbounds.sums.checkpoint.__version__", "9.9")
    with pytest.raises(mb.MmdBoundsError, match=r"it differs in version\. Name another"):
        mb.mmd_bounds(X, Y, **first)
    assert path.read_bytes() == before
    monkeypatch.undo()


def test_a_function_goes_by_what_it_returns(path):
    def kernel_of(length):
        def same_name(A, B):
            return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2) / length)

        return same_name

    whole = bounds(path, kernel=kernel_of(1.0))
    assert told(bounds(path, kernel=kernel_of(1.0))) == told(whole)
    with pytest.raises(mb.MmdBoundsError, match=r"it differs in kernel\. Name another"):
        bounds(path, kernel=kernel_of(2.0))


def test_so_does_a_kernel_of_ones_own(path):
    class Own(kernels.PairKernel):
        name, geometry, factor = "own", "l1", 1.0

        def value(self, t):
            return np.exp(-self.factor * t)

    class Other(Own):
        factor = 2.0

    whole = bounds(path, kernel=Own())
    assert told(bounds(path, kernel=Own())) == told(whole)
    with pytest.raises(mb.MmdBoundsError, match=r"it differs in kernel\. Name another"):
        bounds(path, kernel=Other())


def other_contents():
    """Contents of files that are no checkpoints, by name."""
    table, array = io.BytesIO(), io.BytesIO()
    np.savez(table, a=np.ones(3))
    np.save(array, np.ones(3))
    rows = io.BytesIO()
    np.savez(rows, header=np.array([{"type": "mmdbounds checkpoint"}], dtype=object))
    later = b'{"type": "mmdbounds checkpoint", "schema": 3, "of": {}, "sums": {}}'
    trials = b'{"type": "mmdbounds evaluation trials", "schema": 2, "asked": {}}'
    return {
        "text": b"a,b\n1,2\n",
        "one byte": b"P",
        "other arrays": table.getvalue(),
        "one array": array.getvalue(),
        "objects": rows.getvalue(),
        "pickle": pickle.dumps({"type": "mmdbounds checkpoint"}),
        "a later layout": b"".join(journal.framed([later])),
        "trials": b"".join(journal.framed([trials])),
        "no record": journal.MAGIC,
    }


@pytest.mark.parametrize("content", other_contents().values(), ids=other_contents())
def test_a_file_that_is_something_else_is_left_alone(content, path):
    path.write_bytes(content)
    with pytest.raises(
        mb.MmdBoundsError, match=r"sums\.journal is damaged, or is not a checkpoint of this version\. "
    ):
        bounds(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("damage", ["cut short", "a sum is missing", "a long sum", "too many strips"])
def test_a_damaged_file_is_left_alone(damage, path):
    bounds(path)
    content = path.read_bytes()
    text, *sums = map(bytes, journal.read_journal(path).records)
    if damage == "cut short":
        content = content[:-30]
    elif damage == "too many strips":
        strips = next(iter(header(path)["sums"].values()))["n_strips"]
        text = text.replace(f'"done": {strips}'.encode(), b'"done": 99')
        content = b"".join(journal.framed([text, *sums]))
    elif damage == "a sum is missing":
        content = b"".join(journal.framed([text, *sums[1:]]))
    else:
        content = b"".join(journal.framed([text, sums[0] + bytes(8), *sums[1:]]))
    path.write_bytes(content)
    with pytest.raises(mb.MmdBoundsError, match=r"sums\.journal is damaged, or is not a checkpoint"):
        bounds(path)
    assert path.read_bytes() == content


def test_no_flipped_bit_changes_a_result(path):
    """Every part of a small file: a flip is found, or it changes nothing."""
    written_by_hand(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    everywhere = [*range(200), *range(len(content) - 20, len(content)), *rng.integers(len(content), size=300)]
    for place in everywhere:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        with pytest.raises(
            mb.MmdBoundsError, match=r"is damaged, or is not a checkpoint.* or remove this one"
        ):
            Checkpoint(path)


def test_no_truncated_file_is_used(path):
    written_by_hand(path)
    content = path.read_bytes()
    for length in [*range(1, 300), *range(len(content) - 100, len(content))]:
        path.write_bytes(content[:length])
        with pytest.raises(
            mb.MmdBoundsError, match=r"is damaged, or is not a checkpoint.* or remove this one"
        ):
            Checkpoint(path)


def test_an_empty_file_is_a_new_one(path):
    path.touch()
    assert told(bounds(path)) == told(bounds())
    assert path.stat().st_size > 0


def test_files_that_cannot_be_used_are_found_before_the_work(tmp_path):
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot write .*: it is a folder\.$"):
        bounds(tmp_path)
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot write .*: there is no folder .*none\.$"):
        mb.mmd_bounds("no rows", Y, 0.1, checkpoint=tmp_path / "none" / "sums.journal")
    with pytest.raises(mb.MmdBoundsError, match=r"^cannot write .*: this is not a valid file name\.$"):
        bounds("a\0b/c")
    for wrong in ("", 3, ["sums"]):
        with pytest.raises(mb.MmdBoundsError, match=r"^`checkpoint` must be the name of a file; got "):
            bounds(wrong)


def test_a_text_will_do_and_no_row_is_in_the_file(path):
    bounds(str(path))
    content = path.read_bytes()
    assert not any(value.tobytes() in content for value in Z.ravel())


@pytest.mark.full
def test_other_backends_are_refused_before_the_work(path):
    message = r"cannot keep the sums of the backend 'torch' with the kernel 'rbf'\. Leave `checkpoint` out\."
    with pytest.raises(mb.MmdBoundsError, match=message):
        bounds(path, backend="torch")
    assert not path.exists()


SCRIPT = """
import sys, time
from sums import test_checkpoint as here
from mmdbounds.progress import Meter
here.module.WORTH, here.module.INTERVAL, here.module.PAUSE = 0, 0.0, 0.0
here.plan.block_shape = lambda dtype: (64, 32)
original = Meter.add
def add(self, pairs):
    time.sleep(0.02)
    original(self, pairs)
Meter.add = add
here.bounds(sys.argv[1])
"""


def test_killed_in_the_middle_and_continued(path):
    """Killed for good, with no chance to tidy up."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], env=environment)
    try:
        give_up = time.monotonic() + 100
        while (
            not path.exists() or len(header(path)["sums"]) < 3
        ):  # the pass is done, both sides are under way
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert process.returncode == -signal.SIGKILL
    whole = bounds()
    last = bounds(path)
    for side in ("lower", "upper"):  # to the last bit, whichever process compiled the loops
        one, other = getattr(whole, side), getattr(last, side)
        np.testing.assert_array_equal(other.rows, one.rows)
        assert other.value == one.value
        np.testing.assert_array_equal(other.effects, one.effects)
    assert last.provenance.n_pairs < whole.provenance.n_pairs - 700 * 700 // 2
