"""Where ``mmdbounds`` starts and ends: signals (Ctrl-C, SIGTERM), no memory, errors that nobody expected.

Nothing heavy is imported here: a run can end while the rest is being loaded, or because there is no memory.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

EXIT_UNREAD, EXIT_WRONG, EXIT_UNEXPECTED = 1, 2, 70
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
LOW_MEMORY = "not enough memory. Give a smaller `--working-memory`, or fewer rows."

# What Python says if the system has no memory for the stack of another thread, or allows no more threads.
NO_THREAD = "can't start new thread"
_received: list[int] = []


class Interrupted(BaseException):
    """A signal has ended the work, which the same command may resume."""

    resumes_from = ""  # where the same command would resume, as people say it


def received_signal() -> int | None:
    """Return the first signal that came, or `None`."""
    return _received[0] if _received else None


def signal_word() -> str:
    """Return what the signal did to the run."""
    return WORDS[signal.Signals(received_signal() or signal.SIGINT)]


def signal_exit_code() -> int:
    """Return the exit code: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (received_signal() or signal.SIGINT)


@contextmanager
def interruptible(checkpoint: Path | None = None, again: str = "the same command") -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the work; if a checkpoint was kept, say that the command resumes from it."""
    if hasattr(signal, "siginterrupt"):  # polars, once imported, makes waiting for a thread go on regardless
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.siginterrupt(number, True)
    try:
        yield
    except BaseException as error:
        if not (isinstance(error, KeyboardInterrupt) or received_signal()):
            raise
        ended = Interrupted()
        if checkpoint is not None and checkpoint.exists():
            ended.resumes_from = f"{again} resumes from {checkpoint}"
        raise ended from error


def is_low_memory(error: BaseException) -> bool:
    """Return whether an error says, in any of its forms, that memory ran out."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError) and str(error) == NO_THREAD


def unexpected(error: BaseException) -> str:
    """Return a line about an error of ours, once its details are in a log file."""
    what = f"unexpected error ({type(error).__name__})"
    try:
        path = _write_log(error)
    except (OSError, MemoryError) as failed:
        why = getattr(failed, "strerror", None) or type(failed).__name__
        return f"{what}. Its details could not be written to a log file: {why}."
    return f"{what}. Its details are in {path}; please report it and attach that file."


def _write_log(error: BaseException) -> str:
    """Write where an error came from to a new file that only the user can read; return its name."""
    import platform
    import shlex
    import tempfile
    import traceback

    from mmdbounds._version import __version__

    lines = [
        f"mmdbounds {__version__}, Python {platform.python_version()}, {platform.platform()}",
        shlex.join(sys.argv),
        "".join(traceback.format_exception(error)),
    ]
    handle, path = tempfile.mkstemp(prefix="mmdbounds-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("\n".join(lines))
    return path


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # as after `nohup`
            signal.signal(number, _stop)
    try:
        from mmdbounds.cli import app

        app.prepare()
        code = app.run(arguments)
    except BaseException as error:  # a signal, or what a half-loaded package made of it
        line, code = _ended_while_loading(error)
        os.write(2, f"mmdbounds: {line}\n".encode(errors="backslashreplace"))
    if code == EXIT_UNREAD and sys.stdout is not None:  # nor is what Python still holds to be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for number in (signal.SIGINT, signal.SIGTERM):  # nothing is left to be tidied up
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_DFL)
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line in this process and return its exit code; signals stay as they are."""
    from mmdbounds.cli import app

    return app.run(arguments)


def _ended_while_loading(error: BaseException) -> tuple[str, int]:
    """Return what to say of an error outside the commands, and the exit code."""
    if received_signal() or isinstance(error, KeyboardInterrupt):
        return f"{signal_word()}; nothing was written.", signal_exit_code()
    if is_low_memory(error):
        return LOW_MEMORY, EXIT_WRONG
    return unexpected(error), EXIT_UNEXPECTED


def _stop(number: int, frame: FrameType | None) -> None:
    _received.append(number)  # whatever error follows is its doing
    raise KeyboardInterrupt
