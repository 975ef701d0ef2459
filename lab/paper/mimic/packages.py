"""The packages that the pipeline needs, checked before anything is computed."""

from __future__ import annotations

import importlib
import importlib.util
import platform

from mmdbounds._version import __version__
from mmdbounds.errors import MmdBoundsError

PACKAGES = {"torch": "PyTorch", "monai": "MONAI", "PIL": "Pillow"}
"""Import names, and the names people use."""


def require_packages() -> None:
    """Refuse to start without these packages, and say how to install them."""
    missing = [title for name, title in PACKAGES.items() if importlib.util.find_spec(name) is None]
    if missing:
        msg = f"the MIMIC pipeline needs {' and '.join(missing)}: pip install --group mimic."
        raise MmdBoundsError(msg)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute, for the record."""
    found = {"python": platform.python_version(), "mmdbounds": __version__}
    for name in ("numpy", *PACKAGES):
        found[name] = str(importlib.import_module(name).__version__)
    return found
