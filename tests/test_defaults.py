"""Options that several functions share have the same default in all of them, the one that is documented."""

import inspect

import pytest

import mmdbounds as mb

DEFAULTS = {
    "working_memory": 1024,
    "n_permutations": 999,
    "dtype": "float64",
    "backend": "auto",
    "progress": None,
    "rng": None,
}
FUNCTIONS = [name for name in mb.__all__ if inspect.isroutine(getattr(mb, name))]


@pytest.mark.parametrize("option", DEFAULTS)
def test_one_default(option):
    signatures = {name: inspect.signature(getattr(mb, name)).parameters for name in FUNCTIONS}
    given = {name: options[option].default for name, options in signatures.items() if option in options}
    assert len(given) > 1
    assert given == dict.fromkeys(given, DEFAULTS[option])
