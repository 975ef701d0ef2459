"""Packages of the extra, for files whose tests all need them."""

import importlib
import os

import pytest


def needed(name):
    """Import a package; where it is not there skip the file, but fail where everything should be there."""
    if os.environ.get("MMDBOUNDS_FULL") == "1":
        return importlib.import_module(name)
    return pytest.importorskip(name)
