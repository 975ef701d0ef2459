"""Rows in several groups: how far the features depend on the group, when some rows carry a wrong label."""
