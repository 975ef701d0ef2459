"""The commands of ``mmdbounds``, their help, their one-line errors and their exit codes."""

from __future__ import annotations

import errno
import inspect
import io
import os
import re
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any

import click

from mmdbounds._version import __version__
from mmdbounds.cli import main, options, side_files
from mmdbounds.cli.auditing import audit_command
from mmdbounds.cli.columns import columns_command
from mmdbounds.cli.compare import bounds_command, robust_test_command, sweep_command
from mmdbounds.cli.getting_started import backends_command, demo_command
from mmdbounds.cli.inference import confidence_command
from mmdbounds.cli.known_truth import evaluate_command
from mmdbounds.cli.odds import odds_command
from mmdbounds.cli.options import ARGUMENTS, SECTIONS
from mmdbounds.cli.picture import plot_command
from mmdbounds.cli.reporting import report_command
from mmdbounds.cli.spoken import as_flags
from mmdbounds.errors import LONGEST_VALUE, MmdBoundsError, did_you_mean, shown_value

# Section of what has none of its own: the version, the help.
OTHERS = "Options"
COMPLETION = "_MMDBOUNDS_COMPLETE"  # what a shell sets that wants its script, or a word completed
SHELLS = ("bash", "zsh", "fish")
MOST_SAID = 400  # characters of what click says of arguments
Record = tuple[str, str]

# The commands and a line about each, by the sections of the help.
COMMANDS: dict[str, dict[str, tuple[options.Command, str]]] = {
    "Commands for a table of your own": {
        "bounds": (bounds_command, "Bound the squared MMD between two groups of a table."),
        "test": (robust_test_command, "Test whether two groups differ, even though rows may be misfiled."),
        "sweep": (sweep_command, "Find how much misfiling it takes to explain a difference away."),
        "columns": (columns_command, "Compare two groups column by column, with bounds."),
        "odds": (odds_command, "Estimate what is left if rows were misfiled at random, or nearly."),
        "audit": (audit_command, "Decide from rows that were looked up whether a difference stands."),
        "confidence": (confidence_command, "Bound the difference between the two populations."),
        "report": (report_command, "Write all of this, or a saved result, as one page to read and print."),
        "plot": (plot_command, "Draw a saved result."),
    },
    "Commands for data whose truth is known": {
        "evaluate": (evaluate_command, "Simulate how often each method misses the truth."),
    },
    "Commands to get started": {
        "demo": (demo_command, "Show a one-second example on real data."),
        "backends": (backends_command, "List where this machine can compute, and how fast."),
    },
}


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


def write_options(command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the arguments and the options of a command, section by section."""
    records = [(parameter, parameter.get_help_record(context)) for parameter in command.get_params(context)]
    written = [(getattr(parameter, "section", None), each) for parameter, each in records if each is not None]
    write_sections(formatter, written, (ARGUMENTS, *SECTIONS))


class Command(click.Command):
    """A command whose help has its options in sections."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what follows the name in the first line; some releases of click put braces round FILE."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments and options."""
        write_options(self, ctx, formatter)


class Commands(click.Group):
    """All commands, each made when it is asked for; the help has them in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return [name for commands in COMMANDS.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name."""
        return command_named(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, and the other words."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known:
            ctx.fail(f"No such command {shown_value(name)}.{did_you_mean(name, known)}")
        return name, self.get_command(ctx, name), args[1:]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options that come before a command."""
        records = [
            (section, (name, line))
            for section, commands in COMMANDS.items()
            for name, (_, line) in commands.items()
        ]
        write_sections(formatter, records, COMMANDS)
        write_options(self, ctx, formatter)


@cache
def command_named(name: str) -> click.Command | None:
    """Return a command as click takes it, `None` if there is none of this name."""
    by_name = {each: found for commands in COMMANDS.values() for each, found in commands.items()}
    if name not in by_name:
        return None
    function, line = by_name[name]
    return Command(
        name,
        params=options.parameters_of(function),
        callback=lambda **given: options.called(function, given),
        help=as_typed_here(inspect.cleandoc(function.__doc__ or "")),
        short_help=line,
    )


def as_typed_here(text: str) -> str:
    """Return a help whose examples the shell of this system takes: those of Windows join no lines."""
    return re.sub(r" \\\n +", " ", text) if sys.platform == "win32" else text


@click.pass_context
def _without_command(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"mmdbounds {__version__}")
        context.exit()


app = Commands(
    name="mmdbounds",
    callback=_without_command,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version.",
        )
    ],
    help="How different are two groups when some rows are filed under the wrong one?\n\n"
    "Bounds on the kernel two-sample statistic (squared MMD) over all possible misfilings.",
    epilog="Start with `mmdbounds demo`.\n\n"
    "Exit codes: 0 done; 1 nobody reads the output: its reader has left, or it is closed; 2 the input or an "
    "option cannot be used, a file cannot be written or memory ran out, and one line on standard error says "
    "which; 70 an unexpected error, with its details in a log file; 130 interrupted; 143 terminated.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "color": False},
)


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
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if instruction := os.environ.get(COMPLETION):
            return _complete(instruction)
        # --quiet drops some warnings; click takes words off the list it is given.
        with warnings.catch_warnings(), app.make_context("mmdbounds", list(words)) as context:
            app.invoke(context)
        return 0
    except click.exceptions.Exit as done:  # the help or the version was asked for
        return done.exit_code
    except BaseException as error:
        return _ended(error, words)


def _complete(instruction: str) -> int:
    """Print the script of a shell, or what completes a line."""
    from click.shell_completion import shell_complete

    if instruction.partition("_")[0] not in SHELLS:
        msg = f"{COMPLETION} must be one of {', '.join(f'{shell}_source' for shell in SHELLS)}; "
        msg += f"got {shown_value(instruction)}."
        raise MmdBoundsError(msg)
    return shell_complete(app, {}, "mmdbounds", COMPLETION, instruction)


def _ended(error: BaseException, words: Iterable[str]) -> int:
    """Say in one line how the work ended, and return the exit code."""
    if main.received_signal() or isinstance(error, KeyboardInterrupt | main.Interrupted):
        more = getattr(error, "resumes_from", "") or side_files.so_far()
        click.echo(f"mmdbounds: {main.signal_word()}; {more}.", err=True)
        return main.signal_exit_code()
    if isinstance(error, side_files.NobodyReads) or getattr(error, "errno", None) == errno.EPIPE:
        return main.EXIT_UNREAD
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        command = "mmdbounds" if context is None else context.command_path
        return _wrong(f"{_said(error, words)} See `{command} --help`.")
    if isinstance(error, MmdBoundsError):
        return _wrong(str(error))
    if main.is_low_memory(error):
        return _wrong(main.LOW_MEMORY)
    click.echo(f"mmdbounds: {main.unexpected(error)}", err=True)
    return main.EXIT_UNEXPECTED


def _said(error: click.ClickException, words: Iterable[str]) -> str:
    """Return what click says of the arguments as a sentence that repeats no long one."""
    message = error.format_message().strip()
    if isinstance(error, click.NoSuchOption):
        guess = did_you_mean(error.option_name, error.possibilities or ())
        message = f"No such option: {error.option_name}.{guess}"
    for word in words:
        for part in (word, *word.split("=", 1)):
            if len(part) > LONGEST_VALUE:
                message = message.replace(part, f"{part[:LONGEST_VALUE]}...")
    if len(message) > MOST_SAID:
        message = f"{message[:MOST_SAID]}..."
    return message if message.endswith((".", "?")) else f"{message}."


def _wrong(message: str) -> int:
    click.echo(f"mmdbounds: {as_flags(message)}", err=True)
    return main.EXIT_WRONG


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    side_files.note(as_flags(str(message)))
