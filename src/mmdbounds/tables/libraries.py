"""The libraries of DataFrames, loaded when the first table comes, or how to get them."""

from __future__ import annotations

from typing import Any

from mmdbounds.errors import DataError


def import_polars() -> Any:
    """Return polars, or say how to get it."""
    try:
        import polars
    except ImportError:
        msg = "files and columns by name need polars: pip install polars. Other DataFrames go without it."
        raise DataError(msg) from None
    return polars


def import_narwhals() -> Any:
    """Return narwhals, or say how to get it."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        msg = "DataFrames and files need narwhals: pip install narwhals. Arrays go without it."
        raise DataError(msg) from None
    return nw
