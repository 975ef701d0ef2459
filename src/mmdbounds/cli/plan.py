"""What ``--dry-run`` says: the rows, a line for each column, what is assumed, all problems, the time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mmdbounds.cli.spoken import as_flags
from mmdbounds.errors import counted, listed, quoted, quoted_list

if TYPE_CHECKING:
    from mmdbounds.counts import Counts
    from mmdbounds.results import Knowledge
    from mmdbounds.tables.group import Group
    from mmdbounds.tables.table_rows import Survey

COLUMNS_SHOWN = 40  # columns that are listed; of more, the rest are counted
UNITS = (86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")


def notes(record: Any) -> list[str]:
    """Say what of a table is not compared as it stands, a sentence each, from the record of it."""
    sentences = _of_neither_group(record)
    if signs := record["removed_signs"]:
        parts = listed([f"{what} in {quoted(name)}" for name, what in signs.items()])
        sentences.append(f"numbers are read without {parts}.")
    whys = {"constant": "constant over the rows of both groups", "empty": "empty"}
    whys["date"] = "dates" if len(record["dropped_date_columns"]) > 1 else "a date"
    for key, why in whys.items():
        if names := record.get(f"dropped_{key}_columns"):
            word = "column is" if len(names) == 1 else "columns are"
            sentences.append(f"{len(names)} {word} {why} and left out: {quoted_list(names)}.")
    if days := [name for name, kind in record["kinds"].items() if kind.startswith("dates")]:
        kind = record["kinds"][days[0]].removeprefix("dates, as ")
        sentences.append(f"dates are compared as {kind}: {quoted_list(days)}.")
    of_x, of_y = record.get("n_dropped_rows", (0, 0))
    if of_x or of_y:
        groups = f"{of_x:,} of {quoted(record['hidden'])} and {of_y:,} of {quoted(record['among'])}"
        sentences.append(f"{counted(of_x + of_y, 'row')} with missing cells left out: {groups}.")
    if filled := record.get("n_filled_cells"):
        cells = listed([f"{n:,} of {quoted(name)}" for name, n in filled.items()])
        how = "numbers by the median, others by the most frequent value"
        sentences.append(f"missing cells filled, {how}: {cells}.")
    return sentences + _refiled(record)


def _of_neither_group(record: Any) -> list[str]:
    """Say how many rows belong to neither group or have no label, and which labels they have."""
    from mmdbounds.words.phrases import others_in_words

    sentences = []
    if n := record.get("n_other_groups"):
        sentences.append(f"{counted(n, 'row')} of other groups left out: {others_in_words(record)}.")
    if n := record["n_missing_group"]:
        sentences.append(f"{counted(n, 'row')} without a label in {quoted(record['group_column'])} left out.")
    return sentences


def _refiled(record: Any) -> list[str]:
    """Say how many rows are compared as members of another group than the one they are filed under."""
    to_x, to_y = record.get("n_refiled", (0, 0))
    if not to_x + to_y:
        return []
    x, y = quoted(record["hidden"]), quoted(record["among"])
    moved = [f"{n:,} from {a} to {b}" for n, a, b in ((to_x, y, x), (to_y, x, y)) if n]
    where = f"as verified in column {quoted(record['verified_column'])}"
    return [f"{counted(to_x + to_y, 'row')} refiled, {where}: {' and '.join(moved)}."]


def rows_in_words(record: Any) -> list[str]:
    """Return the lines about the rows."""
    from mmdbounds.words.phrases import rows, shown, wrapped

    source = f"{shown(record['source'])}, {record['read_as']}, {rows(record['n_rows'])}."
    lines = [wrapped(f"Table: {source}"), f"  sha256 {record['sha256']}"]
    if "hidden" in record:  # two groups, not all of the table
        x, y = shown(record["hidden"]), shown(record["among"])
        compared = f"Compared: {rows(record['n_hidden'])} of {x} (X) with {record['n_among']:,} of {y} (Y)."
        lines.append(wrapped(compared))
    if record.get("unit_column") is not None:
        lines += [f"Of these, one row per {shown(record['unit_column'])} is drawn at random."]
    return lines + [wrapped(text[0].upper() + text[1:]) for text in notes(record)]


def known_in_words(known: Knowledge | None, Y: Group) -> list[str]:
    """Return the line about what is known of single rows, if anything is."""
    from mmdbounds.words.phrases import restrictions, rows, shown, wrapped

    if known is None:
        return []
    which = restrictions(known, "y") or ", all of them"
    return [
        wrapped(f"May be misfiled: {known.n_may_move_y:,} of the {rows(len(Y))} of {shown(Y.name)}{which}.")
    ]


SCALED = {
    "standard": "mean 0 and deviation 1 over these rows",
    "robust": "median 0 and normal quartiles over these rows",
    "rank": "ranks over these rows",
    "none": "as they are",
}
MISSING = {
    "refuse": "refused: missing cells",
    "drop": "compared, rows with missing cells left out",
    "impute": "compared, missing cells filled",
}


def features_in_words(X: Group) -> str:
    """Return the line about the columns that are compared."""
    n_columns, n_features = len(X.record["kinds"]), X.values.shape[1]
    as_many = "" if n_features == n_columns else f" as {n_features} features"
    scale = X.record["scale"]
    return f"Columns: {counted(n_columns, 'column')}{as_many}, {scale} ({SCALED[scale]})."


def columns_in_words(record: Any) -> list[str]:
    """Return a table with a line for each column: what it holds, missing cells, what is done with it."""
    from mmdbounds.words.phrases import shown

    gone, refused = record["n_missing_cells"], record.get("refused_columns", {})
    lines = [("column", "holds", "missing", "what is done")]
    for name, kind in record["kinds"].items():
        usual = "compared, one 0-1 column each" if kind.endswith("categories") else "compared"
        done = MISSING[record["missing"]] if gone.get(name) else usual
        done += " (it determines the group)" if name in record["columns_like_group"] else ""
        lines.append((shown(name), kind, str(gone.get(name, 0)), done))
    for key, holds in (("constant", "one value"), ("empty", "nothing"), ("date", "dates")):
        names = record.get(f"dropped_{key}_columns", ())
        lines += [(shown(name), holds, str(gone.get(name, 0)), "left out") for name in names]
    lines += [(shown(name), kind, str(gone.get(name, 0)), "refused") for name, kind in refused.items()]
    more = len(lines) - 1 - COLUMNS_SHOWN
    lines = lines[: COLUMNS_SHOWN + 1] if more > 0 and not refused else lines
    widths = [max(len(line[place]) for line in lines) for place in range(3)]
    table = [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d}" for a, b, c, d in lines]
    return table + ([f"  and {more} more (all of them: --json)"] if len(table) > COLUMNS_SHOWN else [])


def roles_in_words(record: Any) -> list[str]:
    """Return the lines about columns that are not compared because the command says so."""
    from mmdbounds.words.phrases import shown, wrapped

    lines = []
    if excluded := record["excluded_columns"]:
        lines.append(wrapped(f"Left out by --exclude: {', '.join(map(shown, excluded))}."))
    if record["id_column"] is not None:
        lines.append(f"Rows are identified by {shown(record['id_column'])}.")
    return lines


def problems_in_words(survey: Survey) -> list[str]:
    """Return all that keeps a table from being compared."""
    from mmdbounds.words.phrases import wrapped

    lines = [*rows_in_words(survey.record), "Columns:", *columns_in_words(survey.record)]
    lines += [*roles_in_words(survey.record), "", "Problems:"]
    return lines + [wrapped(f"{i}. {text}", "  ") for i, text in enumerate(map(as_flags, survey.problems), 1)]


def flags_to_add(survey: Survey) -> str:
    """Return options with which the table can be compared, ready to be pasted."""
    from mmdbounds.words.phrases import typed

    excluded = [value for name, value in survey.remedies if name == "exclude"]
    flags = [(f"--{name}", value) for name, value in dict.fromkeys(survey.remedies) if name != "exclude"]
    if excluded and not any("," in name for name in excluded):
        excluded = [",".join(excluded)]
    return typed(word for flag in (*flags, *(("--exclude", name) for name in excluded)) for word in flag)


def misfiled_in_words(counts: Iterable[Counts], Y: Group) -> str:
    """Return the line about the numbers of misfiled rows that are considered."""
    from mmdbounds.words.phrases import rows, shown, wrapped

    each = [(one.n_moved, one.n_moved_of_x) for one in counts]
    (fewest, most), of_x = (min(m for m, _ in each), max(m for m, _ in each)), max(n for _, n in each)
    how = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    back = f", and up to {of_x:,} of the other group" if of_x else ""
    return wrapped(f"Misfiled: {how} of the {rows(len(Y))} of {shown(Y.name)}{back}.")


def about(seconds: float) -> str:
    """Return a time in words, in the largest unit that says enough."""
    if seconds < 1:
        return "under a second"
    size, unit = next(each for each in UNITS if seconds >= 1.5 * each[0] or each[0] == 1)
    return f"about {counted(round(seconds / size), unit)}"
