"""Numbers as people type them."""

from __future__ import annotations

import pytest
import typer

from mmdbounds.cli.numbers import number, whole_number


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
    with pytest.raises(typer.BadParameter, match=message):
        number(text)


def test_whole_number():
    assert whole_number("12") == 12
    with pytest.raises(typer.BadParameter, match=r"^must be a whole number; got '1\.5'\.$"):
        whole_number("1.5")
