"""What a call is expected to cost, beside what it counts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import costs
from mmdbounds.bounds import expected_work
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.inference.breakdown import expected_sweep
from mmdbounds.inference.robust import expected_test
from mmdbounds.kernels import RBF
from mmdbounds.problem import Comparison, Problem, pose
from mmdbounds.progress import Meter, Phase, Rates
from mmdbounds.search import EachSide, Exhaustive, Sharp, StepwiseDominance, Task
from mmdbounds.sums import plan

METHODS = {
    "s-sd": StepwiseDominance(),
    "sd": StepwiseDominance(n_steps=1),
    "few rows in a step": StepwiseDominance(n_steps=30),
}
SHARES = {
    "one-way": Contamination(0.3, exactly=True),
    "one-way, at most": Contamination(0.3),
    "two-way": Contamination(x_in_y=0.2, y_in_x=0.1, exactly=True),
}


def groups(p: int = 500, q: int = 700) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(p, 3)), rng.normal(0.5, 1.0, size=(q, 3))


def posed(**how: object) -> Problem:
    return pose(*groups(), Comparison(**({"kernel": "rbf"} | how)))


@pytest.fixture
def _no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernel values are computed as they are needed, and so counted."""
    monkeypatch.setattr(plan, "SMALL_ROWS", 0)


def foreseen(problem: Problem, amount: Contamination, method: object) -> float:
    admissible = amount.admissible(problem.p, problem.q)
    return sum(phase.pairs for phase in expected_work(problem, admissible, method))


@pytest.mark.usefixtures("_no_matrix")
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", ["s-sd", "sd"])
def test_counted_values_of_s_sd(name: str, share: str):
    X, Y = groups()
    counted = mb.mmd_bounds(X, Y, SHARES[share], method=METHODS[name]).provenance.n_pairs
    assert foreseen(posed(), SHARES[share], METHODS[name]) == pytest.approx(counted, rel=0.25)


@pytest.mark.usefixtures("_no_matrix")
@pytest.mark.parametrize("name", METHODS)
def test_counted_values_of_every_method_that_states_them(name: str):
    X, Y = groups()
    counted = mb.mmd_bounds(X, Y, 0.3, exactly=True, method=METHODS[name], rng=0).provenance.n_pairs
    assert counted / 2 <= foreseen(posed(), SHARES["one-way"], METHODS[name]) <= 2 * counted


@pytest.mark.usefixtures("_no_matrix")
@pytest.mark.parametrize("exactly", [True, False])
def test_counted_values_of_a_sharp_search(exactly: bool):
    problem, counted = posed(), Meter()
    admissible = as_contamination(0.3, exactly).admissible(problem.p, problem.q)
    method = Sharp(certify=False, n_starts=4)
    method.both_sides(Task(problem.one_pass(counted), admissible, "unbiased", 0, counted))
    one_pass, search = expected_work(problem, admissible, method)[:2]
    assert counted.n_pairs / 2 <= one_pass.pairs + search.pairs <= 2 * counted.n_pairs


def test_a_matrix_is_computed_once():
    problem = posed()
    assert costs.holds_matrix(problem)
    assert not costs.holds_matrix(dataclasses.replace(problem, working_memory=1.0))
    counted = Meter()
    problem.one_pass(counted)
    assert costs.one_pass(problem).pairs == 1200**2
    assert 1200**2 / 2 <= counted.n_pairs <= 1200**2  # the rest as soon as single values are needed
    assert costs.columns("search", problem, 10, 5).pairs == 0
    assert costs.columns("search", problem, 10, 5).units > 0


def test_a_given_matrix_is_held():
    X, Y = groups(20, 30)
    rows = np.concatenate([X, Y])
    K = np.exp(-((rows[:, None] - rows) ** 2).sum(axis=2))
    problem = pose(K[:20], K[20:], Comparison(kernel="precomputed"))
    assert costs.holds_matrix(dataclasses.replace(problem, working_memory=0.001))
    rates = costs.measured(problem, [Phase("pass", pairs=1, products=1, units=1)])
    assert min(rates.pair, rates.product, rates.unit) > 0


def test_phases_together():
    one = Phase("a", pairs=1, products=2, units=3, price=2.0)
    other = Phase("b", pairs=10, units=1, most=3.0)
    both = costs.together("both", [one, other])
    assert (both.pairs, both.products, both.units) == (11, 2, 4)
    now = Rates()
    assert both.seconds(now) == pytest.approx(one.seconds(now) + other.seconds(now), rel=1e-12)
    most = one.seconds(now) + 3 * other.seconds(now)
    assert both.most * both.seconds(now) == pytest.approx(most, rel=1e-12)
    assert costs.together("none", []) == Phase("none")
    assert costs.repeated(one, 2).seconds(now) == pytest.approx(2 * one.seconds(now), rel=1e-12)


def test_of_many_counts_some_are_asked():
    every = Contamination(n_moved=1000).admissible(3000, 3000)
    asked = []

    def work(counts: object) -> Phase:
        asked.append(counts)
        return Phase("", pairs=counts.n_moved)

    found = costs.for_each("count", every, work)
    assert len(asked) <= costs.ASKED
    assert found.pairs == pytest.approx(sum(counts.n_moved for counts in every), rel=0.05)
    assert costs.for_each("count", every[:40], work).pairs == sum(range(40))


def test_a_proof_has_a_budget():
    problem = posed()
    admissible = as_contamination(0.2).admissible(problem.p, problem.q)
    now = Rates()
    most = {certify: expected_work(problem, admissible, Sharp(1, certify))[2] for certify in ("auto", True)}
    assert all(phase.name == "proof" and phase.most > 1 for phase in most.values())
    auto, patient = (phase.most * phase.seconds(now) for phase in most.values())
    assert patient == pytest.approx(20 * auto, rel=0.1)
    assert [phase.name for phase in expected_work(problem, admissible, Sharp(certify=False))] == [
        "pass",
        "search",
        "effects",
    ]


@pytest.mark.parametrize(("q", "share"), [(1000, 0.5), (4000, 0.3), (8000, 0.3)])
def test_a_proof_is_stated_for_any_number_of_rows(q: int, share: float):
    # By a matrix of the rows on both sides, on the upper one, and on none.
    rng = np.random.default_rng(0)
    problem = pose(rng.normal(size=(500, 2)), rng.normal(size=(q, 2)), Comparison(bandwidth=1.0))
    admissible = as_contamination(0.2).admissible(problem.p, problem.q)
    *_, search, proof, effects = expected_work(problem, admissible, Sharp())
    assert (search.name, proof.name, effects.name) == ("search", "proof", "effects")
    now = Rates()
    assert proof.seconds(now) > share * sum(each.seconds(now) for each in (search, proof, effects))


class Unheard(EachSide):
    name = "unheard"


def test_a_method_that_states_nothing_is_not_estimated():
    problem = posed()
    admissible = as_contamination(0.2).admissible(problem.p, problem.q)

    class Foreign:
        name = "foreign"

    for method in (Unheard(), Foreign(), Exhaustive()):
        phases = expected_work(problem, admissible, method)
        found = costs.Estimate(tuple(phases), Rates())
        assert not found.is_complete
        assert phases[1] == Phase("search", is_open=True)
        assert found.as_dict()["phases"][1]["seconds"] is None
    assert costs.together("all", phases).is_open
    for known in (admissible, as_contamination(0.0).admissible(problem.p, problem.q)):  # nothing to search
        for method in (StepwiseDominance(), Sharp()):
            assert costs.Estimate(tuple(expected_work(problem, known, method)), Rates()).is_complete


def test_estimates_are_sums():
    phases = (Phase("pass", pairs=4.0), Phase("proof", units=6.0, price=0.5, most=3.0))
    found = costs.Estimate(phases, Rates(2.0, 1.0, 1.0), preparing=1.0)
    assert (found.seconds, found.most) == (1 + 8 + 3, 1 + 8 + 9)
    assert found.as_dict() == {
        "n_pairs": 4,
        "pairs_a_second": 0.5,
        "seconds": 12.0,
        "most_seconds": 18.0,
        "phases": [
            {"name": "pass", "seconds": 8.0, "most_seconds": 8.0, "n_pairs": 4},
            {"name": "proof", "seconds": 3.0, "most_seconds": 9.0, "n_pairs": 0},
        ],
    }


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize("memory", [1024, 1])
@pytest.mark.long
def test_rates_are_measured_on_the_rows_at_hand(kernel: str, memory: float):
    problem = posed(kernel=kernel, working_memory=memory)
    rates = costs.measured(problem, [Phase("pass", pairs=1), Phase("permutations", products=1)])
    assert 0 < rates.pair < 1e-3
    assert 0 < rates.product < 1e-3
    assert rates.unit == Rates().unit  # not needed
    assert costs.measured(problem, [Phase("proof", units=1)]).pair == Rates().pair


def test_tests_and_sweeps_are_foreseen():
    problem = posed()
    admissible = as_contamination(0.1).admissible(problem.p, problem.q)
    found = {
        "test": expected_test(problem, admissible, 99),
        "sweep": expected_sweep(problem, None, 99),
        "few": expected_sweep(problem, [0.1], 99),
    }
    now = Rates()
    seconds = {name: sum(phase.seconds(now) for phase in phases) for name, phases in found.items()}
    assert seconds["few"] < seconds["sweep"]
    more = expected_test(problem, admissible, 999)[1]
    assert more.products == pytest.approx(999 / 99 * found["test"][1].products, rel=1e-12)


def test_the_kernel_object_makes_no_difference():
    plain = posed(bandwidth=1.5)
    assert costs.one_pass(plain) == costs.one_pass(posed(kernel=RBF(1.5)))
