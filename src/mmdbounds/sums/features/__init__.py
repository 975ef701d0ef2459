"""Kernels that are products of features, so that sums are linear in the number of rows."""
