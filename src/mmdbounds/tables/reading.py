"""How a table is to be read where its cells do not say it themselves, and what is in the way of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

from mmdbounds.checks import check_count, check_flag, check_option
from mmdbounds.errors import DataError
from mmdbounds.tables.text_numbers import DECIMALS

DATES = ("refuse", "days", "day-first", "month-first", "drop")  # what can be done about dates


@dataclass(frozen=True)
class Reading:
    """Options of `groups` that say how cells are read, under their names there."""

    na: tuple[str, ...] = ()
    encoding: str | None = None
    decimal: str | None = None
    dates: str = "refuse"
    sheet: str | None = None
    fold_labels: bool = False  # labels that differ only in case or blanks are one group
    header_row: int | None = None  # of the file, counted from 1

    def __post_init__(self) -> None:
        check_option(self.dates, "dates", DATES)
        check_flag(self.fold_labels, "fold_labels")
        if self.header_row is not None:
            check_count(self.header_row, "header_row", least=1)
        if self.decimal is not None:
            check_option(self.decimal, "decimal", DECIMALS)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return how the table of a record was read."""
        given = {each.name: record[each.name] for each in fields(cls) if each.name in record}
        return cls(**given | {"na": tuple(record.get("na", ()))})


FURTHER_DOWN = "If the names of the columns are further down, set `header_row=`."


def refuse_unnamed(names: Sequence[str], header_row: int | None, label: str) -> None:
    """Refuse a header with several empty names: it is hardly one."""
    if (n_unnamed := names.count("")) > 1:
        hint = f" {FURTHER_DOWN}" if header_row is None else ""
        msg = f"{label} has {n_unnamed} columns without a name. Give each its own name.{hint}"
        raise DataError(msg)


class Trouble(NamedTuple):
    """Why a column cannot be compared, and what to do about it beside leaving it out."""

    words: str
    advice: str = ""
    remedy: tuple[str, str] | None = None  # the option to set and its value; `None` to exclude the column
    names: tuple[str, ...] = ()  # words among numbers, which may stand for missing cells: `na=` takes them
