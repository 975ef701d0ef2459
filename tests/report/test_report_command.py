"""`--report` and `mmdbounds report`: refused before the work, written whole, with the command on the page."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest

import mmdbounds as mb
import mmdbounds.bounds
import mmdbounds.inference.breakdown
from mmdbounds.cli.main import run
from mmdbounds.errors import MmdBoundsWarning, shown_path
from report.made import CELL, GROUP, HIDDEN, NAMES, Parsed, page_data

GROUPS = ["--group", "where", "--hidden", HIDDEN, "--among", GROUP, "--id", "id"]
SWEEP = ["--epsilons", "0", "--epsilons", "0.2", "--n-permutations", "19"]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Any:
    def run_it(*arguments: str) -> str:
        assert run(list(arguments)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        return err.removeprefix("mmdbounds: ").rstrip("\n")

    return run_it


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(mmdbounds.inference.breakdown, "sweep", never)
    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", never)


@pytest.mark.usefixtures("without_vega")
@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("sweep", SWEEP),
        ("bounds", ["--epsilon", "0.2"]),
        ("test", ["--epsilon", "0.2", "--n-permutations", "19"]),
        ("audit", ["--n-permutations", "19"]),
    ],
)
def test_a_page_beside_the_words(
    command: str, flags: list[str], table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "a page.html"
    arguments = [command, str(table), *GROUPS, *flags, "--report", str(out)]
    assert run(arguments) == 0
    printed, err = capsys.readouterr()
    assert printed.endswith(f"\nThe report is in {out}.\n")
    assert err == ""
    page = out.read_text(encoding="utf-8")
    again = "".join(Parsed(page).under("code", "span"))
    assert shlex.split(again)[: 3 + len(GROUPS)] == ["mmdbounds", command, "patients.csv", *GROUPS]
    assert "secret-folder" not in page


ALL = [*GROUPS, "--n-permutations", "19", "--rng", "0", "--out"]


@pytest.fixture
def short_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with a few points: what is on them does not depend on how many."""
    monkeypatch.setattr(mmdbounds.inference.breakdown, "LARGEST_SHARE", 0.2)


@pytest.mark.usefixtures("without_vega", "short_curve")
def test_a_table_becomes_one_page_and_its_command_makes_it_again(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "all.html"
    assert run(["report", str(table), "--epsilon", "0.2", *ALL, str(out), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    page = out.read_text(encoding="utf-8")
    for heading in ("Bounds on the difference", "How much misfiling could explain", "Column by column"):
        assert heading in page
    assert "Audit of the records" not in page
    shares = [moment["share"] for moment in page_data(page)["moments"]]
    assert 3 / 17 in shares  # that of the bounds is on the curve
    again = "".join(Parsed(page).under("code", "span"))
    program, command, *arguments = shlex.split(again)
    assert (program, command, arguments[-2:]) == ("mmdbounds", "report", ["--out", "report.html"])
    monkeypatch.chdir(table.parent)
    assert run([command, *arguments[:-1], str(tmp_path / "again.html")]) == 0

    def timeless(path: Path) -> str:
        return re.sub(r"in [0-9.e-]+ s<", "in 1 s<", path.read_text(encoding="utf-8"))

    assert timeless(tmp_path / "again.html") == timeless(out)


@pytest.mark.usefixtures("without_vega", "short_curve")
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], "at most 10 %"),
        (["--n-moved", "2", "--exactly"], "exactly 12.5 %"),
        (["--epsilon", "0.1", "--y-in-x", "0.1"], "Test for a difference"),
        (["--verified", "truth"], "Audit of the records"),
        (["--unit", "id"], "one row"),
    ],
)
def test_a_report_of_every_kind(flags: list[str], expected: str, table: Path, tmp_path: Path):
    head, *lines = table.read_text(encoding="utf-8").splitlines()
    known = tmp_path / "known.csv"
    truth = [GROUP if i in (1, 3) else "" for i in range(len(lines))]
    text = [f"{head},truth", *(f'{line},"{true}"' for line, true in zip(lines, truth, strict=True))]
    known.write_text("\n".join(text), encoding="utf-8")
    out = tmp_path / "all.html"
    without = [] if "--verified" in flags else ["--exclude", "truth"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MmdBoundsWarning)
        assert run(["report", str(known), *flags, *without, *ALL, str(out)]) == 0
    words = Parsed(out.read_text(encoding="utf-8")).words
    assert expected in words


@pytest.mark.usefixtures("without_vega", "short_curve")
def test_without_its_seed_the_audit_is_left_out(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    head, *lines = table.read_text(encoding="utf-8").splitlines()
    known, out = tmp_path / "known.csv", tmp_path / "all.html"
    truth = [GROUP, *[""] * (len(lines) - 1)]
    text = [f"{head},truth", *(f'{line},"{true}"' for line, true in zip(lines, truth, strict=True))]
    known.write_text("\n".join(text), encoding="utf-8")
    flags = ["--verified", "truth", "--n-permutations", "19"]
    assert run(["report", str(known), *GROUPS, *flags, "--out", str(out)]) == 0
    assert "without the audit: add the --rng that it began with." in capsys.readouterr().err
    assert "Audit of the records" not in Parsed(out.read_text(encoding="utf-8")).words


def test_a_dry_run_writes_nothing(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["report", str(table), *ALL, str(tmp_path / "a.html"), "--dry-run"]) == 0
    assert "\nTime: " in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_table_needs_all_its_groups(table: Path, tmp_path: Path, refused: Any):
    out = ["--out", str(tmp_path / "a.html")]
    assert refused("report", str(table), "--group", "where", *out) == (
        "a table needs --group, --hidden and --among; --hidden, --among is missing."
    )
    assert refused("report", str(table), *GROUPS, "--data", "b.csv", *out).startswith(
        "`--data` goes with a s"
    )


@pytest.mark.usefixtures("without_vega")
def test_only_machines_read_json(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "a.html"
    assert run(["sweep", str(table), *GROUPS, *SWEEP, "--report", str(out), "--json"]) == 0
    printed = capsys.readouterr().out
    saved = tmp_path / "saved.json"
    saved.write_text(printed, encoding="utf-8")
    assert mb.results.SweepResult.from_dict(json.loads(printed)).n_samples_Y == 18
    again = tmp_path / "b.html"
    assert run(["report", str(saved), "--out", str(again)]) == 0
    assert capsys.readouterr().out == f"The report is in {again}.\n"
    # The table of columns needs the data, which a saved result has not.
    pages = [Parsed(path.read_text(encoding="utf-8")) for path in (out, again)]
    assert [page.under("h2").count("Column by column") for page in pages] == [1, 0]
    assert pages[0].under("code", "span") == pages[1].under("code", "span")


@pytest.mark.usefixtures("without_vega")
def test_rows_are_included_on_request(table: Path, tmp_path: Path):
    out = tmp_path / "a.html"
    assert (
        run(["bounds", str(table), *GROUPS, "--epsilon", "0.2", "--report", str(out), "--include-rows"]) == 0
    )
    words = Parsed(out.read_text(encoding="utf-8")).words
    assert CELL in words
    assert table.read_text().splitlines()[2].rsplit(",", 3)[1] in words
    saved = tmp_path / "saved.json"
    saved.write_text(mb.mmd_bounds(*mb.groups(table, **NAMES), 0.2).to_json())
    arguments = ["report", str(saved), "--out", str(out), "--include-rows", "--data", str(table)]
    assert run(arguments) == 0
    assert table.read_text().splitlines()[2].rsplit(",", 3)[1] in out.read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_work")
def test_what_cannot_be_written_is_refused_before_the_work(table: Path, tmp_path: Path, refused: Any):
    sweep = ["sweep", str(table), *GROUPS]
    assert refused(*sweep, "--report", str(tmp_path)).endswith("it is a folder.")
    assert refused(*sweep, "--report", str(table)).endswith("the table is read from it.")
    assert refused(*sweep, "--include-rows") == (
        "`--include-rows` needs a page to put them on; add --report FILE."
    )
    both = ["--report", str(tmp_path / "a"), "--rows", str(tmp_path / "a")]
    assert refused("bounds", str(table), *GROUPS, "--epsilon", "0.1", *both) == (
        f"`--rows` and `--report` must be two different files; got {tmp_path / 'a'} for both."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("without_vega")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no json", "this is not a saved result, .* For a table, name its groups: --group COL .*"),
        ("[" * 100_000, "this is not a saved result, which --json or `to_json` makes. .*"),
        (
            "[]",
            "a report needs a saved BoundsResult, RobustTestResult, .*, AuditResult; got None. .*",
        ),
        (
            '{"type": "Evaluation"}',
            "a report needs a saved Bounds.*; got 'Evaluation'. Use `mmdbounds plot`, which takes it.",
        ),
        ('{"type": ["a"]}', "a report needs a saved BoundsResult, .*"),
        ('{"type": "BoundsResult", "schema": 2}', "the saved result lacks `epsilon`, .*"),
    ],
)
def test_other_files_are_refused(text: str, expected: str, tmp_path: Path, refused: Any):
    path = tmp_path / "saved.json"
    path.write_text(text)
    line = refused("report", str(path), "--out", str(tmp_path / "a.html"))
    assert re.fullmatch(expected, line)
    assert not (tmp_path / "a.html").exists()


@pytest.mark.usefixtures("without_vega")
@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("points", 1, "pvalue"), "<script>"),
        (("points", 1, "rows", "in_lower"), None),
        (("n_samples_X",), "many"),
        (("provenance", "data"), {"columns": 3}),
        (("provenance", "kernel_options"), [1]),
        (("points",), []),
        (("level",), None),
    ],
)
def test_damaged_results_end_in_one_line(
    place: tuple[Any, ...], value: Any, swept: mb.results.SweepResult, tmp_path: Path, refused: Any
):
    saved: Any = swept.to_dict()
    part = saved
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(saved))
    assert "Traceback" not in refused("report", str(path), "--out", str(tmp_path / "a.html"))
    assert not (tmp_path / "a.html").exists()


@pytest.mark.usefixtures("without_vega")
def test_the_page_does_not_replace_what_it_is_made_from(
    swept: mb.results.SweepResult, tmp_path: Path, refused: Any
):
    path = tmp_path / "saved.json"
    path.write_text(swept.to_json())
    assert refused("report", str(path), "--out", str(path)).startswith("cannot write")
    assert refused("report", str(tmp_path / "none.json"), "--out", str(tmp_path / "a.html")) == (
        f"there is no file {shown_path(tmp_path / 'none.json')!r}."
    )
    assert path.read_text() == swept.to_json()


@pytest.mark.usefixtures("without_vega")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_saved_result_as_each_shell_saves_it(
    encoding: str, bounded: mb.results.BoundsResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """PowerShell turns what it redirects into UTF-16."""
    saved = tmp_path / "saved.json"
    saved.write_bytes(bounded.to_json().encode(encoding))
    assert run(["report", str(saved), "--out", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("without_vega")
@pytest.mark.parametrize("command", ["report", "bounds"])
def test_the_page_shows_what_the_terminal_was_told(
    command: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    lines = table.read_text(encoding="utf-8").splitlines()
    other = tmp_path / "noted.csv"
    other.write_text(
        "\n".join([f"{lines[0]},always", *(f"{line},1" for line in lines[1:])]), encoding="utf-8"
    )
    page = tmp_path / "noted.html"
    out = ["--out" if command == "report" else "--report", str(page)]
    assert run([command, str(other), *GROUPS, "--epsilon", "0.2", *out]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "mmdbounds: note: " in line]
    assert any("'always'" in note for note in notes)
    told = Parsed(page.read_text(encoding="utf-8")).words
    for note in notes:
        said = note.removeprefix("mmdbounds: note: ")
        assert f"{said[0].upper()}{said[1:]}" in told
