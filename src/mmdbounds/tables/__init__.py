"""Files and DataFrames become X and Y; polars and narwhals are imported with the first table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmdbounds.tables.group import Group, Identity, as_group, as_groups, column_order

if TYPE_CHECKING:
    from mmdbounds.tables.grouped_table import groups

__all__ = ["Group", "Identity", "as_group", "as_groups", "column_order", "groups"]


def __getattr__(name: str) -> Any:
    """Load `groups`, which arrays do not need, on first use."""
    if name != "groups":
        msg = f"module 'mmdbounds.tables' has no attribute {name!r}"
        raise AttributeError(msg)
    from mmdbounds.tables import grouped_table

    return grouped_table.groups
