"""The commands of ``mmdbounds``, their help, their one-line errors and their exit codes."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from mmdbounds._version import __version__
from mmdbounds.cli import main, side_files
from mmdbounds.cli.auditing import audit_command
from mmdbounds.cli.columns import columns_command
from mmdbounds.cli.compare import bounds_command, robust_test_command, sweep_command
from mmdbounds.cli.getting_started import backends_command, demo_command
from mmdbounds.cli.inference import aggregated_command, confidence_command
from mmdbounds.cli.known_truth import evaluate_command, reproduce_command
from mmdbounds.cli.odds import odds_command
from mmdbounds.cli.options import SECTIONS, with_names
from mmdbounds.cli.picture import plot_command
from mmdbounds.cli.plan import as_flags
from mmdbounds.cli.reporting import report_command
from mmdbounds.errors import MmdBoundsError

# Sections of what has none of its own: the file; the version, the help, shell completion.
ARGUMENTS, OTHERS = "Arguments", "Options"
Record = tuple[str, str]


def write_sections(
    formatter: Any, records: Iterable[tuple[str | None, Record]], titles: Iterable[str]
) -> None:
    """Write records under their titles, in the order of `titles`; those of none of them come last."""
    titles = [*titles, OTHERS]
    by_title: dict[str, list[Record]] = {title: [] for title in titles}
    for title, record in records:
        by_title[title if title in by_title else OTHERS].append(record)
    for title in titles:
        if by_title[title]:
            with formatter.section(title):
                formatter.write_dl(by_title[title])


def write_options(command: Any, context: Any, formatter: Any) -> None:
    """Write the arguments and the options of a command, section by section."""
    options: list[tuple[str | None, Record]] = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        if parameter.param_type_name == "argument":  # its own name: typer would add its type
            options.append((ARGUMENTS, (parameter.metavar or record[0], record[1])))
        else:
            section = getattr(parameter, "rich_help_panel", None)
            options.append((section, (record[0], with_names(record[1]))))
    write_sections(formatter, options, (ARGUMENTS, *SECTIONS))


class Command(TyperCommand):
    """A command whose help has its options in sections."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise main.Interrupted from None

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
        commands = [self.commands[name] for name in self.list_commands(ctx)]
        sections = [getattr(command, "rich_help_panel", None) for command in commands]
        records = [(command.name or "", command.get_short_help_str()) for command in commands]
        write_sections(formatter, zip(sections, records, strict=True), dict.fromkeys(filter(None, sections)))


app = typer.Typer(
    name="mmdbounds",
    help="How different are two groups when some rows are filed under the wrong one?\n\n"
    "Bounds on the kernel two-sample statistic (squared MMD) over all possible misfilings.",
    epilog="Start with `mmdbounds demo`.\n\n"
    "Exit codes: 0 done; 1 the reader of the output closed the pipe; 2 the input or an option cannot be "
    "used, a file cannot be written or memory ran out, and one line on standard error says which; 70 an "
    "unexpected error, with its details in a log file; 130 interrupted; 143 terminated.",
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "color": False},
)
# The commands and a line about each, by the sections of the help.
COMMANDS: dict[str, dict[str, tuple[Callable[..., None], str]]] = {
    "Commands for a table of your own": {
        "bounds": (bounds_command, "Bound the squared MMD between two groups of a table."),
        "test": (robust_test_command, "Test whether two groups differ, even though rows may be misfiled."),
        "sweep": (sweep_command, "Find how much misfiling it takes to explain a difference away."),
        "columns": (columns_command, "Compare two groups column by column, with bounds."),
        "odds": (odds_command, "Estimate what is left if rows were misfiled at random, or nearly."),
        "audit": (audit_command, "Decide from rows that were looked up whether a difference stands."),
        "aggregated": (aggregated_command, "Test with several kernels at once."),
        "confidence": (confidence_command, "Bound the difference between the two populations."),
        "report": (report_command, "Write all of this, or a saved result, as one page to read and print."),
        "plot": (plot_command, "Draw a saved result."),
    },
    "Commands for data whose truth is known": {
        "evaluate": (evaluate_command, "Simulate how often each method misses the truth."),
        "reproduce": (reproduce_command, "Run a table or figure of the paper again."),
    },
    "Commands to get started": {
        "demo": (demo_command, "Show a one-second example on real data."),
        "backends": (backends_command, "List where this machine can compute, and how fast."),
    },
}
for _section, _commands in COMMANDS.items():
    for _name, (_command, _line) in _commands.items():
        app.command(_name, cls=Command, short_help=_line, rich_help_panel=_section)(_command)

# Newer releases of typer carry click inside, older ones depend on it: the base of their usage errors
# is reached through the one that typer exports.
_ClickError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mmdbounds {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that come before a command; without a command, show the help."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def prepare() -> None:
    """Make warnings and streams of this process those of a command."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot print is no error
            stream.reconfigure(errors="backslashreplace")
            if sys.platform == "win32" and not stream.isatty():  # files are the same on all systems
                stream.reconfigure(encoding="utf-8", newline="\n")


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; whatever a user can cause is one line on stderr."""
    side_files.begin()
    try:
        with warnings.catch_warnings():  # --quiet drops some
            outcome = app(args=arguments, prog_name="mmdbounds", standalone_mode=False)
    except SystemExit as left:  # the reader of our output has left, e.g. `| head`: typer's way to say so
        return int(left.code or 0)
    except BaseException as error:
        return _ended(error)
    if outcome == main.signal_exit_code():  # newer releases of typer return it
        return _ended(KeyboardInterrupt())
    return outcome if isinstance(outcome, int) else 0


def _ended(error: BaseException) -> int:
    """Say in one line how the work ended, and return the exit code."""
    if main.received_signal() or isinstance(error, KeyboardInterrupt | main.Interrupted | typer.Abort):
        more = getattr(error, "resumes_from", "") or side_files.so_far()
        typer.echo(f"mmdbounds: {main.signal_word()}; {more}.", err=True)
        return main.signal_exit_code()
    if isinstance(error, _ClickError):
        message, context = error.format_message().strip(), getattr(error, "ctx", None)
        stop = "" if message.endswith((".", "?")) else "."
        command = "mmdbounds" if context is None else context.command_path
        return _wrong(f"{message}{stop} See `{command} --help`.")
    if isinstance(error, MmdBoundsError):
        return _wrong(str(error))
    if main.is_low_memory(error):
        return _wrong(main.LOW_MEMORY)
    typer.echo(f"mmdbounds: {main.unexpected(error)}", err=True)
    return main.EXIT_UNEXPECTED


def _wrong(message: str) -> int:
    typer.echo(f"mmdbounds: {as_flags(message)}", err=True)
    return main.EXIT_WRONG


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"mmdbounds: note: {as_flags(str(message))}", err=True)
