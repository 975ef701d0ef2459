from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

from mmdbounds.errors import DataError
from mmdbounds.tables.identifiers import counts_through, is_called_identifier, looks_like_identifier
from mmdbounds.tables.matching import GroupColumn, as_text, match_key, two_groups

SAME = [
    [1, 1.0, "1", "1.0", " 1 ", "01", "+1", "1e0", Decimal("1.00"), np.int8(1), np.float32(1), "\u00a01"],
    [True, "True", "true", " TRUE ", np.True_],
    [False, "False", "false"],
    [0, 0.0, -0.0, "0", "-0"],
    [0.1, "0.1", ".1", "0.10"],
    [2**53, str(2**53), float(2**53)],
    [2**53 + 1, str(2**53 + 1)],
    ["MI", " MI", "MI\n"],
    ["mi"],
    ["1 a"],
    ["1,0"],
    ["caf\u00e9", "cafe\u0301"],
    [datetime.date(2020, 1, 2), "2020-01-02", datetime.datetime(2020, 1, 2)],
    [datetime.datetime(2020, 1, 2, 3)],
    ["inf", float("inf")],
]


@pytest.mark.parametrize("values", SAME, ids=lambda values: str(values[0]))
def test_values_match_as_printed(values: list):
    keys = {match_key(value) for value in values}
    assert len(keys) == 1
    others = {match_key(value) for other in SAME if other is not values for value in other}
    assert keys.isdisjoint(others)


@pytest.mark.parametrize("value", [None, "", "  ", float("nan"), np.nan])
def test_missing_values_have_no_key(value: object):
    assert match_key(value) is None


def test_whole_numbers_are_printed_without_a_point():
    assert [as_text(value) for value in (7.0, 7.5, "007 ", None, np.float64(3), 1e300)] == [
        *("7", "7.5", "007", "", "3", "1e+300")
    ]


def test_groups_of_a_column():
    column = GroupColumn([" 1", 1, 1.0, True, "x", None, "", "2"], "g")
    assert column.rows(match_key(1)).tolist() == [0, 1, 2]
    assert column.rows(match_key("true")).tolist() == [3]
    assert column.n_missing == 2
    assert column.described() == "'1' (3 rows), 'True' (1 row), 'x' (1 row), '2' (1 row)"


def test_many_groups_are_counted():
    column = GroupColumn([f"g{i:02d}" for i in range(15)] + ["g07"], "g")
    with pytest.raises(
        DataError, match=r"There are 'g07' \(2 rows\), 'g00' \(1 row\), .* and 5 more\.$"
    ) as caught:
        two_groups(column, "nothing like it", "g01")
    assert str(caught.value).count("row") == 10


@pytest.mark.parametrize(
    ("hidden", "among", "message"),
    [
        ("MI", "healthy ", None),
        (
            "mi",
            "healthy",
            r"^column 'g' has no group 'mi', asked for with `hidden=` \(`--hidden`\)\. Did you mean 'MI'",
        ),
        (
            "MI",
            "helthy",
            r"no group 'helthy', asked for with `among=` \(`--among`\)\. Did you mean 'healthy'\? There",
        ),
        ("?", "MI", r"`--hidden`\)\. There are 'healthy' \(2 rows\), 'MI' \(1 row\)\.$"),
        ("MI", " MI ", r"`hidden=` \(`--hidden`\) and `among=` \(`--among`\) must differ; got 'MI' twice\."),
        (None, "MI", r"`hidden=` \(`--hidden`\) must be a value of column 'g'; got a missing value"),
        ("MI", "", r"`among=` \(`--among`\) must be a value of column 'g'; got a missing value"),
    ],
)
def test_groups_that_are_asked_for(hidden: object, among: object, message: str | None):
    column = GroupColumn(["healthy", "MI", "healthy"], "g")
    if message is None:
        assert two_groups(column, hidden, among) == (("text", "MI"), ("text", "healthy"))
        return
    with pytest.raises(DataError, match=message):
        two_groups(column, hidden, among)


def test_a_boolean_column_is_not_asked_for_by_number():
    column = GroupColumn([True, False, True], "ill")
    assert two_groups(column, "true", "False") == (("truth", True), ("truth", False))
    with pytest.raises(
        DataError, match=r"column 'ill' has no group '1'.*There are 'True' \(2 rows\), 'False'"
    ):
        two_groups(column, 1, 0)


def test_too_few_groups():
    with pytest.raises(DataError, match=r"^column 'g' has only one group, 'a' \(2 rows\); two are needed\.$"):
        two_groups(GroupColumn(["a", "a "], "g"), "a", "b")
    with pytest.raises(DataError, match=r"^column 'g' holds no group: all its values are missing\.$"):
        two_groups(GroupColumn([None, ""], "g"), "a", "b")


@pytest.mark.parametrize(
    "name",
    [
        *("id", "ID", "Id", "patient_id", "PatientID", "patientId", "patientid", "PATIENT ID", "patient.id"),
        *(
            "mrn",
            "MRN",
            "subject",
            "Subject_ID",
            "SUBJECT_ID",
            "record_id",
            "uuid",
            "case_number",
            "CaseNumber",
        ),
        *(
            "hadm_id",
            "id_patient",
            "patient no",
            "patient",
            "Unnamed: 0",
            "index",
            "row",
            "sample_nr",
            "rowid",
        ),
    ],
)
def test_names_of_identifiers(name: str):
    assert is_called_identifier(name)
    assert looks_like_identifier(name, np.array([7, 3, 9, 3]))
    assert not looks_like_identifier(name, np.array([0, 1, 0, 1]))


@pytest.mark.parametrize(
    "name",
    [
        *(
            "acid",
            "uric_acid",
            "AminoAcid",
            "lipid",
            "covid",
            "width",
            "idle",
            "ID1",
            "ID2",
            "ID3",
            "IDH1",
            "MIDN",
        ),
        *(
            "case",
            "number_of_patients",
            "n_visits",
            "age",
            "weight",
            "no",
            "NO2",
            "SUBJECTIVE",
            "x",
            "",
            "thyroid",
        ),
        *("fluid", "midpoint", "grid", "valid", "patients_seen", "record_length", "study_hours"),
    ],
)
def test_names_of_measurements(name: str):
    assert not is_called_identifier(name)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(6), True),
        (range(1000, 1006), True),
        (range(6, 0, -1), True),
        (range(5), False),  # too few to tell
        (range(0, 18, 3), False),  # too few for steps other than one
        (range(0, 30, 3), True),
        ([1, 2, 4, 7, 8, 9, 12, 15, 16, 20], True),
        ([1, 2, 4, 4, 8, 9, 12, 15, 16, 20], False),
        ([1, 2, 4, 3, 8, 9, 12, 15, 16, 20], False),
    ],
)
def test_counting_up(values: object, expected: bool):
    assert counts_through(np.array(values)) is expected
    assert looks_like_identifier("gene", np.array(values, dtype=np.uint64)) is expected
