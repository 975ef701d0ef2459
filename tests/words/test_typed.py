"""Commands that are shown can be typed: in the shell of the system at hand."""

from __future__ import annotations

import sys

import pytest

from mmdbounds.words.phrases import typed

WORDS = ["mmdbounds", r"C:\my data\t.csv", "--hidden", "MI>", "--out", r"C:\r.html", "", 'say "x"']


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("linux", r"""mmdbounds 'C:\my data\t.csv' --hidden 'MI>' --out 'C:\r.html' '' 'say "x"'"""),
        ("win32", r'''mmdbounds "C:\my data\t.csv" --hidden "MI>" --out C:\r.html "" "say \"x\""'''),
    ],
)
def test_words_are_quoted_for_the_shell(system: str, text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", system)
    assert typed(WORDS) == text
