"""The programs of a page: Vega, Vega-Lite and vega-embed in one; the only file that imports vl_convert."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util

from mmdbounds.errors import MmdBoundsError

PACKAGE = "vl-convert-python"


def check_runtime() -> None:
    """Say now, not after the work, that no page can be written."""
    if importlib.util.find_spec("vl_convert") is None:
        msg = f"a report needs {PACKAGE}, which is not installed. Install mmdbounds[report]."
        raise MmdBoundsError(msg)


@functools.cache
def javascript() -> str:
    """Return the programs; bundling them takes seconds, so once is enough."""
    check_runtime()
    import vl_convert

    return str(vl_convert.javascript_bundle())


def runtime_version() -> str:
    """Return what drew the pictures, with its version."""
    return f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
