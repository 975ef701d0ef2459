"""The checks of arguments that every room shares; a message says what, which value came, what to do."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mmdbounds.errors import MmdBoundsError, did_you_mean, shown_value

MOST = 1_000_000_000  # the largest count unless a smaller limit is given: more rows than any table has
MOST_PERMUTATIONS = 10_000_000  # the largest number of random labellings, for p-values down to 1e-7
MOST_TRIALS, MOST_PROCESSES = 1_000_000, 1_000  # of a simulation
MOST_SEED = 2**128 - 1  # the largest seed: NumPy advises drawing 128 bits
MOST_MIB = 1e9  # the largest budget: a thousand times the memory of any machine


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


def is_list(value: Any) -> bool:
    """Return whether `value` is several things one after the other; text, mappings and one number are not."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def check_option(value: Any, name: str, options: Sequence[str]) -> str:
    """Return `value` if it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        hint = did_you_mean(str(value), options) if value is None or isinstance(value, str) else ""
        msg = f"`{name}` must be one of {', '.join(map(repr, options))}; got {shown_value(value)}.{hint}"
        raise MmdBoundsError(msg)
    return value


def check_number(
    value: Any, name: str, where: str, is_inside: Callable[[float], bool], *, percent_above: float = math.inf
) -> float:
    """Return `value` as a float for which `is_inside` holds; `where` says so in words: ``"a number from 1"``.

    Numbers above `percent_above` may be percentages: a hundredth of them is suggested if it is inside.
    """
    if not is_number(value):
        msg = f"`{name}` must be {where}; got {shown_value(value)}."
        raise MmdBoundsError(msg)
    number = float(value)
    if not is_inside(number):
        is_percent = number > percent_above and is_inside(number / 100)
        hint = f" Did you mean {number / 100:g}?" if is_percent else ""
        msg = f"`{name}` must be {where}; got {number:.12g}.{hint}"
        raise MmdBoundsError(msg)
    return number


def check_share(value: Any, name: str) -> float:
    """Return `value` as a share in [0, 1)."""
    where = "in [0, 1)" if is_number(value) else "a number in [0, 1)"
    return check_number(value, name, where, lambda share: 0 <= share < 1, percent_above=1)


def check_epsilon(value: Any) -> float:
    """Return the share of the true X that is misfiled, in [0, 1)."""
    if isinstance(value, tuple | list | np.ndarray) and len(np.atleast_1d(np.asarray(value, object))) != 1:
        what = f"one share in [0, 1), a limit that includes every smaller one; got {shown_value(value)}"
        msg = f"`epsilon` must be {what}. For several shares call this for each of them."
        raise MmdBoundsError(msg)
    return check_share(value, "epsilon")


def check_level(value: Any) -> float:
    """Return the level of a test."""
    share = check_share(value, "level")
    if share == 0:
        msg = "`level` must be larger than 0, or nothing is ever rejected; got 0."
        raise MmdBoundsError(msg)
    return share


def check_labellings(n_permutations: Any) -> int:
    """Return how many random labellings to draw."""
    return check_count(n_permutations, "n_permutations", least=1, most=MOST_PERMUTATIONS)


def check_one_or_pair(
    value: Any, name: str, check: Callable[[Any, str], float]
) -> float | tuple[float, float]:
    """Return a share that passes `check`, or a pair (low, high) of such shares."""
    if not isinstance(value, tuple | list):
        return check(value, name)
    if len(value) != 2:
        msg = f"`{name}` must be a share or a pair (low, high); got {len(value)} numbers."
        raise MmdBoundsError(msg)
    low, high = (check(each, name) for each in value)
    if low > high:
        msg = f"`{name}` must be a pair (low, high) with low <= high; got ({low:g}, {high:g})."
        raise MmdBoundsError(msg)
    return low, high


def check_chance(value: Any, name: str) -> float:
    """Return `value` as a probability strictly between 0 and 1."""
    return check_number(value, name, "a number between 0 and 1", lambda p: 0 < p < 1, percent_above=1)


def check_rate(value: Any, name: str) -> float:
    """Return `value` as a rate in (0, 1]."""
    return check_number(value, name, "a number in (0, 1]", lambda rate: 0 < rate <= 1, percent_above=1.5)


def check_positive(value: Any, name: str) -> float:
    """Return `value` as a positive finite number."""
    return check_number(value, name, "a positive finite number", lambda size: 0 < size < math.inf)


def check_count(value: Any, name: str, *, least: int = 0, most: int = MOST) -> int:
    """Return `value` as a whole number from `least` to `most`."""
    if not is_whole(value) or int(value) < least:
        msg = f"`{name}` must be a whole number from {least}; got {shown_value(value)}."
        raise MmdBoundsError(msg)
    if int(value) > most:
        msg = f"`{name}` must be at most {most:,}; got {shown_value(int(value))}."
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
        msg = f"`rng` must be a whole number from 0, a NumPy Generator or None; got {shown_value(value)}."
        raise MmdBoundsError(msg)
    else:
        seed = check_count(value, "rng", most=MOST_SEED)
    return np.random.default_rng(seed), seed


def check_seed(value: Any) -> int:
    """Return the seed that `rng` stands for; one is drawn from a generator, or afresh for `None`."""
    generator, seed = check_rng(value)
    return int(generator.integers(2**32)) if seed is None else seed


def check_path(value: Any, name: str) -> Path:
    """Return the name of a file as a path."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        msg = f"`{name}` must be the name of a file; got {shown_value(value)}."
        raise MmdBoundsError(msg)
    return Path(os.fsdecode(value))


def check_flag(value: Any, name: str) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        msg = f"`{name}` must be True or False; got {shown_value(value)}."
        raise MmdBoundsError(msg)
    return bool(value)


def check_progress(value: Any) -> None:
    """Refuse anything but True, False and None."""
    if value is not None:
        check_flag(value, "progress")


def check_memory(value: Any) -> float:
    """Return a budget in MiB."""
    size = check_number(value, "working_memory", "a number of MiB from 1", lambda mib: mib >= 1)
    return check_number(size, "working_memory", f"at most {MOST_MIB:,.0f} MiB", lambda mib: mib <= MOST_MIB)
