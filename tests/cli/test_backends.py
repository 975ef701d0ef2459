"""`mmdbounds backends` says what there is, and that numba is missing where it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mmdbounds.cli import backends
from mmdbounds.cli.main import run
from mmdbounds.sums import _engines, _threads

MISSING = "        numba is missing: `pip install numba` makes the sums several times faster."


@pytest.mark.parametrize(
    ("compiled", "threads", "first"),
    [(True, 2, "2 threads, compiled by numba"), (False, 1, "1 thread, NumPy only")],
)
def test_report(
    compiled: bool,
    threads: int,
    first: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(_engines, "numba_is_there", lambda: compiled)
    monkeypatch.setattr(_threads, "thread_count", lambda: threads)
    monkeypatch.setattr(backends, "measured_rate", lambda dtype: {"float64": 3e8, "float32": 1.2e9}[dtype])
    assert run(["backends"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        f"numpy   available   {first}",
        "        float64     300 million kernel values a second (rbf, 54 columns)",
        "        float32     1,200 million kernel values a second (rbf, 54 columns)",
        *([] if compiled else [MISSING]),
    ]


def test_rate_counts_kernel_values(monkeypatch: pytest.MonkeyPatch):
    ticks = iter([10.0, 12.0])
    monkeypatch.setattr(backends, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    # Each pair of 60 rows once, with the diagonal blocks whole: between n(n+1)/2 and n^2, in 2 s.
    assert 60 * 61 / 2 <= 2 * backends.measured_rate("float64", n_rows=60) <= 60 * 60
