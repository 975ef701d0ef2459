"""In which order columns are named."""

from types import SimpleNamespace

from mmdbounds.words.columns import by_strength


def test_columns_come_in_the_order_of_what_no_misfiling_takes_away():
    ranges = {"unsure": (-0.3, 1.5, 3.0), "clear": (0.5, 1.0, 1.5), "small": (-0.1, 0.05, 0.2)}
    ranges["below"] = (-2.0, -1.4, -1.0)
    rows = [
        SimpleNamespace(name=name, standardised_lower=low, standardised=filed, standardised_upper=high)
        for name, (low, filed, high) in ranges.items()
    ]
    assert [row.name for row in by_strength(rows)] == ["below", "clear", "unsure", "small"]
