"""The record of many calls: complete, exact to the bit, and a changed number is seen."""

import json

import numpy as np
import pytest

from lab.studies import recorded_calls


def record(value=0.1 + 0.2, rows=(3, 5)):
    numbers = {"lower": {"value": value, "rows": np.array(rows)}, "certified": None}
    return {"name": "a call", "result": recorded_calls.encode(numbers)}


def test_all_calls_have_different_names():
    names = [name for name, _ in recorded_calls.calls()]
    assert len(names) == len(set(names)) >= 50


def test_numbers_are_recorded_to_the_bit():
    value = np.nextafter(0.3, 1)
    kept = json.loads(json.dumps(recorded_calls.encode({"x": value, "rows": np.array([2, 4]), "on": True})))
    assert kept == {"x": value.hex(), "rows": [2, 4], "on": True}
    assert float.fromhex(kept["x"]) == value
    many = np.arange(1000.0)
    changed = many.copy()
    changed[700] = np.nextafter(700, 701)
    assert recorded_calls.encode(many) == recorded_calls.encode(many.copy())
    assert recorded_calls.encode(many) != recorded_calls.encode(changed)


def test_equal_records_have_no_differences():
    assert recorded_calls.compare([record()], [record()]) == []
    assert recorded_calls.compare([record(float("nan"))], [record(float("nan"))]) == []


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        (record(value=0.3), "lower.value"),  # the last bit
        (record(rows=(3, 6)), "lower.rows[1]"),
        (record(rows=(3, 5, 6)), "lower.rows"),
        ({**record(), "result": {**record()["result"], "certified": "0x0p+0"}}, "certified"),
        ({**record(), "result": {**record()["result"], "n_moved": 2}}, "n_moved"),
    ],
)
def test_a_changed_number_is_reported(changed, place):
    (line,) = recorded_calls.compare([record()], [changed])
    assert line.startswith(f"a call: result.{place}: ")
    assert recorded_calls.compare([changed], [record()])


def test_a_call_that_is_missing_or_new_is_reported():
    other = {**record(), "name": "another"}
    assert recorded_calls.compare([record()], [other]) == [
        "a call: no longer called",
        "another: not recorded before",
    ]


def test_write_then_compare(tmp_path, monkeypatch, capsys):
    s_sd = recorded_calls.bounds(*recorded_calls.drawn(6, 9), 0.25, method="s-sd")
    added = [0.0]

    def call():
        return s_sd(), *added

    monkeypatch.setattr(recorded_calls, "calls", lambda: [("s-sd", call)])
    path = str(tmp_path / "record.jsonl")
    assert recorded_calls.main(["--write", path]) == 0
    assert recorded_calls.main(["--compare", path]) == 0
    assert capsys.readouterr().out.endswith("0 of 1 calls differ.\n")
    added[0] = 5e-324
    assert recorded_calls.main(["--compare", path]) == 1
    assert (
        "s-sd: result[1]: 0x0.0p+0 (0.0) before, 0x0.0000000000001p-1022 (5e-324) now"
        in capsys.readouterr().out
    )


def test_an_error_is_reported_and_the_other_calls_are_run(tmp_path, monkeypatch, capsys):
    calls = [("first", lambda: 1 / 0), ("second", lambda: {"x": 1.0})]
    monkeypatch.setattr(recorded_calls, "calls", lambda: calls)
    path = tmp_path / "record.jsonl"
    assert recorded_calls.main(["--write", str(path)]) == 1
    assert "first: ZeroDivisionError: division by zero" in capsys.readouterr().out
    assert recorded_calls.main(["--compare", str(path)]) == 1  # the same error is no equal number
    assert [json.loads(line)["name"] for line in path.read_text().splitlines()] == ["first", "second"]


def test_a_missing_record_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        recorded_calls.main(["--compare", str(tmp_path / "none.jsonl")])
    assert "there is no file" in capsys.readouterr().err
