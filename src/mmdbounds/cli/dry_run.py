"""``--dry-run``: which rows and columns a command would compare, how, and about how long it would take."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mmdbounds.cli.side_files import say

if TYPE_CHECKING:
    from mmdbounds.cli.arguments import Output
    from mmdbounds.problem import Problem
    from mmdbounds.tables.group import Group

COLUMNS_SHOWN = 40  # columns that are listed; of more, the rest are counted
SEARCH_EACH = "Search and proofs take additional time in every trial; several processes share the work."
SEARCH = "Search and proofs take additional time; `bounds --method s-sd` needs little more than this."


def show_plan(
    X: Group,
    Y: Group,
    output: Output,
    how: dict[str, Any],
    pairs: Callable[[Problem], int],
    more: str = SEARCH,
) -> None:
    """Print what a command would do; nothing but a pair rate is computed.

    `how` are the keywords of `pose`, `pairs` says about how many kernel values the command needs, and `more`
    is a sentence on what else takes time.
    """
    from mmdbounds.problem import Comparison, pose

    problem = pose(X, Y, Comparison(**how))
    n_pairs, rate = pairs(problem), pair_rate(problem)
    if output.json:
        plan = {
            "data": X.record,
            "n_samples_X": len(X),
            "n_samples_Y": len(Y),
            "features": list(X.columns or ()),
            "kernel": problem.kernel.name,
            "bandwidth": problem.kernel.length,
            "n_pairs": n_pairs,
            "pairs_a_second": rate,
            "seconds": n_pairs / rate,
        }
        say(json.dumps(plan, indent=2, ensure_ascii=False))
        return
    say("\n".join([*rows_in_words(X.record), *columns_in_words(X)]))
    say("\n" + time_in_words(problem, n_pairs, rate, more))


def pair_rate(problem: Problem) -> float:
    """Return kernel values computed a second on rows of the problem, repeated as often as it takes."""
    import numpy as np

    from mmdbounds.sums import make_sums, registry

    Z = problem.pooled

    def make(made_up: Any, dtype: str, meter: Any) -> Any:
        return make_sums(
            np.resize(Z, (len(made_up), Z.shape[1])),
            problem.kernel,
            backend=problem.backend,
            dtype=dtype,
            working_memory=problem.working_memory,
            meter=meter,
        )

    return registry.measured_rate(make, problem.dtype, most_rows=registry.FIRST_ROWS).pairs_a_second


def rows_in_words(record: Any) -> list[str]:
    """Return the lines about the rows."""
    from mmdbounds.cli.table import notes
    from mmdbounds.words.phrases import rows, shown, wrapped

    x, y = shown(record["hidden"]), shown(record["among"])
    source = f"{shown(record['source'])}, {record['read_as']}, {rows(record['n_rows'])}."
    lines = [wrapped(f"Table: {source}"), f"  sha256 {record['sha256']}"]
    lines += [
        wrapped(f"Compared: {rows(record['n_hidden'])} of {x} (X) with {record['n_among']:,} of {y} (Y).")
    ]
    if record.get("unit_column") is not None:
        lines += [f"Of these, one row per {shown(record['unit_column'])} is drawn at random."]
    others = {"of other groups": record["n_other_groups"], "without a group": record["n_missing_group"]}
    if left := [f"{rows(n)} {which}" for which, n in others.items() if n]:
        lines += [f"Not compared: {', '.join(left)}."]
    return lines + [wrapped(text[0].upper() + text[1:]) for text in notes(record)]


def columns_in_words(X: Group) -> list[str]:
    """Return the lines about the columns."""
    from mmdbounds.words.phrases import shown, wrapped

    kinds: dict[str, str] = X.record["kinds"]
    scaled = {
        "standard": "mean 0 and deviation 1 over these rows",
        "robust": "median 0 and normal quartiles over these rows",
        "rank": "ranks over these rows",
        "none": "as they are",
    }
    names = [(shown(name), kind) for name, kind in kinds.items()]
    widest = max(len(name) for name, _ in names[:COLUMNS_SHOWN])
    many = f"{len(kinds)} column{'' if len(kinds) == 1 else 's'}"
    n_features = X.values.shape[1]
    as_many = "" if n_features == len(kinds) else f" as {n_features} features"
    lines = [f"Columns: {many}{as_many}, {X.record['scale']} ({scaled[X.record['scale']]})."]
    for name, kind in names[:COLUMNS_SHOWN]:
        each = ", one 0-1 column each" if kind.endswith("categories") else ""
        lines.append(f"  {name:<{widest}}  {kind}{each}")
    if len(names) > COLUMNS_SHOWN:
        lines.append(f"  and {len(names) - COLUMNS_SHOWN} more (all of them: --json)")
    if excluded := X.record["excluded_columns"]:
        lines.append(wrapped(f"Left out by --exclude: {', '.join(map(shown, excluded))}."))
    if X.record["id_column"] is not None:
        lines.append(f"Rows are identified by {shown(X.record['id_column'])}.")
    return lines


def time_in_words(problem: Problem, n_pairs: int, rate: float, more: str) -> str:
    """Return the sentence about the time."""
    from mmdbounds.progress import duration
    from mmdbounds.words.phrases import wrapped

    seconds = n_pairs / rate
    took = "under a second" if seconds < 1 else f"about {duration(seconds)}"
    return wrapped(
        f"Time: {took} for {n_pairs:,} kernel values, at {rate / 1e6:,.0f} million per second as measured "
        f"just now ({problem.kernel.name}, {problem.pooled.shape[1]} features, {problem.dtype}). {more}"
    )
