"""Numbers as people type them: decimal commas, thousands separators, percent and currency signs.

One question is asked of a whole table: which mark separates decimals? Every column of text that could be
numbers answers, wherever the table came from; a column that can be read in two ways follows the others, or
stays text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from mmdbounds.errors import DataError, quoted
from mmdbounds.tables.cells import EXACT_UP_TO, MOST_DIGITS, Cells, of_floats

DECIMALS = ("point", "comma")  # what decimals can be written with
MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "."})  # in upper or lower case
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"  # as most programs write it
WHOLE = r"[+-]?[0-9]+"
_DECIMAL_COMMA = r"[+-]?(?:[0-9]+,?[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?"
_GROUPED = r"[1-9][0-9]{0,2}(?:,[0-9]{3})"  # and as many more groups as there are
# The thousands of a column are separated by commas if every cell fits the first pattern, and no decimal comma
# is in it if a cell fits the second. With points for commas they are those of 1.234.567,89.
_THOUSANDS = rf"[+-]?(?:{_GROUPED}+|[0-9]+)(?:\.[0-9]+)?"
_IN_NO_DOUBT = rf"[+-]?{_GROUPED}(?:(?:,[0-9]{{3}})+(?:\.[0-9]+)?|\.[0-9]+)"
_INDIAN = r"[+-]?[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?"  # 1,00,000
_GAPS = " '\u00a0\u2019\u202f"  # blanks and apostrophes between thousands
_WITH_GAPS = rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:[{_GAPS}][0-9]{{3}})+|[0-9]+)(?:[.,][0-9]+)?"
_SIGN = r"%|[$\u00a3\u00a5\u20ac\u20b9]|CHF|EUR|GBP|JPY|USD"
_PREFIX, _SUFFIX = re.compile(rf"^([+-]?)\s*({_SIGN})\s*"), re.compile(rf"\s*({_SIGN})$")


def _swapped(pattern: str) -> str:
    """Return a pattern with points for commas and commas for points."""
    return pattern.replace(r"\.", "\0").replace(",[", r"\.[").replace("\0", ",")


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


_PLAIN, _COMMA, _GAPPED = map(_any_of, (NUMBER, _DECIMAL_COMMA, _WITH_GAPS))
_BY_COMMAS, _BY_POINTS = _any_of(_THOUSANDS, _INDIAN), _any_of(_swapped(_THOUSANDS))
_SURE_COMMAS, _SURE_POINTS = _any_of(_IN_NO_DOUBT, _INDIAN), _any_of(_swapped(_IN_NO_DOUBT))
_NO_NUMBER = re.compile("[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_NUMERIC = _any_of(NUMBER, _DECIMAL_COMMA, _THOUSANDS, _swapped(_THOUSANDS), _INDIAN, _WITH_GAPS)
# A unit has two letters, stands behind a blank or is one of the usual letters: the stage 3a has none.
_WITH_UNIT = re.compile(
    rf"(?:{_NUMERIC.pattern})(?:\s+|(?=[^\W\d_]{{2}}|[\u00b0\u00b5\u03bcgmlshdkKCF]))"
    r"((?:[^\W\d_]|\u00b0)\S{0,11})"
)
_ASCII = {0x2212: "-", 0xFE63: "-", 0xFF0D: "-", 0xFF0B: "+", 0xFF0E: ".", 0xFF0C: ",", 0xFF05: "%"}
_DIGITS = r"(?:[0-9][0-9.,]*)"
ODD_SPELLINGS = {  # numbers that could mean something else: what they are called, and what to do about them
    "numbers in parentheses": (re.compile(rf"\(\s*{_DIGITS}\s*\)"), "write negative numbers with a minus"),
    "numbers with a minus behind": (re.compile(rf"{_DIGITS}\s*-"), "write the minus in front of numbers"),
    "numbers with underscores": (re.compile(r"[+-]?[0-9]+(?:_[0-9]+)+"), "write numbers without underscores"),
    "times of day": (re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"), "write times as numbers"),
}


class Marks(Enum):
    """What the cells of a column say about the mark that separates decimals."""

    NONE = "no marks at all"
    POINT = "decimals have points"
    COMMA = "decimals have commas"
    MAYBE_POINT = "points that separate thousands or decimals"
    MAYBE_COMMA = "commas that separate thousands or decimals"
    UNCLEAR = "both marks, or marks that are neither"


@dataclass(frozen=True)
class Understood:
    """Columns whose text that is numbers has become numbers, and what it took."""

    columns: dict[str, Cells]
    commas: list[str] = field(default_factory=list)  # columns that write decimals with a comma
    removed: dict[str, str] = field(default_factory=dict)  # what was taken off the cells of columns, in words


@dataclass(frozen=True, slots=True)
class _Typed:
    """The distinct cells of a column that could be numbers, less their signs and gaps, and what they say."""

    bare: dict[str, str]  # by the text of the cell
    removed: list[str]  # what was taken off
    marks: Marks


def is_missing(text: str, na: Collection[str]) -> bool:
    """Tell whether a cell, without blanks around it, stands for a missing one."""
    return text.lower() in MISSING_WORDS or text in na


def sign_of(text: str) -> str:
    """Return the percent or currency sign of a cell, an empty text if it has none."""
    found = _PREFIX.search(text) or _SUFFIX.search(text)
    return found[found.lastindex or 0] if found else ""


def _unsigned(text: str) -> str:
    """Return a cell without its percent or currency sign."""
    return _SUFFIX.sub("", _PREFIX.sub(r"\1", text))


def unit_of(text: str) -> str:
    """Return the unit behind a number, an empty text if there is none."""
    found = None if _NUMERIC.fullmatch(text) else _WITH_UNIT.fullmatch(text)
    return found[1] if found else ""


def odd_spelling(text: str) -> str | None:
    """Return what a number in a spelling that is not read is called, `None` for all other text."""
    return next((words for words, (pattern, _) in ODD_SPELLINGS.items() if pattern.fullmatch(text)), None)


def is_numeral(text: str) -> bool:
    """Tell whether a cell looks like a number: with a point or commas, thousands separators or a sign."""
    bare = _unsigned(ascii_digits(text))
    return bool(_NUMERIC.fullmatch(bare) or _NO_NUMBER.fullmatch(bare) or odd_spelling(bare))


def marks_of(texts: Collection[str]) -> Marks:
    """Return what numbers say about the mark that separates decimals."""
    have_point, have_comma = any("." in text for text in texts), any("," in text for text in texts)
    if not have_point and not have_comma:
        return Marks.NONE if _all(_PLAIN, texts) else Marks.UNCLEAR
    if have_point and not have_comma and _all(_PLAIN, texts):
        return Marks.MAYBE_POINT if _all(_BY_POINTS, texts) else Marks.POINT
    if have_comma and not have_point and _all(_COMMA, texts):
        return Marks.MAYBE_COMMA if _all(_BY_COMMAS, texts) else Marks.COMMA
    if _all(_BY_COMMAS, texts) and any(map(_SURE_COMMAS.fullmatch, texts)):
        return Marks.POINT
    if _all(_BY_POINTS, texts) and any(map(_SURE_POINTS.fullmatch, texts)):
        return Marks.COMMA
    return Marks.UNCLEAR


def possible_decimals(texts: Collection[str]) -> list[str]:
    """Return what the decimals of these numbers can be written with, so that all of them are read."""
    return [mark for mark in DECIMALS if all(_reader(mark)(text) for text in texts)]


def _reader(decimal: str) -> Callable[[str], object]:
    """Return what tells whether a number can be read with these decimals."""
    one, other = (_PLAIN, _BY_COMMAS) if decimal == "point" else (_COMMA, _BY_POINTS)
    return lambda text: one.fullmatch(text) or other.fullmatch(text)


def _all(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    return all(map(pattern.fullmatch, texts))


def numbers_from_text(
    columns: Mapping[str, Cells],
    names: Sequence[str],
    na: Collection[str],
    decimal: str | None,
    label: str,
    *,
    sure_points: Sequence[str] = (),
) -> Understood:
    """Turn columns of text into numbers where every cell is a number or a word for a missing one.

    ``1,234`` can be one thousand or one. It is what `decimal` says; else what a cell of the column or another
    column settles: ``1,234.5``, ``1,5``. It stays text otherwise, and so does ``1.435``.
    `sure_points` are columns that are numbers already, with points that cannot separate thousands.
    """
    found = {name: cells for name in names if _is_text(cells := columns[name])}
    typed = {name: each for name, cells in found.items() if (each := _typed(cells, na)) is not None}
    settled = decimal or _settled(typed, sure_points, label)
    made, commas, removed = dict(columns), list[str](), dict[str, str]()
    for name, cells in found.items():
        if (each := typed.get(name)) is None:
            made[name] = _truth(cells, na) or cells
            continue
        mark = settled or ("point" if each.marks is Marks.NONE else None)
        numbers = None if mark is None else _converted(cells, each, mark, decimal)
        made[name] = cells if numbers is None else numbers
        if numbers is None or not each.bare:
            continue
        if mark == "comma" and any("," in text for text in each.bare.values()):
            commas.append(name)
        thousands = "," if mark == "point" else "."
        taken = dict.fromkeys(each.removed)
        if any(thousands in text for text in each.bare.values()):
            taken["thousands separators"] = None
        if taken:
            removed[name] = " and ".join(taken)
    return Understood(made, commas, removed)


def _is_text(cells: Cells) -> bool:
    return cells.kind == "text" and not cells.is_category


def _typed(cells: Cells, na: Collection[str]) -> _Typed | None:
    """Return what the cells of a column are less their signs and gaps; `None` if they are no numbers."""
    distinct = {text for text in cells.values[~cells.missing].tolist() if isinstance(text, str)}
    bare = {text: ascii_digits(text.strip()) for text in distinct}
    bare = {text: each for text, each in bare.items() if not _is_gone(each, na)}
    if not bare:
        return _Typed({}, [], Marks.NONE)
    removed = []
    if len(signs := {sign_of(text) for text in bare.values()}) > 1:
        return None
    if sign := signs.pop():
        bare = {text: _unsigned(each) for text, each in bare.items()}
        removed.append("percent signs" if sign == "%" else f"currency signs ({sign})")
    elif len(units := {unit_of(text) for text in bare.values()}) == 1 and (unit := units.pop()):
        bare = {text: each.removesuffix(unit).rstrip() for text, each in bare.items()}
        removed.append(f"units ({unit})")
    if any(gap in each for each in bare.values() for gap in _GAPS) and _all(_GAPPED, bare.values()):
        bare = {text: each.translate(_NO_GAPS) for text, each in bare.items()}
        removed.append("thousands separators")
        # What separates thousands is known: the other mark is that of decimals.
        marks = {mark for each in bare.values() for mark in ".," if mark in each}
        said = {"": Marks.NONE, ".": Marks.POINT, ",": Marks.COMMA}.get("".join(marks), Marks.UNCLEAR)
    else:
        if not all(_NUMERIC.fullmatch(each) or _NO_NUMBER.fullmatch(each) for each in bare.values()):
            return None
        said = marks_of([each for each in bare.values() if not _NO_NUMBER.fullmatch(each)])
    return _Typed(bare, removed, said)


_NO_GAPS = str.maketrans("", "", _GAPS)


def _is_gone(text: str, na: Collection[str]) -> bool:
    """Tell whether a cell among numbers stands for a missing one."""
    return is_missing(text, na) or text.lower() == "none"


def ascii_digits(text: str) -> str:
    """Return a number with the digits and the minus that programs write, whatever the script it came in."""
    if text.isascii():
        return text
    if text[0] == "\u2013":  # a dash, which some programs make of a minus
        text = "-" + text[1:]
    digits = (str(unicodedata.digit(each)) if each.isdecimal() else each for each in text.translate(_ASCII))
    return "".join(digits)


def _settled(typed: Mapping[str, _Typed], sure_points: Sequence[str], label: str) -> str | None:
    """Return the mark of decimals that cells of a table settle; refuse a table that has both."""
    by_marks = {marks: [name for name, each in typed.items() if each.marks is marks] for marks in Marks}
    commas, points = by_marks[Marks.COMMA], [*by_marks[Marks.POINT], *sure_points]
    if commas and (others := [*points, *by_marks[Marks.MAYBE_POINT]]):
        both = f"with a comma in {quoted(commas[0])} and with a point in {quoted(others[0])}"
        hint = "" if points else ", or set `decimal=` to 'comma' if points separate thousands"
        msg = f"{label} writes decimals {both}. Write all of them with a point{hint}."
        raise DataError(msg)
    return "comma" if commas else "point" if points else None


def has_sure_point(texts: Iterable[str]) -> bool:
    """Tell whether a number is typed with a point that cannot separate thousands."""
    return any("." in text and not _BY_POINTS.fullmatch(text.strip()) for text in texts)


def _converted(cells: Cells, typed: _Typed, mark: str, decimal: str | None) -> Cells | None:
    """Return the cells as numbers, `None` if they cannot be read with this mark."""
    texts = typed.bare
    is_number = _reader(mark)
    if typed.marks is Marks.UNCLEAR and decimal is None:
        return None
    if not all(is_number(each) or _NO_NUMBER.fullmatch(each) for each in texts.values()):
        return None
    table = str.maketrans("", "", ",") if mark == "point" else str.maketrans(",", ".", ".")
    number = {text: each.translate(table) for text, each in texts.items()}
    floats = {text: float(each) for text, each in number.items()}
    is_whole = all(re.fullmatch(WHOLE, each) for each in number.values())
    given = cells.given()
    if is_whole and any(abs(value) >= EXACT_UP_TO for value in floats.values()):
        if any(len(each.lstrip("+-")) > MOST_DIGITS for each in number.values()):
            return None
        whole = {text: int(each) for text, each in number.items()}
        missing = np.array([text not in whole for text in given])
        return Cells("integer", np.array([whole.get(text, 0) for text in given], dtype=object), missing)
    values = np.array([floats.get(text, np.nan) for text in given], dtype=np.float64)
    is_plain = is_whole and bool(number) and typed.marks is Marks.NONE and not typed.removed
    return of_floats(values, "integer" if is_plain else "number")


def _truth(cells: Cells, na: Collection[str]) -> Cells | None:
    """Return text that says true or false as that, `None` if it says anything else."""
    distinct = set(cells.values[~cells.missing].tolist())
    says = {text: text.strip().lower() for text in distinct if isinstance(text, str)}
    says = {text: word for text, word in says.items() if not _is_gone(word, na)}
    if not says or not set(says.values()) <= {"true", "false"}:
        return None
    given = cells.given()
    values = np.array([says.get(text) == "true" for text in given], dtype=np.bool_)
    return Cells("boolean", values, np.array([text not in says for text in given], dtype=np.bool_))
