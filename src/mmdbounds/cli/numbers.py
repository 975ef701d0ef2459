"""Numbers as people type them; typer's own messages name neither the value nor the slip."""

from __future__ import annotations

from typing import Any

import typer

from mmdbounds.errors import shown_value


def number(text: Any) -> float:
    """Return a number, or say what came; decimal commas and per cent signs are guessed."""
    try:
        return float(text)
    except ValueError:
        hint = ""
        guess = _guess(str(text))
        if guess is not None:
            hint = f" Did you mean {guess:g}?"
        msg = f"must be a number; got {shown_value(text)}.{hint}"
        raise typer.BadParameter(msg) from None


def whole_number(text: Any) -> int:
    """Return a whole number, or say what came."""
    try:
        return int(text)
    except ValueError:
        msg = f"must be a whole number; got {shown_value(text)}."
        raise typer.BadParameter(msg) from None


def _guess(text: str) -> float | None:
    bare = text.strip().replace(",", ".", 1)
    per_cent = bare.endswith("%")
    try:
        value = float(bare.removesuffix("%"))
    except ValueError:
        return None
    return value / 100 if per_cent else value
