"""The options that commands share: a flag for all commands that take a group is one more field of it."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmdbounds.cli import formats
from mmdbounds.cli.options import (
    COMPARED,
    COMPUTED,
    DONE,
    MISFILED,
    REQUIRED,
    SHOWN,
    TABLE,
    argument,
    option,
    options,
)
from mmdbounds.cli.side_files import STDIN, beside_the_answer, note, noted, plan_file, say
from mmdbounds.cli.spoken import in_flags
from mmdbounds.errors import MmdBoundsError, MmdBoundsWarning, shown_value

if TYPE_CHECKING:
    from mmdbounds.contamination import Contamination
    from mmdbounds.results import Result
    from mmdbounds.search import Method
    from mmdbounds.tables.reading import Reading

CERTIFY: Any = {"auto": "auto", "yes": True, "true": True, "no": False, "false": False}
EXACTLY = ("Take the amount as exact, not as an upper limit.", None, MISFILED, "--exactly")
N_PERMUTATIONS = (
    "Random labellings, for p-values from 1 / (NUMBER + 1); all are counted if few differ.",
    "NUMBER",
)
PROGRESS = "Show progress.  [default: on a terminal]"


@options(TABLE)
class Table:
    """The table and its two groups."""

    file: str = argument(
        REQUIRED,
        "Table: CSV, Excel, Parquet, Arrow or JSON lines, also gzipped; - for standard input.",
        "FILE",
    )
    group: str = option(REQUIRED, "Column with the group of each row.", "COL")
    hidden: str = option(REQUIRED, "Group whose rows may be misfiled (X).", "A")
    among: str = option(REQUIRED, "Group they may be misfiled under (Y).", "B")
    id: str | None = option(None, "Column that identifies the rows; never a feature.", "COL")
    unit: str | None = option(
        None, "Column with the unit of each row (patient, household); one row per unit is drawn.", "COL"
    )
    columns: list[str] | None = option(None, "Columns to compare, separated by commas.", "COL,...")
    exclude: list[str] | None = option(None, "Columns to leave out, separated by commas.", "COL,...")
    scale: str | None = option(
        "standard",
        "Scaling of numeric columns, computed over both groups: 'standard', 'robust', 'rank' or 'none'.",
        "NAME",
    )
    missing: str = option(
        "refuse",
        "Missing cells: 'refuse', 'drop' (their rows) or 'impute' (median or most frequent value).",
        "NAME",
    )
    na: list[str] | None = option(None, "Text or number that marks a missing cell; repeat for more.", "TEXT")
    dates: str = option(
        "refuse",
        "Dates: 'refuse', 'days' (since 2000-01-01), 'drop' (their columns), 'day-first' or 'month-first' "
        "(days, if 3/4/2020 leaves it open).",
        "NAME",
    )
    decimal: str | None = option(
        None, "Decimals are written with a 'point' or a 'comma', if 1,234 leaves it open.", "NAME"
    )
    encoding: str | None = option(None, "Encoding of a text file, such as cp1252.  [default: utf-8]", "NAME")
    sheet: str | None = option(None, "Sheet of an Excel file.  [default: the first]", "NAME")
    header_row: int | None = option(None, "Row of the file with the column names.  [default: the first]", "N")
    fold_labels: bool = option(False, "Read labels that differ only in case or blanks as one group.")

    def reading(self) -> Reading:
        """Return how the table is to be read."""
        from mmdbounds.tables.reading import Reading

        names = ("encoding", "decimal", "dates", "sheet", "fold_labels", "header_row")
        return Reading(tuple(self.na or ()), **{name: getattr(self, name) for name in names})


@options(MISFILED)
class Misfiling:
    """How much is misfiled: at most that, unless told that it is exact."""

    epsilon: float | None = option(None, "Share of the true A rows filed under B.", "SHARE")
    share_of_y: float | None = option(
        None, "Instead: share of the rows filed under B that belong to A.", "SHARE"
    )
    n_moved: int | None = option(None, "Instead: number of rows filed under B that belong to A.", "ROWS")
    sensitivity: float | None = option(None, "Instead: share of the true A rows filed under A.", "SHARE")
    specificity: float | None = option(
        None, "With --sensitivity: share of the true B rows filed under B.  [default: 1]", "SHARE"
    )
    audit: str | None = option(
        None,
        "Instead: of the rows filed under B that were drawn at random and checked, those that belong to A.",
        "FOUND/CHECKED",
    )
    anytime: bool = option(False, "With --audit: its limit was looked at before all of them were checked.")
    prevalence: str | None = option(
        None,
        "Instead: share of A in the population that the rows are a random sample of; a range is 0.35-0.4.",
        "SHARE[-SHARE]",
    )
    prevalence_error: float | None = option(None, "Standard error of --prevalence.  [default: 0]", "SHARE")
    confidence: float | None = option(
        None, "Confidence of the limit from --audit or --prevalence.  [default: 0.95]", "SHARE"
    )
    y_in_x: float = option(0.0, "Two-way: share of the true B rows filed under A.", "SHARE")
    n_moved_of_x: int = option(0, "Two-way: number of rows filed under A that belong to B.", "ROWS")
    exactly: bool | None = option(None, *EXACTLY)

    def contamination(self) -> Contamination:
        """Return how much is misfiled, stated in exactly one way."""
        from mmdbounds.cli.amounts import stated_amount

        return stated_amount(vars(self))


@options(MISFILED)
class MisfilingOrOdds(Misfiling):
    """How much is misfiled, and how far from randomly."""

    odds: float | None = option(
        None,
        "Misfiled at random up to this factor of the odds; 1: at random. An estimate for the populations.",
        "FACTOR",
    )


@options(MISFILED)
class KnownRows:
    """Which rows can be misfiled: what is known of single rows, and limits by stratum."""

    verified: str | None = option(
        None,
        "Column with the true group of rows that were looked up, blank in others (or true if confirmed as "
        "filed); never a feature.",
        "COL",
    )
    may_move: str | None = option(
        None, "Column with true or false: whether the row could be misfiled at all; never a feature.", "COL"
    )
    strata: str | None = option(
        None, "Column with the stratum of each row (site, year), for --limit; never a feature.", "COL"
    )
    limit: list[str] | None = option(
        None, "At most this many misfiled rows of a stratum: A=5 or A=10%; repeat for more.", "STRATUM=ROWS"
    )

    def limits(self) -> dict[str, int | float] | None:
        """Return the limit of each stratum, a number of rows or a share."""
        if (self.strata is None) != (self.limit is None):
            given, other = ("--limit", "--strata COL") if self.strata is None else ("--strata", "--limit A=5")
            msg = f"`{given}` says nothing alone; add {other}."
            raise MmdBoundsError(msg)
        limits = dict(_limit(text) for text in self.limit or ())
        if len(limits) < len(self.limit or ()):
            msg = (
                f"`--limit` must name each stratum once; got {', '.join(map(shown_value, self.limit or ()))}."
            )
            raise MmdBoundsError(msg)
        return limits or None

    def within(self, amount: Contamination) -> Contamination:
        """Return an amount with the limits, if there are any."""
        return dataclasses.replace(amount, limits=self.limits())

    def which(self) -> Contamination | None:
        """Return the limits alone."""
        from mmdbounds.contamination import Contamination

        limits = self.limits()
        return None if limits is None else Contamination(limits=limits)


def _limit(text: str) -> tuple[str, int | float]:
    """Return the name of a stratum and its limit: ``site A=5`` or ``site A=10%``."""
    name, _, amount = (part.strip() for part in text.rpartition("="))
    try:
        if not name:
            raise ValueError
        if amount.endswith("%"):
            return name, float(Fraction(amount.removesuffix("%").strip()) / 100)
        return name, int(amount) if amount.isdigit() else float(amount)
    except (ValueError, ZeroDivisionError):
        wanted = "a stratum and its limit, such as A=5 or A=10%"
        msg = f"`--limit` must be {wanted}; got {shown_value(text)}."
        raise MmdBoundsError(msg) from None


def chosen_proof(certify: str) -> Any:
    """Return what `--certify` says, as the functions take it."""
    if certify.casefold() not in CERTIFY:
        msg = f"`--certify` must be 'auto', 'yes' or 'no'; got {shown_value(certify)}."
        raise MmdBoundsError(msg)
    return CERTIFY[certify.casefold()]


@options(DONE)
class Search:
    """The method that searches for the extremes, and its options."""

    method: str = option("sharp", "Search method: {methods}.", "NAME")
    n_starts: int | None = option(None, "Starting points of sharp, per side.  [default: 16]", "STARTS")
    certify: str = option(
        "auto",
        "Proofs of sharp: 'auto' (a few seconds' worth of work and, with many rows, one pass over all pairs; "
        "see --dry-run), 'yes' (up to twenty times that work, and the same pass) or 'no'.",
        "WHEN",
    )
    gap: float | None = option(
        None, "Gap at which proofs of sharp may stop, as a share of the width.  [default: 0.001]", "SHARE"
    )
    n_steps: int | None = option(None, "Steps of s-sd.  [default: one per misfiled row, at most 10]", "S")
    schedule: str = option("even", "Schedule of the steps of s-sd: 'even' or 'paper'.", "NAME")

    def chosen(self) -> Method:
        """Return the method with its options, which go with that method only."""
        from mmdbounds.search import Sharp, StepwiseDominance, as_method

        name, method, certify = self.method, as_method(self.method), chosen_proof(self.certify)
        if name != "s-sd" and (self.n_steps is not None or self.schedule != "even"):
            msg = f"`--n-steps` and `--schedule` go with `--method s-sd`; got --method {name}."
            raise MmdBoundsError(msg)
        if name != "sharp" and (self.n_starts is not None or self.gap is not None or certify != "auto"):
            msg = f"`--n-starts`, `--certify` and `--gap` go with `--method sharp`; got --method {name}."
            raise MmdBoundsError(msg)
        if name == "sharp":
            given: dict[str, Any] = {"n_starts": self.n_starts, "gap": self.gap, "certify": certify}
            return Sharp(**{name: value for name, value in given.items() if value is not None})
        schedule: Any = self.schedule  # checked there
        return StepwiseDominance(n_steps=self.n_steps, schedule=schedule) if name == "s-sd" else method


@options(DONE)
class Permutations:
    """The random labellings of a test."""

    n_permutations: int = option(999, *N_PERMUTATIONS)


@options(COMPARED)
class Comparison:
    """How the groups are compared, and where that is computed."""

    kernel: str = option("rbf", "Kernel: {kernels}. A test takes several, separated by commas.", "NAME")
    bandwidth: str = option(
        "median",
        "Kernel bandwidth: 'median' (of the distances between rows), a multiple such as '0.5 median', or a "
        "number. A test takes several, separated by commas.",
        "LENGTH",
    )
    exponent: float | None = option(
        None, "Exponent of the distances, between 0 and 2, with `--kernel energy` (1 by default).", "VALUE"
    )
    estimator: str | None = option(
        "unbiased", "Estimator of the squared MMD: 'unbiased' or 'biased'.", "NAME"
    )
    backend: str = option("auto", "Where to compute: {backends}; see `mmdbounds backends`.", "NAME", COMPUTED)
    dtype: str = option("float64", "Precision of kernel values: 'float64' or 'float32'.", "NAME", COMPUTED)
    working_memory: float = option(1024, "Memory budget, per process.", "MIB", COMPUTED)
    rng: int | None = option(
        None, "Random seed, to repeat a result.  [default: drawn, and shown with the result]", "SEED", DONE
    )

    @cached_property
    def seed(self) -> int:
        """The seed that was given, or one that is drawn once."""
        from mmdbounds.checks import check_seed

        return check_seed(self.rng)

    def resumed(self, checkpoint: Path | None, output: Output) -> str:
        """Return how the command is to be repeated to resume; a drawn seed is noted before the work."""
        if self.rng is not None:
            return "the same command"
        if checkpoint is not None:
            output.note(f"the seed is {self.seed}; to resume from {checkpoint}, add --rng {self.seed}.")
        return f"the same command with --rng {self.seed}"

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of `pose`; names are checked there, with a better message."""
        from mmdbounds.kernels import is_precomputed

        if is_precomputed(self.kernel):
            msg = "`--kernel precomputed` needs a matrix, not a table; use it from Python."
            raise MmdBoundsError(msg)
        names = ("kernel", "estimator", "backend", "dtype", "working_memory")
        given = {name: getattr(self, name) for name in names}
        given |= {"kernel": _one_or_several(self.kernel.split(","))}
        given |= {"bandwidth": _one_or_several([*map(_bandwidth, self.bandwidth.split(","))])}
        if self.exponent is not None:
            given["kernel"] = self._with_exponent(self.exponent)
        return given

    def _with_exponent(self, exponent: float) -> Any:
        from mmdbounds.kernels import Energy, kernel_class

        if kernel_class(self.kernel) is not Energy:
            msg = f"`--exponent` goes with `--kernel energy`; got --kernel {self.kernel}."
            raise MmdBoundsError(msg)
        return Energy(exponent)


def _bandwidth(given: str) -> float | str:
    from mmdbounds.sums.bandwidth import median_factor

    if median_factor(given) is not None:
        return given.strip()
    try:
        return float(given)
    except ValueError:
        known = "'median', a multiple such as '0.5 median', or a positive number"
        msg = f"`--bandwidth` must be {known}; got {shown_value(given)}."
        raise MmdBoundsError(msg) from None


def _one_or_several(given: list[Any]) -> Any:
    return given[0] if len(given) == 1 else given


@options(SHOWN)
class Output:
    """What is printed; a contradiction is refused before the work."""

    dry_run: bool = option(False, "Only show what would be compared, and how long it would take.")
    json: bool = option(False, "Print the full result as JSON.")
    csv: bool = option(False, "Print the numbers as CSV.")
    quiet: bool = option(
        False, "Print only the answer, without notes or progress.", None, SHOWN, "--quiet", "-q"
    )
    progress: bool | None = option(None, PROGRESS, None, SHOWN, show_default=False)

    def __post_init__(self) -> None:
        """Refuse contradictions; with `quiet`, drop our warnings until `run` returns."""
        if self.json and self.csv:
            msg = "`--json` and `--csv` exclude each other; leave one of them out."
            raise MmdBoundsError(msg)
        if self.quiet and self.progress:
            msg = "`--quiet` and `--progress` exclude each other; leave one of them out."
            raise MmdBoundsError(msg)
        if self.quiet:
            warnings.simplefilter("ignore", MmdBoundsWarning)
            object.__setattr__(self, "progress", False)

    @property
    def in_words(self) -> bool:
        """Whether a person reads it, so that a sentence more does no harm."""
        return not (self.json or self.csv or self.quiet)

    def show(self, result: Result) -> None:
        """Print a result."""
        if self.json:
            say(result.to_json())
        elif self.csv:
            say(formats.as_csv(result).rstrip("\n"))
        else:
            say(formats.as_bare(result) if self.quiet else in_flags(result.summary()))

    def note(self, text: str) -> None:
        """Say something on standard error, unless asked to be quiet."""
        if not self.quiet:
            note(" ".join(text.split()))  # names may have line breaks


@options(SHOWN)
class Page:
    """The page that a command also writes."""

    report: Path | None = option(None, "Also write a self-contained HTML page that works offline.", "FILE")
    include_rows: bool = False  # no option: on this page there are none

    def plan(self, table: Table) -> None:
        """Refuse what cannot be written, before the work."""
        if self.report is None and self.include_rows:
            msg = "`--include-rows` needs a page to put them on; add --report FILE."
            raise MmdBoundsError(msg)
        if self.report is not None:
            from mmdbounds.report.page import check_report

            check_report(self.report)
            plan_file("--report", self.report, inputs=[table.file])

    def write(
        self, result: Result, table: Table, output: Output, beside: Callable[[], list[Result]] = list
    ) -> None:
        """Write the page, if one is wanted, with what is made for it alone."""
        if self.report is None:
            return
        from mmdbounds.report import write_report

        # What came through standard input cannot be read again: rows have their names, not their cells.
        data = table.file if self.include_rows and table.file != STDIN else None
        with beside_the_answer():
            how: dict[str, Any] = {"include_rows": self.include_rows}
            write_report([result, *beside()], self.report, data=data, notes=noted(), **how)
        if output.in_words:
            say(f"\nThe report is in {self.report}.")


@options(SHOWN)
class PageWithRows(Page):
    """The page that a command also writes, on which rows can be shown."""

    include_rows: bool = option(False, "Show names and cells of individual rows on the page.")
