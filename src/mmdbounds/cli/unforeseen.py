"""Errors that nobody foresaw: one line for the user, the details in a file for those who mend it."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import tempfile
import traceback

from mmdbounds._version import __version__


def unforeseen(error: BaseException) -> str:
    """Return a line about an error of ours, once its details are in a log file."""
    what = f"unexpected error ({type(error).__name__})"
    try:
        path = _logged(error)
    except (OSError, MemoryError) as failed:
        why = getattr(failed, "strerror", None) or type(failed).__name__
        return f"{what}. Its details could not be written to a log file: {why}."
    return f"{what}. Its details are in {path}; please report it and attach that file."


def _logged(error: BaseException) -> str:
    """Write where an error came from to a new file that only the user can read."""
    lines = [
        f"mmdbounds {__version__}, Python {platform.python_version()}, {platform.platform()}",
        shlex.join(sys.argv),
        "".join(traceback.format_exception(error)),
    ]
    handle, path = tempfile.mkstemp(prefix="mmdbounds-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("\n".join(lines))
    return path
