"""How options are written: help, section, how their text is read. The options are in `cli.arguments`.

Options come in groups, which are dataclasses: a field made by `option` or `argument` is one. Here, and
nowhere else, such fields become parameters of click. click is given no defaults: an option that was left out
has the default of its field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

from mmdbounds.errors import repeated, shown_value

TABLE = "The table"
MISFILED = "How much is misfiled"
DONE = "What is done"
COMPARED = "How rows are compared"
COMPUTED = "How it is computed"
SHOWN = "What comes out"
ARGUMENTS = "Arguments"
SECTIONS = (TABLE, MISFILED, DONE, COMPARED, COMPUTED, SHOWN)  # of a command's help, in their order

REQUIRED: Any = MISSING
OPTION = "option"  # where a field of a group keeps its option
FILES = ("FILE", "FOLDER", "RESULT.json")  # metavars of what is completed by names of files
Group = TypeVar("Group", bound=type[Any])
Command = Callable[..., None]  # what a command does, with groups of options as its parameters


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
        raise click.BadParameter(msg) from None
    msg = f"{msg} Did you mean {guess:g}?"
    raise click.BadParameter(msg)


def whole_number(text: Any) -> int:
    """Return a whole number, or say what came."""
    try:
        return int(text)
    except ValueError:
        msg = f"must be a whole number; got {shown_value(text)}."
        raise click.BadParameter(msg) from None


def several(parser: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """Return how a list with commas is read: each part by itself; 0,1 is a decimal comma, not 0 and 1."""

    def parse(text: Any) -> list[Any]:
        parts = str(text).split(",")
        if parser is number and len(parts) == 2 and all(part.strip().isdigit() for part in parts):
            return [number(text)]  # says so
        return [parser(part.strip()) for part in parts]

    return parse


# How the text of an option is read, by its metavar; click's own messages name neither value nor slip.
PARSERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("SHARE", "MIB", "VALUE", "FACTOR"), number),
    **dict.fromkeys(("ROWS", "S", "STARTS", "SEED", "NUMBER"), whole_number),
    "SHARE,...": several(number),
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


class Shown(NamedTuple):
    """What a field of a group is on the command line."""

    help: str
    metavar: str | None
    section: str | None = None
    flags: tuple[str, ...] = ()
    show_default: bool = True
    is_argument: bool = False


def option(
    default: Any,
    help: str,
    metavar: str | None = None,
    section: str | None = None,
    *flags: str,
    show_default: bool = True,
) -> Any:
    """Return a field of a group of options: the option of that name, `REQUIRED` or with a default.

    Its `metavar` says how its text is read; names quoted in its help are completed. `flags` in place of one
    made of the name.
    """
    return field(default=default, metadata={OPTION: Shown(help, metavar, section, flags, show_default)})


def argument(default: Any, help: str, metavar: str) -> Any:
    """Return a field of a group of options that is given by its place."""
    return field(default=default, metadata={OPTION: Shown(help, metavar, is_argument=True)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def options(section: str) -> Callable[[Group], Group]:
    """Make a class a group of options; those that name no section are in this one."""

    def with_section(group: Group) -> Group:
        group.section = section
        dataclass(frozen=True, kw_only=True)(group)
        return group

    return with_section


class Text(click.ParamType):  # type: ignore[type-arg]  # older releases of click have none
    """How the text of an option is read, and what completes it."""

    name = "text"

    def __init__(self, parser: Callable[[Any], Any], shown: Shown) -> None:
        self._parser, self._shown = parser, shown

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what the text says."""
        return self._parser(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that the help quotes and, for a file, what the shell finds."""
        if self._shown.metavar in FILES:
            return [CompletionItem(incomplete, type="file")]
        names = re.findall(r"'([\w-]+)'", with_names(self._shown.help))
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Option(click.Option):
    """An option in a section of the help."""

    def __init__(self, names: Sequence[str], section: str, **more: Any) -> None:
        super().__init__(names, **more)
        self.section = section

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help."""
        record = super().get_help_record(ctx)
        return None if record is None else (record[0], with_names(record[1]))


class Argument(click.Argument):
    """An argument with a help."""

    section = ARGUMENTS

    def __init__(self, name: str, help: str, **more: Any) -> None:
        super().__init__([name], **more)
        self._help = f"{help}  [required]" if self.required else help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the name of the argument and its help."""
        return self.metavar or self.human_readable_name, self._help


def groups_of(command: Command) -> dict[str, type[Any]]:
    """Return the groups of options that a command takes, by the names of its parameters."""
    return {name: group for name, group in get_type_hints(command).items() if name != "return"}


def defaults_of(command: Command) -> dict[str, Any]:
    """Return the default of every option of a command, `REQUIRED` for those that must be given."""
    return {each.name: each.default for group in groups_of(command).values() for each in _fields(group)}


def parameters_of(command: Command) -> list[click.Parameter]:
    """Return the options of all groups of a command, as click takes them."""
    parameters = [
        _parameter(each, get_type_hints(group)[each.name], getattr(group, "section", DONE))
        for group in groups_of(command).values()
        for each in _fields(group)
    ]
    if twice := repeated(each.name or "" for each in parameters):
        msg = f"two groups of options have {twice}"
        raise ValueError(msg)
    return parameters


def called(command: Command, given: Mapping[str, Any]) -> None:
    """Call a command with its groups, filled with what was given: nothing is `None`, or an empty tuple."""
    values = {name: _flat(value) for name, value in given.items() if value is not None and value != ()}
    groups = {
        name: group(**{each.name: values[each.name] for each in _fields(group) if each.name in values})
        for name, group in groups_of(command).items()
    }
    command(**groups)


def _fields(group: type[Any]) -> list[Field[Any]]:
    """Return the fields of a group that are options."""
    return [each for each in fields(group) if OPTION in each.metadata]


def _parameter(each: Field[Any], hint: Any, section: str) -> click.Parameter:
    """Return an option of a group as click takes it."""
    shown: Shown = each.metadata[OPTION]
    kind, is_required = _kind(hint), each.default is REQUIRED
    if shown.is_argument:
        own = Text(PARSERS.get(shown.metavar or "", str), shown)
        return Argument(each.name, shown.help, required=is_required, metavar=shown.metavar, type=own)
    flag = f"--{each.name.replace('_', '-')}"
    more: dict[str, Any] = {"is_flag": True}
    if kind is not bool:
        parser = PARSERS.get(shown.metavar or "", Path if kind is Path else str)
        more = {"type": Text(parser, shown), "metavar": shown.metavar, "multiple": kind is list}
    elif each.default is None and not shown.flags:  # neither of the two is the default
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    more |= {"required": True} if is_required else {"default": None}
    names = [*(shown.flags or (flag,)), each.name]
    default = f"  [default: {_default(each)}]" if shown.show_default and _default(each) else ""
    return Option(
        names,
        shown.section or section,
        help=f"{shown.help}{default}",
        show_default=False,
        **more,
    )


def _kind(hint: Any) -> Any:
    """Return the type of a field, without `None` and what a list holds."""
    [kind] = (
        [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
    )
    return get_origin(kind) or kind


def _default(each: Field[Any]) -> str:
    """Return the default of an option as the help shows it: nothing where it says nothing."""
    if each.default is True:
        shown: Shown = each.metadata[OPTION]
        return shown.flags[0].partition("/")[0].removeprefix("--")
    says_nothing = any(each.default is nothing for nothing in (None, False, REQUIRED))
    return "" if says_nothing else str(each.default)


def _flat(value: Any) -> Any:
    """Return the value of an option; of one that can be repeated, one list of all that was given."""
    if not isinstance(value, tuple):
        return value
    return [part for each in value for part in (each if isinstance(each, list) else [each])]
