"""Every labelling against `mmd_bounds` where proofs may hold no matrix: multipliers learned on samples.

The problems are small enough to write all labellings down, so the paths of large ones are forced.
"""

from dataclasses import replace

import numpy as np
import pytest

import mmdbounds as mb
from limited_problems import admissible_values, limited_problem, stated
from mmdbounds.cli import main
from mmdbounds.errors import BrokenProofError, MmdBoundsError
from mmdbounds.search.sharp import leading_rows, learned
from problems import KERNELS, all_labellings, naive_values, small_matrix, small_problem

SAMPLES = {"SAMPLED": 5, "LANDMARKS": 3, "RANKED_COLUMNS": 3, "STEPS": 20}
DEFINITE = [name for name in KERNELS if name != "function"]
KINDS = ("exactly", "at most", "two ways", "two ways, at most", "shares", "limits", "limits, two ways")
MANY, CHUNK = range(10_000), 100
EQUAL = 1e-11
"""Values that differ by less, in units of the largest kernel value, are equal but for rounding."""


@pytest.fixture(params=[0, 5])
def _forced(monkeypatch, request):
    """Floors through sums, learned ceilings (or a matrix of five rows that lead), samples of five rows."""
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", 0)
    monkeypatch.setattr(leading_rows, "LEADING", request.param)
    monkeypatch.setattr(leading_rows, "AMONG", 1)
    for name, value in SAMPLES.items():
        monkeypatch.setattr(learned, name, value)


def drawn(seed):
    """A small problem, what is assumed of it, and the value of every admissible labelling."""
    kind, kernel = KINDS[seed % len(KINDS)], DEFINITE[seed // len(KINDS) % len(DEFINITE)]
    how = {"two_way": "two ways" in kind or kind == "shares", "kernel": kernel, "most": (9, 6)}
    if "limits" in kind:
        problem, admissible = limited_problem(seed, **how)
        last = max(admissible, key=lambda counts: counts.n_moved + counts.n_moved_of_x)
        amount = {"n_moved": last.n_moved, "n_moved_of_x": last.n_moved_of_x, "exactly": len(admissible) == 1}
        assumed = mb.Contamination(**amount, **stated(last.movable, problem.p, problem.q))
        return problem, assumed, np.concatenate([admissible_values(problem, each) for each in admissible])
    problem = small_problem(seed, **how)
    m, m_d, rng = problem.counts.n_moved, problem.counts.n_moved_of_x, np.random.default_rng(seed)
    assumed = mb.Contamination(n_moved=m, n_moved_of_x=m_d, exactly="at most" not in kind)
    if kind == "shares":  # few rows of one group: no pair may move rows of both
        share = rng.uniform(1.01 / (problem.p + 1), 0.4)  # a row or more
        assumed = mb.Contamination(share, y_in_x=rng.uniform(0.01, 0.3))
    K = small_matrix(problem)
    values = [
        naive_values(K, all_labellings(problem.p, problem.q, counts), problem.estimator)
        for counts in assumed.admissible(problem.p, problem.q)
    ]
    return problem, assumed, np.concatenate(values)


def check(seeds):
    """Assert that nothing lies outside of what is proved, and that what is attained is there."""
    n_checked = 0
    for seed in seeds:
        problem, assumed, values = drawn(seed)
        method, options = mb.Sharp(n_starts=2), {"kernel": problem.kernel, "estimator": problem.estimator}
        try:
            result = mb.mmd_bounds(problem.X, problem.Y, assumed, method=method, rng=seed, **options)
        except MmdBoundsError as error:
            assert "needs at least" in str(error)  # noqa: PT017 -- too few rows would be left
            continue
        n_checked += 1
        equal = EQUAL * np.abs(small_matrix(problem)).max()
        assert result.lower.certified <= values.min(), seed
        assert values.max() <= result.upper.certified, seed
        assert values.min() - equal <= result.lower.value <= result.upper.value + equal, seed
        assert result.upper.value <= values.max() + equal, seed
    return n_checked


@pytest.mark.usefixtures("_forced")
@pytest.mark.parametrize("block", range(3))
def test_no_labelling_lies_outside_where_everything_is_learned_on_samples(block):
    assert check(range(14 * block, 14 * block + 14)) >= 10


@pytest.mark.slow
@pytest.mark.usefixtures("_forced")
@pytest.mark.parametrize("start", MANY[1000::CHUNK])
def test_no_labelling_lies_outside_in_ten_thousand_problems(start):
    check(range(start, start + CHUNK))


def test_a_pair_that_moves_one_group_alone_does_not_break_the_proof():
    """The pair with most rows of both groups moves none of Y: its bounds of rows are not those of others."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(120, 2)), rng.normal(1, 1, size=(99, 2))
    both_ways = mb.Contamination(0.2, y_in_x=0.01)
    learnt = mb.mmd_bounds(X, Y, both_ways, bandwidth=1.5, rng=0, working_memory=1)
    dense = mb.mmd_bounds(X, Y, both_ways, bandwidth=1.5, rng=0)
    assert dense.upper.value == pytest.approx(0.38213, abs=1e-5)
    for result in (learnt, dense):
        assert result.lower.certified <= dense.lower.value
        assert dense.upper.value <= result.upper.certified <= dense.upper.value + 0.01 * dense.width
        assert result.upper.value >= dense.upper.value - 0.01 * dense.width


@pytest.fixture
def _false_proof(monkeypatch):
    """A fault that nobody has thought of: a number that labellings exceed is taken for proved."""
    both_sides = mb.Sharp.both_sides

    def with_a_fault(self, task):
        lower, upper = both_sides(self, task)
        return lower, replace(upper, certified=upper.value - 1e-3)

    monkeypatch.setattr(mb.Sharp, "both_sides", with_a_fault)


@pytest.mark.usefixtures("_false_proof")
def test_a_proof_inside_of_what_is_reached_is_refused():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(1, 1, size=(14, 2))
    with pytest.raises(BrokenProofError, match=r"upper side, .*contradicted.*report"):
        mb.mmd_bounds(X, Y, 0.2)
    assert not issubclass(BrokenProofError, MmdBoundsError)  # which are about what was given


@pytest.mark.usefixtures("_false_proof")
def test_the_command_line_calls_it_an_error_of_ours(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    rows = [f"{group},{number / 7}" for number, group in enumerate("xxxxxxyyyyyyyy")]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["group,value", *rows]))
    wanted = ["--group", "group", "--hidden", "x", "--among", "y", "--epsilon", "0.2"]
    assert main.run(["bounds", str(path), *wanted]) == main.EXIT_UNEXPECTED
    told = capsys.readouterr()
    assert "BrokenProofError" in told.err
    assert told.out == ""
