"""FOREST and BIO: the right rows, from a file or from a download that is checked."""

from __future__ import annotations

import statistics
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from lab.datasets import cards, files, load_bio, load_forest, loaders
from mmdbounds.errors import DataError, MmdBoundsError


def refuse(*_, **__):
    raise AssertionError("nothing may be downloaded here")


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", refuse)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


def offer_forest(monkeypatch, X, y):
    monkeypatch.setattr(
        sklearn.datasets, "fetch_covtype", lambda: SimpleNamespace(data=X.astype(float), target=y)
    )


def offer_bio(monkeypatch, raw, labels, names=("p0", "p1", "p2", "p3")):
    """Answer with these rows, and keep what was asked for."""
    asked = {}

    def fetch(**options):
        asked.update(options)
        return SimpleNamespace(
            data=raw.astype(float), target=np.array(labels, dtype=object), feature_names=list(names)
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return asked


def bio_digest(raw, y):
    """Sort the rows as Python sorts lists."""
    rows = sorted([*row, label] for row, label in zip(raw.tolist(), y.tolist(), strict=True))
    return files.digest_of_arrays(np.array(rows, dtype=np.int32))


def test_forest(forest):
    data = load_forest(forest.folder)
    pine = [row for row, kind in zip(forest.X.tolist(), forest.y, strict=True) if kind == 2]
    spruce = [row for row, kind in zip(forest.X.tolist(), forest.y, strict=True) if kind == 1]
    assert data.X.tolist() == pine
    assert data.Y.tolist() == spruce
    assert data.X.dtype == data.Y.dtype == np.int16
    assert data.X.flags.c_contiguous
    assert data.names == ("Lodgepole Pine", "Spruce-Fir")
    assert len(data.columns) == 54
    assert data.prepared == "read from forest_covertype.npz"
    assert data.ids_x is data.patients_x is data.outcomes_y is None
    assert (
        repr(data)
        == "CleanGroups('FOREST (Covertype)', X = Lodgepole Pine (5 x 54), Y = Spruce-Fir (5 x 54))"
    )


def test_forest_downloaded(forest, tmp_path, monkeypatch):
    empty = tmp_path / "empty"
    empty.mkdir()
    offer_forest(monkeypatch, forest.X, forest.y.astype(np.int32))
    monkeypatch.setattr(files, "FOREST_DIGEST", files.digest_of_arrays(forest.X, forest.y))
    from_file = load_forest(forest.folder)
    for downloaded in (load_forest(download=True), load_forest(empty, download=True)):
        np.testing.assert_array_equal(downloaded.X, from_file.X)
        np.testing.assert_array_equal(downloaded.Y, from_file.Y)
        assert downloaded.X.dtype == np.int16
        assert downloaded.columns == from_file.columns
        assert downloaded.prepared == "downloaded by scikit-learn's fetch_covtype"


def test_a_file_is_taken_before_a_download(forest):
    assert load_forest(forest.folder, download=True).prepared.startswith("read from")


def test_a_download_of_something_else_is_refused(forest, monkeypatch):
    expected = files.digest_of_arrays(forest.X, forest.y)
    monkeypatch.setattr(files, "FOREST_DIGEST", expected)
    wrong = forest.y.copy()
    wrong[0] = wrong[0] % 7 + 1
    found = files.digest_of_arrays(forest.X, wrong)
    offer_forest(monkeypatch, forest.X, wrong)
    with pytest.raises(
        DataError, match=f"^FOREST .* as downloaded is not .* sha256 is {found}, not {expected}"
    ):
        load_forest(download=True)
    for value in (0.5, np.nan, 40_000.0):
        X = forest.X.astype(float)
        X[3, 3] = value
        offer_forest(monkeypatch, X, forest.y)
        with pytest.raises(
            DataError, match=r"as downloaded .* its values are not all whole numbers of type int16"
        ):
            load_forest(download=True)


def test_a_network_that_fails(monkeypatch):
    def fail(**_):
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", fail)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    for load, file in ((load_forest, cards.FOREST.file), (load_bio, cards.BIO.file)):
        with pytest.raises(
            DataError, match=rf"cannot be downloaded \(URLError\)\. .* a folder that holds {file}"
        ):
            load(download=True)


def test_flags_are_checked():
    for load in (load_forest, load_bio):
        with pytest.raises(MmdBoundsError, match=r"^`download` must be True or False; got 1\.$"):
            load(download=1)


def test_bio_from_a_file(bio):
    scores = load_bio(bio.folder)
    assert scores.X.tolist() == bio.X_ns[[0, 2, 4]].tolist()
    assert scores.Y.tolist() == bio.X_ns[[1, 3]].tolist()
    assert scores.columns == ("g0", "g2", "g3")
    assert (scores.ids_x.tolist(), scores.ids_y.tolist()) == (["14", "12", "15"], ["11", "13"])
    assert scores.names == ("ALL", "AML")
    assert scores.prepared == "read from bio_golub_leukemia.npz; normal scores"
    raw = load_bio(bio.folder, values="raw")
    assert raw.X.tolist() == bio.X_raw[[0, 2, 4]].tolist()
    assert raw.Y.dtype == np.int32
    assert raw.columns == ("g0", "g1", "g2", "g3")
    assert raw.prepared == "read from bio_golub_leukemia.npz; raw values"


def test_bio_downloaded_in_another_order(bio, monkeypatch):
    order = [3, 0, 4, 2, 1]
    labels = ["AML" if bio.y[i] else "ALL" for i in order]
    asked = offer_bio(monkeypatch, bio.X_raw[order], labels)
    monkeypatch.setattr(files, "BIO_DIGEST", bio_digest(bio.X_raw, bio.y))
    from_file, downloaded = load_bio(bio.folder, values="raw"), load_bio(values="raw", download=True)
    assert asked == {"data_id": 1104, "as_frame": False, "parser": "liac-arff"}
    for name in ("X", "Y", "ids_x", "ids_y"):
        np.testing.assert_array_equal(getattr(downloaded, name), getattr(from_file, name))
    assert downloaded.columns == ("p0", "p1", "p2", "p3")
    assert downloaded.prepared == "downloaded by scikit-learn's fetch_openml; raw values"
    scores = load_bio(download=True)
    expected, kept = loaders.normal_scores(bio.X_raw)
    np.testing.assert_array_equal(scores.X, expected[[0, 2, 4]])
    assert kept.tolist() == [0, 2, 3]
    assert scores.columns == ("p0", "p2", "p3")


@pytest.mark.parametrize("change", ["a label", "an unknown label", "a value", "the columns"])
def test_bio_of_something_else_is_refused(bio, monkeypatch, change):
    raw, labels = bio.X_raw.copy(), ["AML" if each else "ALL" for each in bio.y]
    monkeypatch.setattr(files, "BIO_DIGEST", bio_digest(raw, bio.y))
    if change == "a label":
        labels[0] = "AML"
    elif change == "an unknown label":
        labels[0] = "CML"
    elif change == "a value":
        raw[4, 3] += 1
    else:
        raw = raw[:, ::-1]
    offer_bio(monkeypatch, raw, labels)
    with pytest.raises(DataError, match=r"^BIO .* as downloaded is not the expected data: its sha256 is"):
        load_bio(download=True)


def test_bio_as_text_is_refused(bio, monkeypatch):
    monkeypatch.setattr(
        sklearn.datasets,
        "fetch_openml",
        lambda **_: SimpleNamespace(
            data=np.array([["1"]], dtype=object), target=["ALL"], feature_names=["g"]
        ),
    )
    with pytest.raises(DataError, match="its values are not all whole numbers of type int32"):
        load_bio(download=True)


def test_values_are_checked():
    with pytest.raises(
        MmdBoundsError, match=r"`values` must be one of 'normal scores', 'raw'; got 'rew'\. Did"
    ):
        load_bio(values="rew")


def test_normal_scores_by_their_definition():
    rng = np.random.default_rng(2)
    table = rng.integers(0, 12, size=(4, 15))
    table[:, 5], table[:, 9] = -1, 13  # lowest and highest in every row
    expected = np.empty(table.shape)
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            rank = sum(row < value) + (sum(row == value) + 1) / 2
            expected[i, j] = statistics.NormalDist().inv_cdf((rank - 0.5) / 15)
    scores, kept = loaders.normal_scores(table)
    assert kept.tolist() == [j for j in range(15) if j not in (5, 9)]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected[:, kept], rtol=1e-6)


def test_every_sample_has_its_place():
    assert sorted(files.SAMPLES) == sorted(files.SORTED_SAMPLES) == list(range(1, 73))


@pytest.mark.data
def test_the_real_forest(real, monkeypatch):
    data = load_forest(real)
    assert (data.X.shape, data.Y.shape) == ((283_301, 54), (211_840, 54))
    assert (data.card.n_x, data.card.n_y) == (283_301, 211_840)
    with np.load(f"{real}/{cards.FOREST.file}") as file:
        X, y, names = file["X"], file["y"], file["feature_names"]
    assert data.columns == tuple(names.tolist())
    np.testing.assert_array_equal(data.X[:, 0], X[y == 2, 0])
    offer_forest(monkeypatch, X, y.astype(np.int32))
    monkeypatch.delenv("MMDBOUNDS_DATA")
    downloaded = load_forest(download=True)
    np.testing.assert_array_equal(downloaded.X, data.X)
    np.testing.assert_array_equal(downloaded.Y, data.Y)
    y[0] = 2
    offer_forest(monkeypatch, X, y)
    with pytest.raises(DataError, match="as downloaded is not the expected data"):
        load_forest(download=True)


@pytest.mark.data
def test_the_real_bio(real, monkeypatch):
    raw, scores = load_bio(real, values="raw"), load_bio(real)
    assert (raw.X.shape, raw.Y.shape) == ((47, 7129), (25, 7129))
    assert (scores.X.shape, scores.Y.shape) == ((47, 7128), (25, 7128))
    with np.load(f"{real}/{cards.BIO.file}") as file:
        table, y, samples, genes = file["X_raw"], file["y"], file["sample_id"], file["genes"]
    assert samples.tolist() == list(files.SAMPLES)
    assert "66" in raw.ids_y
    order = np.random.default_rng(0).permutation(72)
    offer_bio(monkeypatch, table[order], [("ALL", "AML")[y[i]] for i in order], genes.tolist())
    monkeypatch.delenv("MMDBOUNDS_DATA")
    for from_file, values in ((raw, "raw"), (scores, "normal scores")):
        downloaded = load_bio(values=values, download=True)
        for name in ("X", "Y", "ids_x", "ids_y"):
            np.testing.assert_array_equal(getattr(downloaded, name), getattr(from_file, name))
        assert downloaded.columns == from_file.columns
