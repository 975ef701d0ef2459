"""The R code in docs/r.md: run it, compare what is shown with what comes out, or write it anew.

This needs R with jsonlite and reticulate, so it is not part of the tests::

    apt-get install --no-install-recommends r-base-core r-cran-jsonlite r-cran-reticulate
    .venv-full/bin/python docs/_tools/r_page.py [--write]

All ``r`` blocks run in order, in one session of R and one empty folder, with the ``mmdbounds`` of the Python
that runs this tool.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import ROOT, Ran, outputs, with_outputs

PAGE = ROOT / "docs" / "r.md"
PICTURE = ROOT / "docs" / "_static" / "sweep_in_r.png"
END = "<end of a block>"


def run_r(text: str) -> list[Ran]:
    """Execute the R blocks of a page, and keep the picture that they draw."""
    found = outputs(text, ("r",))
    script = "".join(f"{block.text}\ncat('\\n{END}\\n')\n" for block, _ in found)
    programs = Path(sys.executable).parent
    surroundings = {
        "RETICULATE_PYTHON": sys.executable,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.R").write_text(script, encoding="utf-8")
        ran = subprocess.run(
            ["Rscript", "page.R"],
            cwd=folder,
            env={**os.environ, **surroundings},
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        )
        if "--write" in sys.argv:
            shutil.copy(Path(folder) / "sweep.png", PICTURE)
    printed = ran.stdout.split(f"\n{END}\n")
    return [
        Ran(block, output.strip("\n"), shown)
        for (block, shown), output in zip(found, printed[:-1], strict=True)
    ]


def main() -> int:
    """Say whether the page shows what comes out, or write it."""
    old = PAGE.read_text(encoding="utf-8")
    new = with_outputs(old, run_r)
    if "--write" in sys.argv:
        PAGE.write_text(new, encoding="utf-8")
    elif new != old:
        print("stale: docs/r.md")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
