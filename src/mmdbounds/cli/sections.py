"""Help in plain text, with commands and options in sections: thirty flags in one list are hard to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "Commands for a table of your own": ("bounds", "test", "sweep", "report"),
    "Commands for data whose truth is known": ("evaluate", "reproduce"),
    "Commands to look around": ("demo", "backends"),
}
"""The commands by section, in the order in which they are listed."""

OPTIONS = {
    "The table": (
        *("group", "hidden", "among", "id_", "unit", "columns", "exclude"),
        *("scale", "missing", "na", "encoding", "data"),
    ),
    "How much is misfiled": (
        *("epsilon", "share_of_y", "n_moved", "y_in_x", "n_moved_of_x", "at_most", "epsilons", "mechanism"),
    ),
    "What is done": (
        *("method", "methods", "n_starts", "certify", "gap", "n_steps", "schedule", "approximation"),
        *("n_permutations", "best_case", "beta", "level", "value"),
        *("preset", "sizes", "replace", "n_trials", "only", "rng"),
    ),
    "How rows are compared": ("kernel", "bandwidth", "estimator"),
    "How it is computed": (
        *("backend", "dtype", "working_memory", "features", "landmarks", "n_processes", "checkpoint"),
    ),
    "What comes out": (
        *("dry_run", "rows", "report", "out", "include_rows", "save", "list_"),
        *("json", "csv", "quiet", "progress"),
    ),
}
"""The options by section, by the names of their parameters; those of no section come last."""

OTHERS = "Options"
"""Section of what has none of its own: the version, the help, shell completion."""


def sectioned(names: Iterable[str], sections: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """Return the names by section; sections and names in the order of `sections`, empty ones left out."""
    given = list(names)
    found = {title: [name for name in known if name in given] for title, known in sections.items()}
    placed = {name for known in found.values() for name in known}
    found[OTHERS] = [name for name in given if name not in placed]
    return {title: names for title, names in found.items() if names}


def write_options(command: Any, context: Any, formatter: Any) -> None:
    """Write the arguments and the options of a command, section by section."""
    records: dict[str, tuple[str, str]] = {}
    arguments = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        if parameter.param_type_name == "argument":
            arguments.append((parameter.metavar or record[0], record[1]))  # typer would add its type
        else:
            records[parameter.name] = record
    if arguments:
        with formatter.section("Arguments"):
            formatter.write_dl(arguments)
    for title, names in sectioned(records, OPTIONS).items():
        with formatter.section(title):
            formatter.write_dl([records[name] for name in names])


class Interrupted(BaseException):
    """A signal has ended the work; not Python's own, which typer would announce with an empty line."""

    continues = ""
    """What the same command would go on from, as people say it."""


class Command(TyperCommand):
    """A command whose help has its options in sections."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name in the first line; newer releases of typer put braces round FILE."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        write_options(self, ctx, formatter)


class Commands(TyperGroup):
    """A group of commands whose help has them in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options that come before a command."""
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, section by section."""
        for title, names in sectioned(self.list_commands(ctx), COMMANDS).items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str()) for name in names])
