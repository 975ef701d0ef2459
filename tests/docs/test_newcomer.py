"""README as a newcomer follows it: the wheel in an empty environment, every command pasted as it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.shown import ROOT, tools

README = (ROOT / "README.md").read_text(encoding="utf-8")
NEEDS_A_CLONE = ("make ", 'pip install "."', 'pip install ".[')
OWN_TABLE = """\
patient;diagnosis;age;bmi;sex;smoker
P01;MI;61;27,5;m;true
P02;MI;70;31,25;f;true
P03;MI;66;29,9;m;false
P04;MI;58;30,1;m;true
P05;MI;63;28,4;f;false
P06;MI;72;26,9;m;true
P07;MI;68;33,0;f;true
P08;MI;59;27,7;m;false
P09;MI;64;29,2;f;true
P10;healthy;55;22,1;f;false
P11;healthy;48;24;m;false
P12;healthy;52;25,5;m;true
P13;healthy;39;21;f;false
P14;healthy;44;23,75;f;false
"""


def without_a_clone(text: str) -> str:
    """Return the lines of a block that work wherever there is a wheel."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(NEEDS_A_CLONE))


def steps() -> Iterator[tuple[str, str, str | None]]:
    """Return language, text and output, where one is shown, of each block that a newcomer runs."""
    shown = {block.start: output for block, output in tools.outputs(README)}
    for block in tools.blocks(README):
        text = block.text if block.language == "python" else without_a_clone(block.text)
        if block.language in ("sh", "shell", "python") and text.strip():
            output = shown.get(block.start)
            yield block.language, text, None if output is None else output.text


def surroundings(room: Path) -> dict[str, str]:
    """Return an environment that knows the empty Python, pip's index, and nothing of this checkout."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name == "LANG"}
    # Relative names: pip splits these variables at blanks.
    pins = dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"), "constraints.txt")
    path = os.pathsep.join([str(room / "venv" / "bin"), os.defpath])
    return {**kept, **pins, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "HOME": str(room), "PATH": path}


def run(words: list[str], room: Path, text: str | None = None) -> str:
    """Run a program there, and return what it prints."""
    ran = subprocess.run(
        words,
        cwd=room,
        env=surroundings(room),
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, f"{words} ended with {ran.returncode}:\n{text}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def test_the_steps_are_install_demo_own_table_report() -> None:
    texts = [text for _, text, _ in steps()]
    joined = "\n".join(texts)
    landmarks = (".whl", "mmdbounds demo", "patients.csv", "mmdbounds report", "import ")
    found = [joined.find(each) for each in landmarks]
    assert found == sorted(found)
    assert -1 not in found
    assert not any(line.startswith("make") for line in joined.splitlines())


@pytest.mark.full
def test_a_newcomer_can_follow_the_readme(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    shutil.copy(ROOT / "constraints.txt", room)
    try:
        run([sys.executable, "-m", "build", "--wheel", "--outdir", str(room), str(ROOT)], room)
        run([sys.executable, "-m", "venv", "venv"], room)
        (room / "patients.csv").write_text(OWN_TABLE, encoding="utf-8")
        for language, text, shown in steps():
            words = ["python", "-"] if language == "python" else ["sh", "-e"]
            output = run(words, room, text)
            if shown is not None:
                printed, expected = tools.constant_part(output), tools.constant_part(shown)
                assert tools.is_same(expected, printed), f"{text}\n{printed}"
        assert "<!doctype html>" in (room / "report.html").read_text(encoding="utf-8")[:20]
        where = run(["python", "-c", "import mmdbounds; print(mmdbounds.__file__)"], room)
        assert Path(where.strip()).is_relative_to(room)
    finally:
        shutil.rmtree(room)  # nearly a gigabyte, and pytest would keep it for three runs
