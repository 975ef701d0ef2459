"""The commands on the documentation's page about reports run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from docs.shown import ROOT
from mmdbounds.cli.main import run

pytestmark = pytest.mark.full


def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for line in block.replace("\\\n", "").splitlines() if line.startswith("mmdbounds ")]
    assert len(lines) == 4
    monkeypatch.chdir(tmp_path)
    for line in lines:
        command, sign, target = line.removeprefix("mmdbounds ").partition(" > ")
        assert run(shlex.split(command)) == 0
        out = capsys.readouterr().out
        if sign:
            Path(target).write_text(out, encoding="utf-8")
    assert "Column by column" in Path("report.html").read_text(encoding="utf-8")
    assert Path("sweep.html").exists()
    # The page says what it is made of: Vega is about 0.9 MB of it.
    assert "0.9 MB" in text
    assert 0.85e6 < len(Path("report.html").read_bytes()) < 1.2e6


def test_the_page_says_how_to_show_cells():
    text = " ".join((ROOT / "docs" / "report.md").read_text(encoding="utf-8").split())
    [command] = re.findall(r"`(mmdbounds report [^`]*--include-rows[^`]*)`", text)
    assert shlex.split(command)[-2:] == ["--data", "tumours.csv"]
