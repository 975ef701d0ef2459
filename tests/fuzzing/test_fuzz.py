"""The slice of the fuzz target that runs with all tests: the same calls every time, some seconds in all."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from fuzzing import naive
from fuzzing.catalogue import CATALOGUE
from fuzzing.properties import Refused, Violation
from fuzzing.reproducer import reproducer

needs_long_double = pytest.mark.skipif(
    not naive.IS_LONG, reason="long double has no more digits than float64 here"
)
EXAMPLES = {
    "bounds": 100,
    "far-rows": 60,
    "many-rows": 10,
    "tables": 40,
    "statistic": 60,
    "test": 25,
    "sweep": 15,
}


@needs_long_double
@pytest.mark.parametrize("name", CATALOGUE)
def test_drawn_calls_agree_with_their_definitions(name):
    prop, n_answered = CATALOGUE[name], 0

    @settings(
        max_examples=EXAMPLES[name],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # `make fuzz` makes failures simple; here they are shown as they come
        report_multiple_bugs=False,
    )
    @given(prop.strategy)
    def every_call_holds(call):
        nonlocal n_answered
        if not call.can_be_made:
            return
        try:
            prop.check(call)
            n_answered += 1
        except Refused:
            return
        except Violation as violation:
            raise AssertionError(f"{violation}\n\n{reproducer(call, name)}") from violation

    every_call_holds()
    assert n_answered >= EXAMPLES[name] // 3  # a fuzz target whose calls are all refused would see nothing
