"""`mmdbounds bounds --checkpoint`: stopped, continued, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from mmdbounds.cli.main import run
from mmdbounds.sums import checkpoint, plan

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--epsilon", "0.25"]
STEPS = ["--method", "s-sd", "--n-steps", "2", "--working-memory", "1"]  # no room for a matrix

# The command in a process of its own: every sum is kept, and each strip takes its time.
SLOW = """
import time
from mmdbounds.cli.main import main
from mmdbounds.progress import Meter
from mmdbounds.sums import checkpoint, plan
checkpoint.WORTH, checkpoint.INTERVAL, checkpoint.PAUSE = 0, 0.0, 0.0
plan.block_shape = lambda dtype: (64, 32)
original = Meter.add
def add(self, pairs):
    time.sleep(0.02)
    original(self, pairs)
Meter.add = add
main()
"""

# A search whose upper side is done at once, while the lower one would go on for an hour.
WAITING = """
import os, time
from mmdbounds.cli.arguments import Search
from mmdbounds.cli.main import main
from mmdbounds.search import StepwiseDominance
from mmdbounds.search.protocol import for_both_sides
class Unequal(StepwiseDominance):
    def both_sides(self, task):
        def find(side):
            os.write(1, f"{side}\\n".encode())  # in one go: two threads print at once
            for _ in range(360_000 if side == "lower" else 0):
                time.sleep(0.01)
                task.meter.add(1)
        return for_both_sides(find, task)
Search.chosen = lambda _: Unequal()
main()
"""


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """A table of 300 + 400 rows."""
    values = np.random.default_rng(4).normal(size=(700, 2)).round(3)
    lines = [f"{'A' if i < 300 else 'B'},{x},{y}" for i, (x, y) in enumerate(values)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["g,x,y", *lines, ""]))
    return str(path)


@contextmanager
def started(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", script, "bounds", *arguments, *GROUPS, *STEPS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()  # in vain, if all is well


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    give_up = time.monotonic() + 100
    while not path.exists():
        assert process.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.01)


def without_costs(printed: str) -> str:
    return re.sub(r"[\d,]+ kernel values in \S+ s", "", " ".join(printed.split()))


@pytest.mark.parametrize(
    ("sent", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
@pytest.mark.long
def test_stopped_and_continued(
    sent: int,
    code: int,
    word: str,
    rows: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    path = tmp_path / "sums.journal"
    with started(SLOW, rows, "--checkpoint", str(path)) as process:
        wait_for(path, process)
        process.send_signal(sent)
        out, err = process.communicate(timeout=100)
    assert (process.returncode, out) == (code, "")
    assert err == f"mmdbounds: {word}; the same command resumes from {path}.\n"
    assert sorted(os.listdir(tmp_path)) == ["rows.csv", "sums.journal"]
    monkeypatch.setattr(checkpoint, "WORTH", 0)
    monkeypatch.setattr(plan, "block_shape", lambda dtype: (64, 32))
    assert run(["bounds", rows, *GROUPS, *STEPS]) == 0
    whole = capsys.readouterr().out
    assert run(["bounds", rows, *GROUPS, *STEPS, "--checkpoint", str(path)]) == 0
    continued = capsys.readouterr().out
    assert without_costs(continued) == without_costs(whole)
    assert continued != whole  # fewer kernel values
    assert sorted(os.listdir(tmp_path)) == ["rows.csv", "sums.journal"]


@pytest.mark.parametrize("command", ["test", "sweep"])
@pytest.mark.long
def test_tests_and_sweeps_resume_too(
    command: str,
    rows: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(checkpoint, "WORTH", 0)
    monkeypatch.setattr(plan, "block_shape", lambda dtype: (64, 32))
    amount = ["--epsilon", "0.02"] if command == "test" else ["--epsilons", "0.02"]
    asked = [command, rows, *GROUPS[:-2], *amount, "--n-permutations", "19", "--working-memory", "1"]
    path = tmp_path / "sums.journal"
    printed = []
    for kept in ([], ["--checkpoint", str(path)], ["--checkpoint", str(path)]):
        assert run([*asked, *kept]) == 0
        printed.append(capsys.readouterr().out)
    assert len(set(map(without_costs, printed))) == 1
    assert printed[2] != printed[1]  # fewer kernel values


def test_interrupted_before_anything_was_kept(rows: str, tmp_path: Path):
    """Ctrl-C while one side waits for the other ends both, and the process with them."""
    with started(WAITING, rows, "--checkpoint", str(tmp_path / "sums.journal")) as process:
        assert process.stdout is not None
        said = {process.stdout.readline().strip() for _ in range(2)}
        time.sleep(0.1)  # the upper side has nothing to do
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)
    assert said == {"lower", "upper"}
    assert (process.returncode, out, err) == (130, "", "mmdbounds: interrupted; nothing was written.\n")
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_refusals_are_one_line_and_come_before_the_table_is_read(tmp_path: Path, refused: Callable[..., str]):
    folder = tmp_path / "none"
    line = refused("bounds", "no.csv", *GROUPS, "--checkpoint", str(folder / "sums.journal"))
    assert line == f"cannot write {folder / 'sums.journal'}: there is no folder {folder}."
    line = refused("bounds", "no.csv", *GROUPS, "--checkpoint", str(tmp_path))
    assert line == f"cannot write {tmp_path}: it is a folder."
    same = str(tmp_path / "both"), str(tmp_path / "." / "both")
    line = refused("bounds", "no.csv", *GROUPS, "--rows", same[0], "--checkpoint", same[1])
    assert line == f"`--rows` and `--checkpoint` must be two different files; got {same[0]} for both."


def test_the_table_itself_is_no_checkpoint(rows: str, refused: Callable[..., str]):
    before = Path(rows).read_bytes()
    line = refused("bounds", rows, *GROUPS, *STEPS, "--checkpoint", rows)
    assert line == f"cannot write {rows}: the table is read from it."
    assert Path(rows).read_bytes() == before
