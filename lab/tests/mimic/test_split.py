"""The split: a patient's part depends only on the patient and the seed."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.paper.mimic.cohort import Cohort, Image
from lab.paper.mimic.split import part_counts, parts_table, patient_numbers, require_parts, split_patients
from mmdbounds.errors import DataError, MmdBoundsError

PATIENTS = [str(10_000_000 + 7 * i) for i in range(3000)]


def naive_part(subject, seed):
    """Return the part from the first twelve digits of the digest, in whole numbers."""
    share = int(hashlib.sha256(f"part|{seed}|{subject}".encode()).hexdigest()[:12], 16)
    return 0 if 5 * share < 3 * 2**48 else 1 if 5 * share < 4 * 2**48 else 2


def test_the_part_is_that_of_the_digest():
    assert split_patients(PATIENTS, seed=3).tolist() == [naive_part(s, 3) for s in PATIENTS]


def test_the_shares_are_those_asked_for():
    for shares in ((0.6, 0.2, 0.2), (0.1, 0.3, 0.6)):
        part = split_patients(PATIENTS, shares=shares)
        for place, share in enumerate(shares):
            deviation = np.sqrt(share * (1 - share) / len(PATIENTS))
            assert abs(np.mean(part == place) - share) < 4 * deviation


@settings(max_examples=20)
@given(st.permutations(PATIENTS[:12]), st.integers(1, 12), st.integers(0, 5))
def test_others_and_order_do_not_matter(order, n, seed):
    images = order[:n] + order[: n // 2]  # some patients have two images
    alone = [split_patients([subject], seed=seed)[0] for subject in images]
    assert split_patients(images, seed=seed).tolist() == alone
    number = patient_numbers(images, seed=seed)
    assert sorted(set(number.tolist())) == list(range(n))
    assert dict(zip(images, number.tolist(), strict=True)) == dict(
        zip(sorted(images), patient_numbers(sorted(images), seed=seed).tolist(), strict=True)
    )


def test_another_seed_is_another_split_and_numbers_say_nothing():
    assert np.mean(split_patients(PATIENTS, seed=0) != split_patients(PATIENTS, seed=1)) > 0.4
    number = patient_numbers(PATIENTS)
    assert abs(np.corrcoef(number, np.arange(len(PATIENTS)))[0, 1]) < 0.1
    assert abs(np.corrcoef(number, split_patients(PATIENTS))[0, 1]) < 0.1


@pytest.mark.parametrize(
    "shares", [(0.6, 0.4), (0.6, 0.2, 0.3), (1.0, 0.0, 0.0), "abc", 3, (0.6, 0.2, "0.2")]
)
def test_wrong_shares_are_refused(shares):
    with pytest.raises(MmdBoundsError, match="`shares` must be three positive numbers that add up to 1"):
        split_patients(PATIENTS, shares=shares)


def cohort(y, group, subjects):
    images = tuple(Image(subject, "5", f"d{i}", "AP") for i, subject in enumerate(subjects))
    return Cohort(images, np.array(y, np.int8), np.array(group, np.int8), (), {})


Y, GROUP = [1, 0, 0, 1, 0, 1, 1, 0], [0, 0, 1, 0, 0, 1, 0, 0]
SUBJECTS = ["1", "1", "2", "3", "3", "4", "5", "5"]
PART = np.array([0, 0, 0, 1, 1, 2, 2, 2], dtype=np.int8)


def test_parts_are_counted():
    made = cohort(Y, GROUP, SUBJECTS)
    counts = part_counts(made, PART, ("White", "Black"))
    assert counts["training"] == {"images": 3, "patients": 2, "positive": 1, "Black": 1, "White": 2}
    assert counts["validation"] == {"images": 2, "patients": 1, "positive": 1, "Black": 0, "White": 2}
    assert counts["test"] == {"images": 3, "patients": 2, "positive": 2, "Black": 1, "White": 2}
    lines = parts_table(made, PART, ("White", "Black"))
    assert lines[0].split() == ["images", "patients", "positive", "Black", "White"]
    assert lines[3].split() == ["test", "3", "2", "2", "1", "2"]
    require_parts(made, PART, ("White", "Black"))


@pytest.mark.parametrize(
    ("row", "y", "group", "match"),
    [
        (0, 0, 0, "the training part must have positive images; got none among 3"),
        (4, 1, 0, "the validation part must have negative images; got none among 2"),
        (7, 1, 0, "the test part must have negative images"),
        (5, 1, 0, "the test part must have images of Black patients"),
    ],
)
def test_parts_without_a_label_or_group_are_refused(row, y, group, match):
    labels, groups = list(Y), list(GROUP)
    labels[row], groups[row] = y, group
    with pytest.raises(DataError, match=match):
        require_parts(cohort(labels, groups, SUBJECTS), PART, ("White", "Black"))
