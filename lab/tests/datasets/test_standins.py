"""Stand-ins for MIMIC-CXR: the right rows of the right file, one a patient, under their own names."""

from __future__ import annotations

import numpy as np
import pytest

import mmdbounds as mb
from lab.datasets import cards, load_standin
from mmdbounds.errors import MmdBoundsError


def expected_rows(standin, one_row):
    """Go through the file row by row."""
    arrays, seen, of_x, of_y = standin.arrays, set(), [], []
    flag = arrays["female" if standin.name == "nih_cxr14" else "black"]
    for i in range(len(flag)):
        if "part" in arrays and arrays["part"][i] != 2:
            continue
        if one_row and "patient" in arrays:
            if arrays["patient"][i] in seen:
                continue
            seen.add(arrays["patient"][i])
        (of_x if flag[i] else of_y).append(i)
    return of_x, of_y


@pytest.mark.parametrize("one_row", [True, False])
def test_rows(standin, one_row):
    data = load_standin(standin.name, standin.folder, one_row_per_patient=one_row)
    of_x, of_y = expected_rows(standin, one_row)
    arrays, suffix = standin.arrays, "_30d" if standin.name.endswith("_30d") else ""
    for rows, values, outcomes, patients, ids in (
        (of_x, data.X, data.outcomes_x, data.patients_x, data.ids_x),
        (of_y, data.Y, data.outcomes_y, data.patients_y, data.ids_y),
    ):
        assert len(rows) > 0
        np.testing.assert_array_equal(values, arrays[f"logits{suffix}"][rows])
        np.testing.assert_array_equal(outcomes, arrays[f"y{suffix}"][rows])
        if "patient" in arrays:
            assert patients.tolist() == arrays["patient"][rows].tolist()
        else:
            assert patients is None
        if standin.name == "nih_cxr14":
            assert ids.tolist() == arrays["image_index"][rows].tolist()
        else:
            assert ids is None
    assert data.X.dtype == np.float32
    assert data.columns == ("logit_0", "logit_1")
    assert ("; one row per patient, the first in the file" in data.prepared) == (
        one_row and standin.name != "compas"
    )
    assert ("its test part" in data.prepared) == (standin.name == "nih_cxr14")


def test_one_row_per_patient_is_the_default(standin):
    default, asked = (
        load_standin(standin.name, standin.folder, **o) for o in ({}, {"one_row_per_patient": True})
    )
    np.testing.assert_array_equal(default.X, asked.X)
    np.testing.assert_array_equal(default.Y, asked.Y)


@pytest.mark.parametrize("standin", ["diabetes130"], indirect=True)
def test_a_patient_under_both_groups_is_what_the_first_row_says(standin):
    arrays = standin.arrays
    of_both = set(arrays["patient"][arrays["black"] == 1]) & set(arrays["patient"][arrays["black"] == 0])
    assert of_both
    data = load_standin(standin.name, standin.folder)
    for patient in of_both:
        first = np.flatnonzero(arrays["patient"] == patient)[0]
        assert (patient in data.patients_x) == bool(arrays["black"][first])
        assert (patient in data.patients_y) == (not arrays["black"][first])
    drawn = mb.one_row_each(data.X, data.Y, data.patients_x, data.patients_y, rng=0)
    assert drawn.n_left_out == 0


def test_names(standin):
    data = load_standin(standin.name, standin.folder)
    assert data.names == (cards.STANDINS[standin.name].hidden, cards.STANDINS[standin.name].among)
    assert "stand-in" in data.card.title
    assert data.card.title.endswith("(not MIMIC-CXR)")


def test_arguments_are_checked():
    with pytest.raises(MmdBoundsError, match=r"`name` must be one of 'diabetes130', .*; got 'mimic'\.$"):
        load_standin("mimic")
    with pytest.raises(MmdBoundsError, match=r"got 'compass'\. Did you mean 'compas'\?$"):
        load_standin("compass")
    with pytest.raises(MmdBoundsError, match=r"`one_row_per_patient` must be True or False; got 'no'\.$"):
        load_standin("compas", one_row_per_patient="no")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "all_rows", "first_rows"),
    [
        ("diabetes130", (3_810, 14_797), (2_572, 10_402)),
        ("diabetes130_30d", (3_810, 14_797), (2_572, 10_402)),
        ("nih_cxr14", (2_154, 2_355), (586, 652)),
        ("compas", (1_910, 1_245), (1_910, 1_245)),
    ],
)
def test_real_counts(real, name, all_rows, first_rows):
    every, first = (load_standin(name, real, one_row_per_patient=flag) for flag in (False, True))
    assert (len(every.X), len(every.Y)) == all_rows == (every.card.n_x, every.card.n_y)
    assert (len(first.X), len(first.Y)) == first_rows
    assert every.card.n_patients == (None if name == "compas" else first_rows)
    if name != "compas":
        assert len(np.unique(np.concatenate([first.patients_x, first.patients_y]))) == sum(first_rows)


@pytest.mark.data
def test_the_first_encounter_is_the_one_that_the_file_marks(real):
    data = load_standin("diabetes130", real)
    with np.load(f"{real}/{cards.DIABETES130.file}") as file:
        first, black = file["first_encounter_in_file"] == 1, file["black"] == 1
        np.testing.assert_array_equal(data.X, file["logits"][first & black])
        np.testing.assert_array_equal(data.Y, file["logits"][first & ~black])
        both = np.intersect1d(file["patient"][black], file["patient"][~black])
    assert len(both) == 6  # as the card says
