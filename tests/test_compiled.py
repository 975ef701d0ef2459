"""One way to compile: the same bits fresh and from disk, and no harm where nothing can be kept."""

import importlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from mmdbounds import compiled

pytest.importorskip("numba")

LOOPS = """
import hashlib, json
import numpy as np
from mmdbounds.search.sharp.pairwise_steps import pairwise_steps
from mmdbounds.sums.cpu.fused import take_one_by_one

Z = np.random.default_rng(0).normal(size=(300, 3))
pairs = np.array(Z[:40] @ Z[:40].T)
np.fill_diagonal(pairs, 0.0)
gradient, share = pairs.sum(axis=1), np.repeat([1.0, 0.0], 20)
steps = pairwise_steps(pairs, np.full(40, 9.0), gradient, share, np.array([0, 40]), 1e-9, 500)
assert steps > 1
rows, total = take_one_by_one(pairs[0].copy(), np.arange(40), pairs, 0.5, 9, 0.0)
assert len(rows) == 9
used, found = [pairwise_steps, take_one_by_one], [gradient, share, rows, total]
"""
SUMS = """
import mmdbounds as mb
from mmdbounds.sums.cpu.fused import strip_sums
from mmdbounds.sums.cpu.blocked import BlockedSums

rows, weights = np.arange(300), np.repeat([1.0, -1.0], 150)
for kernel in (mb.kernels.RBF(1.3), mb.kernels.Matern52(1.1)):
    found.append(BlockedSums(Z, kernel, block=(128, 100)).apply(rows, rows, weights))
used.append(strip_sums)
"""
SAY = """
print(json.dumps({
    "digest": hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in found)).hexdigest(),
    "from disk": [f.n_from_disk for f in used],
}))
"""
"""What came out, to the last bit, and how often the code of a function was found on disk."""

NO_FOLDER = """
from numba.core import caching
def ensure_cache_path(self):
    raise PermissionError(13, "Permission denied")
caching._CacheLocator.ensure_cache_path = ensure_cache_path
"""
FULL_DISK = """
from numba.core import caching
def save(self, key, data):
    raise OSError(28, "No space left on device")
caching.IndexDataCacheFile.save = save
"""


def run(cache, *code):
    """Run it in a process of its own whose numba keeps its code in the folder `cache`."""
    done = subprocess.run(
        [sys.executable, "-c", "".join([*code, SAY])],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
def test_code_from_disk_gives_the_same_bits_as_fresh_code(tmp_path):
    fresh, again = (run(tmp_path, LOOPS, SUMS) for _ in range(2))
    assert (fresh["from disk"], again["from disk"]) == ([0, 0, 0], [1, 1, 1])
    assert again["digest"] == fresh["digest"]


@pytest.mark.parametrize("trouble", [NO_FOLDER, FULL_DISK], ids=["no folder", "full disk"])
@pytest.mark.long
def test_where_nothing_can_be_kept_sums_and_searches_still_work(trouble, tmp_path):
    assert run(tmp_path, trouble, LOOPS)["from disk"] == [0, 0]
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.long
def test_damaged_code_on_disk_is_compiled_again_and_mended(tmp_path):
    fresh = run(tmp_path, LOOPS)
    kept = [file for file in tmp_path.rglob("*") if file.suffix in (".nbi", ".nbc")]
    assert len(kept) == 4
    for file in kept:
        file.write_bytes(file.read_bytes()[:100])
    assert run(tmp_path, LOOPS) == fresh
    assert all(file.stat().st_size > 100 for file in kept)


@pytest.mark.long
def test_code_for_other_types_is_not_run(tmp_path, monkeypatch):
    """Two processes that write at the same moment can leave one's list of code and the other's code."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "of_one_line.py").write_text(ONE_LINE)
    loop = importlib.import_module("of_one_line").loop
    assert loop(np.arange(4.0)) == 6.0
    assert loop(np.arange(4, dtype=np.float32)) == 6.0
    double, single = sorted(tmp_path.rglob("*.nbc"))
    other = single.read_bytes()
    single.write_bytes(double.read_bytes())
    double.write_bytes(other)
    sys.modules.pop("of_one_line")
    again = importlib.import_module("of_one_line").loop
    assert again(np.arange(4.0)) == 6.0
    assert again(np.arange(4, dtype=np.float32)) == 6.0


ONE_LINE = """
from mmdbounds.compiled import entry


@entry()
def loop(values):
    total = 0.0
    for value in values:
        total += value
    return total
"""


def test_arguments_are_told_apart_as_the_compiler_does():
    from numba import typeof

    values = np.zeros((3, 4))
    fixed = values.copy()
    fixed.flags.writeable = False
    every = [values, values.T, values[:, :2], values[0], fixed, values.astype(np.float32), np.arange(3)]
    every += [1, 1.0, True, np.float32(1), (1, 1.0), (1, np.float32(1))]
    kinds, signatures = [compiled._kind(each) for each in every], [typeof(each) for each in every]
    for one, of_one in zip(kinds, signatures, strict=True):
        for other, of_other in zip(kinds, signatures, strict=True):
            assert one != other or of_one == of_other


def test_without_numba_functions_stay_python(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)

    def double(x):
        return 2 * x

    assert not compiled.numba_is_there()
    assert compiled.entry()(double) is double
    assert compiled.part(("reassoc",))(double) is double


LOOP = """
from pathlib import Path
import formula
from mmdbounds.compiled import entry, part

value = part()(formula.value)


@entry(sources=[Path(formula.__file__)])
def loop(x):
    return value(x)
"""


def test_code_on_disk_is_old_when_the_file_of_a_part_changes(tmp_path, monkeypatch):
    """numba looks only at the file of the loop itself, and would go on with yesterday's formula."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "loop_of_parts.py").write_text(LOOP)
    seen = []
    for formula in ("x + 1", "x + 1", "x + 20"):
        (tmp_path / "formula.py").write_text(f"def value(x):\n    return {formula}\n")
        os.utime(tmp_path / "formula.py", (0, 1_000_000 + len(formula)))
        for name in ("formula", "loop_of_parts"):
            sys.modules.pop(name, None)
        loop = importlib.import_module("loop_of_parts").loop
        seen.append((loop(1), loop.n_from_disk))
    assert seen == [(2, 0), (2, 1), (21, 0)]


READ = """
from pathlib import Path
read, real = [], Path.read_bytes
def spy(path):
    read.append(path.name)
    return real(path)
Path.read_bytes = spy
import mmdbounds.sums.cpu.fused
print(*read)
"""


@pytest.mark.long
def test_the_sums_depend_on_every_file_of_the_kernels():
    line = [sys.executable, "-c", READ]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    assert {"base.py", "rbf.py", "matern.py", "registry.py"} <= set(done.stdout.split())
