"""Small problems use threads here, so that the tests see them; a cluster for those that need one."""

import pytest


@pytest.fixture(autouse=True)
def _threads_always(monkeypatch):
    monkeypatch.setattr("mmdbounds.sums.plan.THREADS_PAY", 0)


@pytest.fixture(scope="session")
def client():
    """Return the client of a cluster of two worker processes on this machine, dashboard off."""
    import dask
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "10s"}),  # how long a dead worker is called
        LocalCluster(host="127.0.0.1", **options) as cluster,
        Client(cluster) as client,
    ):
        yield client
