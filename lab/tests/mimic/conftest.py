"""One thread for PyTorch: on small problems and a busy machine, several wait for each other."""

import sys

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch = sys.modules.get("torch")
    if not hasattr(torch, "set_num_threads"):
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
