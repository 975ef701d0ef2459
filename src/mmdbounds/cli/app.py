"""The commands of ``mmdbounds``, their one-line errors and their exit codes.

Exit codes: 0 done, 1 the reader of the output closed the pipe, 2 the input or an option cannot be used, a
file cannot be written or memory ran out (one line says which), 70 an unexpected error (details in a log
file), 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mmdbounds._version import __version__
from mmdbounds.cli import low_memory, side_files, stopped
from mmdbounds.cli.backends import backends_command
from mmdbounds.cli.bounds import bounds_command
from mmdbounds.cli.demo import demo_command
from mmdbounds.cli.evaluate import evaluate_command
from mmdbounds.cli.report import report_command
from mmdbounds.cli.reproduce import reproduce_command
from mmdbounds.cli.robust import robust_command
from mmdbounds.cli.sections import Command, Commands, Interrupted
from mmdbounds.cli.stopped import EXIT_UNFORESEEN, EXIT_WRONG
from mmdbounds.cli.sweep import sweep_command
from mmdbounds.cli.unforeseen import unforeseen
from mmdbounds.errors import MmdBoundsError

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
COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "bounds": (bounds_command, "Bound the squared MMD between two groups of a table."),
    "test": (robust_command, "Test whether two groups differ, although rows may be misfiled."),
    "sweep": (sweep_command, "How much misfiling it takes to explain a difference away."),
    "report": (report_command, "A page to read, show and print, from a saved result."),
    "evaluate": (evaluate_command, "How often each method misses the truth, by simulation."),
    "reproduce": (reproduce_command, "A table or figure of the paper, run again."),
    "demo": (demo_command, "A one-second example on real data."),
    "backends": (backends_command, "Where this machine can compute, and how fast."),
}
for _name, (_command, _help) in COMMANDS.items():
    app.command(_name, cls=Command, short_help=_help)(_command)

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
    if outcome == stopped.exit_code():  # newer releases of typer return it
        return _ended(KeyboardInterrupt())
    return outcome if isinstance(outcome, int) else 0


def _ended(error: BaseException) -> int:
    """Say in one line how the work ended, and return the exit code."""
    if stopped.by() or isinstance(error, KeyboardInterrupt | Interrupted | typer.Abort):
        more = getattr(error, "continues", "") or side_files.so_far()
        typer.echo(f"mmdbounds: {stopped.word()}; {more}.", err=True)
        return stopped.exit_code()
    if isinstance(error, _ClickError):
        message = error.format_message().strip()
        stop = "" if message.endswith((".", "?")) else "."
        return _wrong(f"{message}{stop} {_where_to_look(error)}")
    if isinstance(error, MmdBoundsError):
        return _wrong(str(error))
    if low_memory.is_low_memory(error):
        return _wrong(low_memory.MESSAGE)
    typer.echo(f"mmdbounds: {unforeseen(error)}", err=True)
    return EXIT_UNFORESEEN


def _wrong(message: str) -> int:
    typer.echo(f"mmdbounds: {_on_one_line(message)}", err=True)
    return EXIT_WRONG


def _on_one_line(message: str) -> str:
    """Return a message of the library on one line, with flags for its keywords: `id=` becomes `--id`."""
    with_flags = re.sub(r"`([a-z_]+)=`", lambda found: f"`--{found[1].replace('_', '-')}`", message)
    return " ".join(with_flags.split())


def _where_to_look(error: Any) -> str:
    context = getattr(error, "ctx", None)
    command = "mmdbounds" if context is None else context.command_path
    return f"See `{command} --help`."


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"mmdbounds: note: {_on_one_line(str(message))}", err=True)
