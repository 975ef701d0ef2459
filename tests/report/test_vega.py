"""What draws the charts is a file with its licences: no engine runs to make a page."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mmdbounds as mb
from docs.shown import ROOT
from mmdbounds.report import page
from mmdbounds.report.record import CHART_VERSIONS

FOLDER = Path(page.__file__).with_name("vega")
TOOLS = ROOT / "docs" / "_tools" / "chart_runtime"
FOUR_GIB = 4 * 2**30


def test_the_file_is_the_one_that_its_readme_describes():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    [stated] = re.findall(r"SHA-256 of `charts.js`: `(\w{64})`", readme)
    assert hashlib.sha256((FOLDER / "charts.js").read_bytes()).hexdigest() == stated
    locked = json.loads((TOOLS / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    packages = re.findall(r"([\w-]+) (\d+\.\d+\.\d+)", readme.split("packages inside: ")[1])
    assert len(packages) > 50
    for name, version in packages:
        assert locked[f"node_modules/{name}"]["version"] == version
    versions = dict(packages)
    assert f"Vega {versions['vega']}, Vega-Lite {versions['vega-lite']}" == CHART_VERSIONS
    asked = json.loads((TOOLS / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert asked == {name: versions[name] for name in ("vega", "vega-embed", "vega-lite")}


def test_every_package_inside_has_its_licence():
    licences = (FOLDER / "LICENSES.txt").read_text(encoding="utf-8")
    _, *parts = licences.split("\n\n----\n\n")
    held = [(name, part.split("\n", 1)[1]) for part in parts for name in part.split("\n", 1)[0].split(", ")]
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    inside = readme.split("packages inside: ")[1].strip().split(", ")
    assert sorted(name for name, _ in held) == sorted(inside)
    known = (
        "Redistribution and use",
        "Permission to use, copy",
        "Permission is hereby granted",
        "unlicense.org",
    )
    for name, text in held:
        assert any(words in text for words in known), name


def test_a_page_carries_the_licences(bounded: mb.results.BoundsResult, tmp_path: Path):
    bounded.report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    licences = (FOLDER / "LICENSES.txt").read_text(encoding="utf-8")
    assert f'<script type="module">/*!\n{licences}*/' in page
    for words in ("Redistributions in binary form must reproduce", "Copyright 2010-2026 Mike Bostock"):
        assert words in page


@pytest.mark.skipif(sys.platform != "linux", reason="no such limits")
def test_a_page_is_made_in_four_gib_of_addresses(bounded: mb.results.BoundsResult, tmp_path: Path):
    import resource

    saved, out = tmp_path / "saved.json", tmp_path / "a.html"
    saved.write_text(bounded.to_json(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mmdbounds", "report", str(saved), "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (FOUR_GIB, FOUR_GIB)),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"The report is in {out}.\n", "")
    bounded.report(tmp_path / "b.html")
    assert out.read_bytes() == (tmp_path / "b.html").read_bytes()
