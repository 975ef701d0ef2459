"""What tests of p-values share."""

import pytest

from mmdbounds.inference import null


@pytest.fixture
def drawn(monkeypatch):
    """Labellings are drawn even if there are few: the tests of drawn ones are on small problems."""
    monkeypatch.setattr(null, "EXACT", 0)
