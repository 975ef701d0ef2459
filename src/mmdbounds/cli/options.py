"""How an option is written: its help and section, how its text is read, and groups of options.

The options themselves are in `mmdbounds.cli.arguments`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, field, fields
from typing import Annotated, Any, get_type_hints

import typer

from mmdbounds.errors import shown_value

TABLE = "The table"
MISFILED = "How much is misfiled"
DONE = "What is done"
COMPARED = "How rows are compared"
COMPUTED = "How it is computed"
SHOWN = "What comes out"
SECTIONS = (TABLE, MISFILED, DONE, COMPARED, COMPUTED, SHOWN)
"""The sections of a command's help, in their order."""

REQUIRED: Any = MISSING
OPTION = "option"
"""Where a field of a group keeps its option."""


def number(text: Any) -> float:
    """Return a number, or say what came; decimal commas and per cent signs are guessed."""
    try:
        return float(text)
    except ValueError:
        guess = _guessed_number(str(text))
        hint = "" if guess is None else f" Did you mean {guess:g}?"
        msg = f"must be a number; got {shown_value(text)}.{hint}"
        raise typer.BadParameter(msg) from None


def whole_number(text: Any) -> int:
    """Return a whole number, or say what came."""
    try:
        return int(text)
    except ValueError:
        msg = f"must be a whole number; got {shown_value(text)}."
        raise typer.BadParameter(msg) from None


def _guessed_number(text: str) -> float | None:
    bare = text.strip().replace(",", ".", 1)
    per_cent = bare.endswith("%")
    try:
        value = float(bare.removesuffix("%"))
    except ValueError:
        return None
    return value / 100 if per_cent else value


PARSERS: dict[str, Callable[[Any], float]] = {
    **dict.fromkeys(("SHARE", "MIB", "VALUE"), number),
    **dict.fromkeys(("ROWS", "S", "STARTS", "SEED", "NUMBER"), whole_number),
}
"""How the text of an option is read, by its metavar; typer's own messages name neither value nor slip."""


def kernel_names() -> Sequence[str]:
    """Return the names that `--kernel` takes; a table is no matrix of kernel values."""
    from mmdbounds.kernels import SHIPPED

    return [name for name in SHIPPED if name != "precomputed"]


def method_names() -> Sequence[str]:
    """Return the names that `--method` and `--methods` take."""
    from mmdbounds.search import METHODS

    return list(METHODS)


def backend_names() -> Sequence[str]:
    """Return the names that `--backend` takes."""
    from mmdbounds.sums import backend_names

    return backend_names()


NAMES = {"{kernels}": kernel_names, "{methods}": method_names, "{backends}": backend_names}
"""What stands for a list of names in a help text."""


def with_names(text: str) -> str:
    """Return a help text with its lists of names, which are asked for only now: that loads NumPy."""
    for mark, names in NAMES.items():
        if mark in text:
            *first, last = map(repr, names())
            text = text.replace(mark, f"{', '.join(first)} or {last}")
    return text


def option(
    default: Any, help: str, metavar: str | None = None, section: str = DONE, *flags: str, **more: Any
) -> Any:
    """Return a field of a group of options: the option of that name, `REQUIRED` or with a default.

    Its `metavar` says how its text is read; names quoted in its help are completed. `flags` in place of one
    made of the name: a yes-or-no option needs one, or it gets its opposite too.
    """

    def complete(incomplete: str) -> list[str]:
        names = re.findall(r"'([\w-]+)'", with_names(help))
        return [name for name in names if name.startswith(incomplete)]

    if "'" in help or "{" in help:
        more["autocompletion"] = complete
    parser = PARSERS.get(metavar or "")
    shown = typer.Option(*flags, help=help, metavar=metavar, parser=parser, rich_help_panel=section, **more)
    return field(default=default, metadata={OPTION: shown})


def argument(default: Any, help: str, metavar: str) -> Any:
    """Return a field of a group of options that is given by its place."""
    return field(default=default, metadata={OPTION: typer.Argument(help=help, metavar=metavar)})


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer reads it: in place of groups of options, the options.

    A group is a dataclass with fields made by `option` and `argument`. typer makes the options of a command
    from its signature and knows no groups, so it is shown one with every field; the command gets its groups.
    Options that can be repeated are `None` where they were not given.
    """
    groups = {name: group for name, group in get_type_hints(command).items() if name != "return"}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        values = {name: None if value == [] else value for name, value in given.items()}
        filled = {
            name: group(**{each: values[each] for each in _options(group)}) for name, group in groups.items()
        }
        command(**filled)

    parameters = [parameter for group in groups.values() for parameter in _options(group).values()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _options(group: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the options of a group by their names, as parameters of a function."""
    hints = get_type_hints(group)
    return {
        each.name: inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is REQUIRED else each.default,
            annotation=Annotated[hints[each.name], each.metadata[OPTION]],
        )
        for each in fields(group)
        if OPTION in each.metadata
    }
