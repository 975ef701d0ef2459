"""Dates: as numbers of days by the calendar of the standard library, left out, or refused with the option."""

from __future__ import annotations

import datetime
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.tables import groups
from mmdbounds.tables.dates import as_days

FIRST = datetime.date(2000, 1, 1).toordinal()
DATES = st.lists(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)), min_size=1, max_size=6)


@settings(deadline=None, derandomize=True)
@given(DATES, st.sampled_from(["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y"]))
def test_days_of_written_dates(dates: list, form: str):
    order = "day-first" if form.startswith("%d") else "month-first"
    wanted = [date.toordinal() - FIRST for date in dates]
    found, trouble = as_days([date.strftime(form) for date in dates] + [None], order)
    assert trouble is None
    np.testing.assert_array_equal(found, [*wanted, np.nan])
    # A day after the twelfth settles the order, and nothing else does.
    found, trouble = as_days([date.strftime(form) for date in dates], "days")
    is_open = form[2] in "/-" and form[1] != "Y" and all(date.day <= 12 for date in dates)
    if is_open:
        assert trouble.remedy == ("dates", "day-first")
    else:
        np.testing.assert_array_equal(found, wanted)


def test_days_of_every_kind():
    noon = datetime.datetime(2000, 1, 2, 12)
    aware = datetime.datetime(2000, 1, 2, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=6)))
    cells = [noon, aware, datetime.date(1999, 12, 31), "2000-01-01T18:00", "2000-01-01 06:00:00Z", None]
    np.testing.assert_array_equal(as_days(cells, "days")[0], [1.5, 1.25, -1, 0.75, 0.25, np.nan])
    lasting = [datetime.timedelta(hours=36), datetime.timedelta(0)]
    np.testing.assert_array_equal(as_days(lasting, "days")[0], [1.5, 0])


@pytest.mark.parametrize(
    ("cells", "dates", "words"),
    [
        (["3/4/2020", "5/6/2020"], "days", "dates in which day and month cannot be told apart"),
        (["31/1/2020", "1/31/2020"], "days", "dates that cannot be read"),
        (["31/1/2020", "1/3/2020"], "month-first", "dates that cannot be read"),
        (["2020-02-30"], "days", "dates that cannot be read"),
        (["1.2.20"], "days", "dates that cannot be read"),  # of which century?
        ([datetime.time(12)], "days", "times of day"),
    ],
)
def test_dates_that_stay_in_the_way(cells: list, dates: str, words: str):
    values, trouble = as_days(cells, dates)
    assert trouble.words == words
    assert "`dates=`" in trouble.advice
    assert np.isnan(values).all()


CSV = "g;seen;x\nA;2020-01-31;1\nB;2020-02-02;2\nA;;3\nB;2020-02-01;5\nA;2020-02-03;4\n"


def split(data: object = CSV, **options: object):
    source = io.BytesIO(data.encode()) if isinstance(data, str) else data
    return groups(source, "g", hidden="A", among="B", **options)


def test_dates_of_a_table():
    with pytest.raises(
        DataError, match=r"'seen' \(text, dates\)\. .* set `dates=` to 'days' to count days, or"
    ):
        split()
    X, Y = split(dates="days", missing="impute", scale="none")
    days = datetime.date(2020, 1, 31).toordinal() - FIRST
    assert X.values[:, 0].tolist() == [days, days + 1.5, days + 3]  # the median of 31, 1, 2 and 3
    assert Y.values[:, 0].tolist() == [days + 2, days + 1]
    assert X.record["kinds"]["seen"] == "dates, as days since 2000-01-01"
    X, _ = split(dates="drop")
    assert (X.columns, X.record["dropped_date_columns"]) == (("x",), ["seen"])
    with pytest.raises(
        DataError, match=r"^no feature columns are left\. Check `columns=`, `exclude=` and `dates="
    ):
        split(dates="drop", columns="seen")
    with pytest.raises(
        MmdBoundsError, match=r"`dates` must be one of 'refuse', 'days'.*; got 'day'\. Did you"
    ):
        split(dates="day")


@pytest.mark.full
def test_typed_dates_and_text_give_the_same():
    import polars as pl

    text = pl.read_csv(io.BytesIO(CSV.encode()), separator=";")
    typed = text.with_columns(pl.col("seen").str.to_date())
    moments = typed.with_columns(pl.col("seen").cast(pl.Datetime("us")))
    found = [split(frame, dates="days", missing="drop")[0].values for frame in (text, typed, moments)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    times = text.with_columns(pl.lit(datetime.time(12)).alias("at"))
    with pytest.raises(
        DataError, match=r"'at' \(times of day\)\. .*set `dates=` to 'drop' to leave them out"
    ):
        split(times, dates="days", missing="drop")
