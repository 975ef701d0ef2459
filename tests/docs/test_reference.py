"""Everything public is documented, and generated text is up to date."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import mmdbounds
from docs.shown import ROOT, tools
from mmdbounds.cli.app import COMMANDS

DOCS = ROOT / "docs"


def read(*parts: str) -> str:
    return Path(ROOT, *parts).read_text(encoding="utf-8")


def normal(name: str) -> str:
    """Return a package's name in the form in which pip compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(file: str = "constraints.txt") -> list[str]:
    """Return the lines of a file of constraints that are no comments."""
    return [line for line in read(file).splitlines() if line and not line.startswith("#")]


def documented_names() -> list[str]:
    """Return the entries of the autosummary tables."""
    page = read("docs", "reference", "index.md")
    tables = re.findall(r"```\{eval-rst\}\n\.\. autosummary::(.*?)```", page, re.DOTALL)
    return [name for table in tables for name in re.findall(r"^ {3}([\w.]+)$", table, re.MULTILINE)]


def test_every_public_name_is_in_the_reference() -> None:
    names = documented_names()
    assert len(names) == len(set(names))
    assert set(mmdbounds.__all__) - {"__version__"} <= set(names)


def test_every_name_in_the_reference_exists_and_has_a_docstring() -> None:
    for name in documented_names():
        module, _, attribute = f"mmdbounds.{name}".rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__doc__, name


def test_every_command_is_in_the_reference() -> None:
    page = read("docs", "command_line.md")
    names = [name for commands in COMMANDS.values() for name in commands]
    assert "bounds" in names
    for name in names:
        assert f"\n## `mmdbounds {name}`\n" in page


def test_the_command_line_reference_is_up_to_date() -> None:
    page = read("docs", "command_line.md")
    assert page == tools.with_reference(page), "`make refresh` writes it anew"


def test_the_table_of_kernels_is_up_to_date() -> None:
    page = read("docs", "kernels.md")
    assert page == tools.with_kernels(page), "`make refresh` writes it anew"


def test_the_same_help_on_any_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = tools.help_texts()
    monkeypatch.setenv("COLUMNS", "40")
    assert tools.help_texts() == wide


def test_every_page_is_in_a_table_of_contents() -> None:
    entries = set(re.findall(r"^([\w/]+)$", read("docs", "index.md"), flags=re.MULTILINE))
    pages = {
        str(page.relative_to(DOCS).with_suffix("")) for page in tools.pages() if page.is_relative_to(DOCS)
    } - {"index"}
    assert pages <= entries


def test_every_room_is_described_in_its_order() -> None:
    contract, *_ = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    rooms = [layer.removeprefix("mmdbounds.") for layer in contract["layers"]]
    table = re.findall(r"^\| (`.*?) \|", read("CONTRIBUTING.md"), flags=re.MULTILINE)
    described = [name for cell in table for name in re.findall(r"`(\w+)`", cell)]
    assert described == [room for room in rooms if not room.startswith("_")]


def test_versions_agree() -> None:
    stated = re.findall(r"^version: (\S+)$", read("CITATION.cff"), flags=re.MULTILINE)
    assert stated == [mmdbounds.__version__]


def test_the_paper_is_cited() -> None:
    assert "2308.03570" in read("CITATION.cff")
    assert "2308.03570" in read("README.md")


@pytest.mark.parametrize("file", ["constraints.txt", "constraints-oldest.txt"])
def test_constraints_pin_one_version_each(file: str) -> None:
    lines = pinned(file)
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[\w.+!]+", line)] == []
    names = [normal(line.split("==")[0]) for line in lines]
    assert sorted(set(names)) == sorted(names)


def test_the_oldest_versions_are_those_that_are_tested() -> None:
    data = tomllib.loads(read("pyproject.toml"))
    tested = dict(line.split("==") for line in pinned("constraints-oldest.txt"))
    for needed in data["project"]["dependencies"]:
        name, oldest = needed.split(">=")
        assert re.fullmatch(rf"{re.escape(oldest)}(\.0)*", tested[name]), f"{needed}, tested {tested[name]}"


def test_the_tools_of_the_tests_are_the_same_at_both_ends() -> None:
    text = read("constraints-oldest.txt")
    both = [line for line in text.split("# -- installer and tests\n")[1].splitlines() if line]
    assert "pytest" in {line.split("==")[0] for line in both}
    assert set(both) <= set(pinned())


def test_every_direct_dependency_is_pinned() -> None:
    data = tomllib.loads(read("pyproject.toml"))
    extras = data["project"]["optional-dependencies"]
    groups = data["dependency-groups"].values()
    needed = [
        *data["build-system"]["requires"],
        *data["project"]["dependencies"],
        *extras["plot"],
        *(each for group in groups for each in group if isinstance(each, str)),
    ]
    names = {normal(re.split(r"[^\w.-]", each)[0]) for each in needed}
    assert "numpy" in names
    assert names <= {normal(line.split("==")[0]) for line in pinned()}
