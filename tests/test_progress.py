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
from mmdbounds.progress import Meter, Stopped, duration, show_by_default

MILLION = 1_000_000


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


def watched(*phases: str) -> tuple[Meter, Clock, io.StringIO]:
    """A meter on a terminal that shows some phases."""
    clock, stream = Clock(), Terminal()
    return Meter(*phases, show=True, stream=stream, clock=clock), clock, stream


def test_counts_without_a_word():
    stream = io.StringIO()
    meter = Meter(stream=stream)
    meter.add(3)
    meter.phase("search", 1, 2)
    meter.spend(5.0)
    meter.add(4)
    assert meter.n_pairs == 7
    assert not stream.getvalue()


def test_phases_are_named_one_after_the_other():
    meter, clock, stream = watched("pass", "search", "proof")
    meter.phase("pass", pairs=8 * MILLION)
    clock.now += 2.5
    meter.add(2 * MILLION)
    assert screen(stream.getvalue()) == "pass 25% of 8 M pairs  2 s"
    clock.now += 2.5
    meter.add(7 * MILLION)  # more than one pass
    assert screen(stream.getvalue()) == "pass 100% of 8 M pairs  5 s"
    meter.phase("search")
    clock.now += 60.0
    meter.add(5 * MILLION)
    assert screen(stream.getvalue()) == "search  1 min 5 s"
    clock.now += 5.0
    meter.phase("proof")
    assert screen(stream.getvalue()) == "proof  1 min 10 s"


@pytest.mark.parametrize(("done", "line"), [(1, "trial 2 of 4  30 s"), (4, "trial 4 of 4  30 s")])
def test_steps_are_numbered(done: int, line: str):
    meter, clock, stream = watched("trial")
    clock.now += 30
    meter.phase("trial", done, 4)
    assert screen(stream.getvalue()) == line


def test_a_phase_within_another_is_part_of_it():
    """Each point of a curve is searched and proved by what has these phases when it is called alone."""
    meter, clock, stream = watched("pass", "bounds, share")
    meter.phase("pass")
    meter.add(MILLION)
    meter.phase("bounds, share", 6, 21)
    for name in ("proof", "pass"):  # a pass in float64, for a proof
        clock.now += 5.0
        meter.phase(name, pairs=MILLION)
        meter.add(MILLION)
        assert screen(stream.getvalue()).startswith("bounds, share 7 of 21  ")


def test_without_phases_there_is_the_time():
    meter, clock, stream = watched()
    clock.now += 4
    meter.phase("pass")
    meter.add(8 * MILLION)
    assert screen(stream.getvalue()) == "4 s"


def test_two_threads_feed_one_line():
    meter, clock, stream = watched("pass")
    meter.phase("pass", pairs=400)

    def side() -> None:
        for _ in range(100):
            meter.spend(1.0)
            meter.add(1)

    threads = [threading.Thread(target=side) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (meter.n_pairs, meter.n_units) == (200, 200.0)
    clock.now += 10.0
    meter.spend(0)
    assert screen(stream.getvalue()) == "pass 50% of 0 M pairs  10 s"


def test_of_nested_meters_the_first_one_is_shown():
    outer, clock, stream = watched("trial")
    inner = Meter("pass", show=True, stream=stream, clock=clock)
    with inner:
        clock.now += 5.0
        inner.add(50)
    assert stream.getvalue() == ""
    outer.phase("trial", 1, 2)
    assert "trial 2 of 2" in screen(stream.getvalue())
    with Meter("pass", show=True, stream=stream, clock=clock) as another:
        clock.now += 5.0
        another.add(50)
    assert "trial 2 of 2" in screen(stream.getvalue())
    outer.close()
    assert screen(stream.getvalue()) == ""
    with Meter("pass", show=True, stream=stream, clock=clock) as after:
        after.add(0)
        clock.now += 5.0
        after.add(50)
        assert "pass" in screen(stream.getvalue())


def test_a_meter_that_was_never_closed_hides_no_other():
    first, clock, stream = watched("pass")
    first.add(0)
    del first
    gc.collect()
    with Meter("pass", show=True, stream=stream, clock=clock) as meter:
        meter.add(0)
        clock.now += 5.0
        meter.add(50)
        assert "pass" in screen(stream.getvalue())


def test_a_file_gets_a_line_now_and_then():
    clock, stream = Clock(), io.StringIO()
    with Meter("pass", "proof", show=True, stream=stream, clock=clock) as meter:
        for name in ("pass", "proof"):
            meter.phase(name)
            for _ in range(50):
                clock.now += 1.0
                meter.add(MILLION)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "mmdbounds: pass  3 s"  # after the patience
    assert [line.split("  ")[0] for line in lines] == [
        f"mmdbounds: {n}" for n in ("pass", "pass", "proof", "proof")
    ]
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
            Meter("pass", show=True, clock=clock) as meter,
        ):
            meter.phase("pass", pairs=600 * MILLION)
            for _ in range(6000):
                clock.now += 0.1
                meter.add(MILLION // 10)
            assert re.search(r"pass 9[0-9]% of 600 M pairs  9 min [0-9]+ s$", saved.outputs[-1])
            if fails:
                raise KeyError
        assert saved.outputs[-1] == last
    assert len(saved.outputs) == 2
    assert saved.n_updates < 200
    assert capsys.readouterr() == ("", "")


def test_short_work_leaves_nothing_in_a_notebook(monkeypatch: pytest.MonkeyPatch):
    saved = Notebook(monkeypatch)
    with Meter("pass", show=True) as meter:
        meter.add(1000)
    assert saved.outputs == []


def test_refreshes_now_and_then():
    meter, clock, stream = watched("pass")
    meter.add(0)
    clock.now += 10
    meter.add(100)
    first = stream.getvalue()
    clock.now += progress.INTERVAL / 2
    meter.add(100)
    assert stream.getvalue() == first
    clock.now += progress.INTERVAL
    meter.add(300)
    assert "pass" in screen(stream.getvalue())


def test_shorter_line_leaves_nothing_of_the_longer():
    meter, clock, stream = watched("pass", "search")
    clock.now += 4000
    meter.phase("pass", pairs=10 * MILLION)
    assert screen(stream.getvalue()) == "pass 0% of 10 M pairs  1 h 6 min"
    clock.now += 1
    meter.phase("search")
    assert screen(stream.getvalue()) == "search  1 h 6 min"


def test_wiped_at_the_end():
    meter, clock, stream = watched("pass")
    with meter:
        meter.add(0)
        clock.now += 5
        meter.add(50)
        assert "pass" in screen(stream.getvalue())
    assert screen(stream.getvalue()) == ""
    assert stream.getvalue().endswith("\r")
    written = stream.getvalue()
    meter.close()
    assert stream.getvalue() == written


def test_wiped_on_an_error():
    meter, clock, stream = watched("pass")

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
    meter, _, stream = watched("pass")
    with meter:
        meter.add(100)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1.2, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds: float, words: str):
    assert duration(seconds) == words
    meter, clock, _ = watched("pass")
    clock.now += seconds
    assert meter.line() == f"pass  {words}"


@pytest.mark.parametrize("kind", ["closed", "none", "broken"])
def test_survives_a_stream_that_is_gone(kind: str, monkeypatch: pytest.MonkeyPatch):
    class Broken(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", {"closed": closed, "none": None, "broken": Broken()}[kind])
    clock = Clock()
    with Meter("pass", show=True, clock=clock) as meter:
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
    meter = Meter("pass", show=None, clock=clock)
    meter.add(0)
    clock.now += 5
    meter.add(50)
    assert bool(stream.getvalue()) is shown


def test_an_error_ends_the_work_of_other_threads():
    def fail(meter: Meter) -> None:
        with meter:
            raise KeyError("on purpose")

    meter = Meter()
    with pytest.raises(KeyError, match="on purpose"):
        fail(meter)
    for work in (lambda: meter.add(1), lambda: meter.spend(1.0), lambda: meter.phase("proof")):
        with pytest.raises(Stopped, match=r"^$"):
            work()
    with Meter() as other:
        other.add(1)
    other.add(1)
    assert other.n_pairs == 2
