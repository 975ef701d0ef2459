"""The tool that runs the code of README and docs, as a module for the tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_spec = importlib.util.spec_from_file_location("mmdbounds_docs_pages", ROOT / "docs" / "_tools" / "pages.py")
assert _spec is not None
assert _spec.loader is not None
tools = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = tools  # dataclasses look their module up
_spec.loader.exec_module(tools)
