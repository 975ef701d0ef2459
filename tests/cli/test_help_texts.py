"""The help: sections, lines that fit a terminal, exit codes that the page tells too, and no colours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mmdbounds.cli.app import COMMANDS, run
from mmdbounds.cli.options import SECTIONS

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
TERMINAL = 80
NAMES = [name for section in COMMANDS.values() for name in section]


@pytest.fixture
def help_of(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Return the help of a command as on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", str(TERMINAL))
    monkeypatch.setenv("TERMINAL_WIDTH", str(TERMINAL))

    def run_it(*command: str) -> str:
        assert run([*command, "--help"]) == 0
        return capsys.readouterr().out

    return run_it


def titles(text: str) -> list[str]:
    return re.findall(r"^(\S.*):$", text, flags=re.MULTILINE)


def section(text: str, title: str) -> list[str]:
    """Return the flags of a section."""
    body = text.split(f"\n{title}:\n")[1].split("\n\n", maxsplit=1)[0]
    return re.findall(r"^  (-.*?)(?:  |$)", body, flags=re.MULTILINE)


def test_every_command_has_a_section(help_of):
    text = help_of()
    assert titles(text) == [*COMMANDS, "Options"]
    assert "--version" in section(text, "Options")


@pytest.mark.parametrize("command", NAMES)
def test_every_option_has_a_section(command: str, help_of):
    text = help_of(command)
    assert section(text, "Options") == ["-h, --help"], "give the others one of SECTIONS"
    known = ["Arguments", *SECTIONS, "Options"]
    assert titles(text) == [title for title in known if title in titles(text)]  # in their order


def test_options_are_where_one_looks_for_them(help_of):
    text = help_of("bounds")
    assert section(text, "How rows are compared") == [
        "--kernel NAME",
        "--bandwidth LENGTH",
        "--exponent VALUE",
        "--estimator NAME",
    ]
    assert section(text, "How much is misfiled")[:3] == [
        "--epsilon SHARE",
        "--share-of-y SHARE",
        "--n-moved ROWS",
    ]
    shown = section(text, "What comes out")
    assert {"--json", "--csv", "-q, --quiet", "--progress / --no-progress"} <= set(shown)


@pytest.mark.parametrize("command", ["", *NAMES])
def test_lines_fit_a_terminal(command: str, help_of):
    text = help_of(*[command] * bool(command))
    assert max(map(len, text.splitlines())) <= TERMINAL
    assert text.startswith(f"Usage: mmdbounds {command}".rstrip())
    assert "{" not in text


def test_exit_codes_are_told_in_the_help_and_on_the_page(help_of):
    said = " ".join(help_of().split())
    in_help = re.findall(r"(\d+) ", said[said.index("Exit codes:") :])
    table = PAGE.read_text(encoding="utf-8").split("## Exit codes")[1].split("\n## ")[0]
    assert (
        in_help
        == re.findall(r"^\| (\d+) \|", table, flags=re.MULTILINE)
        == ["0", "1", "2", "70", "130", "143"]
    )


@pytest.mark.parametrize("arguments", [["--help"], ["bounds", "--help"], ["bounds"], ["nothing"]])
def test_no_colours_even_if_asked_for(arguments: list[str]):
    forced = {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm-256color", "PY_COLORS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mmdbounds", *arguments],
        env={**os.environ, **forced},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.stdout or done.stderr
    assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_no_escape_codes_on_a_terminal():
    """Nothing is coloured anywhere, so that NO_COLOR has nothing to turn off."""
    import pty

    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "mmdbounds", "--help"],
            stdout=theirs,
            stderr=theirs,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0
        said = os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert said.startswith(b"Usage: mmdbounds")
    assert b"\x1b" not in said
