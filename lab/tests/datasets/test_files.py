"""Files are found where they were said to be, and refused unless they are the very ones expected."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import subprocess
import sys

import numpy as np
import pytest

from lab.datasets import cards, files, load_bio, load_forest, load_standin
from mmdbounds.errors import DataError


def test_the_argument_comes_before_the_variable(forest, tmp_path, monkeypatch):
    monkeypatch.setenv("MMDBOUNDS_DATA", str(forest.folder))
    assert len(load_forest().X) > 0
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match=r"needs the file forest_covertype\.npz, but it is not in '.*empty'"):
        load_forest(empty)
    monkeypatch.setenv("MMDBOUNDS_DATA", str(empty))
    assert len(load_forest(str(forest.folder)).X) > 0


def test_what_to_do_without_a_folder(monkeypatch):
    expected = (
        "BIO (leukaemia of Golub et al.) needs the file bio_golub_leukemia.npz, but no data folder is given. "
        "Name its folder (folder=..., or the environment variable MMDBOUNDS_DATA), or pass download=True."
    )
    for value in (None, ""):  # a variable that is set to nothing names no folder
        if value is not None:
            monkeypatch.setenv("MMDBOUNDS_DATA", value)
        with pytest.raises(DataError, match=f"^{re.escape(expected)}$"):
            load_bio()


def test_stand_ins_cannot_be_downloaded(tmp_path):
    with pytest.raises(DataError, match=r"mimic_standin_compas\.npz, .*; it cannot be downloaded\.$"):
        load_standin("compas", tmp_path)


def test_a_folder_that_is_none(forest, monkeypatch):
    with pytest.raises(DataError, match=r"^`folder` must name the folder .*\.npz', which is not a folder\.$"):
        load_forest(forest.folder / forest.card.file)
    monkeypatch.setenv("MMDBOUNDS_DATA", "/no/such")
    with pytest.raises(DataError, match=r"^MMDBOUNDS_DATA must name the folder .* '/no/such', which is not"):
        load_forest()
    for wrong in (3, ""):
        with pytest.raises(DataError, match=rf"^`folder` must be a path; got {wrong!r}\.$"):
            load_forest(wrong)


def test_another_file_under_the_same_name(forest):
    path = forest.folder / forest.card.file
    path.write_bytes(path.read_bytes() + b"x")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(
        DataError, match=f"its sha256 is {found}, not {forest.card.sha256}. Download it again.$"
    ):
        load_forest(forest.folder)
    with pytest.raises(DataError, match="is not the expected data"):  # a download does not hide it
        load_forest(forest.folder, download=True)


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / cards.FOREST.file).mkdir()
    with pytest.raises(DataError, match=r"forest_covertype\.npz' cannot be read: Is a directory\.$"):
        load_forest(tmp_path)


def test_pickles_are_never_opened(tmp_path):
    np.savez(tmp_path / cards.BIO.file, y=np.array([{}], dtype=object))
    digest = hashlib.sha256((tmp_path / cards.BIO.file).read_bytes()).hexdigest()
    card = dataclasses.replace(cards.BIO, sha256=digest)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        files.read_arrays(tmp_path / card.file, card, ["y"])


def test_the_digest_of_arrays_by_hand():
    A = np.array([[1, -2], [3, 256]], dtype=np.int16)
    b = np.array([7], dtype=np.uint8)
    expected = b"i2 (2, 2)\n" + bytes([1, 0, 254, 255, 3, 0, 0, 1]) + b"u1 (1,)\n" + bytes([7])
    assert files.digest_of_arrays(A, b) == hashlib.sha256(expected).hexdigest()


def test_the_digest_is_that_of_the_values(monkeypatch):
    A = np.arange(21, dtype=np.int32).reshape(7, 3)
    digest = files.digest_of_arrays(A)
    assert files.digest_of_arrays(np.asfortranarray(A)) == digest
    assert files.digest_of_arrays(A.astype(">i4")) == digest
    other = A.copy()
    other[6, 2] += 1
    for different in (other, A[::-1], A.reshape(3, 7), A.astype(np.int64), A[:6]):
        assert files.digest_of_arrays(different) != digest
    monkeypatch.setattr(files, "HASHED_ROWS", 2)
    assert files.digest_of_arrays(A) == digest


def test_importing_loads_numpy_alone():
    code = (
        "import sys, lab.datasets; print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'numpy', 'scipy', 'sklearn', 'pandas', 'polars', 'narwhals', 'numba', 'joblib'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "['numpy']"
