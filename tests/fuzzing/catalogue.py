"""The properties by name: which calls are drawn for each, and what is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fuzzing import calls, properties
from fuzzing.calls import FORMULAS


@dataclass(frozen=True)
class Property:
    """Calls, and what must hold of each."""

    name: str
    strategy: Any
    check: Any


CATALOGUE = {
    each.name: each
    for each in (
        Property("bounds", calls.small_calls(), properties.check_bounds),
        Property(
            "far-rows",
            calls.small_calls(methods=("sharp", "exhaustive", "sd"), kernels=FORMULAS, always_far=True),
            properties.check_bounds,
        ),
        Property("many-rows", calls.large_calls(), properties.check_bounds),
        Property("tables", calls.framed_calls(), properties.check_bounds),
        Property("statistic", calls.small_calls(most=20), properties.check_statistic),
        Property("test", calls.small_calls(most=6, methods=("sharp",)), properties.check_test),
        Property(
            "sweep", calls.small_calls(most=6, methods=("sharp",), two_way=False), properties.check_sweep
        ),
    )
}
