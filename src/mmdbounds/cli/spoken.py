"""What the library says, as the command line says it: flags for keywords, commands for functions."""

from __future__ import annotations

import re
from functools import cache

FUNCTIONS = {  # and their commands, of those that are named in messages
    "mmd_bounds": "bounds",
    "robust_test": "test",
    "sweep": "sweep",
    "audit": "audit",
    "column_table": "columns",
    "odds_sweep": "odds",
    "confidence_interval": "confidence",
    "hsic_bounds": "bounds --wrong",
    "independence_test": "test --wrong",
}
CALLS = {"`row_table()`": "`--rows FILE`", "`to_frame()`": "`--csv`"}  # of results
_KEYWORD = re.compile(r"`([a-z_]+)=(?:True)?`")  # `id=` becomes `--id`
_VALUE = re.compile(r"(`?)\b([a-z_]+)='([\w-]+)'\1")  # method='sharp' becomes `--method sharp`
_FUNCTION = re.compile(rf"`({'|'.join(FUNCTIONS)})`")


def in_flags(text: str) -> str:
    """Return a text of the library with flags for its keywords and commands for its functions."""
    for call, flag in CALLS.items():
        text = text.replace(call, flag)
    text = _KEYWORD.sub(lambda found: f"`{_flag(found[1])}`", text)
    text = _VALUE.sub(lambda found: _with_value(found) if found[2] in option_names() else found[0], text)
    return _FUNCTION.sub(lambda found: f"`mmdbounds {FUNCTIONS[found[1]]}`", text)


def as_flags(message: str) -> str:
    """Return the same on one line."""
    return " ".join(in_flags(message).split())


@cache
def option_names() -> frozenset[str]:
    """Return the names of all options of all commands."""
    from mmdbounds.cli.app import COMMANDS
    from mmdbounds.cli.options import defaults_of

    commands = [command for section in COMMANDS.values() for command, _ in section.values()]
    return frozenset(name for command in commands for name in defaults_of(command))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _with_value(found: re.Match[str]) -> str:
    return f"`{_flag(found[2])} {found[3]}`"
