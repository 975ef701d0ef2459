"""The audit: numbers by enumeration, one audit continued from call to call, its decisions and its words."""

from __future__ import annotations

import itertools
import json
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.stats import binom

import mmdbounds as mb
from mmdbounds.errors import DataError, MmdBoundsError, VerifiedWarning
from mmdbounds.inference.breakdown import find_breakdown

QUICK = {"n_permutations": 39, "bandwidth": 1.5, "rng": 0}


def filed(p=20, q=30, shift=2.0, n_misfiled=3, seed=0):
    """Return two groups as filed, and the rows of Y that belong to X."""
    rng = np.random.default_rng(seed)
    misfiled = rng.choice(q, n_misfiled, replace=False)
    X, Y = rng.normal(size=(p, 2)), rng.normal(shift, 1.0, size=(q, 2))
    Y[misfiled] = rng.normal(size=(n_misfiled, 2))
    return X, Y, set(misfiled.tolist())


def looked_up(q, rows, misfiled):
    """Return the column in which somebody has filled in these rows."""
    truth = np.full(q, "", dtype=object)
    for row in rows:
        truth[row] = "X" if row in misfiled else "Y"
    return None, truth


def words(result):
    return " ".join(result.summary().split())


def naive_mmd2(X, Y):
    def values(A, B):
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * QUICK["bandwidth"] ** 2))

    K, L, p, q = values(X, X), values(Y, Y), len(X), len(Y)
    within = (K.sum() - p) / (p * (p - 1)) + (L.sum() - q) / (q * (q - 1))
    return within - 2 * values(X, Y).mean()


def test_bounds_are_those_over_all_labellings_that_the_audit_leaves():
    X, Y, misfiled = filed(p=6, q=12, n_misfiled=2)
    order = mb.audit(X, Y, n_next=12, **QUICK).next_rows
    rows = [*order[:8].tolist(), int(order[10])]  # eight at random, and a chosen one
    result = mb.audit(X, Y, verified=looked_up(12, rows, misfiled), **QUICK)
    found, unknown = misfiled & set(rows), sorted(set(range(12)) - set(rows))
    assert (result.n_random, result.n_chosen, result.n_unknown) == (8, 1, 3)
    assert result.n_found == len(found)
    values = []
    for m in range(result.n_left + 1):
        for more in itertools.combinations(unknown, m):
            moved = sorted(found | set(more))
            values.append(naive_mmd2(np.concatenate([X, Y[moved]]), np.delete(Y, moved, axis=0)))
    assert result.n_left > 0
    assert result.is_certified
    # Proofs stop at a thousandth of the width, and the labellings are few enough to be tried.
    width = max(values) - min(values)
    assert min(values) - 0.002 * width <= result.lower <= min(values) + 1e-9
    assert max(values) - 1e-9 <= result.upper <= max(values) + 0.002 * width
    here = naive_mmd2(np.concatenate([X, Y[sorted(found)]]), np.delete(Y, sorted(found), axis=0))
    assert result.observed == pytest.approx(here, abs=1e-12)


def test_the_pvalue_is_that_of_the_test_with_the_error_of_the_audit_added():
    X, Y, misfiled = filed()
    rows = mb.audit(X, Y, n_next=15, **QUICK).next_rows
    verified = looked_up(30, rows, misfiled)
    result = mb.audit(X, Y, verified=verified, audit_level=0.9, **QUICK)
    test = mb.robust_test(X, Y, mb.Contamination(n_moved=result.n_left), verified=verified, **QUICK)
    assert result.pvalue_of_test == test.pvalue
    assert result.pvalue == pytest.approx(min(1.0, test.pvalue + 0.1), abs=1e-15)
    curve = mb.sweep(X, Y, verified=verified, **QUICK)
    assert result.breakdown_n_moved == curve.breakdown_n_moved


@pytest.mark.parametrize(("shift", "most"), [(0.0, 20), (0.8, 20), (2.0, 20), (2.0, 4), (3.0, 0)])
def test_the_breakdown_alone_is_that_of_the_curve(shift, most):
    X, Y, _ = filed(shift=shift)
    how = {**QUICK, "progress": False}
    alone = find_breakdown(X, Y, most, level=0.05, **how)
    curve = mb.sweep(X, Y, epsilons=[most / (len(X) + most)], **how)
    for name in ("level", "breakdown_n_moved", "holds_n_moved", "observed", "most_moved", "n_labellings"):
        assert getattr(alone, name) == getattr(curve, name)
    assert alone.is_valid


def test_a_difference_stands_at_the_level_of_its_pvalue_and_not_below():
    X, Y, misfiled = filed(shift=0.8)
    rows = mb.audit(X, Y, n_next=15, **QUICK).next_rows
    verified = looked_up(30, rows, misfiled)
    pvalue = mb.audit(X, Y, verified=verified, **QUICK).pvalue_of_test
    assert 2 / 40 <= pvalue < 1
    at, below = (mb.audit(X, Y, verified=verified, level=level, **QUICK) for level in (pvalue, pvalue - 0.01))
    assert (at.decision, below.decision) == ("the difference stands", "check more")
    assert at.n_left < (at.breakdown_n_moved or 99)
    assert below.breakdown_n_moved <= below.n_left


def test_an_audit_is_continued_until_it_is_decided():
    X, Y, misfiled = filed(q=40, shift=3.0)
    rows, before = [], -1
    for _ in range(40):
        result = mb.audit(X, Y, verified=looked_up(40, rows, misfiled), n_next=8, **QUICK)
        assert result.n_random == len(rows) > before
        assert result.n_found == len(misfiled & set(rows))
        if result.is_decided:
            break
        assert 0 < result.n_more <= result.n_unknown
        before, rows = len(rows), rows + result.next_rows.tolist()
    assert result.decision == "the difference stands"
    assert result.n_more == 0
    assert len(rows) < 40
    low, high = result.n_misfiled_range
    assert low <= 3 <= high
    assert high - result.n_found == result.n_left < result.breakdown_n_moved
    text = words(result)
    assert text.startswith("The difference stands: at the 5 % level the groups differ even if as many as")
    assert "If the true groups did not differ, an audit would still say this with a prob" in text
    assert "at most 10 %, test and audit together." in text
    assert "Look up next" not in text


def test_rows_of_another_order_count_as_chosen():
    X, Y, misfiled = filed()
    rows = mb.audit(X, Y, n_next=10, **{**QUICK, "rng": 1}).next_rows
    with pytest.warns(VerifiedWarning, match=r"^row 1 of .* but 10 rows after it were\. .* another seed\?"):
        result = mb.audit(X, Y, verified=looked_up(30, rows, misfiled), **QUICK)
    assert (result.n_random, result.n_chosen) == (0, 10)
    assert result.n_found_chosen == len(misfiled & set(rows.tolist()))
    assert result.decision == "check more"
    assert result.pvalue is result.lower is None
    assert "No row was drawn at random, so nothing is known about how many are misfiled." in words(result)


def test_a_sample_of_another_order_that_holds_its_first_row_is_noticed():
    X, Y, misfiled = filed()
    first = mb.audit(X, Y, n_next=30, **QUICK).next_rows.tolist()
    rows = [first[0], *first[10:20]]
    with pytest.warns(VerifiedWarning, match=r"^row 2 of .* but 10 rows after it were\."):
        mb.audit(X, Y, verified=looked_up(30, rows, misfiled), **QUICK)
    mb.audit(X, Y, verified=looked_up(30, rows, misfiled), by="effect", **QUICK)  # who chooses knows it


def test_a_copy_of_the_labels_is_noticed():
    X, Y, _ = filed()
    with pytest.warns(VerifiedWarning, match=r"confirms all 30 rows .* Was it filled in from the group"):
        mb.audit(X, Y, verified=looked_up(30, range(30), set()), **QUICK)


@pytest.mark.full
def test_rows_by_effect_find_mislabelled_rows_from_the_start():
    X, Y, misfiled = filed(p=60, q=80, n_misfiled=8)
    result = mb.audit(X, Y, by="effect", n_next=8, **QUICK)
    assert result.effects_at == 8  # a tenth of the rows, not all of them
    assert len(misfiled & set(result.next_rows.tolist())) >= 5  # of 8; by chance one
    assert "for their effect on the lower bound, if at most 8 more are misfiled (such rows" in words(result)
    assert mb.audit(X, Y, **QUICK).effects_at is None


@pytest.mark.full
def test_rows_are_named_in_an_order_that_is_handed_in():
    X, Y, misfiled = filed(q=40)
    recorded = mb.audit(X, Y, n_next=40, **QUICK).next_rows.tolist()
    known = recorded[:10]
    verified, scores = looked_up(40, known, misfiled), np.round(Y.sum(axis=1))  # with ties
    result = mb.audit(X, Y, verified=verified, order=scores, n_next=12, **QUICK)
    unknown = [row for row in recorded if row not in known]  # equal ones in this order
    assert result.next_rows.tolist() == sorted(unknown, key=lambda row: scores[row])[:12]
    assert result.by == "order"
    assert "Look up next, in the order handed in (such rows narrow" in words(result)
    plain = mb.audit(X, Y, verified=verified, **QUICK)
    for name in ("n_misfiled_range", "n_random", "n_chosen", "decision", "lower", "upper", "order_digest"):
        assert getattr(result, name) == getattr(plain, name)
    import pandas

    ranks = pandas.Series(range(1, 41), index=list(range(40))[::-1])
    by_name = mb.audit(pandas.DataFrame(X), pandas.DataFrame(Y), order=ranks, n_next=40, **QUICK)
    assert by_name.next_rows.tolist() == list(range(40))[::-1]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (np.ones(29), r"^`order` must have one entry for each of the 30 rows of `Y`; got 29\.$"),
        ([1.0] * 29 + [float("nan")], r"^`order` must be a finite number .*; got nan for row 29\.$"),
        ([1.0] * 29 + ["2"], r"^`order` must be a finite number for each row of `Y`; got '2' for row 29\.$"),
        (np.ones((30, 2)), r"^`order` must have one number .*; got ndarray of shape \(30, 2\)\.$"),
        ("score", r"^`order` must have one number for each row of `Y`.*; got 'score'\.$"),
        (
            np.roll(np.arange(30), 3),
            r"^`order` holds each of 0 to 29 once, and may be a list of places\. .* or ranks from 1\.$",
        ),
        pytest.param(
            "a Series",
            "`order` has an index, but the rows of `Y`",
            marks=pytest.mark.full,
        ),
    ],
)
def test_orders_that_do_not_fit_are_refused(order, message):
    X, Y, _ = filed()
    if isinstance(order, str) and order == "a Series":
        import pandas

        order = pandas.Series(np.ones(30), index=list("ab" * 15))
    with pytest.raises(MmdBoundsError, match=message):
        mb.audit(X, Y, order=order, **QUICK)


def test_places_that_are_ranks_as_well_are_taken():
    X, Y, _ = filed()
    order = np.arange(30)[::-1]  # the last row first, whichever way it is read
    assert mb.audit(X, Y, order=order, n_next=2, **QUICK).next_rows.tolist() == [29, 28]


def test_one_order_at_a_time():
    X, Y, _ = filed()
    with pytest.raises(MmdBoundsError, match=r"^`by='effect'` and `order` name different rows first"):
        mb.audit(X, Y, order=np.ones(30), by="effect", **QUICK)
    with pytest.raises(MmdBoundsError, match=r"^`order` must be handed in once"):
        mb.audit(X, mb.Group(Y, order=np.ones(30)), order=np.ones(30), **QUICK)


def test_chosen_rows_narrow_the_bounds_and_leave_the_number_as_it_was():
    X, Y, misfiled = filed(q=40)
    rows = mb.audit(X, Y, n_next=15, **QUICK).next_rows.tolist()
    alone = mb.audit(X, Y, verified=looked_up(40, rows, misfiled), by="effect", n_next=5, **QUICK)
    assert alone.by == "effect"
    chosen = alone.next_rows.tolist()
    assert len(chosen) == 5
    assert not set(chosen) & set(rows)
    assert "for their effect on the lower bound" in words(alone)
    both = mb.audit(X, Y, verified=looked_up(40, rows + chosen, misfiled), **QUICK)
    assert both.n_random + both.n_chosen == 20
    assert both.n_misfiled_range[1] <= alone.n_misfiled_range[1]
    assert both.upper - both.lower < alone.upper - alone.lower


def test_a_difference_that_the_rows_found_explain_away():
    X, Y, misfiled = filed(p=30, q=20, shift=0.0, n_misfiled=0)
    misfiled = {i for i in range(20) if Y[i, 0] > 0.3}  # what makes the groups differ was put there
    X = X[X[:, 0] < 0.3]
    result = mb.audit(X, Y, n_next=20, **QUICK)
    assert result.decision == "check more"
    truth = looked_up(20, result.next_rows, misfiled)
    result = mb.audit(X, Y, verified=truth, **QUICK)
    assert result.n_unknown == result.n_left == 0
    assert result.n_misfiled_range == (len(misfiled), len(misfiled))
    assert result.decision == "explained away"
    assert "Explained away: once the" in words(result)


def test_no_difference_to_begin_with():
    X, Y, _ = filed(shift=0.0, n_misfiled=0)
    result = mb.audit(X, Y, **QUICK)
    assert result.decision == "no difference shown"
    assert "No row was looked up yet. Nothing is known about how many are misfiled." in words(result)


def test_a_table_is_audited_by_the_names_of_its_rows():
    X, Y, misfiled = filed()
    pooled = np.concatenate([X, Y])
    names = np.array([f"p{i}" for i in range(50)])
    table = {
        "id": names,
        "where": np.repeat(["case", "control"], [20, 30]),
        "a": pooled[:, 0],
        "b": pooled[:, 1],
        "truth": [""] * 50,
    }

    def groups(shuffled, columns):
        part = {name: np.asarray(column)[shuffled] for name, column in columns.items()}
        how = {"hidden": "case", "among": "control", "id": "id", "verified": "truth", "scale": "none"}
        with pytest.warns(VerifiedWarning) if not "".join(part["truth"]) else nullcontext():
            return mb.groups(part, "where", **how)

    order = np.arange(50)
    first = mb.audit(*groups(order, table), n_next=30, **QUICK)
    assert len(set(first.ids_next.tolist())) == 30
    again = mb.audit(*groups(order[::-1], table), n_next=30, **QUICK)
    assert again.ids_next.tolist() == first.ids_next.tolist()
    assert again.order_digest == first.order_digest
    wrong = {f"p{20 + i}" for i in misfiled}
    truth = np.full(50, "", dtype="U8")
    for name in first.ids_next[:20].tolist():
        truth[names == name] = "case" if name in wrong else "control"
    later = mb.audit(*groups(order[::-1], {**table, "truth": truth}), n_next=30, **QUICK)
    assert later.ids_next.tolist() == first.ids_next[20:].tolist()
    assert later.order_digest == first.order_digest
    assert (later.n_random, later.n_chosen) == (20, 0)
    assert later.n_found == len(wrong & set(first.ids_next[:20].tolist()))
    assert (later.n_samples_X, later.n_samples_Y) == (20, 30)


def test_an_audit_is_saved_and_read_back():
    X, Y, misfiled = filed()
    rows = mb.audit(X, Y, n_next=9, **QUICK).next_rows
    result = mb.audit(X, Y, verified=looked_up(30, rows, misfiled), **QUICK)
    back = mb.results.AuditResult.from_dict(json.loads(result.to_json()))
    assert back.to_dict() == result.to_dict()
    assert repr(back) == repr(result)
    assert back.summary() == result.summary()
    assert f"sha256 {result.order_digest}" in words(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0}, "`level` must be larger than 0"),
        ({"audit_level": 95}, r"`audit_level` must be .*; got 95. Did you mean 0.95\?"),
        ({"n_next": -1}, "`n_next` must be a whole number from 0; got -1"),
        ({"by": "chance"}, "`by` must be one of 'random', 'effect'; got 'chance'"),
        ({"rng": -1}, "`rng` must be a whole number from 0; got -1"),
        ({"n_permutations": 0}, "`n_permutations` must be a whole number from 1; got 0"),
        ({"verified": "yes"}, "`verified` must be a pair"),
    ],
)
def test_refusals(options, message):
    X, Y, _ = filed()
    with pytest.raises(MmdBoundsError, match=message):
        mb.audit(X, Y, **{**QUICK, **options})


def test_an_audit_continues_with_the_seed_it_began_with():
    X, Y, misfiled = filed()
    fresh = {**QUICK, "rng": None}
    first, other = (mb.audit(X, Y, n_next=9, **fresh) for _ in range(2))
    assert first.provenance.seed != other.provenance.seed
    assert f"Recorded order: seed {first.provenance.seed}, sha256" in first.summary()
    assert "The seed was drawn now, so that nobody" in words(first)
    verified = looked_up(30, first.next_rows, misfiled)
    again = mb.audit(X, Y, verified=verified, **{**QUICK, "rng": first.provenance.seed})
    assert (again.order_digest, again.n_random, again.n_chosen) == (first.order_digest, 9, 0)
    with pytest.raises(MmdBoundsError, match="`rng` must be the seed with which the audit began; got none"):
        mb.audit(X, Y, verified=verified, **fresh)


def test_a_seed_that_is_given_is_known_beforehand():
    X, Y, misfiled = filed()
    first = mb.audit(X, Y, n_next=9, **QUICK)
    assert not first.drew_seed
    assert "The seed was known beforehand: whoever knew it" in words(first)
    verified = looked_up(30, first.next_rows, misfiled)
    again = mb.audit(X, Y, verified=verified, **QUICK)
    assert "known" not in words(again).split("Recorded order")[1]


def test_rows_that_cannot_be_found_again_are_refused():
    table = {"g": ["a"] * 5 + ["b"] * 6, "v": np.arange(11.0)}
    with pytest.raises(DataError, match=r"must find the rows again: name the column .* \(`id=`\)"):
        mb.audit(*mb.groups(table, "g", hidden="a", among="b"), **QUICK)


def test_an_audit_of_rows_as_filed_does_not_go_with_refiled_ones():
    X, Y, misfiled = filed()
    verified = looked_up(30, misfiled, misfiled)
    with pytest.raises(MmdBoundsError, match=r"counts the rows as they were filed, .*Use `audit`"):
        mb.robust_test(X, Y, mb.Contamination.from_audit(10, 3), verified=verified, **QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_groups_that_do_not_differ_are_rarely_said_to(block):
    """Whoever looks after every fifth row: wrong with at most level + 1 - audit_level, here 0.2."""
    n_runs, wrong = 250, 0
    for seed in range(block * n_runs, (block + 1) * n_runs):
        pooled = np.random.default_rng(seed).normal(size=(35, 2))
        pooled[:18] = pooled[np.argsort(pooled[:18, 0])]  # of the true X those on the right are misfiled
        X, Y, misfiled, rows = pooled[:14], pooled[14:], set(range(4)), []
        how = {**QUICK, "level": 0.1, "audit_level": 0.9, "rng": seed, "n_next": 5}
        result = mb.audit(X, Y, **how)
        while not result.is_decided:
            rows += result.next_rows.tolist()
            result = mb.audit(X, Y, verified=looked_up(21, rows, misfiled), **how)
        wrong += result.decision == "the difference stands"
    assert wrong <= binom.isf(1e-3 / 8, n_runs, 0.2)  # one in a thousand that any block has more
