"""Whatever README and docs show runs, and prints what they say it prints."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re

import pytest

import mmdbounds
from docs.shown import ROOT, tools
from mmdbounds.compiled import numba_is_there

PAGES = {str(page.relative_to(ROOT)): page for page in tools.pages()}
# What runs when it is imported, or needs a package that may be missing.
LEFT_OUT = ("__main__", ".triton", *([] if numba_is_there() else [".fused"]))
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(mmdbounds.__path__, "mmdbounds.")
    if not module.name.endswith(LEFT_OUT)
)
LANGUAGES = {"python", "shell", "text", "sh", "r"}


def test_the_pages_are_found() -> None:
    assert {"README.md", "docs/start.md", "docs/method.md", "docs/reference/index.md"} <= set(PAGES)


SHORT = ("README.md", "docs/start.md", "docs/questions.md")  # what everybody reads; the others are `long`


@pytest.mark.parametrize(
    "name", [pytest.param(page, marks=[] if page in SHORT else [pytest.mark.long]) for page in PAGES]
)
def test_blocks_run_and_print_what_is_shown(name: str) -> None:
    for ran in tools.run_page(PAGES[name].read_text(encoding="utf-8")):
        if ran.shown is not None:
            assert ran.agrees, f"{name}, line {ran.shown.start + 1}: `make refresh` writes the output anew"


@pytest.mark.parametrize("name", PAGES)
def test_every_block_has_a_known_language(name: str) -> None:
    found = {block.language for block in tools.blocks(PAGES[name].read_text(encoding="utf-8"))}
    directives = {language for language in found if re.fullmatch(r"\{[\w:-]+\}", language)}
    assert found - directives <= LANGUAGES


def test_a_wrong_output_is_noticed() -> None:
    page = "```python\nprint(1 + 1)\n```\n\n```text\n{}\n```\n"
    (right,), (wrong,) = (tools.run_page(page.format(shown)) for shown in ("2", "3"))
    assert right.agrees
    assert not wrong.agrees
    assert tools.with_outputs(page.format("3")) == page.format("2")


def test_proofs_may_end_elsewhere_on_another_machine() -> None:
    assert tools.is_same("mmd2 in [0.0232342, 0.291277], 10 rows", "mmd2 in [0.0232314, 0.291277], 10 rows")
    for other in (
        "mmd2 in [0.0242342, 0.291277], 10 rows",
        "mmd2 in [0.0232342, 0.291277], 11 rows",
        "",
        "a\nb",
    ):
        assert not tools.is_same("mmd2 in [0.0232342, 0.291277], 10 rows", other)


def test_a_block_that_fails_is_noticed() -> None:
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        tools.run_page("```python\n1 / 0\n```\n")
    with pytest.raises(RuntimeError, match="ended with 2"):
        tools.run_page("```shell\nmmdbounds bounds missing.csv --no-such-flag\n```\n")
    with pytest.raises(ValueError, match="runs `mmdbounds` only"):
        tools.run_page("```shell\nls\n```\n")


def test_only_timings_and_the_version_may_differ() -> None:
    before = "value 0.25\n\nrbf; 10 kernel values in 0.02 s;\nmmdbounds 0.1.0.dev0."
    after = "value 0.25\n\nrbf; 10 kernel values in 1.25e-05\ns; mmdbounds 1.2.3."
    assert tools.constant_part(before) == tools.constant_part(after)
    assert tools.constant_part(before) != tools.constant_part(after.replace("0.25", "0.26", 1))
    assert tools.constant_part(before) != tools.constant_part(after.replace("10 kernel", "11 kernel"))


def test_make_targets_that_pages_mention_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES.values())
    lines = re.findall(r"^make ([^#\n]+)", text, flags=re.MULTILINE) + re.findall(r"`make ([^`]+)`", text)
    used = {word for words in lines for word in words.split() if "=" not in word}
    assert {"demo", "test"} <= used <= targets


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_some_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    counts = {m: sum(len(t.examples) for t in finder.find(importlib.import_module(m))) for m in MODULES}
    assert counts["mmdbounds.bounds"] >= 5
    assert counts["mmdbounds.contamination"] >= 2
