"""The pieces of messages: one line, of bounded length, with the nearest name."""

from __future__ import annotations

import pytest

from mmdbounds.errors import (
    counted,
    did_you_mean,
    file_trouble,
    listed,
    quoted,
    quoted_list,
    repeated,
    shown_path,
    shown_value,
)


@pytest.mark.parametrize(
    ("given", "known", "expected"),
    [
        ("Age", ["bmi", "age"], " Did you mean 'age'?"),
        (" RBF ", ["rbf", "laplace"], " Did you mean 'rbf'?"),
        ("aeg", ["bmi", "age"], " Did you mean 'age'?"),
        ("site", ["bmi", "age"], ""),
        ("x", [], ""),
        ("n" * 70, ["n" * 71], ""),  # nothing is guessed among names that are sentences
        ("N" * 70, ["n" * 70], f" Did you mean {'n' * 57 + '...'!r}?"),
    ],
)
def test_the_nearest_name_is_suggested(given: str, known: list[str], expected: str):
    assert did_you_mean(given, known) == expected


def test_names_are_quoted_and_short():
    assert quoted("a\nb") == "'a\\nb'"
    assert quoted(7) == "'7'"
    assert quoted("n" * 60) == repr("n" * 60)
    assert quoted("n" * 61) == repr("n" * 57 + "...")


def test_few_are_listed_and_the_others_counted():
    assert listed(["a", "b"]) == "a, b"
    assert listed(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert quoted_list(["a", "b", "c"], 2) == "'a', 'b' and 1 more"
    assert [counted(n, "row") for n in (0, 1, 2, 12_345)] == ["0 rows", "1 row", "2 rows", "12,345 rows"]


def test_names_that_occur_twice():
    assert repeated(["a", "b", "c", "b", "a", "b"]) == "'a', 'b'"
    assert repeated(["a", "b"]) == ""


def test_values_and_paths_of_any_length():
    assert shown_value("x") == "'x'"
    assert shown_value("x" * 100) == "'" + "x" * 79 + "..."
    assert shown_value(10**5000) == "a number with thousands of digits"
    assert shown_path("a/b") == "a/b"
    assert shown_path("x" * 301) == "..." + "x" * 80


def test_the_reason_is_that_of_the_system():
    assert file_trouble(PermissionError(13, "Permission denied")) == "Permission denied"
    assert file_trouble(ValueError("embedded null byte")) == "this is not a valid file name"
