"""The tools that run the code of README and docs, as modules for the tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs" / "_tools"))
import kept
import pages as tools

ROOT = tools.ROOT

__all__ = ["ROOT", "kept", "tools"]
