"""How the work ended early: exit codes, and the signal, if it was one (Ctrl-C, or a scheduler's SIGTERM)."""

from __future__ import annotations

import signal

EXIT_WRONG = 2
EXIT_UNFORESEEN = 70

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

_by: list[int] = []


def remember(number: int) -> None:
    """Keep the signal; whatever error follows is its doing."""
    _by.append(number)


def forget() -> None:
    """Begin anew."""
    _by.clear()


def by() -> int | None:
    """Return the first signal that came, or `None`."""
    return _by[0] if _by else None


def word() -> str:
    """Return what has happened."""
    return WORDS[signal.Signals(by() or signal.SIGINT)]


def exit_code() -> int:
    """Return the exit code: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (by() or signal.SIGINT)
