"""Make the programs that draw the charts of a report's page: one file of JavaScript, with all its licences.

    python docs/_tools/chart_runtime/build.py

Needs Node (npm) and the network, so it is run by hand when the versions in package.json change (remove
package-lock.json then), and what it writes into src/mmdbounds/report/vega is kept in the repository. The same
lock file gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parents[2] / "src" / "mmdbounds" / "report" / "vega"
NAMED = ("vega", "vega-lite", "vega-embed")
PREBUILT = {
    "d3-delaunay": ("delaunator", "robust-predicates"),
    "vega-embed": ("fast-json-patch", "semver"),
}
"""Packages whose published file holds others, which esbuild does not see."""
BUNDLE = ["--bundle", "--minify", "--format=esm", "--charset=ascii", "--legal-comments=eof"]
LICENCE_NAMES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "license", "license.md")


def main() -> None:
    """Install, bundle, and write the three files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in HERE.iterdir():
            if path.suffix in (".json", ".js"):
                shutil.copy(path, folder)
        lock = folder / "package-lock.json"
        _run(folder, "npm", "ci" if lock.exists() else "install", "--no-audit", "--no-fund")
        shutil.copy(lock, HERE)
        _run(
            folder,
            "node_modules/.bin/esbuild",
            *("entry.js", *BUNDLE, "--metafile=meta.json", "--outfile=out.js"),
        )
        packages = _packages(json.loads((folder / "meta.json").read_text(encoding="utf-8")))
        versions = {package: _about(folder, package)["version"] for package in packages}
        licences = _licences(folder, versions)
        code = f"/*!\n{licences}*/\n{(folder / 'out.js').read_text(encoding='utf-8')}"
    TARGET.mkdir(exist_ok=True)
    (TARGET / "LICENSES.txt").write_text(licences, encoding="utf-8")
    (TARGET / "charts.js").write_text(code, encoding="utf-8")
    (TARGET / "README.md").write_text(_readme(versions, code), encoding="utf-8")


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True)


def _packages(meta: dict) -> list[str]:
    """Return the packages of which something is in the bundle."""
    [made] = meta["outputs"].values()
    used = [path for path, part in made["inputs"].items() if part["bytesInOutput"]]
    found = {_package(path) for path in used if "node_modules/" in path}
    return sorted(found.union(*(inner for outer, inner in PREBUILT.items() if outer in found)))


def _package(path: str) -> str:
    first, second = path.rsplit("node_modules/", maxsplit=1)[-1].split("/")[:2]
    return f"{first}/{second}" if first.startswith("@") else first


def _about(folder: Path, package: str) -> dict:
    return json.loads((folder / "node_modules" / package / "package.json").read_text(encoding="utf-8"))


def _licences(folder: Path, versions: dict[str, str]) -> str:
    """Return the licences word for word, each once, with the packages that it holds for."""
    holders: dict[str, list[str]] = {}
    for package, version in versions.items():
        text = _licence(folder, package)
        if "*/" in text or "</" in text or "<!--" in text:
            msg = f"the licence of {package} cannot stand in a comment on a page; look at it."
            raise SystemExit(msg)
        holders.setdefault(text, []).append(f"{package} {version}")
    head = "The charts of this page are drawn by Vega and the packages below, under these licences."
    parts = [f"{', '.join(names)}\n\n{text}" for text, names in sorted(holders.items(), key=lambda p: p[1])]
    return "\n\n----\n\n".join([head, *parts]) + "\n"


def _licence(folder: Path, package: str) -> str:
    """Return the text of a package's licence, without blanks at the ends of lines."""
    for path in (folder / "node_modules" / package / name for name in LICENCE_NAMES):
        if path.exists():
            return re.sub(r"[ \t]+\n", "\n", path.read_text(encoding="utf-8").replace("\r\n", "\n")).strip()
    about = _about(folder, package)
    msg = f"{package} ({about.get('license')}) has no file with its licence; find it."
    raise SystemExit(msg)


def _readme(versions: dict[str, str], code: str) -> str:
    digest = hashlib.sha256(code.encode("utf-8")).hexdigest()
    named = ", ".join(f"{package} {versions[package]}" for package in NAMED)
    return f"""# The programs that draw the charts of a report

`charts.js` is {named} and what they need, in one file, every licence at its head; `LICENSES.txt` holds the
same licences. A page takes `charts.js` in as it is: nothing is fetched and nothing runs to make a page.

- SHA-256 of `charts.js`: `{digest}`
- made by `docs/_tools/chart_runtime/build.py` (npm and esbuild) from the versions of its `package-lock.json`
- packages inside: {", ".join(f"{package} {version}" for package, version in versions.items())}
"""


if __name__ == "__main__":
    main()
