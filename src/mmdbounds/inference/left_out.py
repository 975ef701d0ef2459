"""Columns left out: what each contributes to the lower bound, and what the groups are compared with.

Both compare the groups again in some of their columns, with the same kernel and options. A median bandwidth
is that of the columns that are left, as if the table had no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from mmdbounds.bounds import mmd2, mmd_bounds
from mmdbounds.checks import check_seed
from mmdbounds.columns import column_table
from mmdbounds.contamination import Contamination
from mmdbounds.errors import DataError, did_you_mean, quoted
from mmdbounds.problem import ComparisonOptions
from mmdbounds.results import BoundsResult
from mmdbounds.results.columns import Benchmark, ColumnEffect, ColumnEffects
from mmdbounds.search import Sharp
from mmdbounds.tables import Group
from mmdbounds.tables.group import as_groups, group_fields
from mmdbounds.tables.scaling import units
from mmdbounds.words.columns import by_strength

MOST_ROWS = 1_000  # rows that are compared again for each column; of more, a random sample
MOST_COLUMNS = 40  # columns that are left out one by one: those with the surest differences
METHOD = Sharp(n_starts=4, gap=0.01)  # as close as a table of effects is read
TRUE_OR_FALSE = "true or false"  # how the record of a table describes such a column
STREAM = 13  # keeps the sample apart from all else that the same seed draws


def column_effects(
    X: Any, Y: Any, amount: Contamination, *, rng: int = 0, **options: Unpack[ComparisonOptions]
) -> ColumnEffects | None:
    """Return the lower bound without each column; `None` where that says nothing or takes too long.

    Of more than `MOST_ROWS` rows it is about a sample, and needs an amount that is a share.
    """
    seed = check_seed(rng)
    x, y = as_groups(X, Y)
    sources = features_by_column(x)
    n_rows = len(x) + len(y)
    if len(sources) < 2 or (n_rows > MOST_ROWS and not _is_share(amount)):
        return None
    strongest = [row.name for row in by_strength(column_table(x, y, amount).rows)]
    column_of = {_names(x)[j]: column for column, features in sources.items() for j in features}
    chosen = list(dict.fromkeys(column_of[name] for name in strongest))[:MOST_COLUMNS]
    some = _sample(x, y, seed) if n_rows > MOST_ROWS else (x, y)

    def found_without(features: list[int]) -> BoundsResult:
        of_x, of_y = (_without(group, features) for group in some)
        return mmd_bounds(of_x, of_y, amount, method=METHOD, rng=seed, progress=False, **options)

    every, without = found_without([]), {column: found_without(sources[column]) for column in chosen}
    return ColumnEffects(
        columns=tuple(ColumnEffect(name, found.interval[0]) for name, found in without.items()),
        lower=every.interval[0],
        is_certified=all(found.is_certified for found in (every, *without.values())),
        n_columns=len(sources),
        n_used=len(some[0]) + len(some[1]),
        seed=seed,
        kernel=every.provenance.kernel,
        **group_fields(x, y),
    )


def benchmark(
    X: Any, Y: Any, column: str, amount: Contamination, *, rng: int = 0, **options: Unpack[ComparisonOptions]
) -> Benchmark:
    """Compare the groups, in the other columns, with the two groups into which a column divides all rows."""
    x, y = as_groups(X, Y)
    sources = features_by_column(x)
    if column not in sources:
        hint = did_you_mean(column, list(sources))
        msg = f"`benchmark=` must be one of the columns that are compared; got {quoted(column)}.{hint}"
        raise DataError(msg)
    pooled = np.concatenate([x.values, y.values])
    names, in_first = _halves(x, column, sources[column], pooled)
    others = np.delete(pooled, sources[column], axis=1)
    if not others.shape[1]:
        msg = f"`benchmark=` needs other columns to compare; got {quoted(column)}, which is the only one."
        raise DataError(msg)
    of_x, of_y = (_without(group, sources[column]) for group in (x, y))
    found = mmd_bounds(of_x, of_y, amount, rng=rng, progress=False, **options)
    return Benchmark(
        column=column,
        name_first=names[0],
        name_second=names[1],
        n_first=int(in_first.sum()),
        n_second=int((~in_first).sum()),
        value=mmd2(others[in_first], others[~in_first], progress=False, **options),
        lower=found.interval[0],
        upper=found.interval[1],
        is_certified=found.is_certified,
        kernel=found.provenance.kernel,
        **group_fields(x, y),
    )


def features_by_column(group: Group) -> dict[str, list[int]]:
    """Return for each column of the table the features that it became: one, or one per category."""
    names = _names(group)
    columns: Sequence[str] = group.record.get("columns") or names
    found: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        column = name if name in columns else next(c for c in columns if name.startswith(f"{c}="))
        found.setdefault(column, []).append(j)
    return found


def _names(group: Group) -> tuple[str, ...]:
    return group.columns or tuple(f"column {j}" for j in range(group.shape[1]))


def _without(group: Group, features: list[int]) -> Group:
    names = tuple(name for j, name in enumerate(_names(group)) if j not in features)
    return replace(group, values=np.delete(group.values, features, axis=1), columns=names)


def _is_share(amount: Contamination) -> bool:
    """Return whether an amount means the same of a part of the rows."""
    return (amount.x_in_y is not None or amount.share_of_y is not None) and not amount.says_which


def _sample(x: Group, y: Group, seed: int) -> tuple[Group, Group]:
    """Return the same share of each group, drawn at random."""
    rng = np.random.default_rng([seed, STREAM])
    share = MOST_ROWS / (len(x) + len(y))

    def drawn(group: Group) -> Group:
        n = min(len(group), max(round(share * len(group)), 10))
        return group[np.sort(rng.choice(len(group), n, replace=False))]

    return drawn(x), drawn(y)


def _halves(
    group: Group, column: str, features: list[int], pooled: np.ndarray[Any, Any]
) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Return what the two halves are called, and which rows belong to the first."""
    values = np.unique(pooled[:, features], axis=0)
    if len(values) != 2:
        msg = f"`benchmark=` must be a column with two values; got {quoted(column)} with {len(values):,}."
        raise DataError(msg)
    if len(features) == 2:  # two categories: the features are named after them
        labels = [_names(group)[j].removeprefix(f"{column}=") for j in features]
        return labels, np.all(pooled[:, features] == values[1], axis=1)
    first = np.all(pooled[:, features] == values[0], axis=1)
    if group.record.get("kinds", {}).get(column) == TRUE_OR_FALSE:
        return ["false", "true"], first
    centre, unit, _ = units(group.record.get("scaling", {}).get(column, []))
    # What was scaled and is scaled back is off by its last digits.
    exact = [round((centre + unit * float(value[0])) / unit, 9) * unit + 0.0 for value in values]
    return [f"{value:.4g}" for value in exact], first
