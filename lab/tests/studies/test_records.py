"""Files of records that survive being stopped."""

import pytest

from lab.studies import records


def test_no_file_holds_no_records(tmp_path):
    path = tmp_path / "none.jsonl"
    assert records.load(path) == []
    assert not path.exists()


def test_what_is_appended_is_read(tmp_path):
    path = tmp_path / "a" / "b.jsonl"
    wrote = [{"trial": 0, "truth": 0.1 + 0.2}, {"trial": 1, "truth": None}]
    for record in wrote:
        records.append(path, record)
    assert records.load(path) == wrote


@pytest.mark.parametrize("half", [b"{", b'{"trial": 2', b'{"trial": 2}', b"\xff\xc3"])
def test_a_half_written_last_line_is_dropped_from_the_file(tmp_path, half):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"trial": 0}\n{"trial": 1}\n' + half)
    assert records.load(path) == [{"trial": 0}, {"trial": 1}]
    assert path.read_bytes() == b'{"trial": 0}\n{"trial": 1}\n'
    records.append(path, {"trial": 2})
    assert records.load(path) == [{"trial": 0}, {"trial": 1}, {"trial": 2}]


def test_a_first_line_that_is_half_written_leaves_an_empty_file(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"tri')
    assert records.load(path) == []
    assert path.read_bytes() == b""


def test_a_broken_line_in_the_middle_is_an_error(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"trial": 0}\n{"tri\n{"trial": 2}\n')
    with pytest.raises(SystemExit, match=r"^2$"):
        records.load(path)
    assert "error: line 2 of" in capsys.readouterr().err


def test_a_number_that_json_does_not_know_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.append(tmp_path / "records.jsonl", {"truth": float("nan")})


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (42.3, "42 s"), (125, "2 min"), (7500, "2 h 5 min")],
)
def test_durations(seconds, words):
    assert records.duration(seconds) == words


def test_progress_says_how_far_it_is(capsys):
    progress = records.Progress(2)
    progress.step()  # not a terminal: a line a minute, and the last one
    progress.step()
    assert capsys.readouterr().err.strip() == "2 of 2 trials, 0.0 s left"
