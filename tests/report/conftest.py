from __future__ import annotations

from pathlib import Path

import pytest

import mmdbounds as mb
from report.made import GROUP, NAMES, table_text

Groups = tuple[mb.Group, mb.Group]


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret-folder") / "patients.csv"
    path.write_text(table_text(), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def groups(table: Path) -> Groups:
    return mb.groups(table, **NAMES)


@pytest.fixture(scope="session")
def swept(groups: Groups) -> mb.results.SweepResult:
    return mb.sweep(*groups, epsilons=[0, 0.1, 0.2, 0.3, 0.45], n_permutations=39, rng=0)


@pytest.fixture(scope="session")
def bounded(groups: Groups) -> mb.results.BoundsResult:
    return mb.mmd_bounds(*groups, 0.2, rng=0)


@pytest.fixture(scope="session")
def tested(groups: Groups) -> mb.results.RobustTestResult:
    return mb.robust_test(*groups, 0.1, n_permutations=39, rng=0)


@pytest.fixture(scope="session")
def columns(groups: Groups) -> mb.results.ColumnTable:
    return mb.column_table(*groups, 0.2)


@pytest.fixture(scope="session")
def audited(groups: Groups) -> mb.results.AuditResult:
    verified = [""] * 18
    for row in mb.audit(*groups, n_permutations=39, n_next=4, rng=0).next_rows:
        verified[row] = GROUP
    return mb.audit(*groups, verified=(None, verified), n_permutations=39, rng=0)


@pytest.fixture(scope="session")
def together(
    bounded: mb.results.BoundsResult, swept: mb.results.SweepResult, columns: mb.results.ColumnTable
) -> list[mb.results.Result]:
    return [columns, swept, bounded]


@pytest.fixture
def without_vega(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without the programs that draw: all the rest can be looked at by itself."""
    monkeypatch.setattr("mmdbounds.report.page.javascript", lambda: "window.vegaEmbed = null;")
