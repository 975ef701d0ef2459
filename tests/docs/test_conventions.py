"""What the pages say about other packages, against the packages themselves."""

from __future__ import annotations

import numpy as np
import pytest

from docs.shown import ROOT

FAQ = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    """The rows of the page."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)), rng.normal(0.5, 1.0, size=(80, 4))


def test_scikit_learn(rows: tuple[np.ndarray, np.ndarray]) -> None:
    from sklearn.metrics.pairwise import rbf_kernel

    X, Y = rows
    within = [(K.sum() - np.trace(K)) / (len(K) * (len(K) - 1)) for K in (rbf_kernel(each) for each in rows)]
    assert f"scikit-learn {sum(within) - 2 * rbf_kernel(X, Y).mean():.8f} " in FAQ


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")  # theirs
def test_hyppo(rows: tuple[np.ndarray, np.ndarray]) -> None:
    ksample = pytest.importorskip("hyppo.ksample")
    assert f"hyppo prints {ksample.MMD(bias=True).statistic(*rows):.6f}, " in FAQ
