"""Texts of the library as the command line says them."""

from __future__ import annotations

import sys

import pytest

from mmdbounds.cli.app import as_typed_here
from mmdbounds.cli.spoken import as_flags, in_flags


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set `id=` to it, or `exactly=True`", "set `--id` to it, or `--exactly`"),
        ("`n_moved=` says it", "`--n-moved` says it"),
        ("Use method='sharp' or `schedule='even'`.", "Use `--method sharp` or `--schedule even`."),
        ("`weights='plain'` is for others", "`weights='plain'` is for others"),  # no option
        ("`robust_test` and `column_table`", "`mmdbounds test` and `mmdbounds columns`"),
        ("`row_table()` lists all,\n  `to_frame()` too", "`--rows FILE` lists all,\n  `--csv` too"),
        ("`epsilon` must be in [0, 1)", "`epsilon` must be in [0, 1)"),
    ],
)
def test_keywords_are_flags_and_functions_commands(text: str, said: str):
    assert in_flags(text) == said
    assert as_flags(text) == " ".join(said.split())


def test_examples_of_windows_are_on_one_line(monkeypatch: pytest.MonkeyPatch):
    text = "Example:\n  mmdbounds bounds t.csv \\\n    --epsilon 0.1"
    monkeypatch.setattr(sys, "platform", "linux")
    assert as_typed_here(text) == text
    monkeypatch.setattr(sys, "platform", "win32")
    assert as_typed_here(text) == "Example:\n  mmdbounds bounds t.csv --epsilon 0.1"
