from __future__ import annotations

import io
import sys
import types

import pytest

from mmdbounds import progress
from mmdbounds.progress import Meter, Stopped, show_by_default


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(text: str) -> str:
    """What a terminal shows in its line after `text`, blanks at the end aside."""
    cells: list[str] = []
    place = 0
    for character in text:
        if character == "\r":
            place = 0
            continue
        cells[place : place + 1] = [character]
        place += 1
    return "".join(cells).rstrip()


def watched(total: int) -> tuple[Meter, Clock, io.StringIO]:
    clock, stream = Clock(), io.StringIO()
    meter = Meter(total, show=True, stream=stream, clock=clock)
    meter.add(0)  # the work has begun
    return meter, clock, stream


def test_counts_without_a_word():
    stream = io.StringIO()
    meter = Meter(stream=stream)
    meter.add(3)
    meter.add(4)
    assert meter.n_pairs == 7
    assert not stream.getvalue()


def test_line_after_patience():
    meter, clock, stream = watched(100_000_000)
    clock.now += progress.PATIENCE
    meter.add(10_000_000)
    assert not stream.getvalue()
    clock.now += 3.0
    meter.add(15_000_000)
    # 25 million in 5 s are 5 million a second; 75 million are left.
    assert screen(stream.getvalue()) == "[######                  ]  25%  5 M pairs/s  15 s left"


def test_refreshes_now_and_then():
    meter, clock, stream = watched(1000)
    clock.now += 10
    meter.add(100)
    first = stream.getvalue()
    clock.now += progress.INTERVAL / 2
    meter.add(100)
    assert stream.getvalue() == first
    clock.now += progress.INTERVAL
    meter.add(300)
    assert "50%" in screen(stream.getvalue())


def test_shorter_line_leaves_nothing_of_the_longer():
    meter, clock, stream = watched(10_000_000)
    clock.now += 4000
    meter.add(10_000)
    assert screen(stream.getvalue()).endswith(" h 0 min left")
    clock.now += 1
    meter.add(9_990_000)
    assert screen(stream.getvalue()) == "[########################] 100%  0 M pairs/s  almost done"


def test_wiped_at_the_end():
    meter, clock, stream = watched(100)
    with meter:
        clock.now += 5
        meter.add(50)
        assert "50%" in screen(stream.getvalue())
    assert screen(stream.getvalue()) == ""
    assert stream.getvalue().endswith("\r")
    written = stream.getvalue()
    meter.close()
    assert stream.getvalue() == written


def test_wiped_on_an_error():
    meter, clock, stream = watched(100)

    def fail() -> None:
        with meter:
            clock.now += 5
            meter.add(50)
            raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        fail()
    assert stream.getvalue()
    assert screen(stream.getvalue()) == ""


def test_nothing_is_wiped_where_nothing_was_shown():
    meter, _, stream = watched(100)
    with meter:
        meter.add(100)
    assert stream.getvalue() == ""


def test_without_a_total():
    meter, clock, stream = watched(0)
    clock.now += 4
    meter.add(8_000_000)
    assert screen(stream.getvalue()) == "8 M pairs  2 M pairs/s"


def test_more_than_the_total():
    meter, clock, stream = watched(1_000_000)
    clock.now += 4
    meter.add(8_000_000)
    assert screen(stream.getvalue()) == "[########################] 100%  2 M pairs/s  almost done"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1.2, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_time_left(seconds: float, words: str):
    meter = Meter(2_000_000, clock=lambda: 0.0)
    meter.add(0)
    meter.add(1_000_000)
    # Half is done, so as long as it took is what is left.
    assert meter.line(seconds).endswith(f"  {words} left")


def test_first_line_can_be_made_before_anything_is_counted():
    assert Meter(1000).line(0.0) == "[                        ]   0%  0 M pairs/s  16 min 40 s left"


@pytest.mark.parametrize("kind", ["closed", "none", "broken"])
def test_survives_a_stream_that_is_gone(kind: str, monkeypatch: pytest.MonkeyPatch):
    class Broken(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", {"closed": closed, "none": None, "broken": Broken()}[kind])
    clock = Clock()
    with Meter(100, show=True, clock=clock) as meter:
        clock.now += 5
        meter.add(50)
        clock.now += 5
        meter.add(50)
    assert meter.n_pairs == 100


def test_who_watches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    closed = io.StringIO()
    closed.close()
    for stream, shown in ((Terminal(), True), (io.StringIO(), False), (None, False), (closed, False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert show_by_default() is shown
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert show_by_default() is True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_default_goes_to_whoever_watches(stream: io.StringIO, shown: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    clock = Clock()
    meter = Meter(100, show=None, clock=clock)
    meter.add(0)
    clock.now += 5
    meter.add(50)
    assert bool(stream.getvalue()) is shown


def test_what_is_at_hand_counts_as_done_but_not_as_work():
    meter, clock, stream = watched(100_000_000)
    meter.skip(50_000_000)
    clock.now += 5.0
    meter.add(25_000_000)
    # 25 million in 5 s; of 100 million 75 are done, 50 of them long ago.
    assert screen(stream.getvalue()) == "[##################      ]  75%  5 M pairs/s  5 s left"
    assert meter.n_pairs == 25_000_000


def test_what_comes_before_the_first_kernel_values_says_nothing_about_the_rest():
    clock, stream = Clock(), io.StringIO()
    meter = Meter(100_000_000, show=True, stream=stream, clock=clock)
    clock.now += 30.0  # compiling
    meter.add(10_000_000)
    clock.now += 0.1
    meter.add(10_000_000)  # of another thread
    assert stream.getvalue() == ""
    clock.now += 1.9
    meter.add(10_000_000)
    assert screen(stream.getvalue()) == "[#######                 ]  30%  10 M pairs/s  7 s left"


def test_an_error_ends_the_work_of_other_threads():
    def fail(meter: Meter) -> None:
        with meter:
            raise KeyError("on purpose")

    meter = Meter(100)
    with pytest.raises(KeyError, match="on purpose"):
        fail(meter)
    with pytest.raises(Stopped):
        meter.add(1)
    with Meter(100) as other:
        other.add(1)
    other.add(1)
    assert other.n_pairs == 2
