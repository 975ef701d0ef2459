"""Small problems use threads here, so that the tests see them."""

import pytest


@pytest.fixture(autouse=True)
def _threads_always(monkeypatch):
    monkeypatch.setattr("mmdbounds.sums.plan.THREADS_PAY", 0)
