"""The study of orders: its scores by their definition, its bounds against enumeration, its page."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mmdbounds as mb
from lab.studies import row_order

pytestmark = pytest.mark.programs


def test_scores_by_their_definition():
    order, misfiled = np.array([3, 0, 4, 2, 1]), np.array([True, False, False, False, True])
    place = np.argsort(order)
    pairs = [place[i] < place[j] for i in np.flatnonzero(misfiled) for j in np.flatnonzero(~misfiled)]
    assert row_order.scored(order, misfiled) == (np.mean(pairs), 0.5)


def test_width_is_that_of_all_labellings_that_are_left():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(9, 2)), rng.normal(1, 1, size=(7, 2))
    simulated = mb.simulate(X, Y, n_moved=3, mechanism="random", rng=1)
    checked = row_order.Checked(simulated, np.random.default_rng(0))
    found, confirmed = simulated.rows_of_y[0], np.setdiff1d(np.arange(10), simulated.rows_of_y)[:2]
    checked.is_known[[found, *confirmed]] = True
    values = []
    for pair in itertools.combinations(np.setdiff1d(np.arange(10), [found, *confirmed]), 2):
        moved = [found, *pair]
        groups = np.concatenate([simulated.X, simulated.Y[moved]]), np.delete(simulated.Y, moved, axis=0)
        values.append(mb.mmd2(*groups, kernel=simulated.kernel))
    width, orders = checked.bounds()
    np.testing.assert_allclose(width, max(values) - min(values), rtol=0, atol=1e-12)
    for order in orders.values():
        assert sorted(order) == sorted(checked.open_rows)


def test_page_has_every_setting():
    each = {"auc": 0.9, "precision": 0.5, "widths": [0.8, 0.7, 0.6, 0.5]}
    found = [
        {"data": d, "mechanism": m, "trial": 0, "m": 2, "q": 10, **dict.fromkeys(row_order.ORDERS, each)}
        for d in row_order.DATA
        for m in row_order.MECHANISMS
    ]
    page = row_order.page(found, "Made.")
    assert page.count("0.90 (0.50)") == 3 * (len(found) + 1)
    assert page.count("80, 70, 50") == 5 * (len(found) + 1)
