"""The exchange format: what goes in comes out, the whole file or nothing, and nothing is unpickled."""

from __future__ import annotations

import hashlib
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.datasets import load_logits, write_logits
from lab.datasets.logits import packed, unpacked
from mmdbounds.errors import DataError, MmdBoundsError

NAMES = ["Black", "White", "Other"]
GOOD = {
    "logits": np.arange(12, dtype=float).reshape(6, 2) / 3,
    "group": ["White", "Black", "Other", "Black", "White", "White"],
    "y": [0, 1, 1, 0, 1, 0],
    "group_names": NAMES,
    "title": "Made-up logits",
}
RECORD = {"seed": 3, "parts": [{"n": 6}], "auc": None}
PATIENT = ["a", "b", "a", "b", "c", "b"]


def write(path, **changed):
    write_logits(path, **{**GOOD, **changed})
    return path


def test_there_and_back(tmp_path):
    path = write(tmp_path / "a.npz", patient=PATIENT, source="a made-up model", licence="none", record=RECORD)
    data = load_logits(path, one_row_per_patient=False)
    logits = GOOD["logits"].astype(np.float32)
    np.testing.assert_array_equal(data.X, logits[[1, 3]])
    np.testing.assert_array_equal(data.Y, logits[[0, 4, 5]])
    assert data.X.dtype == np.float32
    assert (data.outcomes_x.tolist(), data.outcomes_y.tolist()) == ([1, 0], [0, 1, 0])
    assert (data.patients_x.tolist(), data.patients_y.tolist()) == (["b", "b"], ["a", "c", "b"])
    assert data.names == ("Black", "White")
    assert data.record == data.groups()[0].record["made"] == RECORD
    card = data.card
    assert (card.title, card.source, card.licence) == ("Made-up logits", "a made-up model", "none")
    assert (card.n_x, card.n_y, card.n_patients) == (2, 3, (1, 3))
    assert (card.file, card.sha256) == ("a.npz", hashlib.sha256(path.read_bytes()).hexdigest())


def test_one_row_per_patient(tmp_path):
    data = load_logits(write(tmp_path / "a.npz", patient=PATIENT))
    # a: row 0, White (its row under Other is none of ours); b: row 1, Black; c: row 4, White.
    np.testing.assert_array_equal(data.X, GOOD["logits"].astype(np.float32)[[1]])
    np.testing.assert_array_equal(data.Y, GOOD["logits"].astype(np.float32)[[0, 4]])
    assert data.prepared == "read from a.npz; one row per patient, the first in the file"


def test_without_patients(tmp_path):
    data = load_logits(write(tmp_path / "a.npz"))
    assert (len(data.X), len(data.Y)) == (2, 3)
    assert data.patients_x is data.card.n_patients is None
    assert "rows may not be exchangeable" in str(data.card)
    assert data.prepared == "read from a.npz"
    assert data.record == {}
    assert "made" not in data.groups()[0].record


def test_which_groups(tmp_path):
    path = write(tmp_path / "a.npz")
    data = load_logits(path, hidden="Other", among="Black")
    assert (data.names, len(data.X), len(data.Y)) == (("Other", "Black"), 1, 2)
    assert (data.card.hidden, data.card.among, data.card.n_x) == ("Other", "Black", 1)
    with pytest.raises(
        MmdBoundsError, match=r"`among` must be one of 'Black', 'White', 'Other'; got 'white'\."
    ):
        load_logits(path, among="white")
    with pytest.raises(DataError, match=r"must be two groups; got 'White' for both"):
        load_logits(path, hidden="White")
    with pytest.raises(DataError, match=r"^there are no rows of 'Black' to compare \(read from b\.npz\)\.$"):
        load_logits(write(tmp_path / "b.npz", group=[1] * 6))


@settings(max_examples=30)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(-1e6, 1e6, width=32),
            st.floats(-1e6, 1e6, width=32),
            st.integers(0, 2),
            st.integers(0, 1),
            st.integers(-5, 5),
        ),
        min_size=1,
        max_size=12,
    ),
    text=st.booleans(),
)
def test_packing_loses_nothing(rows, text):
    first, second, group, y, patient = (list(column) for column in zip(*rows, strict=True))
    named = [NAMES[place] for place in group]
    data = packed(
        {
            **GOOD,
            "source": "",
            "licence": "",
            "record": {},
            "logits": list(zip(first, second, strict=True)),
            "group": named if text else group,
            "y": y,
            "patient": patient,
        }
    )
    arrays = unpacked(data, "a.npz")
    assert arrays["logits"].tolist() == [list(pair) for pair in zip(first, second, strict=True)]
    assert arrays["group"].tolist() == group
    assert arrays["y"].tolist() == y
    assert arrays["patient"].tolist() == patient


def test_the_layout_is_as_documented(tmp_path):
    path = write(tmp_path / "a.npz", patient=np.array(PATIENT, dtype=object))
    with np.load(path, allow_pickle=False) as file:
        found = {
            name: (file[name].dtype.kind, file[name].dtype.itemsize, file[name].shape) for name in file.files
        }
        assert str(file["format"]) == "mmdbounds logits 1"
        assert file["group_names"].tolist() == NAMES
        assert file["group"].tolist() == [1, 0, 2, 0, 1, 1]
    assert found["logits"] == ("f", 4, (6, 2))
    assert found["y"] == found["group"] == ("u", 1, (6,))
    assert found["patient"][0] == "U"
    assert set(found) == {
        *("format", "title", "source", "licence", "logits", "y", "group", "group_names", "patient", "record")
    }


def test_the_same_rows_give_the_same_bytes(tmp_path):
    a, b = (write(tmp_path / name, patient=PATIENT).read_bytes() for name in ("a.npz", "b.npz"))
    assert a == b


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"logits": [[0.0, 1.0, 2.0]]},
            r"^`logits` must be numbers of shape \(rows, 2\); got float64 of shape",
        ),
        ({"logits": [[0.0, 1.0], [2.0]]}, r"`logits` must be numbers of shape \(rows, 2\); got object"),
        ({"logits": np.full((6, 2), "a")}, r"`logits` must be numbers .* got <U1 of shape \(6, 2\)\.$"),
        ({"logits": np.full((6, 2), 1e39)}, r"`logits` must be finite in float32; 12 of 12 are not\.$"),
        ({"logits": np.full((6, 2), np.nan)}, r"must be finite in float32; 12 of 12 are not\.$"),
        ({"y": [0, 1]}, r"^`y` must be a whole number for each of the 6 rows; got int64 of shape \(2,\)\.$"),
        ({"y": [0, 1, 2, 0, 0, -1]}, r"`y` must be one of 2 classes; 2 of 6 rows are not\.$"),
        ({"y": [0.0] * 6}, r"`y` must be a whole number for each of the 6 rows; got float64"),
        (
            {"group": ["Black"] * 5 + ["black"]},
            r"`group` must be one of 3 groups; 1 of 6 rows are not\.$",
        ),
        ({"group": [3] * 6}, r"`group` must be one of 3 groups; 6 of 6 rows are not\.$"),
        ({"group_names": ["Black"]}, r"`group_names` must be two or more different names"),
        ({"group_names": ["Black", "Black"]}, r"`group_names` must be two or more different names"),
        ({"group_names": [1, 2]}, r"`group_names` must be two or more different names; got int64"),
        ({"patient": [1.0] * 6}, r"`patient` must be a number or a name for each of the 6 rows; got float64"),
        (
            {"patient": [1]},
            r"`patient` must be a number or a name for each of the 6 rows; got int64 of shape",
        ),
        ({"title": " "}, r"^`title` must not be empty: results are reported under it\.$"),
        ({"title": 3}, r"^`title` must be one line of text; got int64 of shape \(\)\.$"),
        ({"record": [1]}, r"^`record` must be a mapping that fits into JSON; got list\.$"),
        ({"record": {"a": {1, 2}}}, r"^`record` must be a mapping that fits into JSON; got dict\.$"),
        ({"source": "a\nb"}, r"^`source` must be one line of text"),
    ],
)
def test_rows_that_cannot_be_used(tmp_path, changed, message):
    with pytest.raises(DataError, match=message):
        write(tmp_path / "a.npz", **changed)
    assert os.listdir(tmp_path) == []


def test_the_reader_checks_as_well(tmp_path):
    path = write(tmp_path / "a.npz")
    with np.load(path) as file:
        arrays = dict(file)
    arrays["y"] = arrays["y"] + 5
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=r"^a\.npz: `y` must be one of 2 classes; 6 of 6 rows are not\.$"):
        load_logits(path)
    for text in ("{", "3"):
        np.savez(path, **{**arrays, "y": arrays["y"] - 5, "record": np.array(text)})
        with pytest.raises(DataError, match=r"^a\.npz: `record` must be a JSON object; got other text\.$"):
            load_logits(path)


def test_files_of_another_kind(tmp_path):
    with pytest.raises(DataError, match=r"^there is no file '.*none\.npz'\.$"):
        load_logits(tmp_path / "none.npz")
    with pytest.raises(DataError, match=r"cannot be read: Is a directory\.$"):
        load_logits(tmp_path)
    with pytest.raises(DataError, match=r"^`path` must be a path; got None\.$"):
        load_logits(None)
    path = tmp_path / "a.npz"
    unreadable = r"^a\.npz is not a file of logits: NumPy cannot read it as \.npz without pickles"
    for data in (b"", b"text", write(path).read_bytes()[:300]):
        path.write_bytes(data)
        with pytest.raises(DataError, match=unreadable):
            load_logits(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(DataError, match=unreadable):
        load_logits(path)
    np.savez(path, logits=np.array([{}], dtype=object))
    with pytest.raises(DataError, match=rf"{unreadable} \(ValueError\)"):
        load_logits(path)
    np.savez(path, logits=np.zeros((2, 2)))
    with pytest.raises(
        DataError, match=r"in the format 'mmdbounds logits 1'; got ''; it lacks title, source,"
    ):
        load_logits(path)
    with zipfile.ZipFile(write(path)) as file:
        arrays = {name.removesuffix(".npy"): np.load(file.open(name)) for name in file.namelist()}
    np.savez(path, **{**arrays, "format": np.array("mmdbounds logits 2")})
    with pytest.raises(DataError, match=r"in the format 'mmdbounds logits 1'; got 'mmdbounds logits 2'\.$"):
        load_logits(path)


def test_nothing_is_left_of_a_write_that_fails(tmp_path, monkeypatch):
    path = write(tmp_path / "a.npz")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*a\.npz: No space left on device\.$"):
        write(path, title="another")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.npz"]


def test_low_memory_is_not_a_bad_file(monkeypatch):
    """`np.load` and `np.asarray` run out of memory: the file and the rows may be fine."""
    content = packed({**GOOD, "source": "", "licence": "", "record": {}})

    def runs_out(*_, **__):
        raise MemoryError("no room")

    for function in ("load", "asarray"):
        with monkeypatch.context() as patch:
            patch.setattr(np, function, runs_out)
            with pytest.raises(MemoryError, match="no room"):
                unpacked(content, "a.npz")


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*none/a\.npz: there is no folder .*none\.$"):
        write(tmp_path / "none" / "a.npz")
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*: it is a folder\.$"):
        write(tmp_path)
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*: this is not a valid file name\.$"):
        write(f"{tmp_path}/a\0b")
    with pytest.raises(DataError, match=r"^`path` must be a path; got 3\.$"):
        write(3)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="no modes")
def test_mode_is_that_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        path = write(tmp_path / "a.npz")
    finally:
        assert os.umask(before) == 0o027
    assert path.stat().st_mode & 0o777 == 0o640
