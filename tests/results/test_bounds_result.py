"""Results: frozen, exact through JSON, and silent about everything when printed."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from made import make_provenance, make_result
from mmdbounds import words
from mmdbounds.errors import DataError
from mmdbounds.results import Bound, BoundsResult, Result
from mmdbounds.results.serialize import Saved, field_types

KINDS = {"rows": "i", "ids": "U", "file": "i", "effects": "f"}
BOUND_FIELDS = [f"{name}{of}" for name in ("rows", "ids", "file_rows", "effects") for of in ("", "_of_x")]
RESULT_FIELDS = ["ids_of_y", "ids_of_x", "file_rows_of_y", "file_rows_of_x"]


def unchanged(result: BoundsResult) -> BoundsResult:
    return result


def through_json(result: BoundsResult) -> BoundsResult:
    return BoundsResult.from_dict(json.loads(result.to_json()))


def through_dict(result: BoundsResult) -> BoundsResult:
    return BoundsResult.from_dict(result.to_dict())


def through_pickle(result: BoundsResult) -> BoundsResult:
    return pickle.loads(pickle.dumps(result))


COPIES = [unchanged, through_json, through_dict, through_pickle, copy.deepcopy, copy.copy]


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"exactly": False, "name_x": "<b>", "n_moved_of_x": 1},
        {"ids_of_y": list("abcdef"), "file_rows_of_y": range(6), "ids_of_x": ["é", "", "=1", "x"]},
    ],
)
def test_every_way_back_is_exact(way: Callable[[BoundsResult], BoundsResult], changes: dict[str, Any]):
    result = make_result(**changes)
    back = way(result)
    assert back.to_dict() == result.to_dict()
    assert back.to_json() == result.to_json()
    assert repr(back) == repr(result)
    check_arrays(result, back, RESULT_FIELDS)
    for side in ("lower", "upper"):
        check_arrays(getattr(result, side), getattr(back, side), BOUND_FIELDS)


def check_arrays(result: Any, back: Any, fields: list[str]) -> None:
    """Every array has come back with its values and its type, and cannot be changed."""
    for name in fields:
        was, now = getattr(result, name), getattr(back, name)
        if was is None:
            assert now is None
            continue
        np.testing.assert_array_equal(now, was)
        kind = KINDS[name.split("_")[0]]
        assert now.dtype.kind == kind
        assert now.dtype == {"i": np.intp, "f": np.float64, "U": now.dtype}[kind]
        assert not now.flags.writeable


def test_computed_result_goes_through_json():
    rng = np.random.default_rng(0)
    X = mb.Group(rng.normal(size=(12, 2)), ids=np.arange(12).astype(str), file_rows=np.arange(12))
    Y = rng.normal(1, 1, size=(15, 2))
    for how_much in (mb.Contamination(n_moved=3), mb.Contamination(n_moved=15, n_moved_of_x=2)):
        result = mb.mmd_bounds(X, Y, how_much, exactly=True)
        back = through_json(result)
        assert back.to_dict() == result.to_dict()
        check_arrays(result, back, RESULT_FIELDS)
        check_arrays(result.upper, back.upper, BOUND_FIELDS)
    assert result.ids_of_x is not None
    assert np.isnan(back.upper.effects).all()  # all rows of Y have moved
    nothing = mb.mmd_bounds(rng.normal(size=(12, 2)), rng.normal(1, 1, size=(15, 2)), 0.0, exactly=True)
    back = through_json(nothing)
    assert back.lower.rows.dtype == np.intp
    assert back.lower.n_moved == 0


def test_layout_of_the_dictionary():
    saved = make_result().to_dict()
    assert (saved["schema"], saved["type"]) == (2, "BoundsResult")
    assert list(saved) == ["schema", "type", *(f.name for f in dataclasses.fields(BoundsResult))]
    assert saved["lower"]["rows"] == [4, 2]
    assert saved["lower"]["ids"] == ["é", ""]
    assert saved["upper"]["ids"] is None
    assert saved["lower"]["rows_of_x"] == []
    assert saved["lower"]["effects"] == [0.5, None, 0.25, 0.0, 1.0, 2.0]
    assert saved["upper"]["effects"] is None
    assert saved["ids_of_y"] is None


def test_numpy_numbers_become_plain():
    result = make_result(observed=np.float64(0.5), provenance=make_provenance(options={"a": (np.int64(3),)}))
    assert type(result.to_dict()["observed"]) is float
    assert result.provenance.options == {"a": [3]}
    assert type(result.provenance.options["a"][0]) is int


def test_json_is_strict():
    with pytest.raises(ValueError, match="not JSON compliant"):
        make_result(observed=float("nan")).to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: [d], r"^expected a saved BoundsResult, a mapping; got list\.$"),
        (
            lambda d: {**d, "schema": 1},  # before effects and names of all rows
            r"^expected a saved BoundsResult with schema 2; got type 'BoundsResult' with schema 1\.$",
        ),
        (lambda d: {**d, "type": "Sweep"}, r"got type 'Sweep' with schema 2\.$"),
        (lambda d: {}, r"got type None with schema None\.$"),
        (
            lambda d: {k: v for k, v in d.items() if k not in ("lower", "epsilon")},
            r"^the saved result lacks `epsilon`, `lower`\.$",
        ),
        (lambda d: {**d, "colour": 1}, r"^the saved result has the unknown field `colour`\.$"),
        (lambda d: {**d, "lower": None}, r"^`lower` of the saved result must be a mapping; got NoneType\.$"),
        (lambda d: {**d, "upper": {**d["upper"], "x": 0}}, r"has the unknown field `upper\.x`\.$"),
        (
            lambda d: {**d, "lower": {k: v for k, v in d["lower"].items() if k != "value"}},
            r"^the saved result lacks `lower\.value`\.$",
        ),
        (lambda d: {**d, "provenance": {}}, r"^the saved result lacks `provenance\.backend`, "),
        (
            lambda d: {**d, "lower": {**d["lower"], "rows": [1.5]}},
            r"^`rows` must be a list of whole numbers; got float64 of shape \(1,\)\.$",
        ),
        (
            lambda d: {**d, "lower": {**d["lower"], "ids": [1, 2]}},
            r"^`ids` must be a list of text; got int64 of shape \(2,\)\.$",
        ),
        (lambda d: {**d, "lower": {**d["lower"], "rows": 3}}, r"^`rows` must be a list of whole numbers"),
        (
            lambda d: {**d, "lower": {**d["lower"], "effects": ["a", None]}},
            r"^`effects` must be a list of numbers; got <U\d+ of shape \(2,\)\.$",
        ),
        (
            lambda d: {**d, "ids_of_y": [1.5]},
            r"^`ids_of_y` must be a list of text; got float64 of shape \(1,\)\.$",
        ),
        (
            lambda d: {**d, "file_rows_of_x": [1.5]},
            r"^`file_rows_of_x` must be a list of whole numbers; got float64 of shape \(1,\)\.$",
        ),
    ],
)
def test_what_is_no_saved_result(change: Callable[[dict[str, Any]], Any], message: str):
    with pytest.raises(DataError, match=message):
        BoundsResult.from_dict(change(make_result().to_dict()))


@pytest.mark.parametrize("given", [[0], 3])
def test_a_pair_has_two_values(given: Any):
    saved = mb.column_table([[0.0], [1.0]], [[2.0], [4.0]], 0.4).to_dict()
    with pytest.raises(DataError, match=r"^`n_dropped` must be a list of 2 values; got"):
        mb.results.ColumnTable.from_dict({**saved, "n_dropped": given})


def test_optional_fields_may_be_missing():
    saved = make_result().to_dict()
    del saved["odds"], saved["lower"]["ids"]
    back = BoundsResult.from_dict(saved)
    assert back.odds is None
    assert back.lower.ids is None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Note:
    text: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noted(Saved):
    first: Note
    second: Note | None = None
    others: tuple[Note, ...] = ()


def test_an_optional_part_may_be_none_and_a_list_must_be_one():
    noted = Noted(first=Note(text="a"), others=(Note(text="b"), Note(text="c")))
    back = Noted.from_dict(json.loads(noted.to_json()))
    assert (back.first.text, back.second, [each.text for each in back.others]) == ("a", None, ["b", "c"])
    assert Noted.from_dict({"schema": 2, "type": "Noted", "first": {"text": "a"}}).others == ()
    for change, message in (
        ({"others": None}, r"^`others` of the saved result must be a list; got NoneType\.$"),
        ({"others": {"text": "b"}}, r"^`others` of the saved result must be a list; got dict\.$"),
        ({"others": [{}]}, r"^the saved result lacks `others\.text`\.$"),
        ({"first": None}, r"^`first` of the saved result must be a mapping; got NoneType\.$"),
    ):
        with pytest.raises(DataError, match=message):
            Noted.from_dict({**noted.to_dict(), **change})


RESULTS = (
    "BoundsResult",
    "ConfidenceInterval",
    "Evaluation",
    "OddsSweepResult",
    "SweepResult",
    "RobustTestResult",
)


@pytest.mark.parametrize("name", RESULTS)
def test_all_results_have_one_base(name: str):
    cls = getattr(mb.results, name)
    assert issubclass(cls, Result)
    for method in ("summary", "plot", "to_dict", "to_json", "__reduce__", "_repr_html_"):
        assert getattr(cls, method) is getattr(Result, method)
    assert cls.from_dict.__func__ is Result.from_dict.__func__
    assert cls.__name__ in words.SUMMARIES
    assert hasattr(cls, "report") == (name in ("BoundsResult", "RobustTestResult", "SweepResult"))
    assert field_types(cls)["provenance"] is mb.results.Provenance


def test_slots_all_the_way_up():
    assert not hasattr(make_result(), "__dict__")


def test_pictures_and_pages_come_from_above(monkeypatch: pytest.MonkeyPatch):
    import mmdbounds.plotting

    result = make_result()
    monkeypatch.setattr(mmdbounds.plotting, "plot_result", lambda *given, **options: (given, options))
    monkeypatch.setattr(mmdbounds, "write_report", lambda *given, **options: (given, options))
    assert result.plot("ax", n_rows=3) == ((result, "ax"), {"n_rows": 3})
    assert result.plot() == ((result, None), {})
    assert result.report("page.html", include_rows=True) == ((result, "page.html"), {"include_rows": True})


def test_tests_unpack_as_in_scipy():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(10, 1)), rng.normal(1, 1, size=(12, 1))
    for result in (
        mb.robust_test(X, Y, 0.1, n_permutations=19, rng=0),
        mb.robust_test(X, Y, 0.1, bandwidth=[1.0, 2.0], n_permutations=19, rng=0),
    ):
        statistic, pvalue = result
        assert (statistic, pvalue) == (result.statistic, result.pvalue)
        again = pickle.loads(pickle.dumps(result))
        assert list(again) == [statistic, pvalue]
        assert not again.null.flags.writeable


def test_frozen():
    result = make_result()
    with pytest.raises(dataclasses.FrozenInstanceError, match="observed"):
        result.observed = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError, match="value"):
        result.lower.value = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError, match="seconds"):
        result.provenance.seconds = 1.0
    with pytest.raises(ValueError, match="read-only"):
        result.lower.rows[0] = 3
    with pytest.raises(ValueError, match="read-only"):
        result.lower.effects[0] = 3.0


def test_nothing_is_shared_with_the_caller():
    rows, options, record = np.array([1, 2]), {"n_steps": 3}, {"columns": ["a"]}
    effects = np.array([0.5, np.nan])
    bound = Bound(side="lower", value=0.0, rows=rows, rows_of_x=[], effects=effects)
    effects[0] = 0.75
    made = make_provenance(options=options, data=record)
    rows[0] = 7
    options["n_steps"] = 4
    record["columns"].append("b")
    assert bound.rows.tolist() == [1, 2]
    assert bound.effects[0] == 0.5
    assert made.options == {"n_steps": 3}
    assert made.data == {"columns": ["a"]}


def test_interval_never_mixes_attained_and_proved():
    result = make_result()
    assert result.interval == (-1 / 3, 0.7)
    assert not result.is_certified
    proved = dataclasses.replace(result.lower, certified=-0.5)
    half = dataclasses.replace(result, lower=proved)
    assert half.interval == (-1 / 3, 0.7)
    assert not half.is_certified
    both = dataclasses.replace(half, upper=dataclasses.replace(result.upper, certified=0.9))
    assert both.interval == (-0.5, 0.9)
    assert both.is_certified
    assert (both.lower.gap, result.lower.gap) == (pytest.approx(1 / 6), None)
    assert both.width == pytest.approx(0.7 + 1 / 3)


def test_counts_of_a_bound():
    bound = Bound(side="upper", value=0.0, rows=[3, 4, 5], rows_of_x=[0])
    assert (bound.n_moved, bound.n_moved_of_x) == (3, 1)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "exactly 2 of 6 rows of Y misfiled"),
        ({"exactly": False}, "at most 2 of 6 rows of Y misfiled"),
        ({"n_moved_of_x": 1}, "exactly 2 of 6 rows of Y and exactly 1 of 4 rows of X misfiled"),
    ],
)
def test_repr_is_one_line(changes: dict[str, Any], text: str):
    assert repr(make_result(**changes)) == (
        f"BoundsResult(mmd2 in [-0.333333, 0.7] attained, observed 0.5, {text}, method 's-sd')"
    )


@pytest.mark.parametrize(
    ("upper", "gap"), [(0.7, "below 0.1 %"), (0.705, "0.48 %"), (0.9, "19 %"), (4.0, "319 %")]
)
def test_the_one_line_print_states_the_gap(upper: float, gap: str):
    result = make_result()
    proved = dataclasses.replace(
        result,
        lower=dataclasses.replace(result.lower, certified=result.lower.value),
        upper=dataclasses.replace(result.upper, certified=upper),
    )
    assert f"] certified, gap {gap} of the width, observed" in repr(proved)
