"""Wrong arguments for everything that is public: each call answers, or refuses in one line of its own."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import itertools
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError, MmdBoundsWarning

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(7, 2)), RNG.normal(1, 1, size=(9, 2))
Z, LABELS = np.concatenate([X, Y]), list("aaaaabbbbbcccccc")
GROUP = mb.Group(Y, name="healthy", ids=[f"y{i}" for i in range(9)])
TABLE = {"g": ["A"] * 7 + ["B"] * 9, "a": Z[:, 0].tolist(), "b": Z[:, 1].tolist()}
FEW: dict[str, Any] = {"rng": 0}
TESTED: dict[str, Any] = {**FEW, "n_permutations": 19}

# How each public callable is called rightly, with few rows: one argument after the other is then made wrong.
RIGHT: dict[str, dict[str, Any]] = {
    "Contamination": {"x_in_y": 0.1},
    "Contamination.from_audit": {"n_checked": 5, "n_found": 1},
    "Contamination.from_prevalence": {"prevalence": 0.5},
    "Contamination.from_sensitivity": {"sensitivity": 0.9},
    "Group": {"values": Y},
    "MMDBounds": {"epsilon": 0.2, "hidden": "a", **FEW},
    "RobustTest": {"epsilon": 0.2, "hidden": "a", **TESTED},
    "audit": {"X": X, "Y": Y, **TESTED},
    "column_table": {"X": X, "Y": Y, "epsilon": 0.2},
    "confidence_interval": {"X": X, "Y": Y, "epsilon": 0.2, **FEW},
    "evaluate": {"X_clean": X, "Y_clean": Y, "epsilon": 0.2, "n_trials": 1, **FEW},
    "groups": {"data": TABLE, "group": "g", "hidden": "A", "among": "B"},
    "hsic": {"Z": Z, "labels": LABELS},
    "hsic_bounds": {"Z": Z, "labels": LABELS, "n_moved": 1, **FEW},
    "independence_test": {"Z": Z, "labels": LABELS, "n_moved": 1, **TESTED},
    "mmd2": {"X": X, "Y": Y},
    "mmd_bounds": {"X": X, "Y": Y, "epsilon": 0.2, **FEW},
    "odds_sweep": {"X": X, "Y": Y, "epsilons": [0.2], "odds": [2.0], **TESTED},
    "one_row_each": {"X": X, "Y": Y, "units_x": list("abcdefg"), "units_y": list("hijklmnop"), **FEW},
    "pairwise_bounds": {"Z": Z, "labels": LABELS, "epsilon": 0.25, **TESTED},
    "plan_audit": {"n_rows": 50, "breakdown": 5},
    "robust_test": {"X": X, "Y": Y, "epsilon": 0.2, **TESTED},
    "simulate": {"X_clean": X, "Y_clean": Y, "n_moved": 1, **FEW},
    "sweep": {"X": X, "Y": Y, "epsilons": [0.2], **TESTED},
    "Exhaustive": {},
    "Sharp": {},
    "StepwiseDominance": {},
    "kernels.FunctionKernel": {"function": np.matmul},
    "kernels.RBF": {"bandwidth": 1.0},
    "kernels.Laplacian": {"bandwidth": 1.0},
    "kernels.Matern52": {"bandwidth": 1.0},
    "kernels.Polynomial": {},
    "kernels.Linear": {},
    "kernels.Energy": {},
}
# What is not called with arguments of a user's, or writes files, or takes a result.
NOT_HERE = {"MmdBoundsError", "write_report"}
ROOMS = {"kernels"}  # whose classes are called, too


class Awkward:
    """An object that refuses whatever is asked of it."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


# Nothing here takes long wherever it is accepted.
NAME = "wrong-arguments"
OF_THEIRS = (
    "kernel",
    "mechanism",
    "method",
    "methods",
    "function",
)  # code of a user: what it raises is theirs
WRONG: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 10**30, -(10**400), 0.0, -0.0, 0.5, -0.5, 1.0, 2.5, 1e-320, 1e308),
    *(float("nan"), float("inf"), -float("inf"), 1j, Decimal("0.2"), Fraction(1, 5)),
    *("", " ", "x", "nan", "0.1", "a", "A", "s-sd", "median", "none", "\x00", "\ud800", "x" * 5000, b"x"),
    *(
        (),
        [],
        {},
        set(),
        {"a"},
        frozenset({1}),
        {"a": 1},
        {1: 2},
        range(3),
        (0.1, 0.2),
        [0.1, 0.2],
        (1, 2, 3),
    ),
    *([None], [None, None], [[1, 2], [3]], [[]], ["a", 1, None], [1, "a"], ([1, 2], [3]), (None, [True])),
    *(
        np.array(0.2),
        np.array([]),
        np.array([0.2]),
        np.array([0.1, 0.2]),
        np.zeros((2, 2)),
        np.zeros((2, 3, 4)),
    ),
    *(np.array(["a", "b"]), np.array([None, 1], object), np.array([True, False]), np.array([[True]])),
    *(
        np.full((7, 2), np.nan),
        np.full((7, 2), np.inf),
        np.full((7, 2), 1e308),
        np.zeros((7, 2)),
        np.zeros((0, 2)),
    ),
    *(np.ma.masked, np.ma.array([1.0, 2.0], mask=[True, False]), np.ma.array(X, mask=X > 0)),
    *(
        np.float32(0.2),
        np.int8(1),
        np.bool_(True),
        np.str_("a"),
        np.datetime64("2020-01-01"),
        np.float64("nan"),
    ),
    *(np.recarray((2,), dtype=[("a", float)]), np.random.default_rng(1), np.random.RandomState(1)),
    *(object(), Awkward(), len, lambda *_: 0, lambda: None, int, dict, types, Ellipsis, NotImplemented),
    *(datetime.date(2020, 1, 1), datetime.timedelta(1), Path("nowhere.csv"), iter([1, 2]), memoryview(b"ab")),
    *(
        mb.Contamination(0.1),
        mb.Contamination,
        GROUP,
        mb.Group,
        mb.Sharp(),
        mb.Sharp,
        mb.kernels.RBF(1.0),
        mb.mmd2,
    ),
    *(
        [X, Y],
        X,
        X.T,
        Y[:1],
        np.ones((9, 9)),
        np.eye(16),
        list("abcdefghi"),
        [True] * 9,
        ([True] * 7, [False] * 9),
    ),
]


@dataclass(frozen=True)
class WrongCall:
    """A public callable and its arguments."""

    name: str
    arguments: dict[str, Any]
    changed: tuple[str, ...]

    def __str__(self) -> str:
        changed = ", ".join(f"{name}={self.arguments[name]!r:.60}" for name in self.changed)
        return f"{self.name}(..., {changed})"


def public_callables() -> dict[str, Any]:
    """Return everything public that takes arguments, by name."""
    found = {}
    for name in mb.__all__:
        each = getattr(mb, name)
        if name in ROOMS:
            inner = {n: getattr(each, n) for n in each.__all__}
            found |= {f"{name}.{n}": made for n, made in inner.items() if f"{name}.{n}" in RIGHT}
        elif not isinstance(each, types.ModuleType) and name not in NOT_HERE:
            found[name] = each
    for name in ("from_audit", "from_prevalence", "from_sensitivity"):
        found[f"Contamination.{name}"] = getattr(mb.Contamination, name)
    return found


def wrong_calls(rng: np.random.Generator | None = None) -> Iterator[WrongCall]:
    """Yield calls with one argument that may be wrong, each once; with `rng` two or three, without end."""
    every = [
        (name, parameter)
        for name, function in public_callables().items()
        for parameter in inspect.signature(function).parameters
        if parameter not in ("n_processes", "progress", "working_memory") or rng is not None
    ]
    if rng is None:
        for name, parameter in every:
            for value in WRONG:
                yield WrongCall(name, {**RIGHT[name], parameter: value}, (parameter,))
        return
    while True:
        name, _ = every[rng.integers(len(every))]
        parameters = [parameter for n, parameter in every if n == name]
        chosen = rng.choice(parameters, min(len(parameters), int(rng.integers(2, 4))), replace=False).tolist()
        values = {parameter: WRONG[rng.integers(len(WRONG))] for parameter in chosen}
        yield WrongCall(name, {**RIGHT[name], **values}, tuple(chosen))


def trouble(call: WrongCall) -> str | None:
    """Make a call; return what is wrong with how it ended, `None` if nothing is."""
    function = public_callables()[call.name]
    if any(name in OF_THEIRS and callable(call.arguments[name]) for name in call.changed):
        return None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = function(**call.arguments)
            if call.name in ("MMDBounds", "RobustTest"):  # scikit-learn wants them checked in `fit`
                made.fit(Z, np.where(np.arange(16) < 7, "a", "b"))
        except MmdBoundsError as error:
            if "\n" in str(error) or len(str(error)) > 1500:
                return f"its message has several lines or is endless: {error!s:.200}"
        except Exception as error:
            return f"{type(error).__name__}: {error!s:.200}"
    foreign = [each for each in caught if not issubclass(each.category, MmdBoundsWarning)]
    return f"warns {foreign[0].category.__name__}: {foreign[0].message!s:.200}" if foreign else None


def fuzz_wrong_arguments(seconds: float, seed: int, say: Callable[[str], None]) -> int:
    """Make wrong calls until the time is up; say which end badly, each kind once, and return how many do."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # checkpoints are written
        return _fuzz(seconds, seed, say)


def _fuzz(seconds: float, seed: int, say: Callable[[str], None]) -> int:
    found: set[tuple[str, tuple[str, ...], str]] = set()
    until, n_calls = time.monotonic() + seconds, 0
    for call in itertools.chain(wrong_calls(), wrong_calls(np.random.default_rng(seed))):
        if time.monotonic() > until:
            break
        n_calls += 1
        if (reason := trouble(call)) and (kind := (call.name, call.changed, reason[:20])) not in found:
            found.add(kind)
            say(f"VIOLATION of {NAME}: {call}: {reason}")
    say(f"{NAME}: {n_calls:,} calls, {len(found)} violations")
    return len(found)
