"""The programs of a page: Vega, Vega-Lite and vega-embed in one file, kept in `vega` with its licences."""

from __future__ import annotations

from importlib.resources import files

VERSIONS = "Vega 6.4.0, Vega-Lite 6.5.0"
"""What draws the pictures; a test compares it with the file."""


def resource(name: str) -> str:
    """Return the text of a file of this room."""
    return files("mmdbounds.report").joinpath(name).read_text(encoding="utf-8")


def javascript() -> str:
    """Return the programs that draw, with their licences at the head: a file, so that nothing runs here."""
    return resource("vega/charts.js")
