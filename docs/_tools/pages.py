"""The code in README and docs: run it, compare what is shown with what comes out, or write it anew.

Fenced blocks of a page run in order, in one namespace and one empty folder:

``python``
    executed; what it prints is its output.
``shell``
    lines that start with ``mmdbounds`` are given to the command line (``> file`` at the end of a line works).
``text``
    directly after one of these: its output, which must be what really comes out.
``sh``
    for the reader's own shell (set-up, make); not executed.
``r``
    executed by docs/_tools/r_page.py, where there is R.

The command line reference is generated from the help texts, the table of kernels from their classes.
``python docs/_tools/pages.py --write`` (``make refresh``) rewrites all of them where they have changed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from mmdbounds.cli.app import COMMANDS, run
from mmdbounds.kernels import SHIPPED, PairKernel, kernel_class

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "command_line.md"
MARK = "<!-- generated from the help texts by docs/_tools/pages.py; the text above is written by hand -->\n"
KERNELS = ROOT / "docs" / "kernels.md"
TABLE = "<!-- generated from the kernels by docs/_tools/pages.py -->\n"

# Timings and the version differ from run to run and from machine to machine.
_VARIES = (
    (re.compile(r"kernel values in [0-9.e+-]+ s"), "kernel values in T s"),
    (re.compile(r"mmdbounds \d[\w.+]*\d"), "mmdbounds V"),
)

_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")
PROOF = 1e-3


@dataclass
class Block:
    """A fenced block: its language, its text and the lines (from 0) between the fences."""

    language: str
    text: str
    start: int
    stop: int


@dataclass
class Ran:
    """A block that was executed, what it printed, and what the page shows as its output."""

    block: Block
    output: str
    shown: Block | None

    @property
    def agrees(self) -> bool:
        """Whether the page shows what comes out, but for timings, the version and the slack of proofs."""
        return self.shown is None or is_same(constant_part(self.shown.text), constant_part(self.output))


def pages() -> list[Path]:
    """Return every page that a person writes."""
    written = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    docs = ROOT / "docs"
    ignored = {"_build", "gallery", "generated"}
    return written + sorted(p for p in docs.rglob("*.md") if not ignored & set(p.relative_to(docs).parts))


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found: list[Block] = []
    fence, language, start = "", "", 0
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if not fence and (opening := re.fullmatch(r"(`{3,})\s*(\S*).*", line)):
            fence, language, start = opening[1], opening[2], i + 1
        elif fence and line.strip() == fence:
            found.append(Block(language, "\n".join(lines[start:i]), start, i))
            fence = ""
    if fence:
        msg = f"the block that starts at line {start} is not closed"
        raise ValueError(msg)
    return found


def outputs(text: str, languages: tuple[str, ...] = ("python", "shell")) -> list[tuple[Block, Block | None]]:
    """Return the blocks to run, each with the block that shows its output."""
    lines, found = text.splitlines(), blocks(text)
    pairs: list[tuple[Block, Block | None]] = []
    for block, after in zip_longest(found, found[1:]):
        if block.language in languages:
            shown = after if after is not None and after.language == "text" else None
            if shown is not None and "".join(lines[block.stop + 1 : shown.start - 1]).strip():
                shown = None  # there is prose in between
            pairs.append((block, shown))
    return pairs


def run_page(text: str) -> list[Ran]:
    """Execute the blocks of a page in an empty folder."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return [Ran(block, _output(block, namespace), shown) for block, shown in outputs(text)]


def _output(block: Block, namespace: dict[str, Any]) -> str:
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        if block.language == "python":
            # Line numbers of a traceback are those of the page.
            exec(compile("\n" * block.start + block.text, "<page>", "exec"), namespace)
        else:
            for command in commands(block.text):
                _run_command(command)
    return written.getvalue().rstrip("\n")


def commands(text: str) -> Iterator[list[str]]:
    """Return the commands of a shell block as lists of words, without comments."""
    for line in text.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def _run_command(words: list[str]) -> None:
    if words[0] != "mmdbounds":
        msg = f"a shell block runs `mmdbounds` only; use `sh` for {' '.join(words)!r}"
        raise ValueError(msg)
    arguments, target = words[1:], None
    if len(words) > 2 and words[-2] == ">":
        arguments, target = words[1:-2], Path(words[-1])
    written = io.StringIO()
    with contextlib.redirect_stdout(written) if target else contextlib.nullcontext():
        code = run(arguments)
    if code:
        msg = f"{' '.join(words)!r} ended with {code}"
        raise RuntimeError(msg)
    if target:
        target.write_text(written.getvalue(), encoding="utf-8")


def constant_part(output: str) -> str:
    """Return an output without its timings and version, nor the line breaks of paragraphs that hold one."""
    paragraphs = re.split(r"\n\s*\n", output.strip("\n"))
    return "\n\n".join(_constant_paragraph(paragraph) for paragraph in paragraphs)


def is_same(shown: str, printed: str) -> bool:
    """Return whether two outputs have the same words, and in each line the same numbers.

    Decimals may differ by a thousandth of the largest in their line: a proof ends once it is so near, and on
    another processor it ends elsewhere.
    """
    lines = [(a, b) for a, b in zip_longest(shown.splitlines(), printed.splitlines()) if a != b]
    return all(a is not None and b is not None and _is_near(a, b) for a, b in lines)


def _is_near(shown: str, printed: str) -> bool:
    if _DECIMAL.sub("#", shown) != _DECIMAL.sub("#", printed):
        return False
    a, b = ([float(number) for number in _DECIMAL.findall(line)] for line in (shown, printed))
    largest = max(map(abs, a), default=0.0)
    return all(abs(x - y) <= PROOF * largest for x, y in zip(a, b, strict=True))


def _constant_paragraph(paragraph: str) -> str:
    filled = " ".join(paragraph.split())
    constant = filled
    for pattern, word in _VARIES:
        constant = pattern.sub(word, constant)
    if constant != filled:  # where lines break hangs on how many digits a timing has
        return constant
    return "\n".join(line.rstrip() for line in paragraph.splitlines())


def with_outputs(text: str, execute: Callable[[str], list[Ran]] = run_page) -> str:
    """Return a page with every output that no longer agrees written anew."""
    lines = text.splitlines()
    for ran in reversed(execute(text)):
        if not ran.agrees and ran.shown is not None:
            lines[ran.shown.start : ran.shown.stop] = [line.rstrip() for line in ran.output.splitlines()]
    return "\n".join(lines) + "\n"


def help_texts() -> dict[str, str]:
    """Return the help of the command line and of each command, as on a terminal 88 characters wide."""
    names = [name for commands in COMMANDS.values() for name in commands]
    texts = {}
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "88"
    try:
        for name in ["", *names]:
            written = io.StringIO()
            with contextlib.redirect_stdout(written):
                run([name, "--help"] if name else ["--help"])
            texts[name] = "\n".join(line.rstrip() for line in written.getvalue().strip().splitlines())
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return texts


def command_reference() -> str:
    """Return the generated part of the command line reference."""
    parts = [MARK]
    for name, text in help_texts().items():
        title = f"`mmdbounds {name}`" if name else "`mmdbounds`"
        parts.append(f"## {title}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def with_reference(text: str) -> str:
    """Return the command line page with its generated part written anew."""
    return text.split(MARK, maxsplit=1)[0] + command_reference()


def kernel_table() -> str:
    """Return the table of kernels: names, class, and the formula as its docstring has it."""
    rows = ["| name | also understood | object | $k(a, b)$ |", "|---|---|---|---|"]
    for name in SHIPPED:
        cls = kernel_class(name)
        if not issubclass(cls, PairKernel):
            continue
        formulas = re.findall(r":math:`(.+?)`", cls.__doc__ or "")
        shown = ", ".join(f"${formula}$" for formula in formulas).replace(r"\mathrm{bandwidth}", r"\sigma")
        others = ", ".join(f'`"{spelling}"`' for spelling in cls.spellings)
        rows.append(f'| `"{name}"` | {others} | `{cls.__name__}` | {shown.replace("|", "Vert ")} |')
    return "\n".join(rows) + "\n"


def with_kernels(text: str) -> str:
    """Return the page on kernels with its table written anew."""
    before, _, after = text.split(TABLE)
    return f"{before}{TABLE}{kernel_table()}{TABLE}{after}"


def main() -> int:
    """Say what has changed, or write it."""
    parser = argparse.ArgumentParser(description="Check or rewrite outputs and the command line reference.")
    parser.add_argument("--write", action="store_true", help="rewrite what has changed")
    write = parser.parse_args().write
    sys.path.append(str(ROOT))  # for the programs of a clone
    stale = 0
    for page in pages():
        old = page.read_text(encoding="utf-8")
        generated = {REFERENCE: with_reference, KERNELS: with_kernels}.get(page, str)
        new = with_outputs(generated(old))
        if new != old:
            stale += 1
            print(f"{'rewritten' if write else 'stale'}: {page.relative_to(ROOT)}")
            if write:
                page.write_text(new, encoding="utf-8")
    return 0 if write else min(stale, 1)


if __name__ == "__main__":
    raise SystemExit(main())
