from __future__ import annotations

import contextlib
import gc
import io
import re
import sys
import threading
import types

import pytest

from mmdbounds import progress
from mmdbounds.progress import Meter, Phase, Rates, Stopped, duration, show_by_default

PAIRS = round(1 / Rates().pair)  # kernel values that take a second
UNITS = 1 / Rates().unit  # other work that takes a second


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _nothing_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """No notebook, and no other meter."""
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(Meter, "_shown", None)


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


def watched(*phases: Phase, pairs: int = 0) -> tuple[Meter, Clock, io.StringIO]:
    """A meter on a terminal with a plan of phases, or a number of kernel values."""
    clock, stream = Clock(), Terminal()
    plan = (lambda: phases) if phases else pairs
    meter = Meter(plan, show=True, stream=stream, clock=clock)
    return meter, clock, stream


def test_counts_without_a_word():
    stream = io.StringIO()
    meter = Meter(stream=stream)
    meter.add(3)
    meter.phase("search", 1, 2)
    meter.spend(5.0)
    meter.add(4)
    assert meter.n_pairs == 7
    assert not stream.getvalue()


def test_a_plan_that_nobody_sees_is_not_made():
    def fail() -> list[Phase]:
        raise AssertionError

    with Meter(fail, show=False) as meter:
        meter.phase("pass")
        meter.add(1)


def test_phases_are_named_one_after_the_other():
    plan = [
        Phase("pass", pairs=5 * PAIRS),
        Phase("search", pairs=5 * PAIRS),
        Phase("proof", units=10 * UNITS),
    ]
    meter, clock, stream = watched(*plan)
    meter.phase("pass")
    meter.add(0)
    clock.now += 2.5
    meter.add(round(2.5 * PAIRS))  # at the speed of the plan
    assert screen(stream.getvalue()) == "[###                     ]  12%  pass  18 s left"
    clock.now += 2.5
    meter.add(round(2.5 * PAIRS))
    meter.phase("search")
    clock.now += 5.0
    meter.add(5 * PAIRS)
    meter.phase("proof")
    clock.now += 5.0
    meter.spend(5 * UNITS)
    assert screen(stream.getvalue()) == "[##################      ]  75%  proof  5 s left"


def test_the_time_left_follows_the_speed_that_is_measured():
    meter, clock, stream = watched(Phase("pass", pairs=10 * PAIRS), Phase("search", pairs=10 * PAIRS))
    meter.add(0)
    clock.now += 20.0
    meter.add(5 * PAIRS)  # four times slower than planned
    # Half of the pass is left, at (20 + 1) / (5 + 1) times the plan: 17.5 s; then the search, at
    # (20 + 0.5) / (5 + 0.5) times the plan: 37.3 s.
    assert screen(stream.getvalue()) == "[######                  ]  25%  pass  55 s left"


def test_before_anything_is_known_the_plan_tells():
    meter, clock, stream = watched(Phase("search", pairs=30 * PAIRS))
    clock.now += 2.1
    meter.phase("search")
    assert screen(stream.getvalue()) == "[                        ]   0%  search  28 s left"


def test_steps_are_numbered():
    meter, clock, stream = watched(Phase("permutation"), Phase("count", units=UNITS))
    for done in (0, 120):
        clock.now += 12.0
        meter.phase("permutation", done, 999)
    assert "  permutation 121 of 999  " in screen(stream.getvalue())
    # 24 s for 120 of 999, so 176 s for the others; a second for the counts, at the speed so far.
    assert screen(stream.getvalue()).endswith(" left")


@pytest.mark.parametrize(
    ("done", "seconds", "line"),
    [
        (1, 90, "[######                  ]  25%  trial 2 of 4  4 min 30 s left"),
        (3, 30, "[##################      ]  75%  trial 4 of 4  10 s left"),
        (4, 30, "[########################] 100%  trial 4 of 4  almost done"),
    ],
)
def test_line_of_trials(done: int, seconds: float, line: str):
    meter, clock, _ = watched(Phase("trial"))
    clock.now += seconds
    meter.phase("trial", done, 4)
    assert meter.line() == line


def test_work_within_a_step_counts():
    meter, clock, stream = watched(Phase("share", pairs=20 * PAIRS))
    meter.phase("share", 0, 2)
    meter.add(0)
    clock.now += 5.0
    meter.add(5 * PAIRS)
    assert screen(stream.getvalue()) == "[######                  ]  25%  share 1 of 2  15 s left"
    clock.now += 5.0
    meter.add(15 * PAIRS)  # more than was planned for the first of the two
    assert screen(stream.getvalue()) == "[############            ]  50%  share 1 of 2  10 s left"


def test_a_phase_within_another_is_part_of_it():
    """Each point of a curve is searched and proved by what has these phases when it is called alone."""
    meter, clock, stream = watched(Phase("pass", pairs=PAIRS), Phase("bounds, share", pairs=9 * PAIRS))
    meter.phase("pass")
    meter.add(PAIRS)
    meter.phase("bounds, share", 6, 21)
    clock.now += 5.0
    meter.phase("proof")
    meter.add(PAIRS)
    assert "  bounds, share 7 of 21  " in screen(stream.getvalue())
    meter.phase("pass")  # in float64, for a proof
    clock.now += 5.0
    meter.add(PAIRS)
    assert "  bounds, share 7 of 21  " in screen(stream.getvalue())


def test_a_proof_that_goes_on_is_measured_by_its_budget():
    meter, clock, stream = watched(Phase("proof", units=10 * UNITS, most=4.0))
    meter.spend(0)
    clock.now += 5.0
    meter.spend(5 * UNITS)
    assert screen(stream.getvalue()) == "[############            ]  50%  proof  5 s left"
    clock.now += 15.0
    meter.spend(15 * UNITS)
    assert screen(stream.getvalue()) == "[############            ]  50%  proof  20 s left"
    clock.now += 10.0
    meter.spend(10 * UNITS)
    assert screen(stream.getvalue()) == "[##################      ]  75%  proof  10 s left"


def test_what_is_not_estimated_shows_what_was_done():
    meter, clock, stream = watched(Phase("pass", pairs=PAIRS), Phase("search"))
    meter.phase("pass")
    meter.add(PAIRS)
    meter.phase("search")
    meter.add(0)
    clock.now += 4.0
    meter.add(8_000_000)
    assert screen(stream.getvalue()) == "search  8 M pairs  2 M pairs/s"


def test_two_threads_feed_one_line():
    meter, clock, stream = watched(Phase("proof", units=40 * UNITS))
    meter.spend(0)
    clock.now += 10.0

    def side() -> None:
        for _ in range(100):
            meter.spend(UNITS / 10)
            meter.add(1)

    threads = [threading.Thread(target=side) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.n_pairs == 200
    clock.now += 10.0
    meter.spend(0)
    assert screen(stream.getvalue()) == "[############            ]  50%  proof  20 s left"


def test_of_nested_meters_the_first_one_is_shown():
    outer, clock, stream = watched(Phase("trial"))
    inner = Meter(100, show=True, stream=stream, clock=clock)
    with inner:
        clock.now += 5.0
        inner.add(50)
    assert stream.getvalue() == ""
    outer.phase("trial", 1, 2)
    assert "trial 2 of 2" in screen(stream.getvalue())
    with Meter(100, show=True, stream=stream, clock=clock) as another:
        clock.now += 5.0
        another.add(50)
    assert "trial 2 of 2" in screen(stream.getvalue())
    outer.close()
    assert screen(stream.getvalue()) == ""
    with Meter(100, show=True, stream=stream, clock=clock) as after:
        after.add(0)
        clock.now += 5.0
        after.add(50)
        assert "50%" in screen(stream.getvalue())


def test_a_meter_that_was_never_closed_hides_no_other():
    first, clock, stream = watched(pairs=100)
    first.add(0)
    del first
    gc.collect()
    with Meter(100, show=True, stream=stream, clock=clock) as meter:
        meter.add(0)
        clock.now += 5.0
        meter.add(50)
        assert "50%" in screen(stream.getvalue())


def test_a_file_gets_a_line_now_and_then():
    clock, stream = Clock(), io.StringIO()
    plan = [Phase("pass", pairs=50 * PAIRS), Phase("proof", units=50 * UNITS)]
    with Meter(lambda: plan, show=True, stream=stream, clock=clock) as meter:
        meter.add(0)
        for name in ("pass", "proof"):
            meter.phase(name)
            for _ in range(50):
                clock.now += 1.0
                meter.add(PAIRS * (name == "pass"))
                meter.spend(UNITS * (name == "proof"))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "mmdbounds: 3%  pass  1 min 37 s left"  # after the patience
    assert [line.split("  ")[1] for line in lines] == ["pass", "pass", "proof", "proof"]
    assert "\r" not in stream.getvalue()
    assert stream.getvalue().endswith("\n")


class Notebook:
    """The outputs of a cell as a notebook keeps them: displayed ones are added, updated ones replaced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        notebook = self
        self.outputs: list[str] = []
        self.n_updates = 0

        class DisplayHandle:
            def display(self, content: dict, raw: bool) -> None:
                assert raw
                self.place = len(notebook.outputs)
                notebook.outputs.append(content["text/plain"])

            def update(self, content: dict, raw: bool) -> None:
                notebook.n_updates += 1
                notebook.outputs[self.place] = content["text/plain"]

        fake = types.ModuleType("IPython.display")
        fake.DisplayHandle = DisplayHandle
        monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
        monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
        monkeypatch.setitem(sys.modules, "IPython.display", fake)


def test_a_notebook_keeps_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """One output is replaced, and rarely; a saved notebook has the last one."""
    saved, clock = Notebook(monkeypatch), Clock()
    for fails, last in ((False, "Done in 10 min 0 s."), (True, "Stopped after 10 min 0 s.")):
        with (
            contextlib.suppress(KeyError),
            Meter(lambda: [Phase("pass", pairs=600 * PAIRS)], show=True, clock=clock) as meter,
        ):
            meter.add(0)
            for _ in range(6000):
                clock.now += 0.1
                meter.add(PAIRS // 10)
            assert re.search(r"9[0-9]%  pass  [0-9]+ s left$", saved.outputs[-1])
            if fails:
                raise KeyError
        assert saved.outputs[-1] == last
    assert len(saved.outputs) == 2
    assert saved.n_updates < 200
    assert capsys.readouterr() == ("", "")


def test_short_work_leaves_nothing_in_a_notebook(monkeypatch: pytest.MonkeyPatch):
    saved = Notebook(monkeypatch)
    with Meter(1000, show=True) as meter:
        meter.add(1000)
    assert saved.outputs == []


def test_refreshes_now_and_then():
    meter, clock, stream = watched(pairs=1000)
    meter.add(0)
    clock.now += 10
    meter.add(100)
    first = stream.getvalue()
    clock.now += progress.INTERVAL / 2
    meter.add(100)
    assert stream.getvalue() == first
    clock.now += progress.INTERVAL
    meter.add(300)
    assert "50%" in screen(stream.getvalue())


def test_a_number_of_kernel_values_is_a_plan_too():
    meter, clock, stream = watched(pairs=100_000_000)
    meter.add(0)
    clock.now += progress.PATIENCE
    meter.add(10_000_000)
    assert not stream.getvalue()
    clock.now += 3.0
    meter.add(15_000_000)
    # 25 million in 5 s; 75 million are left.
    assert screen(stream.getvalue()) == "[######                  ]  25%  15 s left"
    meter.phase("search")
    clock.now += 5.0
    meter.add(25_000_000)
    assert screen(stream.getvalue()) == "[############            ]  50%  search  10 s left"


def test_shorter_line_leaves_nothing_of_the_longer():
    meter, clock, stream = watched(pairs=10_000_000)
    meter.add(0)
    clock.now += 4000
    meter.add(10_000)
    assert screen(stream.getvalue()).endswith(" h 0 min left")
    clock.now += 1
    meter.add(9_980_000)
    assert screen(stream.getvalue()) == "[####################### ]  99%  40 s left"


def test_wiped_at_the_end():
    meter, clock, stream = watched(pairs=100)
    with meter:
        meter.add(0)
        clock.now += 5
        meter.add(50)
        assert "50%" in screen(stream.getvalue())
    assert screen(stream.getvalue()) == ""
    assert stream.getvalue().endswith("\r")
    written = stream.getvalue()
    meter.close()
    assert stream.getvalue() == written


def test_wiped_on_an_error():
    meter, clock, stream = watched(pairs=100)

    def fail() -> None:
        with meter:
            meter.add(0)
            clock.now += 5
            meter.add(50)
            raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        fail()
    assert stream.getvalue()
    assert screen(stream.getvalue()) == ""


def test_nothing_is_wiped_where_nothing_was_shown():
    meter, _, stream = watched(pairs=100)
    with meter:
        meter.add(100)
    assert stream.getvalue() == ""


def test_without_a_total():
    meter, clock, stream = watched(pairs=0)
    meter.add(0)
    clock.now += 4
    meter.add(8_000_000)
    assert screen(stream.getvalue()) == "8 M pairs  2 M pairs/s"


def test_more_than_the_total():
    meter, clock, stream = watched(pairs=1_000_000)
    meter.add(0)
    clock.now += 4
    meter.add(8_000_000)
    assert screen(stream.getvalue()) == "[####################### ]  99%  almost done"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1.2, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds: float, words: str):
    assert duration(seconds) == words
    meter, clock, _ = watched(pairs=2_000_000)
    meter.add(0)
    clock.now += seconds
    meter.add(1_000_000)
    # Half is done, so as long as it took is what is left.
    assert meter.line().endswith(f"  {words} left")


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
        meter.add(0)
        clock.now += 50
        meter.add(50)
        clock.now += 50
        meter.add(50)
    assert meter.n_pairs == 100


def test_who_watches(monkeypatch: pytest.MonkeyPatch):
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
    monkeypatch.setattr(sys, "stderr", stream)
    clock = Clock()
    meter = Meter(100, show=None, clock=clock)
    meter.add(0)
    clock.now += 5
    meter.add(50)
    assert bool(stream.getvalue()) is shown


def test_what_comes_before_the_first_kernel_values_says_nothing_about_the_rest():
    meter, clock, stream = watched(pairs=100_000_000)
    clock.now += 30.0  # compiling
    meter.add(10_000_000)
    clock.now += 0.1
    meter.add(10_000_000)  # of another thread
    assert stream.getvalue() == ""
    clock.now += 1.9
    meter.add(10_000_000)
    assert screen(stream.getvalue()) == "[#######                 ]  30%  7 s left"


def test_an_error_ends_the_work_of_other_threads():
    def fail(meter: Meter) -> None:
        with meter:
            raise KeyError("on purpose")

    meter = Meter(100)
    with pytest.raises(KeyError, match="on purpose"):
        fail(meter)
    for work in (lambda: meter.add(1), lambda: meter.spend(1.0), lambda: meter.phase("proof")):
        with pytest.raises(Stopped, match=r"^$"):
            work()
    with Meter(100) as other:
        other.add(1)
    other.add(1)
    assert other.n_pairs == 2
