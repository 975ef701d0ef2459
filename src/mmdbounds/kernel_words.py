"""The sentences about an approximate kernel: what it stands for, and what is known of that."""

from __future__ import annotations

from mmdbounds.approximation import Approximation, Compared
from mmdbounds.phrases import number, percent, proved_number
from mmdbounds.results import BoundsResult, Provenance


def kernel_name(made: Provenance) -> str:
    """Return the name of the kernel; of an approximate one, what it stands for and how it was made."""
    if "n_features" not in made.kernel_options:
        return made.kernel
    exact, size, seed = (made.kernel_options[name] for name in ("kernel", "n_features", "seed"))
    what = "Nystrom landmarks" if made.kernel == "nystrom" else made.kernel
    return f"{exact} by {size:,} {what} (seed {seed})"


def of_which_kernel(result: BoundsResult) -> str:
    """Say that all was said of an approximate kernel, and what is known of the exact one."""
    found = result.approximation
    if found is None:
        return ""
    said = f"All this is said of an approximate kernel, {kernel_name(result.provenance)}."
    return " ".join([said, _same_labellings(result, found), *_proofs(found)])


def _same_labellings(result: BoundsResult, found: Approximation) -> str:
    """Say what the labellings found give with the exact kernel."""
    sides = {"smallest": found.lower, "as filed": found.observed, "largest": found.upper}
    shown = {word: each for word, each in sides.items() if each is not None}
    level = "" if found.level is None else f", each with at least {percent(found.level)} confidence"
    if len(shown) < 3 or not (result.n_moved or result.n_moved_of_x):
        return f"With {found.kernel} itself the groups as filed give {_around(found.observed)}{level}."
    low, filed, high = (f"{_around(each)} ({word})" for word, each in shown.items())
    return (
        f"With {found.kernel} itself the same labellings give {low}, {filed} and {high}{level}; "
        "its own extremes can only lie further out."
    )


def _around(value: Compared) -> str:
    """Return the range of values that an estimate of the exact value leaves."""
    low, high = number(value.exact - value.margin), number(value.exact + value.margin)
    return low if low == high else f"{low} to {high}"


def _proofs(found: Approximation) -> list[str]:
    """Say what is proved for the exact kernel, if anything is."""
    limits = []
    if found.lower_certified is not None:
        limits.append(f"at least {proved_number(found.lower_certified, 'lower')}")
    if found.upper_certified is not None:
        limits.append(f"at most {proved_number(found.upper_certified, 'upper')}")
    return [f"Proved for {found.kernel} itself: {' and '.join(limits)}."] if limits else []
