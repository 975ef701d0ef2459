"""Shell completion: the script for bash, what it offers, and that it loads nothing heavy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mmdbounds import baselines
from mmdbounds.cli.app import COMMANDS, run

HEAVY = "numpy scipy sklearn polars narwhals numba threadpoolctl pandas mmdbounds.bounds mmdbounds.tables"
KERNELS = ["rbf", "laplacian", "matern52", "polynomial", "linear", "energy"]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return what is offered for the last word of a line, in this process."""

    def complete(line: str) -> list[str]:
        monkeypatch.setenv("_MMDBOUNDS_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        assert run([]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        found = [each.partition(",") for each in out.split()]
        return [name if kind == "plain" else kind for kind, _, name in found]

    return complete


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mmdbounds ", [name for section in COMMANDS.values() for name in section]),
        ("mmdbounds s", ["sweep"]),
        ("mmdbounds sweep t.csv --le", ["--level"]),
        ("mmdbounds bounds t.csv --kernel ", KERNELS),
        ("mmdbounds bounds t.csv --kernel matern", ["matern52"]),
        ("mmdbounds bounds t.csv --method s", ["sharp", "s-sd", "sd"]),
        ("mmdbounds evaluate t.csv --methods ", ["sharp", "s-sd", "sd", "exhaustive", *baselines.NAMES]),
        ("mmdbounds test t.csv --backend ", ["auto", "numpy", "torch", "dask"]),
        ("mmdbounds bounds t.csv --certify ", ["auto", "yes", "no"]),
        ("mmdbounds test t.csv --group ", []),  # names of columns are in the file
        ("mmdbounds bounds ", ["file"]),  # bash offers them
        ("mmdbounds bounds t.csv --report ", ["file"]),
    ],
)
def test_what_is_offered(line: str, expected: list[str], offered):
    assert offered(line) == expected


def test_every_flag_of_a_command_is_offered(offered):
    flags = offered("mmdbounds bounds --")
    assert {"--group", "--hidden", "--among", "--epsilon", "--json", "--csv", "--quiet", "--help"} <= set(
        flags
    )


def test_completing_loads_nothing_heavy():
    code = (
        "import sys\nfrom mmdbounds.cli.main import run\ncode = run([])\n"
        f"print(code, [name for name in {HEAVY.split()!r} if name in sys.modules], file=sys.stderr)"
    )
    line = {"_MMDBOUNDS_COMPLETE": "bash_complete", "COMP_WORDS": "mmdbounds bounds --g", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **line},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == ["plain,--group", "plain,--gap"]
    assert done.stderr == "0 []\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("_MMDBOUNDS_COMPLETE", f"{shell}_source")
    assert run([]) == 0
    script = capsys.readouterr().out
    assert f"_MMDBOUNDS_COMPLETE={shell}_complete" in script
    assert "mmdbounds" in script.replace("_mmdbounds", "")


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("_MMDBOUNDS_COMPLETE", "tcsh_source")
    assert run([]) == 2
    shells = "bash_source, zsh_source, fish_source"
    message = f"mmdbounds: _MMDBOUNDS_COMPLETE must be one of {shells}; got 'tcsh_source'.\n"
    assert capsys.readouterr().err == message


@pytest.mark.skipif(os.name == "nt", reason="no bash")
def test_in_bash(tmp_path: Path):
    """The script that is shown, in a real bash, with our command on its path."""
    bash = shutil.which("bash")
    assert bash is not None
    command = tmp_path / "mmdbounds"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mmdbounds "$@"\n')
    command.chmod(0o755)
    lines = [
        'eval "$(_MMDBOUNDS_COMPLETE=bash_source mmdbounds)"',
        "COMP_WORDS=(mmdbounds bounds t.csv --scale r) COMP_CWORD=4",
        "_mmdbounds_completion mmdbounds",
        'printf "%s\\n" "${COMPREPLY[@]}"',
        "complete -p mmdbounds",
    ]
    done = subprocess.run(
        [bash, "--norc", "-c", "\n".join(lines)],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.splitlines()[:2] == ["robust", "rank"]
    assert "complete -o nosort -F _mmdbounds_completion mmdbounds" in done.stdout
    assert done.stderr == ""
