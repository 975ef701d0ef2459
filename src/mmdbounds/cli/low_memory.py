"""Memory that ran out, in every form in which it shows; nothing here needs more of it."""

from __future__ import annotations

import errno

MESSAGE = "not enough memory. Give a smaller `--working-memory`, or fewer rows."

NO_THREAD = "can't start new thread"
"""What Python says if the system has no memory for the stack of another thread, or allows no more threads."""


def is_low_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError) and str(error) == NO_THREAD
