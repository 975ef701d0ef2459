"""The rows with the largest scores, by sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmdbounds.objective import Labelling
from mmdbounds.search.protocol import largest_places, largest_sums, leading, top_places, top_sum
from problems import quadratic_of, two_clouds


@given(st.integers(1, 6), st.integers(1, 7), st.data())
def test_largest_entries_of_each_row(n_rows, n_columns, data):
    count = data.draw(st.integers(0, n_columns))
    values = np.random.default_rng(n_rows).integers(-3, 4, size=(n_rows, n_columns)).astype(float)
    sums, places = largest_sums(values, count), largest_places(values, count)
    assert places.shape == (n_rows, count)
    for row, total, where in zip(values, sums, places, strict=True):
        assert total == sum(sorted(row)[n_columns - count :])
        assert len(set(where.tolist())) == count
        assert row[where].sum() == total


def test_the_leading_rows_are_those_of_each_group():
    labelling = Labelling(quadratic_of(two_clouds(0, of_x=10)))
    scores = np.random.default_rng(0).normal(size=len(labelling.sign))
    rows = leading(labelling, scores)
    of_x, of_y = np.argsort(-scores[:50])[:10], 50 + np.argsort(-scores[50:])[:20]
    assert rows.tolist() == sorted([*of_x.tolist(), *of_y.tolist()])


@given(st.integers(0, 2**32 - 1))
def test_the_top_of_each_part_is_that_of_the_sorted_scores(seed):
    rng = np.random.default_rng(seed)
    n_x, n_y = rng.integers(1, 8, size=2)
    quotas = rng.integers(0, [n_x + 1, n_y + 1])
    parts = [(slice(0, n_x), int(quotas[0])), (slice(n_x, n_x + n_y), int(quotas[1]))]
    scores = rng.integers(-5, 6, size=n_x + n_y).astype(float)  # whole numbers: sums are exact, ties are many
    expected = sum(sum(sorted(scores[part])[::-1][:quota]) for part, quota in parts)
    assert top_sum(scores, parts) == expected
    places = top_places(scores, parts)
    assert scores[places].sum() == expected
    assert [
        int(np.isin(np.arange(part.start, part.stop), places).sum()) for part, _ in parts
    ] == quotas.tolist()
