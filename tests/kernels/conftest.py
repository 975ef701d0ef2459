"""The cluster of the tests of the sums."""

from sums.conftest import client

__all__ = ["client"]
