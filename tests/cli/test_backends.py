"""`mmdbounds backends`: the same for people and for machines."""

from __future__ import annotations

import json

import pytest

from mmdbounds import __version__
from mmdbounds.cli.main import run
from mmdbounds.sums import registry
from mmdbounds.sums.registry import Rate, Status

NUMPY = Status(
    "numpy",
    version="2.4.6",
    device="Made-up Processor",
    n_threads=1,
    how="compiled by numba 0.68",
    rates={"float64": Rate(3e8, 16.9), "float32": Rate(1.2345e9, 4.05)},
)
GPU = Status(
    "torch",
    version="2.13",
    device="Made-up GPU",
    how="float32 by Triton 3.7, float64 in blocks",
    rates={"float64": Rate(6.6e9, 1.5), "float32": Rate(7.16e11, 0.014)},
)
MISSING = Status("dask", is_available=False, notes=("pip install 'mmdbounds[dask]'",))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Pretend to be on a machine with these backends."""

    def pretend(*found: Status) -> None:
        monkeypatch.setattr(registry, "backends", lambda: list(found))

    return pretend


def test_words(machine, capsys: pytest.CaptureFixture[str]):
    machine(NUMPY, GPU, MISSING)
    assert run(["backends"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        "numpy   available NumPy 2.4.6, compiled by numba 0.68, 1 thread",
        "        on        Made-up Processor",
        "        float64   300 million kernel values per second, 17 s per pass",
        "        float32   1,234 million kernel values per second, 4 s per pass",
        "torch   available PyTorch 2.13, float32 by Triton 3.7, float64 in blocks",
        "        on        Made-up GPU",
        "        float64   6,600 million kernel values per second, 1.5 s per pass",
        "        float32   716 billion kernel values per second, 0.014 s per pass",
        "dask    missing   pip install 'mmdbounds[dask]'",
        "",
        "Rates: rbf kernel, 54 columns. A pass is all pairs of 100,000 rows; its time grows quadratically.",
        "`auto` chooses torch: there is a GPU. Below 31,623 pooled rows it takes numpy (below 4,097 where",
        "PyTorch is imported already). Dask collections are computed by dask.",
    ]


def test_what_is_broken_is_said_and_the_rest_still_listed(machine, capsys: pytest.CaptureFixture[str]):
    note = "OSError: libcudart.so.12: cannot open shared object file. Install it again: pip install torch."
    machine(NUMPY, Status("torch", is_available=False, version="2.13", notes=(note,)), MISSING)
    assert run(["backends"]) == 0
    out = capsys.readouterr().out
    assert "\ntorch   broken    PyTorch 2.13\n        OSError: libcudart.so.12: cannot open" in out
    assert "\ndask    missing" in out
    assert "`auto` chooses numpy: PyTorch cannot be used." in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_json(machine, capsys: pytest.CaptureFixture[str]):
    machine(NUMPY, GPU, MISSING)
    assert run(["backends", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == __version__
    assert [backend["name"] for backend in found["backends"]] == ["numpy", "torch", "dask"]
    first, _, last = found["backends"]
    assert first["rates"]["float32"] == {"pairs_a_second": 1.2345e9, "seconds_a_pass": 4.05}
    assert (first["is_available"], last["is_available"]) == (True, False)
    assert last["notes"] == ["pip install 'mmdbounds[dask]'"]
    assert found["auto"]["backend"] == "torch"


def test_this_machine(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    measure = registry.measured_rate
    monkeypatch.setattr(
        registry, "measured_rate", lambda make, dtype: measure(make, dtype, n_rows=100, most_rows=100)
    )
    assert run(["backends", "--json"]) == 0
    numpy_here, *_ = json.loads(capsys.readouterr().out)["backends"]
    assert numpy_here["is_available"]
    assert min(rate["pairs_a_second"] for rate in numpy_here["rates"].values()) > 0
