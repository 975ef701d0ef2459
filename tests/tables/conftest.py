from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file of the given name and contents, and return its path."""

    def write_file(name: str, contents: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        return path

    return write_file


@pytest.fixture(autouse=True)
def _in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read binary files at once, not in another process first: that takes long, and has tests of its own."""
    if "another_process" not in request.fixturenames:
        monkeypatch.setattr("mmdbounds.tables.file_formats.failure_elsewhere", lambda *_: None)


@pytest.fixture
def another_process() -> None:
    """Read binary files in another process first, as users do."""
