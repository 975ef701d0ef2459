"""Files beside the answer: tried before the work, written after the answer, never over what is read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import mmdbounds.bounds
from mmdbounds.cli import side_files
from mmdbounds.cli.main import run
from mmdbounds.errors import shown_path

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--id", "name", "--n-moved", "1"]
Refused = Callable[..., str]

OUTPUTS = {
    "--rows": ["bounds", *GROUPS, "--rows"],
    "--checkpoint of evaluate": ["evaluate", *GROUPS[:-2], "--epsilon", "0.2", "--checkpoint"],
    "--save": ["demo", "--save"],
}


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object, **__: object) -> None:
        pytest.fail("the work has begun")

    for name in ("mmdbounds.tables.grouped_table.split_table", "mmdbounds.cli.getting_started.example"):
        monkeypatch.setattr(name, work)


def command(which: str, table: str, path: object) -> list[str]:
    name, *options = OUTPUTS[which]
    return [name, *([] if name == "demo" else [table]), *options, str(path)]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("which", OUTPUTS)
def test_refused_before_the_work(which: str, table: str, tmp_path: Path, refused: Refused):
    gone = tmp_path / "gone" / "file"
    assert refused(*command(which, table, gone)) == (
        f"cannot write {shown_path(gone)}: there is no folder {shown_path(gone.parent)}."
    )
    assert refused(*command(which, table, tmp_path)) == f"cannot write {tmp_path}: it is a folder."
    assert refused(*command(which, table, tmp_path / ("n" * 256))).endswith("File name too long.")
    if which != "--save":
        before = Path(table).read_bytes()
        assert refused(*command(which, table, table)) == f"cannot write {table}: the table is read from it."
        assert Path(table).read_bytes() == before


def test_two_outputs_in_one_file_are_refused(table: str, tmp_path: Path, refused: Refused):
    one = tmp_path / "one"
    (tmp_path / "link").symlink_to(one)
    for other in (one, tmp_path / "link", tmp_path / "." / "one"):
        line = refused("bounds", table, *GROUPS, "--rows", str(one), "--report", str(other))
        assert line == f"`--rows` and `--report` must be two different files; got {one} for both."
    assert not one.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.long
def test_a_side_file_that_fails_leaves_the_answer(table: str):
    line = [sys.executable, "-m", "mmdbounds", "bounds", table, *GROUPS, "--quiet"]
    whole = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    done = subprocess.run(
        [*line, "--rows", "/dev/full"], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout) == (2, whole.stdout)
    assert done.stderr == (
        "mmdbounds: cannot write /dev/full: No space left on device. "
        "The answer was printed; only this file is missing.\n"
    )
    assert Path("/dev/full").is_char_device()


@pytest.mark.skipif(os.name == "nt", reason="no /dev/stdout")
def test_rows_behind_the_answer(table: str, tmp_path: Path):
    path = tmp_path / "all.txt"
    line = [sys.executable, "-m", "mmdbounds", "bounds", table, *GROUPS, "--csv", "--rows", "/dev/stdout"]
    with path.open("wb") as output:
        subprocess.run(line, stdout=output, check=True, timeout=120)
    lines = path.read_text().splitlines()
    assert lines[0].startswith("name_x,name_y,")
    assert lines[2].startswith("group,id,")
    assert len(lines) == 2 + 1 + 5


def test_what_was_written_is_told_after_an_interrupt(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "rows.csv"
    path.write_text("old")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mmdbounds.bounds, "mmd_bounds", stop)
        assert run(["bounds", table, *GROUPS, "--rows", str(path)]) == 130
    assert capsys.readouterr() == ("", "mmdbounds: interrupted; nothing was written.\n")
    with monkeypatch.context() as patch:
        patch.setattr("mmdbounds.cli.formats.rows_csv", stop)
        assert run(["bounds", table, *GROUPS, "--rows", str(path)]) == 130
    out, err = capsys.readouterr()
    assert out
    assert err == "mmdbounds: interrupted; written so far: the answer.\n"
    assert path.read_text() == "old"
    with monkeypatch.context() as patch:
        patch.setattr("mmdbounds.cli.arguments.Page.write", stop)
        assert run(["bounds", table, *GROUPS, "--rows", str(path)]) == 130
    assert capsys.readouterr().err == f"mmdbounds: interrupted; written so far: the answer, {path}.\n"
    assert path.read_text() != "old"


def test_each_run_begins_anew():
    side_files.begin()
    side_files.say("", "something")
    assert side_files.so_far() == "written so far: something"
    side_files.begin()
    assert side_files.so_far() == "nothing was written"
