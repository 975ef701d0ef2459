"""The command in a process of its own: streams, signals, encodings, and what it loads."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--id", "name", "--n-moved", "1"]
COMMAND = [sys.executable, "-m", "mmdbounds"]


def start(*arguments: str, encoding: str = "utf-8", **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments],
        timeout=120,
        check=False,
        **{
            "env": {**os.environ, "PYTHONIOENCODING": encoding},
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        },
    )


HEAVY = "numpy scipy sklearn polars narwhals numba threadpoolctl pandas mmdbounds.bounds mmdbounds.tables"


@pytest.mark.parametrize(
    ("commands", "allowed"),
    [
        ([["--help"], ["--version"]], []),
        # The names of kernels, methods and backends are listed by those who know them.
        ([["bounds", "--help"], ["evaluate", "--help"]], ["numpy", "mmdbounds.tables"]),
    ],
)
def test_help_loads_nothing_heavy(commands: list[list[str]], allowed: list[str]):
    heavy = [name for name in HEAVY.split() if name not in allowed]
    code = (
        "import sys\nfrom mmdbounds.cli.main import run\n"
        f"codes = [run(words) for words in {commands!r}]\n"
        f"print(codes, [name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr == "[0, 0] []\n"


def test_module_is_the_command(table: str):
    done = start("bounds", table, *GROUPS)
    assert done.returncode == 0
    assert done.stdout.startswith(
        b"Assumed: at most 25 % of the true A rows are misfiled, that is at most 1 of the 5"
    )
    assert done.stderr == b""


def test_error_is_one_line_and_exit_code_2(table: str):
    done = start("bounds", table, *GROUPS, "--kernel", "rbd")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"mmdbounds: `kernel` must be one of ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.long
def test_reader_that_has_left(table: str):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = start("bounds", table, *GROUPS, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(os.name == "nt", reason="no /bin/sh")
@pytest.mark.long
def test_closed_streams(table: str):
    line = shlex.join([*COMMAND, "bounds", table, *GROUPS])
    done = subprocess.run(f"{line} >&-", shell=True, timeout=120, check=False, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"")
    done = subprocess.run(
        f"{line} --kernel no 2>&-", shell=True, timeout=120, check=False, stdout=subprocess.PIPE
    )
    assert (done.returncode, done.stdout) == (2, b"")


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


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.long
def test_interrupt_while_one_side_waits_for_the_other(tmp_path: Path):
    """Ctrl-C ends both sides, and the process with them."""
    rows = tmp_path / "rows.csv"
    values = np.random.default_rng(4).normal(size=(700, 2)).round(3)
    lines = [f"{'A' if i < 300 else 'B'},{x},{y}" for i, (x, y) in enumerate(values)]
    rows.write_text("\n".join(["g,x,y", *lines, ""]))
    asked = ["bounds", str(rows), "--group", "g", "--hidden", "A", "--among", "B", "--epsilon", "0.25"]
    line = [sys.executable, "-c", WAITING, *asked, "--working-memory", "1"]  # no room for a matrix
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = {process.stdout.readline().strip() for _ in range(2)}
            time.sleep(0.1)  # the upper side has nothing to do
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=100)
        finally:
            process.kill()  # in vain, if all is well
    assert said == {"lower", "upper"}
    assert (process.returncode, out, err) == (130, "", "mmdbounds: interrupted; nothing was written.\n")
    assert os.listdir(tmp_path) == ["rows.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_interrupt(tmp_path: Path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with (
        subprocess.Popen(
            [*COMMAND, "bounds", str(pipe), *GROUPS],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        open(pipe, "w", encoding="utf-8"),
    ):  # waits until the command reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err == "mmdbounds: interrupted; nothing was written.\n"


# A package that takes its time to load stands for numpy, click and the others on a slow disk.
LOADING = """
import sys, time, types
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            print("loading", flush=True)
            try:
                time.sleep(100)
            except KeyboardInterrupt:
                if {hides!r}:
                    raise ImportError("half loaded")
                raise
sys.meta_path.insert(0, Slow())
from mmdbounds.cli.main import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="no signals")
@pytest.mark.parametrize(
    ("name", "hides"), [("click", False), ("mmdbounds.cli.app", True), ("numpy", False), ("numpy", True)]
)
def test_interrupt_while_packages_are_loaded(name: str, hides: bool, table: str):
    with subprocess.Popen(
        [sys.executable, "-c", LOADING.format(name=name, hides=hides), "bounds", table, *GROUPS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGTERM if hides else signal.SIGINT)
        out, err = process.communicate(timeout=120)
    code, word = (143, "terminated") if hides else (130, "interrupted")
    assert (process.returncode, out, err) == (code, "", f"mmdbounds: {word}; nothing was written.\n")


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_signals_that_are_to_be_ignored_are():
    """As after `nohup` and in scripts that shield a command."""
    code = (
        "import os, signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "from mmdbounds.cli import app\nrun = app.run\n"
        "app.run = lambda arguments: (os.kill(os.getpid(), signal.SIGTERM), run(arguments))[1]\n"
        "from mmdbounds.cli.main import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def foreign(tmp_path: Path) -> list[str]:
    """A command on a table whose names no ASCII terminal can print."""
    path = tmp_path / "table.csv"
    path.write_text("日本,x\nå,1\nå,2\nå,4\n健,1\n健,5\n健,4\n", encoding="utf-8")
    return ["bounds", str(path), "--group", "日本", "--hidden", "å", "--among", "健", "--n-moved", "1"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1:strict", "utf-8"])
@pytest.mark.long
def test_names_that_the_terminal_cannot_print(encoding: str, foreign: list[str]):
    done = start(*foreign, encoding=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    first = done.stdout.split(b"\n\n")[0].replace(b"\n", b" ")
    assert first.startswith(b"Assumed: at most 25 % of the true ")
    if encoding == "latin-1:strict":
        assert (
            b"the true \xe5 rows are misfiled, that is at most 1 of the 3 rows filed under \\u5065." in first
        )
    if encoding == "utf-8":
        wanted = "the true å rows are misfiled, that is at most 1 of the 3 rows filed under 健."
        assert wanted in first.decode()


def test_json_is_ascii(foreign: list[str]):
    assert b'"name_y": "\\u5065"' in start(*foreign, "--json", encoding="ascii").stdout


def test_errors_that_the_terminal_cannot_print(foreign: list[str]):
    done = start(*foreign, "--id", "名", encoding="latin-1:strict")
    assert done.returncode == 2
    assert done.stderr.startswith(b"mmdbounds: there is no column '\\u540d'")


@pytest.mark.full
def test_what_a_library_says_before_it_ends_the_process_is_heard(tmp_path: Path):
    import polars as pl

    path = tmp_path / "large.parquet"
    pl.DataFrame({"g": ["A", "B"], "x": [1.0, 2.0]}).write_parquet(path)
    code = (
        "import os, sys, polars as pl\nfrom mmdbounds.cli.main import main\n"
        "def run_out(*_, **__):\n"
        "    os.write(2, b'memory allocation of 800000000 bytes failed\\n')\n"
        "    os.abort()\n"
        "pl.read_parquet = run_out\nmain(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "bounds", str(path), *GROUPS],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert done.stderr.startswith("memory allocation of 800000000 bytes failed\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
@pytest.mark.parametrize("command", ["bounds", "test"])
@pytest.mark.long
def test_where_not_a_byte_can_be_written(command: str, table: str, tmp_path: Path):
    """No temporary folder, no cache, a full disk: the limit on the size of files makes all of it at once."""
    import resource

    options = {"bounds": ["--n-moved", "1"], "test": ["--epsilon", "0.3"]}[command]
    nothing = {
        "env": {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba"), "PYTHONDONTWRITEBYTECODE": "1"},
        "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    }
    asked = [command, table, *GROUPS[: GROUPS.index("--n-moved")], *options, "--quiet"]
    done = start(*asked, **nothing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == start(*asked).stdout


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_terminated_while_a_pipe_is_read(tmp_path: Path):
    """One that never ends."""
    with (
        subprocess.Popen(["sh", "-c", "while :; do echo A,1; done"], stdout=subprocess.PIPE) as endless,
        subprocess.Popen(
            [*COMMAND, "bounds", "-", *GROUPS],
            stdin=endless.stdout,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert endless.stdout is not None
        endless.stdout.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.terminate()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (143, "", "mmdbounds: terminated; nothing was written.\n")


@pytest.mark.skipif(os.name == "nt", reason="no devices")
@pytest.mark.parametrize("command", [["bounds", *GROUPS], ["report", "--out", "page.html"]])
@pytest.mark.parametrize("name", ["/dev/zero", "-"])
def test_a_device_is_not_read(command: list[str], name: str, tmp_path: Path):
    with open("/dev/zero", "rb") as zero:
        done = start(command[0], name, *command[1:], stdin=zero, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"read" in done.stderr
    assert b"it is a device, neither a regular file nor a pipe" in done.stderr
    assert done.stderr.count(b"\n") == 1
