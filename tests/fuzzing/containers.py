"""The same rows as arrays, lists, DataFrames and groups, with columns in another order or of other names."""

from __future__ import annotations

import importlib.util

import numpy as np

import mmdbounds as mb

FRAMES = {
    "polars": ("polars swapped", "polars", "polars other names"),
    "pandas": ("pandas swapped", "pandas other names", "pandas and array"),
}
FORMS = (
    "array",
    "list",
    "groups",
    "groups swapped",
    "groups scaled apart",
    *(form for library, forms in FRAMES.items() if importlib.util.find_spec(library) for form in forms),
)
MUST_REFUSE = ("polars other names", "pandas other names", "groups scaled apart")
"""Columns of other names, or on other scales, must not be compared with each other."""


def handed_in(Z, p, form):
    """Return X and Y as `form` says; Z are the rows as they are meant, columns in the order of X."""
    X, Y = Z[:p], Z[p:]
    if form == "array":
        return X, Y
    if form == "list":
        return X.tolist(), Y.tolist()
    if form.startswith("groups"):
        return as_groups(Z, p, form)
    names = [f"c{i}" for i in range(Z.shape[1])]
    order = list(range(Z.shape[1]))
    if form.endswith("swapped"):
        order = order[1:] + order[:1]
    others = [f"other{i}" for i in order] if form.endswith("other names") else [names[i] for i in order]
    first = as_frame(X, names, form)
    return first, Y if form.endswith("array") else as_frame(Y[:, order], others, form)


def as_frame(rows, names, form):
    columns = {name: np.ascontiguousarray(column) for name, column in zip(names, rows.T, strict=True)}
    if form.startswith("pandas"):
        import pandas as pd

        return pd.DataFrame(columns)
    import polars as pl

    return pl.DataFrame(columns)


def as_groups(Z, p, form):
    """Return the groups of one table, or X of one and Y of another."""
    names = [f"c{i}" for i in range(Z.shape[1])]
    label = np.where(np.arange(len(Z)) < p, "x", "y").tolist()
    table = {"group": label, **{name: column.tolist() for name, column in zip(names, Z.T, strict=True)}}
    options = {"group": "group", "hidden": "x", "among": "y", "scale": "none"}
    X, Y = mb.groups(table, columns=names, **options)
    if form == "groups swapped":
        _, Y = mb.groups(table, columns=names[1:] + names[:1], **options)
    if form == "groups scaled apart":
        doubled = table | {name: (3 * Z[:, i] + 1).tolist() for i, name in enumerate(names)}
        X, _ = mb.groups(table, columns=names, **options | {"scale": "standard"})
        _, Y = mb.groups(doubled, columns=names, **options)
    return X, Y
