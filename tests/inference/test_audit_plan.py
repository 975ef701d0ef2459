"""Plans of audits: the smallest number of rows, by brute force over all samples and all orders."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference import audit_plan
from mmdbounds.inference.audit_plan import Stairs, rows_until_ruled_out
from mmdbounds.number_limits import anytime_limits, fixed_limits

ALPHA = Fraction(1, 10)
SURE = 1e-12  # thirty steps of a few units each, and sums of as many positive numbers: below 1e-13


def fixed_power(q, breakdown, m, n):
    """Return the exact chance that a sample of n rows rules the breakdown out."""
    low = [j for j in range(min(n, m) + 1) if fixed_limits(q, n, j, ALPHA)[1] < breakdown]
    return Fraction(sum(math.comb(m, j) * math.comb(q - m, n - j) for j in low), math.comb(q, n))


def anytime_powers(q, breakdown, m, start=(0, 0)):
    """Yield the exact chances that the breakdown has been ruled out after each row, over all orders."""
    still_open, ended = {start[1]: Fraction(1)}, Fraction(0)
    for t in range(start[0], q):
        after: dict[int, Fraction] = {}
        for j, chance in still_open.items():
            for found, choices in ((j + 1, m - j), (j, q - m - (t - j))):
                after[found] = after.get(found, Fraction(0)) + chance * Fraction(max(choices, 0), q - t)
        over = [j for j in after if after[j] and anytime_limits(q, t + 1, j, ALPHA)[1] < breakdown]
        ended += sum(after.pop(j) for j in over)
        still_open = after
        yield t + 1, ended


@pytest.mark.parametrize(("q", "breakdown"), [(17, 6), (24, 1), (22, 9), (14, 14)])
def test_a_plan_is_the_smallest_sample_with_that_power(q, breakdown):
    plan = mb.plan_audit(q, breakdown, n_misfiled=range(breakdown), audit_level=0.9, power=0.8)
    for m, point in enumerate(plan.points):
        powers = {n: fixed_power(q, breakdown, m, n) for n in range(1, q + 1)}
        assert point.n_misfiled == m
        assert point.n_checked == min(n for n, power in powers.items() if power >= Fraction(4, 5))
        assert point.power == pytest.approx(float(powers[point.n_checked]), rel=SURE)
        highest = [fixed_limits(q, point.n_checked, point.most_found + i, ALPHA)[1] for i in (0, 1)]
        assert highest[0] < breakdown <= highest[1]


@pytest.mark.parametrize(("q", "breakdown"), [(17, 6), (20, 8)])
def test_an_anytime_plan_is_the_first_row_with_that_power(q, breakdown):
    plan = mb.plan_audit(q, breakdown, n_misfiled=range(breakdown), audit_level=0.9, power=0.8, anytime=True)
    for m, point in enumerate(plan.points):
        first, power = next(step for step in anytime_powers(q, breakdown, m) if step[1] >= Fraction(4, 5))
        assert point.n_checked == first
        assert point.power == pytest.approx(float(power), rel=SURE)


def test_an_audit_that_has_begun_is_continued():
    stairs = Stairs(30, 12, ALPHA, True)
    for start in ((10, 0), (10, 3), (14, 5)):
        first, power = next(step for step in anytime_powers(30, 12, 6, start) if step[1] >= Fraction(4, 5))
        found = rows_until_ruled_out(stairs, 6, 0.8, start)
        assert found == (first, pytest.approx(float(power), rel=SURE))


def test_far_stairs_are_found_without_trying_all(monkeypatch):
    one_by_one = mb.plan_audit(400, 150, n_misfiled=[100, 135])
    monkeypatch.setattr(audit_plan, "ONE_BY_ONE", 3)
    assert repr(mb.plan_audit(400, 150, n_misfiled=[100, 135])) == repr(one_by_one)


def test_a_plan_is_saved_described_and_read_back():
    plan = mb.plan_audit(357, 34)
    assert plan.points[0].n_checked == 29
    assert repr(mb.results.AuditPlan.from_dict(json.loads(plan.to_json()))) == repr(plan)
    text = " ".join(plan.summary().split())
    assert "with 95 % confidence, that 34 or more of the 357 rows are misfiled." in text
    assert "If none is misfiled, 29 are enough;" in text
    assert "if 17 are misfiled, check 158: with a probability of 0.9314 at most 10 of them" in text
    text = " ".join(mb.plan_audit(357, 34, n_misfiled=1, anytime=True).summary().split())
    assert "if 1 is misfiled, this is ruled out after at most" in text


@pytest.mark.full
def test_the_picture_of_a_plan():
    from matplotlib.figure import Figure

    ax = mb.plan_audit(357, 34).plot(Figure().subplots())
    assert list(ax.lines[0].get_xdata()) == [0, 3, 6, 10, 13, 17, 20, 23, 27, 30]
    assert ax.lines[0].get_ydata()[0] == 29
    assert "breakdown: 34 rows" in ax.get_legend_handles_labels()[1]
    whole = mb.plan_audit(80, 20).plot(Figure().subplots())
    assert all(tick % 1 == 0 for tick in (*whole.get_xticks(), *whole.get_yticks()))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 1), {}, "`n_rows` must be a whole number from 1; got 0"),
        ((10, 11), {}, "`breakdown` must be at most 10; got 11"),
        ((10, 0), {}, "`breakdown` must be a whole number from 1; got 0"),
        ((10, None), {}, "`breakdown` must be a whole number from 1; got None"),
        ((10, 5), {"n_misfiled": 5}, "`n_misfiled` must be below `breakdown`, 5, .*; got 5"),
        ((10, 5), {"n_misfiled": []}, "`n_misfiled` must be below `breakdown`, 5, .*; got none"),
        ((10, 5), {"n_misfiled": [1.5]}, "`n_misfiled` must be a whole number from 0; got 1.5"),
        ((10, 5), {"audit_level": 95}, r"`audit_level` must be .*; got 95. Did you mean 0.95\?"),
        ((10, 5), {"power": 0}, "`power` must be a number between 0 and 1; got 0"),
        ((10, 5), {"anytime": 1}, "`anytime` must be True or False; got 1"),
    ],
)
def test_refusals(arguments, options, message):
    with pytest.raises(MmdBoundsError, match=message):
        mb.plan_audit(*arguments, **options)
