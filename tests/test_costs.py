"""About how long a call takes."""

from __future__ import annotations

import numpy as np
import pytest

from mmdbounds import costs
from mmdbounds.costs import Work
from mmdbounds.problem import Comparison, Problem, pose
from mmdbounds.search import EachSide, Exhaustive, Sharp, StepwiseDominance


def posed(p: int = 300, **how: object) -> Problem:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(p, 3)), rng.normal(0.5, 1.0, size=(400, 3))
    return pose(X, Y, Comparison(**({"kernel": "rbf"} | how)))


class Unheard(EachSide):
    name = "unheard"


def test_methods_that_are_not_in_the_table_are_not_known():
    class Foreign:
        pass

    for method in (Unheard(), Foreign(), Exhaustive()):
        assert costs.of_bounds(1e6, method) is None
        assert costs.of_trials(1e6, [Sharp(), method], 10) is None
    assert costs.together(Work(1.0), None) is None


def test_a_proof_takes_seconds_beside_its_passes():
    usual, patient, without = (costs.of_bounds(1e6, Sharp(certify=each)) for each in ("auto", True, False))
    assert usual == Work(5e6, pytest.approx(0.4))
    assert patient.seconds == pytest.approx(5 * usual.seconds)
    assert without == Work(5e6)
    assert costs.of_bounds(1e10, Sharp()).seconds == costs.MOST_PROOF
    assert costs.of_bounds(1e6, StepwiseDominance()) == Work(2e6)
    assert costs.of_bounds(1e6, StepwiseDominance(n_steps=1)) == Work(1.5e6)


def test_permutations_points_and_trials_count():
    assert costs.of_test(1e9, 999) == Work(2e9, pytest.approx(49.95))
    assert costs.of_test(1e9, 999, 3) == Work(6e9, pytest.approx(3 * 49.95))
    few, usual = costs.of_sweep(1e9, 99, 3), costs.of_sweep(1e9, 99, 20)
    assert (few.values, usual.values) == (5e9, 22e9)
    assert few.seconds == pytest.approx(3 * 4.95 + 3 * 4.0)
    assert costs.of_trials(1e6, [StepwiseDominance()], 50) == Work(1.5e8, pytest.approx(0.1))


def test_together_is_the_sum():
    assert costs.together(Work(1.0, 2.0), Work(3.0, 4.0), times=2) == Work(8.0, 12.0)


def test_seconds_are_values_over_the_rate(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(costs, "values_a_second", lambda _: 1e6)
    assert costs.seconds(posed(), Work(3e6, 0.5)) == 3.5


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("p", [3, 300])
def test_the_rate_is_measured_on_the_rows_at_hand(kernel: str, p: int):
    assert 1e3 < costs.values_a_second(posed(p, kernel=kernel)) < 1e12


def test_the_rate_of_a_given_matrix():
    K = np.eye(50)
    assert costs.values_a_second(pose(K[:20], K[20:], Comparison(kernel="precomputed"))) > 0
