"""What importing costs, which room may import what, and life without optional packages."""

import ast
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.compiled import numba_is_there
from tolerances import of_mmd2

SOURCE = Path(mb.__file__).parent

# Beyond numpy and scipy, each package has one home.
HOMES = {
    "numba": {"compiled.py", "sums/cpu/fused.py"},
    "threadpoolctl": {"sums/threads.py"},
    "sklearn": {"estimator.py"},
    "torch": {"sums/torch/sums.py", "sums/torch/triton.py"},
    "dask": {"sums/dask/__init__.py"},
    "distributed": {"sums/dask/__init__.py"},
    "cloudpickle": {"sums/dask/__init__.py"},
    "triton": {"sums/torch/triton.py"},
    "matplotlib": {"plotting/canvas.py"},
    "monai": set(),
    "PIL": set(),
    "lab": set(),  # it is not installed
    "narwhals": {"tables/frames.py"},
    "polars": {"tables/frames.py"},
    "click": {"cli"},
}
ROOMS = ("cli",)


def python(code, *arguments):
    return subprocess.run(
        [sys.executable, *arguments, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout


def imported_names(node):
    """Yield the packages that a file imports when it runs, not those of the type checker alone."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)):
            yield from imported_names(child)
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module.split(".")[0]


@pytest.mark.parametrize("package", HOMES)
@pytest.mark.long
def test_each_package_is_imported_in_its_home_only(package):
    found = set()
    for file in SOURCE.rglob("*.py"):
        if package in imported_names(ast.parse(file.read_text())):
            place = file.relative_to(SOURCE).as_posix()
            found.add(next((room for room in ROOMS if place.startswith(f"{room}/")), place))
    assert found == HOMES[package]


def test_importing_the_package_loads_numpy_alone():
    code = (
        "import sys, mmdbounds; mmdbounds.mmd_bounds; mmdbounds.Contamination; mmdbounds.groups; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'numpy','scipy','numba','sklearn','narwhals','polars','click','pandas','threadpoolctl'}))"
    )
    assert python(code).strip() == "['numpy']"


def test_a_small_problem_without_proof_touches_neither_numba_nor_polars():
    code = (
        "import sys, numpy as np, mmdbounds as mb; r = np.random.default_rng(0); "
        "X, Y = r.normal(size=(40, 3)), r.normal(size=(50, 3)); "
        "[mb.mmd_bounds(X, Y, 0.2, method=m).summary() for m in ('s-sd', mb.Sharp(certify=False))]; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'scipy', 'numba','sklearn','narwhals','polars','click'}))"
    )
    assert python(code).strip() == "[]"


BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {names!r} else find(name, package)
"""


def test_without_anything_but_numpy_and_scipy_arrays_still_work():
    names = ["numba", "sklearn", "narwhals", "polars", "click", "pandas", "threadpoolctl"]
    code = BLOCKER.format(names=names) + (
        "import numpy as np, mmdbounds as mb\n"
        "r = np.random.default_rng(0)\n"
        "X, Y = r.normal(size=(2500, 3)), r.normal(size=(2500, 3))\n"
        "result = mb.mmd_bounds(X, Y, 0.1, bandwidth=2.0, method='s-sd')\n"
        "print(result.provenance.backend, repr(result.lower.value))\n"
        "print(*mb.mmd_bounds(X[:20], Y[:20], 0.1, bandwidth=2.0, rng=0).interval)\n"
    )
    backend, value, *interval = python(code).split()
    assert backend == "numpy"
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2500, 3)), rng.normal(size=(2500, 3))
    result = mb.mmd_bounds(X, Y, 0.1, bandwidth=2.0, method="s-sd")
    assert result.provenance.backend == ("numba" if numba_is_there() else "numpy")
    np.testing.assert_allclose(float(value), result.lower.value, rtol=0, atol=of_mmd2(5000))
    sharp = mb.mmd_bounds(X[:20], Y[:20], 0.1, bandwidth=2.0, rng=0)
    np.testing.assert_allclose([float(v) for v in interval], sharp.interval, rtol=0, atol=of_mmd2(40))


def test_the_estimators_say_what_they_need():
    code = BLOCKER.format(names=["sklearn"]) + (
        "import mmdbounds as mb\n"
        "try:\n    mb.MMDBounds\nexcept mb.MmdBoundsError as error:\n    print(error)\n"
    )
    assert python(code).endswith("need scikit-learn. Install it with: pip install 'mmdbounds[sklearn]'.\n")


def test_every_public_name_exists_and_is_listed():
    for name in mb.__all__:
        assert getattr(mb, name) is not None
    assert set(mb.__all__) <= set(dir(mb))
    assert len(mb.__all__) <= 40
    # A function that is called as its file would be the one at the first use and the other at the second.
    modules = {name for name in mb.__all__ if isinstance(getattr(mb, name), types.ModuleType)}
    assert not {p.stem for p in SOURCE.glob("*.py")} & (set(mb.__all__) - modules)
    with pytest.raises(AttributeError, match="has no attribute 'mmd_bound'"):
        mb.mmd_bound  # noqa: B018
