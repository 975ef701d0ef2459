"""Dask arrays and DataFrames as X and Y: computed once, checked, cut into blocks, never all in one place."""

import os
import uuid

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError
from mmdbounds.sums import dask as cluster
from mmdbounds.sums import make_sums, plan
from mmdbounds.sums.dask import rows as dask_rows
from mmdbounds.sums.dask import sums as dask_sums
from sums.dask.test_dask import Killer, assert_same_bounds, problem_with

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")]


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch):
    monkeypatch.setattr(dask_rows, "FEWEST", 150)
    monkeypatch.setattr(plan, "SMALL_ROWS", 100)


@pytest.fixture
def rows_stay(monkeypatch):
    """Have the smallest data stay on the workers, and all work on them be done there."""
    monkeypatch.setattr(dask_rows, "FETCHED_SHARE", 10**6)
    monkeypatch.setattr(dask_sums, "NEAR_PAIRS", 0)


@pytest.fixture(params=[True, False])
def fetched(request):
    """Return whether the rows are few enough to be fetched, after seeing to it."""
    if not request.param:
        request.getfixturevalue("rows_stay")
    return request.param


class Counted:
    """Makes a Dask array that writes down each time one of its partitions is computed."""

    def __init__(self, folder):
        self._folder = str(folder)

    def array(self, Z, chunk):
        import dask
        import dask.array as da

        folder = self._folder

        def part(k):
            with open(f"{folder}/{k}-{uuid.uuid4().hex}", "w"):
                return Z[k * chunk : (k + 1) * chunk]

        starts = range(0, len(Z), chunk)
        shapes = [(min(chunk, len(Z) - start), Z.shape[1]) for start in starts]
        return da.concatenate(
            [da.from_delayed(dask.delayed(part)(k), shape, Z.dtype) for k, shape in enumerate(shapes)]
        )

    @property
    def times(self):
        names = [name.split("-")[0] for name in os.listdir(self._folder)]
        return {name: names.count(name) for name in sorted(names)}


@pytest.mark.usefixtures("client")
def test_arrays_of_unknown_length_are_computed_once(fetched, tmp_path):
    X, Y = problem_with("plain")
    table = np.column_stack([np.repeat([0.0, 1.0], [len(X), len(Y)]), np.concatenate([X, Y])])
    table = table[np.random.default_rng(0).permutation(len(table))]
    counted = Counted(tmp_path)
    both = counted.array(table, 130)
    lazy_x, lazy_y = (both[both[:, 0] == label][:, 1:] for label in (0.0, 1.0))
    assert np.isnan(lazy_x.shape[0])
    here_x, here_y = (table[table[:, 0] == label][:, 1:] for label in (0.0, 1.0))
    one = mb.mmd_bounds(here_x, here_y, 0.2, method="s-sd")
    other = mb.mmd_bounds(lazy_x, lazy_y, 0.2, method="s-sd")
    assert_same_bounds(one, other)
    assert one.provenance.bandwidth == other.provenance.bandwidth
    assert counted.times == dict.fromkeys("01234", 1)
    assert isinstance(pooled(lazy_x, lazy_y), np.ndarray if fetched else dask_rows.DaskRows)


def pooled(X, Y):
    from mmdbounds.problem import Comparison, pose

    options = {
        "kernel": "rbf",
        "bandwidth": 1.0,
        "estimator": "biased",
        "backend": "auto",
        "dtype": "float64",
    }
    return pose(X, Y, Comparison(**options, working_memory=1024)).pooled


@pytest.mark.usefixtures("rows_stay")
def test_after_a_death_a_partition_is_computed_at_most_once_more(client, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_rows, "FEWEST", 60)
    counted, kernel = Counted(tmp_path), mb.kernels.RBF(2.0)
    Z = np.random.default_rng(0).normal(size=(500, 3))
    group_x, _, rows = dask_rows.cluster_groups(counted.array(Z, 60), Z[:100], client, 1024)
    W, everyone = np.eye(2)[(np.arange(600) < 500).astype(int)], slice(0, 600)
    undisturbed = dask_sums.DaskSums(rows, kernel).apply(everyone, everyone, W)
    assert counted.times == dict.fromkeys("012345678", 1)
    meter = Killer(client, after=600 * 600 // 8)
    disturbed = dask_sums.DaskSums(rows, kernel, meter=meter).apply(everyone, everyone, W)
    assert meter.has_killed
    np.testing.assert_array_equal(disturbed, undisturbed)
    assert set(counted.times) == set("012345678")
    assert max(counted.times.values()) <= 2
    assert len(group_x) == 500
    client.wait_for_workers(2, timeout=60)


def test_no_worker_holds_an_array_of_more_than_its_share(client, monkeypatch):
    import dask.array as da
    from distributed import WorkerPlugin

    class Largest(WorkerPlugin):
        """Keeps the size of the largest array that a worker ever had."""

        name = "largest"

        def setup(self, worker):
            self.worker, worker.largest = worker, 0

        def transition(self, key, start, finish, **_):
            value = self.worker.data.get(key) if finish == "memory" else None
            values = value if isinstance(value, tuple | list) else [value]
            sizes = [getattr(each, "nbytes", 0) for each in values]
            self.worker.largest = max(self.worker.largest, *sizes)

    monkeypatch.setattr(dask_sums, "LEAST_PATCH", 8 * 100 * 100)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(1000, 40)), rng.normal(size=(1000, 40))
    lazy_x, lazy_y = (da.from_array(Z, chunks=(130, 40)) for Z in (X, Y))
    client.register_plugin(Largest())
    result = mb.mmd_bounds(lazy_x, lazy_y, 0.1, method="sd", working_memory=1)
    largest = max(client.run(lambda dask_worker: dask_worker.largest).values())
    client.unregister_worker_plugin("largest")
    block = 8 * 40 * dask_rows.block_rows(2000, 40, 1)
    assert 8 * 130 * 40 <= largest <= max(block, 8 * 130 * 40) < X.nbytes
    assert_same_bounds(mb.mmd_bounds(X, Y, 0.1, method="sd", backend="numpy", working_memory=1), result)


@pytest.mark.usefixtures("client", "fetched")
def test_dataframes_keep_their_names():
    import dask.dataframe as dd
    import pandas as pd

    X, Y = problem_with("ties")
    both = pd.DataFrame(np.concatenate([X, Y]), columns=["a", "b", "c"])
    both["whole"], both["filed"] = np.arange(len(both)) % 3, np.repeat(["X", "Y"], [len(X), len(Y)])
    both.index = [f"row {i}" for i in range(len(both))]
    lazy = dd.from_pandas(both, npartitions=7, sort=False)
    groups, lazy_groups = (
        [frame[frame["filed"] == label][["a", "b", "c", "whole"]] for label in "XY"] for frame in (both, lazy)
    )
    one, other = (mb.mmd_bounds(*each, 0.1, method="sd", bandwidth=1.5) for each in (groups, lazy_groups))
    assert_same_bounds(one, other)
    np.testing.assert_array_equal(one.upper.ids, other.upper.ids)
    assert other.upper.ids[0].startswith("row ")


@pytest.mark.usefixtures("client", "rows_stay")
def test_one_group_here_and_one_there():
    import dask.array as da

    X, Y = problem_with("plain")
    expected = mb.mmd2(X, Y, bandwidth=1.0)
    for one, other in ((da.from_array(X, chunks=(90, 2)), Y), (X, da.from_array(Y, chunks=(40, 3)))):
        np.testing.assert_allclose(mb.mmd2(one, other, bandwidth=1.0), expected, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("client")
def test_what_needs_all_rows_is_refused_with_what_to_do(request, monkeypatch):
    import dask.array as da

    X, Y = (da.from_array(Z, chunks=(100, 3)) for Z in problem_with("plain"))
    baseline = mb.baselines.QuasiNewton()
    assert len(baseline.interval(X, Y, 0.01, bandwidth=1.0).points[0])  # fetched, they are as any
    request.getfixturevalue("rows_stay")
    with pytest.raises(mb.MmdBoundsError, match=r"needs 600 rows in one process.*Raise `working_memory` to"):
        baseline.interval(X, Y, 0.01, bandwidth=1.0)
    monkeypatch.setattr(dask_rows, "FETCHED_AT_ONCE", 0)
    with pytest.raises(mb.MmdBoundsError, match="needs 600 rows in one process"):
        mb.mmd2(X, Y)  # the median looks at all rows where they are so few
    sums = make_sums(pooled(X, Y), mb.kernels.RBF(1.0))
    assert sums.block(slice(0, 2), slice(0, 2)).shape == (2, 2)  # rows too wide to be fetched: done there


def bad_collection(what):
    import dask.array as da
    import dask.bag as db
    import dask.dataframe as dd
    import pandas as pd

    holes = np.ones((90, 2))
    holes[70, 1] = np.nan
    text = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "y"]}), npartitions=1)
    return {
        "1-D": lambda: da.ones(10, chunks=5),
        "text": lambda: text,
        "complex": lambda: da.ones((4, 2), dtype=complex),
        "holes": lambda: da.from_array(holes, chunks=(30, 2)),
        "series": lambda: text["a"],
        "bag": lambda: db.from_sequence([1, 2]),
        "empty": lambda: da.ones((5, 2), chunks=5)[da.zeros(5, chunks=5) > 1],
        "columns": lambda: da.ones((5, 3), chunks=5),
    }[what]()


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("what", "message"),
    {
        "1-D": "must be 2-D, rows by columns; got shape",
        "text": "1 column that is not numeric: 'name'",
        "complex": "must hold real numbers; got dtype complex128",
        "holes": r"column 1 \(1 row\).*That is in partition 3 of 3",
        "series": "must be a Dask array or DataFrame; got Series",
        "bag": "must be a Dask array or DataFrame; got Bag",
        "empty": "`X` has no rows",
        "columns": "must have the same columns; got 3 and 2",
    }.items(),
)
def test_wrong_collections_are_refused_in_one_line(what, message):
    with pytest.raises(DataError, match=message) as caught:
        mb.mmd2(bad_collection(what), np.arange(6.0).reshape(3, 2))
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("client", "fetched")
def test_columns_of_frames_are_matched_by_name():
    import dask.dataframe as dd
    import pandas as pd

    rng = np.random.default_rng(3)
    x, y = (pd.DataFrame(rng.normal(size=(40, 2)) * (1, 5), columns=["age", "bmi"]) for _ in range(2))
    expected = mb.mmd2(x, y, bandwidth=2.0)
    assert abs(mb.mmd2(x, y.to_numpy()[:, ::-1], bandwidth=2.0) - expected) > 1e-3
    of_x, of_y = (dd.from_pandas(each, npartitions=3) for each in (x, y))
    for one, other in ((of_x, of_y), (of_x, of_y[["bmi", "age"]]), (x, of_y[["bmi", "age"]])):
        # Sums of 40 + 40 rows in another order; each kernel value is at most 1.
        assert mb.mmd2(one, other, bandwidth=2.0) == pytest.approx(expected, rel=0, abs=1e-13)
    with pytest.raises(DataError, match=r"only `X` has 'age' and only `Y` has 'AGE'"):
        mb.mmd2(of_x, of_y.rename(columns={"age": "AGE"}), bandwidth=2.0)
    other = dd.from_map(lambda names: y[names], [["age", "bmi"], ["bmi", "age"]], meta=y.iloc[:0])
    with pytest.raises(
        DataError, match=r"^the partitions of `Y` must have the same columns in the same order"
    ):
        mb.mmd2(of_x, other, bandwidth=2.0)


def test_without_a_client_dask_computes_the_rows_here(monkeypatch):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    monkeypatch.setattr(cluster, "current_client", lambda: None)
    X, Y = problem_with("plain")
    expected = mb.mmd_bounds(X, Y, 0.1, method="s-sd", backend="numpy")
    for backend in ("auto", "dask"):
        lazy = da.from_array(X), da.from_array(Y, chunks=(99, 3))
        found = mb.mmd_bounds(*lazy, 0.1, method="s-sd", backend=backend)
        np.testing.assert_array_equal(found.upper.rows, expected.upper.rows)
        assert found.observed == expected.observed
        assert found.provenance.backend == expected.provenance.backend
    assert mb.mmd2(dd.from_pandas(pd.DataFrame(X), npartitions=2), Y) == expected.observed
    with pytest.raises(mb.MmdBoundsError, match=r"there is no client.*client = Client\(\)"):
        mb.mmd2(X, Y, backend="dask")


def test_the_scheduler_that_dask_is_told_of_is_used(client, monkeypatch):
    import dask

    monkeypatch.setattr(cluster, "current_client", lambda: None)
    address = client.scheduler.address
    with dask.config.set({"scheduler-address": address}), cluster.require_client() as found:
        assert found.scheduler.address == address
    nobody = {"scheduler-address": "tcp://127.0.0.1:1", "distributed.comm.timeouts.connect": "1s"}
    with (
        dask.config.set(nobody),
        pytest.raises(mb.MmdBoundsError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1 "),
    ):
        mb.mmd2([[0.0], [1.0]], [[2.0], [3.0]], backend="dask")
