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

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    # Any port on this machine: another process may test at the same time.
    quiet = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    settings = {
        "distributed.comm.timeouts.connect": "10s",  # how long a dead worker is called
        # Some seconds after a death the cluster looks whether the worker is back, and gives it up if not.
        # A second test that kills the same worker must not be dead just then.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with (
        dask.config.set(settings),
        LocalCluster(host="127.0.0.1", **options, **quiet) as cluster,
        Client(cluster) as client,
    ):
        yield client
