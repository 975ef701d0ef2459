"""What there is on a machine: made-up machines without packages, with broken ones, with a GPU."""

from __future__ import annotations

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from mmdbounds.errors import MmdBoundsError
from mmdbounds.sums import registry
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.registry import Rate, Status, backend_called
from mmdbounds.sums.torch import sums as torch_sums
from mmdbounds.sums.torch import torch_pays

RATES = {"float64": Rate(3e8, 20.0), "float32": Rate(1.2e9, 5.0)}


def blocked(Z, dtype, meter):
    return BlockedSums(Z, registry.timed_kernel(), dtype=dtype, meter=meter)


def status_of(name):
    return backend_called(name).status()


def automatic(torch):
    return registry.automatic([Status("numpy"), torch, Status("dask")])


def clock_of(*lengths):
    """A clock on which the passes take so many seconds each."""
    ticks = [tick for i, length in enumerate(lengths) for tick in (100.0 * i, 100.0 * i + length)]
    return iter(ticks).__next__


@pytest.fixture
def quick(monkeypatch):
    """No time is spent on measuring."""
    monkeypatch.setattr(registry, "measured_rate", lambda make, dtype: RATES[dtype])


@pytest.fixture
def without(monkeypatch):
    """Make packages look as if they were not installed."""

    def remove(*names):
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n in names else find(n, *a))

    return remove


def test_rate_counts_kernel_values_and_scales_the_pass():
    rate = registry.measured_rate(blocked, "float64", n_rows=60, most_rows=60, clock=clock_of(2.0))
    # Each pair of 60 rows once, with the diagonal blocks whole: between n(n+1)/2 and n^2, in 2 s.
    assert 60 * 61 / 2 <= 2 * rate.pairs_a_second <= 60 * 60
    assert rate.seconds_a_pass == pytest.approx(2.0 * 1e10 / 60**2, rel=1e-12)


def test_rows_are_doubled_until_a_pass_takes_long_enough():
    seen = []

    def noted(Z, dtype, meter):
        seen.append(len(Z))
        return blocked(Z, dtype, meter)

    rate = registry.measured_rate(
        noted, "float32", n_rows=20, most_rows=1000, clock=clock_of(0.01, 0.05, 0.3)
    )
    assert seen == [20, 40, 80]
    assert 80 * 81 / 2 <= 0.3 * rate.pairs_a_second <= 80 * 80
    seen.clear()
    registry.measured_rate(noted, "float32", n_rows=20, most_rows=50, clock=clock_of(0.01, 0.01, 0.01))
    assert seen == [20, 40, 50]


def test_what_is_measured_is_the_sums_of_both_groups():
    asked = []

    class Listening(BlockedSums):
        def apply(self, A, B, W):
            asked.append((A, B, W))
            return super().apply(A, B, W)

    def listen(Z, dtype, meter):
        return Listening(Z, registry.timed_kernel(), dtype=dtype, meter=meter)

    registry.measured_rate(listen, "float64", n_rows=7, most_rows=7, clock=clock_of(1.0))
    for A, B, W in asked:
        assert A == B == slice(0, 7)
        np.testing.assert_array_equal(W.sum(axis=0), [3, 4])


def test_numba(quick, monkeypatch):
    monkeypatch.setattr("mmdbounds.compiled.numba_is_there", lambda: False)
    plain = status_of("numpy")
    assert (plain.how, plain.rates) == ("not compiled", RATES)
    assert plain.notes == ("numba is missing: `pip install numba` makes the sums several times faster.",)
    monkeypatch.setattr("mmdbounds.compiled.numba_is_there", lambda: True)
    compiled = status_of("numpy")
    assert compiled.how.startswith("compiled by numba")
    assert compiled.notes == ()
    assert compiled.device
    assert compiled.n_threads >= 1


def test_a_broken_numba_is_said_in_one_line_for_each_dtype(monkeypatch):
    def broken(*_, **__):
        raise ImportError("Numba needs NumPy 2.2 or less.\nGot NumPy 2.4.")

    monkeypatch.setattr("mmdbounds.compiled.numba_is_there", lambda: True)
    monkeypatch.setattr("mmdbounds.sums.cpu.BlockedSums", broken)
    found = status_of("numpy")
    assert not found.is_available
    assert found.notes[:2] == tuple(
        f"{dtype} cannot be measured: ImportError: Numba needs NumPy 2.2 or less."
        for dtype in ("float64", "float32")
    )
    assert "pip install --upgrade numba" in found.notes[2]


def test_missing_packages_come_with_the_command_that_gets_them(without):
    without("torch", "distributed")
    torch, dask = status_of("torch"), status_of("dask")
    assert (torch.is_available, torch.version, torch.notes) == (
        False,
        None,
        ("pip install 'mmdbounds[gpu]'",),
    )
    assert (dask.is_available, dask.version, dask.notes) == (False, None, ("pip install 'mmdbounds[dask]'",))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "raise OSError('libcudart.so.12: cannot open shared object file')",
            "OSError: libcudart.so.12: cannot open shared object file.",
        ),
        ("raise ImportError", "ImportError."),
        ("", "AttributeError: module 'torch' has no attribute 'device'."),
    ],
)
def test_a_broken_torch_is_one_line(source, said, tmp_path, monkeypatch):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    found = status_of("torch")
    sys.modules.pop("torch", None)
    assert not found.is_available
    assert found.rates == {}
    again = "Install it again: pip install --force-reinstall 'mmdbounds[gpu]'."
    assert found.notes == (f"{said} {again}",)
    assert automatic(found) == ("numpy", "PyTorch cannot be used.")


class Device(str):
    """A device of a PyTorch that is made up."""

    @property
    def type(self):
        """Its kind."""
        return str(self)


def made_up_torch(monkeypatch, *, gpu, built=True, triton=True, interpreted=False):
    torch = SimpleNamespace(
        __version__="9.9",
        device=Device,
        cuda=SimpleNamespace(is_available=lambda: gpu, get_device_name=lambda device: "Made-up GPU"),
        version=SimpleNamespace(cuda="13.0" if built else None),
        get_num_threads=lambda: 3,
    )
    monkeypatch.setattr(torch_sums, "torch_is_there", lambda: True)
    monkeypatch.setattr(torch_sums, "import_torch", lambda: torch)
    monkeypatch.setattr(torch_sums, "triton_works", lambda device: triton and (gpu or interpreted))
    return status_of("torch")


def test_a_gpu(quick, monkeypatch):
    found = made_up_torch(monkeypatch, gpu=True)
    assert (found.version, found.device, found.n_threads) == ("9.9", "Made-up GPU", None)
    assert found.how.startswith("float32 by Triton")
    assert (found.rates, found.notes) == (RATES, ())
    without_triton = made_up_torch(monkeypatch, gpu=True, triton=False)
    assert without_triton.how == "in blocks"
    assert without_triton.notes == (
        "Triton is missing: `pip install triton` makes float32 several times faster.",
    )


def test_torch_without_a_gpu(quick, monkeypatch):
    found = made_up_torch(monkeypatch, gpu=False)
    assert (found.device, found.n_threads, found.how) == (registry.processor(), 3, "in blocks")
    assert found.notes == ("PyTorch sees no GPU.",)
    (note,) = made_up_torch(monkeypatch, gpu=False, built=False).notes
    assert "built without" in note
    interpreted = made_up_torch(monkeypatch, gpu=False, interpreted=True)
    assert list(interpreted.rates) == ["float64"]  # the interpreter would take hours
    assert "TRITON_INTERPRET" in interpreted.notes[0]


def test_a_device_that_fails_is_one_line(monkeypatch):
    def out_of_memory(*_, **__):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB.\nsee documentation")

    monkeypatch.setattr(torch_sums, "TorchSums", out_of_memory)
    found = made_up_torch(monkeypatch, gpu=True)
    assert not found.is_available
    assert found.notes[0] == (
        "float64 cannot be measured: RuntimeError: CUDA out of memory. Tried to allocate 2 GiB."
    )


def test_auto_says_what_the_dispatch_does(quick, monkeypatch):
    gpu = made_up_torch(monkeypatch, gpu=True)
    choice, why = automatic(gpu)
    assert choice == "torch"
    assert "Below 31,623 pooled rows" in why
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr("mmdbounds.sums.torch.sums.torch_is_there", lambda: True)
    monkeypatch.setattr("mmdbounds.sums.torch.sums.best_device", lambda: "cuda")
    assert not torch_pays(31_622, registry.timed_kernel())
    assert torch_pays(31_623, registry.timed_kernel())
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert "below 4,097" in why
    assert not torch_pays(4096, registry.timed_kernel())
    assert torch_pays(4097, registry.timed_kernel())


def test_auto_without_a_gpu(quick, monkeypatch):
    assert automatic(Status("torch", is_available=False)) == ("numpy", "PyTorch is missing.")
    found = made_up_torch(monkeypatch, gpu=False)
    assert automatic(found) == ("numpy", "PyTorch sees no GPU.")


def test_a_client_is_named_where_there_is_one(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())

    def no_client():
        raise ValueError("No global client found")

    monkeypatch.delitem(sys.modules, "distributed", raising=False)
    assert status_of("dask").how == "there is no client in this process"
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(default_client=no_client))
    assert status_of("dask").how == "there is no client in this process"
    client = SimpleNamespace(scheduler=SimpleNamespace(address="tcp://127.0.0.1:8786"))
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(default_client=lambda: client))
    found = status_of("dask")
    assert found.how == "client of tcp://127.0.0.1:8786"
    assert found.rates == {}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MmdBoundsError("no room. Ask for less."), "no room. Ask for less."),
        (RuntimeError("\n\n  first   line\nsecond"), "RuntimeError: first line."),
        (KeyError(), "KeyError."),
    ],
)
def test_errors_in_one_line(error, said):
    assert registry.in_one_line(error) == said


@pytest.mark.full
def test_the_torch_that_is_installed_is_measured(monkeypatch):
    measure = registry.measured_rate
    monkeypatch.setattr(
        registry, "measured_rate", lambda make, dtype: measure(make, dtype, n_rows=100, most_rows=100)
    )
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    found = status_of("torch")
    assert found.is_available
    assert set(found.rates) == {"float64", "float32"}
    assert all(rate.pairs_a_second > 0 for rate in found.rates.values())


@pytest.mark.full
def test_the_dask_that_is_installed_has_no_client(monkeypatch):
    monkeypatch.setattr("mmdbounds.sums.dask.current_client", lambda: None)  # other tests may have one
    found = status_of("dask")
    assert found.is_available
    assert found.version
    assert found.how == "there is no client in this process"
