"""The packages of the extra ``mimic``, asked for before anything is computed."""

from __future__ import annotations

import importlib
import importlib.util
import platform

from mmdbounds._version import __version__
from mmdbounds.errors import MmdBoundsError

PACKAGES = {"torch": "PyTorch", "monai": "MONAI", "PIL": "Pillow"}
"""What is imported, and what people call it."""


def require_extra() -> None:
    """Refuse to go on without the packages of the extra, and say how to get them."""
    missing = [title for name, title in PACKAGES.items() if importlib.util.find_spec(name) is None]
    if missing:
        msg = f"the MIMIC pipeline needs {' and '.join(missing)}: pip install 'mmdbounds[mimic]'."
        raise MmdBoundsError(msg)


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of what computes, for the record."""
    found = {"python": platform.python_version(), "mmdbounds": __version__}
    for name in ("numpy", *PACKAGES):
        found[name] = str(importlib.import_module(name).__version__)
    return found
