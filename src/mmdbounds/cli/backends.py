"""``mmdbounds backends``: where sums can be computed here, and how fast."""

from __future__ import annotations

import time

import typer


def backends_command() -> None:
    """List where pairs can be computed on this machine, with a short measured rate.

    \b
    Example:
      mmdbounds backends
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.sums._engines import numba_is_there
    from mmdbounds.sums._threads import thread_count

    threads, compiled = thread_count(), numba_is_there()
    how = "compiled by numba" if compiled else "NumPy only"
    typer.echo(f"numpy   available   {threads} thread{'' if threads == 1 else 's'}, {how}")
    for dtype in ("float64", "float32"):
        rate = f"{measured_rate(dtype) / 1e6:,.0f} million kernel values a second"
        typer.echo(f"        {dtype}     {rate} (rbf, 54 columns)")
    if not compiled:
        typer.echo("        numba is missing: `pip install numba` makes the sums several times faster.")


def measured_rate(dtype: str, n_rows: int = 6000) -> float:
    """Return kernel values computed a second, on made-up rows, after a first call that compiles."""
    import numpy as np

    from mmdbounds.kernels import RBF
    from mmdbounds.objective import group_sums
    from mmdbounds.progress import Meter
    from mmdbounds.sums.blocked import BlockedSums

    rows = np.random.default_rng(0).normal(size=(n_rows, 54))
    meter = Meter()
    sums = BlockedSums(rows, RBF(10.0), dtype=dtype, meter=meter)
    group_sums(sums, n_rows // 2, n_rows - n_rows // 2)
    before, started = meter.n_pairs, time.perf_counter()
    group_sums(sums, n_rows // 2, n_rows - n_rows // 2)
    return (meter.n_pairs - before) / (time.perf_counter() - started)
