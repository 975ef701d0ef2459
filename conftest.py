"""Settings of the whole suite: hypothesis repeats itself in CI; with everything installed a skip fails."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Programs for the GPU are interpreted; Triton looks at this when it is first imported, by whomever.
os.environ.setdefault("TRITON_INTERPRET", "1")

settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True)
settings.register_profile("quick", parent=settings.get_profile("ci"), max_examples=20)  # lab.studies.mutants
settings.load_profile("ci" if os.environ.get("CI") else "local")

# `make perturbed` cuts sums over pairs into other blocks, so that they are added up in another order.
if BLOCK := os.environ.get("MMDBOUNDS_TEST_BLOCK"):
    from mmdbounds.sums import plan

    SHAPE = tuple(int(size) for size in BLOCK.split("x"))
    plan.block_shape = lambda dtype: SHAPE


@pytest.fixture(autouse=True)
def _same_kernels(monkeypatch):
    """Forget the kernels that a test, or a page of the documentation, has registered."""
    from mmdbounds.kernels import registry

    for name in ("_CLASSES", "_NAMES"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


@pytest.fixture(scope="module")
def browser():
    """Chromium, for what people look at."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("there is no chromium to open pages in: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


FULL = os.environ.get("MMDBOUNDS_FULL") == "1"

LAB = Path(__file__).parent / "lab"  # programs that are not installed


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their marks
def pytest_collection_modifyitems(items):
    for item in items:
        if LAB in item.path.parents:
            item.add_marker("programs")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if FULL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in the full environment, where nothing may be: {report.longrepr}"
    return report
