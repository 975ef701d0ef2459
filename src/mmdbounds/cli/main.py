"""Where the command ``mmdbounds`` starts and ends: signals, from the first moment on.

Nothing heavy is imported here, so that Ctrl-C is one line also while the rest is being loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from mmdbounds.cli import endings


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # as after `nohup`
            signal.signal(number, _stop)
    try:
        from mmdbounds.cli import app

        app.prepare()
        code = app.run(arguments)
    except SystemExit:
        raise
    except BaseException as error:  # a signal, or what a half-loaded package made of it
        line, code = _ended_while_loading(error)
        os.write(2, f"mmdbounds: {line}\n".encode(errors="backslashreplace"))
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
    if endings.received_signal() or isinstance(error, KeyboardInterrupt):
        return f"{endings.signal_word()}; nothing was written.", endings.signal_exit_code()
    if endings.is_low_memory(error):
        return endings.LOW_MEMORY, endings.EXIT_WRONG
    return endings.unexpected(error), endings.EXIT_UNEXPECTED


def _stop(number: int, frame: FrameType | None) -> None:
    endings.remember_signal(number)
    raise KeyboardInterrupt
