"""Files and DataFrames become X and Y, with row names and a record of what was done.

Importing this package loads NumPy alone; polars and narwhals come with the first table.
"""

from mmdbounds.tables.group import Group
from mmdbounds.tables.group_input import Identity, as_group, as_groups, column_order
from mmdbounds.tables.grouped_table import groups

__all__ = ["Group", "Identity", "as_group", "as_groups", "column_order", "groups"]
