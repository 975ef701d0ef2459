"""What all sentences are made of: numbers, names, lines, and what every result says of its making."""

from __future__ import annotations

import decimal
import re
import shlex
import sys
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

if TYPE_CHECKING:
    from mmdbounds.results import (
        BoundsResult,
        ColumnTable,
        ConfidenceInterval,
        Knowledge,
        Provenance,
        RobustTestResult,
        Side,
    )

LIMITS_NAMED = 5  # strata whose limits are named in a sentence
Misfiled: TypeAlias = "BoundsResult | RobustTestResult | ConfidenceInterval | ColumnTable"

ROWS_NAMED = 8  # rows named in a summary; all of them are in the result
WIDTH = 100  # columns of a line; tables are not wrapped
UNBROKEN = "\N{NO-BREAK SPACE}%"
LONGEST_NAME = 60  # characters of a group's or row's name that are shown


def percent(share: float) -> str:
    """Return a share as people write it: 20 %, 3.5 %, 0.12 %."""
    return f"{100 * share:.3g} %"


def number(value: float) -> str:
    """Return a value with four significant digits."""
    return f"{value:.4g}"


def proved_number(value: float, side: Side) -> str:
    """Return a proved bound with four significant digits, rounded away from the interval: still proved."""
    rounding = decimal.ROUND_FLOOR if side == "lower" else decimal.ROUND_CEILING
    return number(float(decimal.Context(prec=4, rounding=rounding).create_decimal_from_float(value)))


def rows(count: int) -> str:
    """Return ``1 row`` or ``7 rows``."""
    return f"{count:,} row{'' if count == 1 else 's'}"


def others_in_words(record: Mapping[str, Any]) -> str:
    """Return the labels of the groups of a table that are not compared, and how many rows each has."""
    named = record.get("other_groups") or {}
    parts = [f"{shown(label)} ({n:,})" for label, n in named.items()]
    more = (record.get("n_other_groups") or 0) - sum(named.values())
    return ", ".join(parts) + (f" and {rows(more)} of smaller groups" if named and more else "")


def wrapped(text: str, indent: str = "") -> str:
    """Return a sentence in lines of at most `WIDTH` columns, all but the first indented further."""
    lines = textwrap.fill(
        text.replace(" %", UNBROKEN),  # a number and its sign stay together
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  " if indent else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace(UNBROKEN, " %")


def typed(words: Iterable[str]) -> str:
    """Return words as they are typed in the shell of this system; PowerShell and cmd share double quotes."""
    if sys.platform != "win32":
        return shlex.join(words)
    bare = re.compile(r"[\w@+=:,./\\-]+")
    return " ".join(
        word if bare.fullmatch(word) else f'"{word.replace(chr(34), chr(92) + chr(34))}"' for word in words
    )


def shown(name: object) -> str:
    """Return a name from the data on one line, without control characters and of bounded length."""
    text = str(name)
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 3] + "..."
    return text if text.isprintable() else repr(text)


def row_name(letter: str, place: int, name: str | None, file_row: int | None) -> str:
    """Name a row by its id, its row in the file, or its place in X or Y."""
    where = f"{letter}[{place}]" if file_row is None else f"row {file_row}"
    if name is None:
        return where
    return shown(name) if file_row is None else f"{shown(name)} ({where})"


def named_rows(
    letter: str, places: NDArray[Any], ids: NDArray[Any] | None, file_rows: NDArray[Any] | None
) -> str:
    """Name the first few rows that move."""
    names = [
        row_name(letter, place, None if ids is None else ids[i], None if file_rows is None else file_rows[i])
        for i, place in enumerate(places[:ROWS_NAMED])
    ]
    rest = len(places) - len(names)
    return ", ".join(names) + (f" and {rest:,} more" if rest else "")


def listed(parts: list[str]) -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def considered(result: Misfiled) -> tuple[str, int, int]:
    """Return how the number of misfiled rows of Y is to be read, and the fewest and the most of them."""
    filed = result.n_moved if result.exactly else 0
    # Several numbers were tested, and of rows held out nobody knows how many were misfiled.
    fewest, most = getattr(result, "n_moved_range", (filed, result.n_moved))
    if fewest == most and (most or result.exactly):
        return "exactly", fewest, most
    return "between" if fewest or result.exactly else "at most", fewest, most


def others(result: Misfiled) -> str:
    """Say which numbers of misfiled rows were not considered."""
    return "more" if considered(result)[0] == "at most" else "more or fewer"


def assumption(result: Misfiled) -> str:
    """Say back what was understood: how many rows are taken as misfiled, with shares as they were stated."""
    x, y = shown(result.name_x), shown(result.name_y)
    how, fewest, most = considered(result)
    of_x = getattr(result, "most_moved_of_x", result.n_moved_of_x)
    if not most and not of_x:
        return f"Assumed: no row is misfiled.{_less_than_a_row(result)}{changes(result)}"
    stated = _stated(result)
    share = exact = percent(result.epsilon)
    count = f"{how} {most:,}"
    if how == "between":
        share = f"{percent(fewest / (result.n_samples_X + fewest))} and {exact}"
        count = f"{fewest:,} to {most:,}"
    elif stated.get("x_in_y") is not None:
        share = percent(stated["x_in_y"])
    known = getattr(result, "knowledge", None)
    where = f"that is {count} of the {rows(result.n_samples_Y)} filed under {y}"
    true_x = f"Assumed: {how} {share} of the true {x} rows"
    if not of_x:
        also = f", or {exact}" if how != "between" and share != exact else ""
        which = f"{where}{also}{restrictions(known, 'y')}{limited_odds(result)}"
        return f"{true_x} are misfiled, {which}.{origin(result)}{changes(result)}"
    both = "at most" if how == "between" else how
    other = f"{both} {of_x:,} of the {rows(result.n_samples_X)} filed under {x}"
    where, of_known = f"{where}{restrictions(known, 'y')}", restrictions(known, "x")
    if how != "between" and isinstance(stated.get("y_in_x"), float):
        true_y = f"{how} {percent(stated['y_in_x'])} of the true {y} rows"
        return f"{true_x} and {true_y} are misfiled, {where}; {other}{of_known}.{changes(result)}"
    belong = "belongs" if of_x == 1 else "belong"
    return f"{true_x} are misfiled, {where}; {other} {belong} to {y}{of_known}.{changes(result)}"


def _stated(result: Misfiled) -> Mapping[str, Any]:
    """Return how much misfiling was stated, by name."""
    made: Any = getattr(result, "provenance", result)  # a table of columns has none
    stated: Mapping[str, Any] = made.misfiling
    return stated


def _less_than_a_row(result: Misfiled) -> str:
    """Say that a share was stated that is less than one row, and the smallest that is not."""
    stated = _stated(result)
    name = next((name for name in ("x_in_y", "share_of_y") if stated.get(name)), None)
    if name is None:
        return ""
    share, of_x = stated[name], name == "x_in_y"
    group, n = (result.name_x, result.n_samples_X + 1) if of_x else (result.name_y, result.n_samples_Y)
    least = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING).divide(decimal.Decimal(1), n)
    which = f"the true {shown(group)} rows" if of_x else f"the rows filed under {shown(group)}"
    return (
        f" A share of {share:g} of {which} is less than one row; "
        f"the smallest that is one is {least} (1 of {n:,})."
    )


def limited_odds(result: Misfiled) -> str:
    """Say how far from random misfiling may be, behind the number of misfiled rows."""
    odds, x = getattr(result, "odds", None), shown(result.name_x)
    if odds is None:
        return ""
    if odds == 1:
        return f", at random: every {x} row had the same odds of being misfiled"
    return (
        f", with odds of being misfiled within a factor of {odds:g} of one value: no {x} row had more than "
        f"{number(odds**2)} times the odds of another"
    )


def restrictions(known: Knowledge | None, letter: str) -> str:
    """Say which rows of a group cannot be misfiled, behind the number of those that are."""
    if known is None:
        return ""
    n_verified, n_may_move = (getattr(known, f"n_{what}_{letter}") for what in ("verified", "may_move"))
    verified = "not the one verified" if n_verified == 1 else f"none of the {n_verified:,} verified"
    parts = [verified] if n_verified else []
    if known.is_restricted if letter == "y" else known.is_restricted_x:
        parts.append(f"only among the {n_may_move:,} that may be misfiled")
    limits = getattr(known, f"limits_of_{letter}")
    named = [f"at most {most:,} from {_stratum(name, known)}" for name, _, most in limits[:LIMITS_NAMED]]
    more = len(limits) - len(named)
    parts += [*named, *([f"with limits for {more:,} more strata"] if more else [])]
    return "".join(f", {part}" for part in parts)


def _stratum(name: str, known: Knowledge) -> str:
    """Return the name of a stratum, with what it is a name of unless it says so itself."""
    column = known.strata_column
    says_so = not column or column.casefold() in name.casefold()
    return shown(name) if says_so else f"{shown(column)} {shown(name)}"


def changes(result: Any) -> str:
    """Say which rows were moved because of what is known of them, and whether fewer than asked for can be."""
    known = getattr(result, "knowledge", None)
    if known is None:
        return ""
    x, y = shown(result.name_x), shown(result.name_y)
    moved = ((known.n_refiled_to_x, y, x), (known.n_refiled_to_y, x, y))
    parts = [f"{rows(n)} from {source} to {target}" for n, source, target in moved if n]
    sentences = [f" Refiled, as verified: {listed(parts)}."] if parts else []
    if known.n_moved_asked is not None:
        sentences.append(
            f" {known.n_moved_asked:,} were asked for; what is known of the rows admits no more."
        )
    return "".join(sentences)


def origin(result: Misfiled) -> str:
    """Say where a limit on the number misfiled comes from, if it is one of an audit or a prevalence."""
    stated = _stated(result)
    sure = f"This limit holds with {percent(stated.get('confidence', 0.95))} confidence"
    if "n_checked" in stated:
        found, checked = stated.get("n_found", 0), stated["n_checked"]
        looked = "at any time" if stated.get("anytime") else "the number to be checked was fixed in advance"
        return (
            f" {sure}: of {checked:,} rows drawn at random and checked, {found:,} "
            f"{'belongs' if found == 1 else 'belong'} to {shown(result.name_x)} ({looked})."
        )
    return f" {sure}; it comes from a prevalence." if "prevalence" in stated else ""


def statistic(result: Any) -> str:
    """Return what the statistic of a result is called."""
    if parts := getattr(result, "parts", ()):
        names = {statistic(part) for part in parts}
        return f"largest standardised {names.pop() if len(names) == 1 else 'statistic'}"
    made = getattr(result, "provenance", result)  # what stands beside results has its kernel alone
    return "energy distance" if made.kernel == "energy" else "squared MMD"


def capitalised(text: str) -> str:
    """Return a text that begins a sentence or is a heading; unlike `str.capitalize` it keeps MMD."""
    return f"{text[0].upper()}{text[1:]}"


def settings(made: Provenance, *lead: str) -> str:
    """Return how a result was made in one sentence; `lead` comes first: method, permutations, seed."""
    length = made.options.get("bandwidth") if made.bandwidth is None else f"{made.bandwidth:.6g}"
    power = made.kernel_options.get("exponent", 1)
    kernel = made.kernel if power == 1 else f"{made.kernel}, exponent {power}"
    if made.kernel_options.get("function") and made.kernel_options.get("is_positive_definite"):
        kernel = f"{made.kernel}, which proofs take as positive definite because you said so"
    if several := made.options.get("kernels"):
        lengths = [each["bandwidth"] for each in several]
        kernel = ", ".join(dict.fromkeys(str(each["kernel"]) for each in several))
        length = None if None in lengths else ", ".join(f"{each:.6g}" for each in lengths)
    seconds = f"{made.seconds:.2g}" if made.seconds < 10 else f"{made.seconds:,.0f}"
    parts = [
        *filter(None, lead),
        f"kernel {kernel}{'' if length is None else f', bandwidth {length}'}",
        f"{made.estimator} estimator",
        f"{made.dtype}, {made.backend} on {made.device}",
        f"{made.n_pairs:,} kernel values in {seconds} s",
        f"mmdbounds {made.version}",
    ]
    return f"{'; '.join(parts)}."


def labellings_used(result: Any) -> str:
    """Return how many labellings a test has looked at, as the settings say it."""
    if result.is_exact:
        return f"all labellings counted ({result.n_labellings:,} that differ)"
    return f"{result.n_permutations:,} permutations"


def seed_used(made: Provenance) -> str:
    """Return ``seed 7``, or nothing where nothing was drawn."""
    return "" if made.seed is None else f"seed {made.seed}"
