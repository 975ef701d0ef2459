"""The books of an audit: what was drawn at random, what was chosen, and limits that no choice makes wrong."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from mmdbounds.inference.audited_rows import (
    BELONGS_TO_X,
    BELONGS_TO_Y,
    NOT_LOOKED_UP,
    AuditState,
    audit_order,
    order_digest,
)
from mmdbounds.number_limits import anytime_limits

QUARTER = Fraction(1, 4)


def state(order, looked_up, misfiled):
    """Return the state of an audit in which some rows were looked up."""
    truth = np.full(len(order), NOT_LOOKED_UP)
    for row in looked_up:
        truth[row] = BELONGS_TO_X if row in misfiled else BELONGS_TO_Y
    return AuditState(np.array(order), truth)


def test_the_order_depends_on_names_and_seed_alone():
    names = [f"patient {i}" for i in range(50)]
    order = [names[i] for i in audit_order(names, 7)]
    shuffled = np.random.default_rng(0).permutation(names).tolist()
    assert [shuffled[i] for i in audit_order(shuffled, 7)] == order
    assert sorted(order) == sorted(names)
    assert [names[i] for i in audit_order(names, 8)] != order
    fewer = names[:30]  # rows that leave take nobody else's place
    assert [fewer[i] for i in audit_order(fewer, 7)] == [name for name in order if name in fewer]
    assert order_digest(names, audit_order(names, 7)) == order_digest(shuffled, audit_order(shuffled, 7))
    assert order_digest(names, audit_order(names, 7)) != order_digest(names, audit_order(names, 8))


def test_every_order_of_few_rows_is_about_as_likely():
    seeds = 6000
    seen = [tuple(audit_order("abc", seed)) for seed in range(seeds)]
    expected, each = seeds / 6, [seen.count(order) for order in itertools.permutations(range(3))]
    chi2 = sum((count - expected) ** 2 / expected for count in each)
    assert chi2 < 20.5  # five degrees of freedom, one in a thousand


def test_what_is_a_prefix_of_the_order_is_random_and_the_rest_chosen():
    audit = state([4, 2, 0, 3, 1, 5], looked_up=[4, 2, 3], misfiled=[2, 3])
    assert (audit.n_random, audit.n_found_random) == (2, 1)
    assert (audit.n_chosen, audit.n_found_chosen) == (1, 1)
    assert (audit.n_found, audit.n_unknown) == (2, 3)
    assert audit.found_at_random.tolist() == [0, 1]
    assert audit.next_rows(2).tolist() == [0, 1]
    assert audit.next_rows(99).tolist() == [0, 1, 5]
    assert audit.n_unknown_before(4) == 1
    # Once row 0 is filled in, the order has come to the chosen row 3 as well.
    later = state([4, 2, 0, 3, 1, 5], looked_up=[4, 2, 3, 0], misfiled=[2, 3])
    assert (later.n_random, later.n_found_random, later.n_chosen) == (4, 2, 0)


def test_rows_out_of_order_say_nothing_about_the_number():
    order = np.arange(100)
    chosen = state(order, looked_up=range(50, 90), misfiled=[60])
    assert chosen.n_random == 0
    assert chosen.misfiled(QUARTER) == (1, 61)  # what was seen, and all that was not
    both = state(order, looked_up=[*range(20), *range(50, 90)], misfiled=[60])
    alone = state(order, looked_up=range(20), misfiled=[])
    assert both.misfiled(QUARTER) == (1, alone.misfiled(QUARTER)[1])


def test_the_limits_are_those_of_all_times_together():
    order, misfiled = np.arange(60), [3, 17, 40, 59]
    audit = state(order, looked_up=range(30), misfiled=misfiled)
    found = np.cumsum(np.isin(order[:30], misfiled))
    assert audit.misfiled(QUARTER) == anytime_limits(60, np.arange(1, 31), found, QUARTER)


def test_limits_that_what_was_seen_contradicts_are_withdrawn():
    order = np.arange(100)
    few = state(order, looked_up=range(40), misfiled=[]).misfiled(QUARTER)[1]
    many = range(99, 99 - few - 1, -1)  # one more than the limit allows
    audit = state(order, looked_up=[*range(40), *many], misfiled=set(many))
    assert audit.misfiled(QUARTER) == (few + 1, few + 1 + 100 - 40 - len(many))


def test_all_rows_looked_up_leave_nothing_open():
    audit = state([2, 0, 1], looked_up=[0, 1, 2], misfiled=[1])
    assert audit.misfiled(QUARTER) == (1, 1)
    assert audit.next_rows(5).tolist() == []


@pytest.mark.parametrize("n_misfiled", [2, 4])
def test_whoever_chooses_rows_after_seeing_truth_and_order_is_no_more_often_wrong(n_misfiled):
    """Five rows in every order; in each, somebody who knows all looks up the rows that mislead most."""
    misfiled, orders, wrong = range(n_misfiled), list(itertools.permutations(range(5))), 0
    sets = [rows for k in range(6) for rows in itertools.combinations(range(5), k)]
    for order in orders:
        limits = (state(order, rows, misfiled).misfiled(Fraction(1, 2)) for rows in sets)
        wrong += any(not low <= n_misfiled <= high for low, high in limits)
    assert 0 < Fraction(wrong, len(orders)) <= Fraction(1, 2)
