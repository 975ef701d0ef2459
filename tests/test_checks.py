"""Checks of arguments: what passes comes back as a plain number, what does not is named in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmdbounds.checks import (
    check_chance,
    check_flag,
    check_memory,
    check_option,
    check_path,
    check_positive,
    check_rate,
    check_share,
)
from mmdbounds.errors import MmdBoundsError


@pytest.mark.parametrize(
    ("check", "inside", "outside"),
    [
        (check_share, [0, 0.5, np.float32(0.25)], [-0.1, 1, 100, float("nan")]),
        (check_chance, [1e-300, 0.5], [0, 1, 100, float("nan")]),
        (check_rate, [1e-300, 1], [0, 1.01, 101, float("nan")]),
        (check_positive, [1e-300, 1e300, 7], [0, -1, float("inf"), float("nan")]),
    ],
)
def test_ranges(check: Callable[[Any, str], float], inside: list[Any], outside: list[Any]):
    for value in inside:
        found = check(value, "x")
        assert found == value
        assert type(found) is float
    for value in outside:
        with pytest.raises(MmdBoundsError, match=rf"^`x` must be .*; got {value:g}\.$"):
            check(value, "x")
    for value in ("0.5", None, True, 10**400):
        with pytest.raises(MmdBoundsError, match=r"^`x` must be a .*number.*; got "):
            check(value, "x")


@pytest.mark.parametrize(
    ("check", "value", "meant"),
    [
        (check_share, 20, "0.2"),
        (check_share, 1.5, "0.015"),
        (check_chance, 95.0, "0.95"),
        (check_rate, 100, "1"),
        (check_rate, 2, "0.02"),
    ],
)
def test_percentages_are_recognised(check: Callable[[Any, str], float], value: float, meant: str):
    with pytest.raises(MmdBoundsError, match=rf"; got {value:g}\. Did you mean {re.escape(meant)}\?$"):
        check(value, "x")


def test_numbers_are_shown_as_numbers_with_their_digits():
    with pytest.raises(MmdBoundsError, match=r"; got 1\.0000001\. Did you mean 0\.01\?$"):
        check_share(np.float64(1.0000001), "x")


@pytest.mark.parametrize(
    ("value", "ending"),
    [("None", "'None'. Did you mean 'none'?"), (None, "None. Did you mean 'none'?"), (3, "3.")],
)
def test_options(value: Any, ending: str):
    assert check_option("none", "scale", ("rank", "none")) == "none"
    message = rf"^`scale` must be one of 'rank', 'none'; got {re.escape(ending)}$"
    with pytest.raises(MmdBoundsError, match=message):
        check_option(value, "scale", ("rank", "none"))


def test_long_values_are_cut():
    for check in (check_flag, check_share, lambda value, name: check_option(value, name, ("a", "b"))):
        with pytest.raises(MmdBoundsError, match=r"; got 'y{79}\.\.\.\.$"):
            check("y" * 1000, "x")


def test_names_of_files():
    assert check_path("a/b", "checkpoint") == check_path(b"a/b".decode(), "x") == Path("a/b")
    for value in ("", None, 3, ["a"]):
        message = rf"^`checkpoint` must be the name of a file; got {re.escape(repr(value))}\.$"
        with pytest.raises(MmdBoundsError, match=message):
            check_path(value, "checkpoint")


def test_memory():
    assert check_memory(1) == 1.0
    with pytest.raises(
        MmdBoundsError, match=r"^`working_memory` must be a number of MiB from 1; got 0\.5\.$"
    ):
        check_memory(0.5)
    with pytest.raises(
        MmdBoundsError, match=r"^`working_memory` must be at most 1,000,000,000 MiB; got 10000000000\.$"
    ):
        check_memory(1e10)
