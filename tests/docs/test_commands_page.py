"""Every line of docs/commands.md is one command that there is, with options that it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from mmdbounds.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
LINES = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines() if "mmdbounds " in line]


@pytest.mark.parametrize("line", LINES)
def test_it_can_be_typed(line: str):
    words = shlex.split(line, comments=True)
    assert words.count("mmdbounds") == 1
    name, *rest = words[words.index("mmdbounds") + 1 :]
    if name.startswith("-"):
        return
    command = app.get_command(click.Context(app), name)
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    assert {word for word in rest if word.startswith("--")} <= known
