"""Numbers as people type them, groups of options, and lists of names in help texts."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, make_dataclass
from typing import Any

import click
import pytest

import mmdbounds.search
from mmdbounds.cli import compare, known_truth, options
from mmdbounds.cli.app import COMMANDS
from mmdbounds.cli.arguments import Comparison, Output, Table
from mmdbounds.cli.options import (
    REQUIRED,
    argument,
    called,
    number,
    option,
    parameters_of,
    whole_number,
    with_names,
)
from mmdbounds.kernels import SHIPPED
from mmdbounds.sums import backend_names


@pytest.mark.parametrize(("text", "value"), [("0.2", 0.2), (" 1e3 ", 1000.0), ("5", 5.0), (0.5, 0.5)])
def test_number(text: object, value: float):
    assert number(text) == value
    assert type(number(text)) is float


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", r"^must be a number; got 'x'\.$"),
        ("0,25", r"^must be a number; got '0,25'\. Did you mean 0\.25\?$"),
        ("12.5 %", r"^must be a number; got '12\.5 %'\. Did you mean 0\.125\?$"),
        ("1,2,3", r"^must be a number; got '1,2,3'\.$"),
        ("%", r"^must be a number; got '%'\.$"),
    ],
)
def test_no_number(text: str, message: str):
    with pytest.raises(click.BadParameter, match=message):
        number(text)


def test_whole_number():
    assert whole_number("12") == 12
    with pytest.raises(click.BadParameter, match=r"^must be a whole number; got '1\.5'\.$"):
        whole_number("1.5")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A group with everything that a group can have."""

    name: str = argument(REQUIRED, "Name.", "NAME")
    rows: int | None = option(None, "Rows.", "ROWS")
    columns: list[str] | None = option(None, "Column.", "COL")  # noqa: RUF009
    is_open: bool = option(False, "Open.", None, options.SHOWN, "--open")
    inner: int = 7  # no option


@dataclass(frozen=True, kw_only=True)
class ClosedPlace(Place):
    """One default is another, one option is added."""

    rows: int | None = option(3, "Rows.", "ROWS")
    colour: str = option("red", "'red' or 'blue'.", "NAME")


@dataclass(frozen=True, kw_only=True)
class Level:
    """A second group."""

    level: float = option(REQUIRED, "Level.", "SHARE")


def filled(*words: str) -> tuple[ClosedPlace, Level]:
    """Run a command with two groups, and return what it gets."""
    got: list[Any] = []

    def command(place: ClosedPlace, level: Level) -> None:
        got.extend([place, level])

    made = click.Command("do", params=parameters_of(command), callback=lambda **given: called(command, given))
    made.main(list(words), standalone_mode=False)
    return tuple(got)


def test_groups_are_filled():
    place, level = filled("here", "--level", "0.5")
    assert place == ClosedPlace(name="here", rows=3, columns=None, is_open=False, colour="red")
    assert (level, place.inner) == (Level(level=0.5), 7)
    words = "--rows 4 --columns a --columns b --open --colour blue there --level 1"
    place, level = filled(*words.split())
    assert place == ClosedPlace(name="there", rows=4, columns=["a", "b"], is_open=True, colour="blue")
    assert level == Level(level=1.0)


def test_click_is_shown_every_field():
    def command(place: Place, level: Level) -> None: ...

    shown = {each.name: each for each in parameters_of(command)}
    assert list(shown) == ["name", "rows", "columns", "is_open", "level"]
    assert [name for name, each in shown.items() if each.required] == ["name", "level"]
    assert shown["rows"].section == options.DONE
    assert shown["is_open"].section == options.SHOWN


def test_an_option_in_two_groups_is_refused():
    def command(one: Place, other: ClosedPlace) -> None: ...

    with pytest.raises(ValueError, match="two groups of options have 'name', 'rows', 'columns', 'is_open'"):
        parameters_of(command)


def test_no_command_has_more_than_12_parameters_in_its_source():
    for commands in COMMANDS.values():
        for command, _ in commands.values():
            assert len(inspect.signature(command).parameters) <= 12


COMPARING = {
    "bounds": compare.bounds_command,
    "test": compare.robust_test_command,
    "sweep": compare.sweep_command,
    "evaluate": known_truth.evaluate_command,
}


def test_every_command_that_compares_has_the_shared_options():
    def shares(table: Table, comparison: Comparison, output: Output) -> None: ...

    shared = names_of(shares)
    assert {"unit", "rng", "dry_run"} <= shared
    for name, command in COMPARING.items():
        assert shared <= names_of(command), name


def test_no_command_on_a_table_has_a_fixed_seed():
    defaults = [
        options.defaults_of(command) for section in COMMANDS.values() for command, _ in section.values()
    ]
    seeds = [each["rng"] for each in defaults if {"rng", "dry_run"} <= set(each)]
    assert len(seeds) > 5
    assert set(seeds) == {None}


def test_names_come_from_those_who_know_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(mmdbounds.search.METHODS, "mine", mmdbounds.search.Sharp())
    names = {"{kernels}": SHIPPED, "{methods}": mmdbounds.search.METHODS, "{backends}": backend_names()}
    for mark, known in names.items():
        text = with_names(f"One of {mark}.")
        for name in set(known) - {"precomputed"}:  # which a table is not
            assert f"'{name}'" in text
    assert with_names("{methods}").endswith("'exhaustive' or 'mine'")
    assert with_names("{others}, as it is") == "{others}, as it is"


def names_of(command: options.Command) -> set[str | None]:
    return {each.name for each in parameters_of(command)}


@pytest.mark.parametrize(
    "command", [compare.bounds_command, compare.sweep_command, known_truth.evaluate_command]
)
def test_a_field_added_to_a_group_is_a_flag_of_every_command_that_has_it(command: Any):
    groups = options.groups_of(command)

    def with_field(group: type[Any]) -> type[Any]:
        more = [("colour", str, option("red", "'red' or 'blue'.", "NAME"))]
        return make_dataclass("Extended", more, bases=(group,), frozen=True, kw_only=True)

    def extended(**filled: Any) -> None:
        """Do it."""
        got.update(filled)

    got: dict[str, Any] = {}
    extended.__annotations__ = {**groups, "comparison": with_field(groups["comparison"])}
    assert names_of(extended) == names_of(command) | {"colour"}
    required = {
        name: "A" for name in ("file", "group", "hidden", "among", "epsilon") if name in names_of(command)
    }
    called(extended, {**dict.fromkeys(names_of(extended)), **required, "colour": "blue"})
    assert got["comparison"].colour == "blue"
    assert got["comparison"].kernel == "rbf"
