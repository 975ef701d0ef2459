"""Checks of arguments, and their messages: what, which value came, what to do."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from mmdbounds.errors import MmdBoundsError, came, did_you_mean

MOST = 1_000_000_000
"""The largest count that is taken where nothing smaller is said: more rows than any table has."""

MOST_PERMUTATIONS = 10_000_000
"""The largest number of random labellings: it takes p-values down to 1e-7."""

MOST_TRIALS, MOST_PROCESSES = 1_000_000, 1_000
"""The most trials of a simulation, and the most processes that run them."""

MOST_SEED = 2**128 - 1
"""The largest seed: NumPy advises to draw 128 bits."""

MOST_MIB = 1e9
"""The largest budget: a thousand times the memory of any machine."""


def is_number(value: Any) -> bool:
    """Return whether `value` is a real number that a float can hold, and not True or False."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def is_whole(value: Any) -> bool:
    """Return whether `value` is a whole number, and not True or False."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def check_option(value: Any, name: str, options: Sequence[str]) -> str:
    """Return `value` if it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        hint = did_you_mean(value, options) if isinstance(value, str) else ""
        msg = f"`{name}` must be one of {', '.join(map(repr, options))}; got {value!r}.{hint}"
        raise MmdBoundsError(msg)
    return value


def check_share(value: Any, name: str) -> float:
    """Return `value` as a share in [0, 1)."""
    if not is_number(value):
        msg = f"`{name}` must be a number in [0, 1); got {came(value)}."
        raise MmdBoundsError(msg)
    share = float(value)
    if not 0 <= share < 1:
        hint = f" Did you mean {share / 100:g}?" if 1 < share < 100 else ""
        msg = f"`{name}` must be in [0, 1); got {share:g}.{hint}"
        raise MmdBoundsError(msg)
    return share


def check_chance(value: Any, name: str) -> float:
    """Return `value` as a probability strictly between 0 and 1."""
    if not is_number(value) or not 0 < value < 1:
        hint = f" Did you mean {value / 100:g}?" if is_number(value) and 1 < value < 100 else ""
        msg = f"`{name}` must be a number between 0 and 1; got {came(value)}.{hint}"
        raise MmdBoundsError(msg)
    return float(value)


def check_rate(value: Any, name: str) -> float:
    """Return `value` as a rate in (0, 1]."""
    if not is_number(value) or not 0 < value <= 1:
        hint = f" Did you mean {value / 100:g}?" if is_number(value) and 2 <= value <= 100 else ""
        msg = f"`{name}` must be a number in (0, 1]; got {came(value)}.{hint}"
        raise MmdBoundsError(msg)
    return float(value)


def check_count(value: Any, name: str, *, least: int = 0, most: int = MOST) -> int:
    """Return `value` as a whole number from `least` to `most`."""
    if not is_whole(value) or int(value) < least:
        msg = f"`{name}` must be a whole number from {least}; got {came(value)}."
        raise MmdBoundsError(msg)
    if int(value) > most:
        msg = f"`{name}` must be at most {most:,}; got {came(int(value))}."
        raise MmdBoundsError(msg)
    return int(value)


def check_processes(value: Any) -> int:
    """Return a number of processes."""
    return check_count(value, "n_processes", least=1, most=MOST_PROCESSES)


def check_rng(value: Any) -> tuple[np.random.Generator, int | None]:
    """Return a generator and its seed, a fresh one for `None`; a generator comes back without a seed."""
    if isinstance(value, np.random.Generator):
        return value, None
    if value is None:
        seed = int(np.random.default_rng().integers(2**32))
    elif not is_whole(value) or int(value) < 0:
        msg = f"`rng` must be a whole number from 0, a NumPy Generator or None; got {came(value)}."
        raise MmdBoundsError(msg)
    else:
        seed = check_count(value, "rng", most=MOST_SEED)
    return np.random.default_rng(seed), seed


def check_seed(value: Any) -> int:
    """Return the seed that `rng` stands for; one is drawn from a generator, or afresh for `None`."""
    generator, seed = check_rng(value)
    return int(generator.integers(2**32)) if seed is None else seed


def check_flag(value: Any, name: str) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        msg = f"`{name}` must be True or False; got {value!r}."
        raise MmdBoundsError(msg)
    return bool(value)


def check_progress(value: Any) -> None:
    """Refuse anything but True, False and None."""
    if value is not None:
        check_flag(value, "progress")


def check_memory(value: Any) -> float:
    """Return a budget in MiB."""
    if not is_number(value) or not float(value) >= 1:
        msg = f"`working_memory` must be a number of MiB from 1; got {came(value)}."
        raise MmdBoundsError(msg)
    if float(value) > MOST_MIB:
        msg = f"`working_memory` must be at most {MOST_MIB:,.0f} MiB; got {came(value)}."
        raise MmdBoundsError(msg)
    return float(value)
