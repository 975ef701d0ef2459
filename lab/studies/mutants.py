"""Which small mistakes would the tests not notice? A sample of lines, each broken on purpose.

    python -m lab.studies.mutants [--lines 100] [--records FILE] [--survivors] [--table] [--processes 2]

A line of the package is chosen by its text alone (a seeded hash), lines of the rooms that compute four times
as readily as others, and one mutation is made in it: a comparison, a sign, a constant off by one, and/or,
min/max, a dropped `not`, True/False. All mutants meet the tests of their file's name first; those that
survive meet those of its folder and, unless they are explained, a wider slice. All of it happens in temporary
copies of the tree. One JSON line a run goes to FILE (default: lab/studies/results/mutants.jsonl); what was
stopped continues, and mutants already there are not run again: remove the file after a change of the sources.
`--survivors` runs those again that survived, after tests were added. The table goes to the file of the same
name that ends in .md, with what mutants_explained.json says of those that no test can tell from the original;
`--table` writes it of what is there and runs nothing. The exit code is 1 if a mutant survives without an
explanation, 2 if the call is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from lab.studies import records

ROOT = Path(__file__).parents[2]
SOURCES = Path("src/mmdbounds")
EXPLAINED = Path(__file__).with_name("mutants_explained.json")
SEED = "mutants|1"
COMPUTING = (
    *("sums", "search", "inference"),
    *("kernels", "objective.py", "contamination.py", "bounds.py"),
)
"""Rooms whose lines are drawn more often than others."""
WEIGHT = 4.0

PAIRS = (
    *(("<", "<="), (">", ">="), ("==", "!="), ("+", "-"), ("+=", "-=")),
    *(("and", "or"), ("min", "max"), ("minimum", "maximum"), ("True", "False")),
)
SWAPPED = {"//": "*", "not": "", **dict(PAIRS), **{right: left for left, right in PAIRS}}
"""What becomes of an operator or a name; an integer becomes the next one."""

COPIED = ("src", "tests", "lab", "docs")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "_build", "gallery", "generated", "checkpoints", "*.jsonl")
MARKS = "not slow and not data and not full"
OPTIONAL = ("dask", "torch", "plotting")
"""Parts of the names of files that only tests marked `full` see; for all others those tests are left out."""
WIDER = ("tests/sums", "tests/search", "tests/inference", "tests/cli", "tests/report")
IGNORED = ("tests/report/test_browser.py",)
CPU_SECONDS = 900
"""Of one run of the tests: more is an endless loop. The clock depends on what else the machine does."""
WALL_SECONDS = 3600


class Mutant(NamedTuple):
    """One small mistake."""

    file: str
    line: int
    column: int
    text: str  # the line as it is, without the blanks around it
    nth: int  # among the lines of the file with this text
    old: str
    new: str

    @property
    def mutation(self):
        """What is changed, with its place in the line."""
        return f"`{self.old}` at {self.column} to `{self.new}`" if self.new else f"`{self.old}` dropped"

    @property
    def key(self):
        """Name in the records: without the number of the line, which other changes move."""
        return f"{self.file}|{self.text}|{self.nth}|{self.old}|{self.column}"


def drawn(*parts):
    """Return a number between 0 and 1 that depends on the seed and the parts alone."""
    digest = hashlib.sha256("|".join([SEED, *map(str, parts)]).encode()).digest()
    return (int.from_bytes(digest[:6]) + 1) / (2**48 + 1)


def mutants_of(file, source):
    """Return the possible mutants of a file, by its lines; none in strings, comments and imports."""
    lines, by_line, seen = source.splitlines(), {}, {}
    in_text = 0  # from Python 3.12 on the inside of an f-string is code to the tokenizer
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        in_text += (name == "FSTRING_START") - (name == "FSTRING_END")
        new = None if in_text else _mutated(token)
        line, column = token.start
        text = lines[line - 1].strip() if line <= len(lines) else ""
        if new is None or text.startswith(("import ", "from ", "@")):
            continue
        if line not in by_line:
            seen[text] = seen.get(text, -1) + 1
        by_line.setdefault(line, []).append(Mutant(file, line, column, text, seen[text], token.string, new))
    return by_line


def _mutated(token):
    """Return what a token becomes, `None` for those that stay."""
    if token.type == tokenize.NUMBER and token.string.isdigit():
        return str(int(token.string) + 1)
    return SWAPPED.get(token.string) if token.type in (tokenize.OP, tokenize.NAME) else None


def sample(tree, n_lines):
    """Return one mutant for each of so many lines, in the order in which they are run.

    A line's place in the queue is its own (weights after Efraimidis and Spirakis): a change elsewhere in the
    sources hardly changes the sample.
    """
    lines = []
    for path in sorted((tree / SOURCES).rglob("*.py")):
        file = path.relative_to(tree).as_posix()
        weight = WEIGHT if path.relative_to(tree / SOURCES).parts[0] in COMPUTING else 1.0
        for some in mutants_of(file, path.read_text(encoding="utf-8")).values():
            first = some[0]
            priority = drawn(file, first.text, first.nth) ** (1 / weight)
            lines.append((priority, some[int(drawn("which", file, first.text, first.nth) * len(some))]))
    return [mutant for _, mutant in sorted(lines, key=lambda pair: -pair[0])[:n_lines]]


def copy_tree(target):
    """Copy what the tests need: the checkout itself is never changed."""
    target.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, target / name, ignore=LEFT_OUT)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, target / path.name)


def own(file, tree):
    """Return the tests whose names begin like a file's: the likeliest to notice."""
    inner = Path(file).relative_to(SOURCES)
    found = (tree / "tests" / inner.parent).glob(f"test_{inner.stem.strip('_').split('_')[0]}*.py")
    return sorted(str(path.relative_to(tree)) for path in found)


def room(file, tree):
    """Return the tests of a file's folder."""
    folder = Path("tests") / Path(file).relative_to(SOURCES).parent
    return [str(folder)] if folder != Path("tests") and (tree / folder).is_dir() else []


def wider(file, tree):
    """Return the tests that are left for a mutant which those nearby did not notice."""
    top = sorted(str(path.relative_to(tree)) for path in (tree / "tests").glob("test_*.py"))
    above = Path("tests") / Path(file).relative_to(SOURCES).parts[0]
    folders = [name for name in WIDER if name not in room(file, tree)]
    near = [name for name in folders if name == str(above)]
    return [*near, *top, *(name for name in folders if name not in near)]


STAGES = (own, room, wider)
LAST = len(STAGES) - 1


def run_tests(tests, mutant, tree):
    """Run tests on a copy of the tree, with what is there of numba's cache; return how that ended."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "CI": "1",  # hypothesis repeats itself
        "NUMBA_CACHE_DIR": str(tree / ".numba"),
    }
    marks = MARKS.removesuffix(" and not full") if any(part in mutant.file for part in OPTIONAL) else MARKS
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", marks, "--no-header", "--tb=no"]
    limited = ["sh", "-c", f'ulimit -t {CPU_SECONDS}; exec "$@"', "sh"]
    command = [*limited, sys.executable, "-m", "pytest", *options, "--hypothesis-profile=quick", *tests]
    command += [f"--ignore={name}" for name in IGNORED]
    try:
        return subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "")


def noticed_by(done):
    """Return which test failed, `None` if none did."""
    if done.returncode in (0, 5):  # 5: no test was chosen
        return None
    if done.returncode < 0:
        return "no end"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" ", 1)[1].split(" - ")[0] if failed else "does not start"


def run_mutant(mutant, stage, tree, sound):
    """Break the line, run the tests of a stage, mend it; return the record.

    A test that fails must pass without the mutation, or it has noticed nothing; `sound` are those that do.
    """
    started = time.monotonic()
    path = tree / mutant.file
    source = path.read_text(encoding="utf-8")
    tests = STAGES[stage](mutant.file, tree)
    if "njit" in source:  # what numba keeps is taken from there although what it calls has changed
        shutil.rmtree(tree / ".numba", ignore_errors=True)
    try:
        path.write_text(broken(source, mutant), encoding="utf-8")
        found = noticed_by(run_tests(tests, mutant, tree)) if tests else None
    finally:
        path.write_text(source, encoding="utf-8")
        if "njit" in source:
            shutil.rmtree(tree / ".numba", ignore_errors=True)
    if found and "::" in found and found not in sound:
        if run_tests([found], mutant, tree).returncode == 1:
            records.fail(f"{found} fails without a mutation, too. Mend it first.")
        sound.add(found)
    seconds = round(time.monotonic() - started, 1)
    return {**mutant._asdict(), "stage": stage, "by": found, "seconds": seconds}


def broken(source, mutant):
    """Return the source with the mistake in it."""
    lines = source.splitlines(keepends=True)
    line, end = lines[mutant.line - 1], mutant.column + len(mutant.old)
    lines[mutant.line - 1] = line[: mutant.column] + mutant.new + line[end:].lstrip(" " * (not mutant.new))
    return "".join(lines)


def known_records(path):
    """Return what is in the file, the last record of each mutant."""
    return {Mutant(*(r[name] for name in Mutant._fields)).key: r for r in records.load(path)}


def collect(chosen, path, again, trees):
    """Return the records of all mutants and how many runs that took; `again`: also of those that survived."""
    done = known_records(path)
    if again:
        done = {key: record for key, record in done.items() if record["by"]}
    n_run, known = 0, explanations()
    for stage in range(len(STAGES)):
        missing = [m for m in chosen if m.key not in done or _is_open(done[m.key], stage)]
        if stage == LAST:
            missing = [m for m in missing if explanation(m, known) is None]
        progress = records.Progress(len(missing))
        for mutant, record in _results(missing, stage, trees):
            record["seconds"] += done[mutant.key]["seconds"] if mutant.key in done else 0
            done[mutant.key] = record
            records.append(path, record)
            progress.step()
        n_run += len(missing)
    return done, n_run


def _results(mutants, stage, trees):
    """Yield mutants and their records as they come; each copy of the tree takes one at a time."""
    free, sound = queue.SimpleQueue(), set()
    for tree in trees:
        free.put(tree)

    def run(mutant):
        tree = free.get()
        try:
            return mutant, run_mutant(mutant, stage, tree, sound)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        try:
            for future in as_completed([pool.submit(run, mutant) for mutant in mutants]):
                yield future.result()
        except BaseException:  # Ctrl-C as well: nobody waits for the others
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _is_open(record, stage):
    """Return whether a mutant has survived all before this stage and not met it."""
    return record["by"] is None and record["stage"] < stage


def explanations():
    """Return why mutants that survive may: by file, source text and what the line becomes."""
    known = json.loads(EXPLAINED.read_text(encoding="utf-8"))
    return {(one["file"], one["text"], one["old"], one["new"]): one["why"] for one in known}


def explanation(mutant, known):
    """Return why a mutant may survive, `None` if nobody said."""
    return known.get((mutant.file, mutant.text, mutant.old, mutant.new))


def report(found, made):
    """Return the whole page."""
    known = explanations()
    heads = "| line | mutation | outcome | noticed by, or why not |\n|:--|:--|:--|:--|"
    survived = [(m, r) for m, r in found if r["by"] is None]
    rows = []
    for mutant, record in sorted(found, key=lambda pair: (pair[1]["by"] is not None, pair[0][:3])):
        place = f"{Path(mutant.file).relative_to(SOURCES)}:{mutant.line}"
        why = record["by"] or explanation(mutant, known) or "**not explained**"
        open_yet = record["stage"] < LAST and explanation(mutant, known) is None
        outcome = "killed" if record["by"] else "survived so far" if open_yet else "survived"
        cells = f"{place} `{mutant.text}`", mutant.mutation, outcome, why
        rows.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    about = (
        f"{len(found)} lines of the package, each with one small mistake; lines of {', '.join(COMPUTING)} "
        f"are drawn {WEIGHT:g} times as readily as others. {len(found) - len(survived)} mistakes were "
        f"noticed by the tests, {len(survived)} were not; those stand first, each with the reason."
    )
    seconds = sum(record["seconds"] for _, record in found)
    how = (
        f"Made by `python -m lab.studies.mutants` in {records.duration(seconds)}; {records.machine()}. {made}"
    )
    return "\n\n".join(["# Mistakes that the tests notice", about, "\n".join([heads, *rows]), how]) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--lines", type=int, default=100, help="lines to break, one at a time")
    parser.add_argument("--records", type=Path, default=records.RESULTS / "mutants.jsonl")
    parser.add_argument("--survivors", action="store_true", help="run those again that survived")
    parser.add_argument("--table", action="store_true", help="run nothing; write the table of what is there")
    parser.add_argument("--processes", type=int, default=2, help="how many mutants are run at a time")
    options = parser.parse_args(arguments)
    if options.lines < 1 or options.processes < 1:
        parser.error("--lines and --processes must be at least 1")
    return options


def main(arguments=None):
    options = parse(arguments)
    chosen = sample(ROOT, options.lines)
    try:
        done, n_run = (known_records(options.records), 0) if options.table else _run(options, chosen)
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        return 130
    found = [(mutant, done[mutant.key]) for mutant in chosen if mutant.key in done]
    missing = len(chosen) - len(found)
    page = report(found, f"{missing} more lines have not been run yet." if missing else f"Last run: {n_run}.")
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    known = explanations()
    return int(any(r["by"] is None and explanation(m, known) is None for m, r in found))


def _run(options, chosen):
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder) / str(number) for number in range(options.processes)]
        for tree in trees:
            copy_tree(tree)
        return collect(chosen, options.records, options.survivors, trees)


if __name__ == "__main__":
    sys.exit(main())
