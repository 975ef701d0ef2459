"""Files and DataFrames become X and Y; polars and narwhals are imported with the first table."""

from mmdbounds.tables.group import Group, Identity, as_group, as_groups, column_order
from mmdbounds.tables.grouped_table import groups

__all__ = ["Group", "Identity", "as_group", "as_groups", "column_order", "groups"]
