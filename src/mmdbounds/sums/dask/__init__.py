"""Sums on a Dask cluster."""
