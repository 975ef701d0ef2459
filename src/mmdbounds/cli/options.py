"""How options are written: help, section, how their text is read. The options are in `cli.arguments`."""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, TypeVar, dataclass_transform, get_type_hints

import typer

from mmdbounds.errors import shown_value

TABLE = "The table"
MISFILED = "How much is misfiled"
DONE = "What is done"
COMPARED = "How rows are compared"
COMPUTED = "How it is computed"
SHOWN = "What comes out"
SECTIONS = (TABLE, MISFILED, DONE, COMPARED, COMPUTED, SHOWN)  # of a command's help, in their order

REQUIRED: Any = MISSING
OPTION = "option"  # where a field of a group keeps its option
Group = TypeVar("Group", bound=type[Any])


def number(text: Any) -> float:
    """Return a number, or say what came; decimal commas and per cent signs are guessed."""
    try:
        return float(text)
    except ValueError:
        msg = f"must be a number; got {shown_value(text)}."
    bare = str(text).strip().replace(",", ".", 1)
    try:
        guess = float(bare.removesuffix("%")) / (100 if bare.endswith("%") else 1)
    except ValueError:
        raise typer.BadParameter(msg) from None
    msg = f"{msg} Did you mean {guess:g}?"
    raise typer.BadParameter(msg)


def whole_number(text: Any) -> int:
    """Return a whole number, or say what came."""
    try:
        return int(text)
    except ValueError:
        msg = f"must be a whole number; got {shown_value(text)}."
        raise typer.BadParameter(msg) from None


def several(parser: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """Return how a list with commas is read: each part by itself; 0,1 is a decimal comma, not 0 and 1."""

    def parse(text: Any) -> list[Any]:
        parts = str(text).split(",")
        if parser is number and len(parts) == 2 and all(part.strip().isdigit() for part in parts):
            return [number(text)]  # says so
        return [parser(part.strip()) for part in parts]

    return parse


# How the text of an option is read, by its metavar; typer's own messages name neither value nor slip.
PARSERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("SHARE", "MIB", "VALUE"), number),
    **dict.fromkeys(("ROWS", "S", "STARTS", "SEED", "NUMBER"), whole_number),
    "SHARE,...": several(number),
    "NUMBER,...": several(whole_number),
    "VALUE,...": several(number),
    "NAME,...": several(str),
}


def kernel_names() -> list[str]:
    """Return the names that `--kernel` takes; a table is no matrix of kernel values."""
    from mmdbounds.kernels import SHIPPED

    return [name for name in SHIPPED if name != "precomputed"]


def with_names(text: str) -> str:
    """Return a help text with its lists of names, which are asked for only now: that loads NumPy."""
    if "{" not in text:
        return text
    from mmdbounds.search import METHODS
    from mmdbounds.sums import backend_names

    known = {"{kernels}": kernel_names(), "{methods}": METHODS, "{backends}": backend_names()}
    for mark, names in known.items():
        *first, last = map(repr, names)
        text = text.replace(mark, f"{', '.join(first)} or {last}")
    return text


def option(
    default: Any, help: str, metavar: str | None = None, section: str | None = None, *flags: str, **more: Any
) -> Any:
    """Return a field of a group of options: the option of that name, `REQUIRED` or with a default.

    Its `metavar` says how its text is read; names quoted in its help are completed. `flags` in place of one
    made of the name.
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


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def options(section: str) -> Callable[[Group], Group]:
    """Make a class a group of options; those that name no section are in this one."""

    def with_section(group: Group) -> Group:
        group.section = section
        dataclass(frozen=True, kw_only=True)(group)
        return group

    return with_section


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer reads it: in place of groups of options, the options.

    typer makes the options of a command from its signature and knows no groups, so it is shown one with every
    field; the command gets its groups. Options that can be repeated are `None` where they were not given.
    """
    groups = {name: group for name, group in get_type_hints(command).items() if name != "return"}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        values = {name: None if value == [] else _flat(value) for name, value in given.items()}
        command(
            **{
                name: group(**{each: values[each] for each in _options(group)})
                for name, group in groups.items()
            }
        )

    parameters = [parameter for group in groups.values() for parameter in _options(group).values()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _flat(value: Any) -> Any:
    """Return the value of an option; one list of all that was given if each time a list was."""
    if isinstance(value, list) and all(isinstance(each, list) for each in value):
        return [part for each in value for part in each]
    return value


def _options(group: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the options of a group by their names, as parameters of a function."""
    hints, section = get_type_hints(group), getattr(group, "section", DONE)
    parameters = {}
    for each in fields(group):
        if OPTION not in each.metadata:
            continue
        shown, default = copy.copy(each.metadata[OPTION]), each.default
        shown.rich_help_panel = shown.rich_help_panel or section
        if default is False and shown.default is ...:  # has no flag yet; typer would add its opposite
            shown.param_decls = (f"--{each.name.replace('_', '-')}",)
        parameters[each.name] = inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is REQUIRED else default,
            annotation=Annotated[hints[each.name], shown],
        )
    return parameters
