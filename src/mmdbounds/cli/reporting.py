"""``mmdbounds report``: one page about all that can be said of a table, or a saved result as its page."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmdbounds.cli.arguments import N_PERMUTATIONS, Comparison, KnownRows, Misfiling, Output, Table
from mmdbounds.cli.main import interruptible
from mmdbounds.cli.options import DONE, REQUIRED, SHOWN, TABLE, argument, option, options
from mmdbounds.cli.side_files import STDIN, noted, plan_file, say
from mmdbounds.cli.table import (
    USUAL_SHARE,
    drawn_rows,
    note_changes,
    note_repeated_ids,
    read_split,
    recorded,
    show_plan,
    source_of,
    table_one,
)
from mmdbounds.errors import DataError, MmdBoundsError, shown_path
from mmdbounds.file_bytes import read_whole

if TYPE_CHECKING:
    from mmdbounds.contamination import Contamination
    from mmdbounds.costs import Work
    from mmdbounds.problem import Problem
    from mmdbounds.results import Result
    from mmdbounds.tables.group import Group
    from mmdbounds.tables.grouped_table import Split

# What comes of numbers that are no numbers, or lists of the wrong length, in a file of somebody else.
DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)
MARKS_OF_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
FOR_A_TABLE = "For a table, name its groups: --group COL --hidden A --among B."


@options(TABLE)
class TableOrResult(Table):
    """The table and its two groups; without them, a saved result."""

    file: str = argument(REQUIRED, "Table, or a result saved with --json; - for standard input.", "FILE")
    group: str = option(
        "", "Column with the group of each row, if FILE is a table.", "COL", show_default=False
    )
    hidden: str = option("", "Group whose rows may be misfiled (X).", "A", show_default=False)
    among: str = option("", "Group they may be misfiled under (Y).", "B", show_default=False)

    @property
    def is_table(self) -> bool:
        """Whether the groups of a table are named; all of them must be."""
        named = {"--group": self.group, "--hidden": self.hidden, "--among": self.among}
        if any(named.values()) and not all(named.values()):
            missing = ", ".join(flag for flag, name in named.items() if not name)
            msg = f"a table needs --group, --hidden and --among; {missing} is missing."
            raise MmdBoundsError(msg)
        return all(named.values())


@options(DONE)
class Reporting:
    """What is run for the page."""

    level: float = option(0.05, "Significance level of the test.", "SHARE")
    n_permutations: int = option(999, *N_PERMUTATIONS)


@options(SHOWN)
class ReportPage:
    """The page."""

    out: Path = option(REQUIRED, "File to write the page to.", "FILE")
    include_rows: bool = option(False, "Show names and cells of individual rows on the page.")
    data: str | None = option(None, "Table with these cells, if FILE is a saved result.", "FILE")


@options(SHOWN)
class Notes(Output):
    """What is said meanwhile; what comes out is the page."""

    json: bool = False  # no options
    csv: bool = False


def report_command(
    table: TableOrResult,
    misfiling: Misfiling,
    known: KnownRows,
    reporting: Reporting,
    comparison: Comparison,
    page: ReportPage,
    output: Notes,
) -> None:
    """Write one self-contained HTML page about two groups of a table, to read and print offline.

    The page has the bounds (for --epsilon 0.1 unless told otherwise), the share of misfiled rows that would
    explain the difference away, every column by itself and, with --verified, the audit. A result that was
    saved with --json becomes its page. Rows are identified by their numbers in the file, unless
    --include-rows is given.

    \b
    Example:
      mmdbounds report patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.1 --id patient --out report.html
      mmdbounds report result.json --out report.html
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.report import write_report
    from mmdbounds.report.page import check_report

    check_report(page.out)
    plan_file("--out", page.out, inputs=[table.file, page.data])
    how: dict[str, Any] = {"include_rows": page.include_rows}
    if not table.is_table:
        _write_saved(table.file, page.out, {**how, "data": page.data})
    else:
        if page.data is not None:
            msg = "`--data` goes with a saved result; the table is FILE itself. Leave it out."
            raise MmdBoundsError(msg)
        results = _run(table, misfiling, known, reporting, comparison, output)
        if not results:  # a dry run
            return
        # What came through standard input cannot be read again: rows have their names, not their cells.
        data = table.file if page.include_rows and table.file != STDIN else None
        write_report(results, page.out, **how, data=data, notes=noted())
    if not output.quiet:
        say(f"The report is in {page.out}.")


def _run(
    table: Table,
    misfiling: Misfiling,
    known: KnownRows,
    reporting: Reporting,
    comparison: Comparison,
    output: Output,
) -> list[Result]:
    """Return all that the page is about; nothing for a dry run."""
    from mmdbounds.cli.amounts import WAYS  # here: completing the command line loads nothing heavy
    from mmdbounds.contamination import Contamination

    is_stated = any(getattr(misfiling, way) is not None for way in WAYS)
    plain = misfiling.contamination() if is_stated else Contamination(USUAL_SHARE, exactly=misfiling.exactly)
    amount, how = known.within(plain), comparison.keywords()
    split = read_split(table, known, output, amount)
    X, Y = recorded(split, table)
    note_repeated_ids(X, Y, table, output)
    if output.dry_run:
        show_plan(X, Y, output, how, partial(_work, n_permutations=reporting.n_permutations), amount)
        return []
    note_changes(X, output)
    with interruptible():
        return _results(X, Y, split, amount, known, reporting, how, comparison, output)


def _work(problem: Problem, n_permutations: int) -> Work | None:
    from mmdbounds import costs
    from mmdbounds.inference.breakdown import count_points
    from mmdbounds.search import as_method

    bounds = costs.of_bounds(problem.n_pairs, as_method("sharp"))
    n_points = count_points(problem, None)
    return costs.together(bounds, costs.of_sweep(problem.n_pairs, n_permutations, n_points))


def _results(
    X: Group,
    Y: Group,
    split: Split,
    amount: Contamination,
    known: KnownRows,
    reporting: Reporting,
    how: dict[str, Any],
    comparison: Comparison,
    output: Output,
) -> list[Result]:
    """Return bounds, columns, curve (two-way: a test) and, if there is one, the audit."""
    from mmdbounds.bounds import mmd_bounds
    from mmdbounds.inference.auditing import audit
    from mmdbounds.inference.breakdown import sweep, usual_counts
    from mmdbounds.inference.robust import robust_test

    rng = comparison.seed
    drawn = drawn_rows(X, Y, split, rng)
    how = {**how, "rng": rng, "progress": output.progress}
    bounds = mmd_bounds(*drawn, amount, **how)
    results: list[Result] = [bounds, *table_one(*drawn, amount)]
    of_test: dict[str, Any] = {"level": reporting.level, "n_permutations": reporting.n_permutations}
    testing: dict[str, Any] = {**of_test, "unit": split.units, **how}
    if bounds.n_moved_of_x:
        results.append(robust_test(X, Y, amount, **testing))
    else:
        p, q = bounds.n_samples_X, bounds.n_samples_Y
        counts = {*usual_counts(p, q, unbiased=how["estimator"] == "unbiased"), bounds.n_moved}
        shares = [m / (p + m) for m in sorted(counts)]
        curve: dict[str, Any] = {"epsilons": shares, "exactly": amount.exactly}
        results.append(sweep(X, Y, which=known.which(), **curve, **testing))
    if known.verified is not None:
        if (why := _no_audit(known, split, comparison)) is None:
            results.append(audit(X, Y, **of_test, **how))
        else:
            output.note(f"the page is without the audit: {why}.")
    return results


def _no_audit(known: KnownRows, split: Split, comparison: Comparison) -> str | None:
    """Say why verified rows are no audit, if so."""
    if split.units is not None:
        return "it looks up rows, and these are units"
    if known.may_move is not None or known.strata is not None:
        return "it knows of no limits; leave --may-move and --strata out to see it"
    return "add the --rng that it began with" if comparison.rng is None else None


def _write_saved(name: str, out: Path, how: dict[str, Any]) -> None:
    from mmdbounds.report import write_report
    from mmdbounds.report.page import KINDS

    text = read_saved(name)
    with undamaged():
        write_report(saved_result(text, KINDS, "a report"), out, **how)


@contextmanager
def undamaged() -> Iterator[None]:
    """Say in one line that a saved result is damaged, whatever comes of it."""
    try:
        yield
    except MmdBoundsError:
        raise
    except DAMAGED as error:
        msg = f"the saved result is damaged ({type(error).__name__}). Save it again with --json."
        raise DataError(msg) from error


def read_saved(name: str) -> str:
    """Return the text of a saved result."""
    source = source_of(name)
    try:
        with nullcontext(source) if name == STDIN else open(name, "rb") as file:
            content = read_whole(file)
        # PowerShell writes what it redirects as UTF-16, with a mark.
        return content.decode("utf-16" if content.startswith(MARKS_OF_UTF16) else "utf-8-sig")
    except FileNotFoundError:
        msg = f"there is no file {shown_path(name)!r}."
    except UnicodeDecodeError:
        msg = f"{shown_path(name)!r} is not a saved result. {FOR_A_TABLE}"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        msg = f"cannot read {shown_path(name)!r}: {reason}."
    raise DataError(msg)


def saved_result(text: str, known: Iterable[type[Result]], purpose: str) -> Result:
    """Return the result that the text is, one of those that are known to the purpose."""
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError):
        msg = f"this is not a saved result, which --json or `to_json` makes. {_instead(None, purpose)}"
        raise DataError(msg) from None
    kinds = {kind.__name__: kind for kind in known}
    named = content.get("type") if isinstance(content, dict) else None
    if not isinstance(named, str) or named not in kinds:
        msg = f"{purpose} needs a saved {', '.join(kinds)}; got {named!r}. {_instead(named, purpose)}"
        raise DataError(msg)
    return kinds[named].from_dict(content)


def _instead(named: object, purpose: str) -> str:
    """Say what to do with a file that a page or a plot cannot be made of."""
    from mmdbounds.plotting import PICTURES
    from mmdbounds.report.page import KINDS

    is_page = purpose == "a report"
    if named in [kind.__name__ for kind in (PICTURES if is_page else KINDS)]:
        return f"Use `mmdbounds {'plot' if is_page else 'report'}`, which takes it."
    return FOR_A_TABLE if is_page else "Save one with --json."
