"""The one place in which options become how much is misfiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mmdbounds.contamination import Contamination
from mmdbounds.errors import MmdBoundsError, shown_value

WAYS = ("epsilon", "share_of_y", "n_moved", "sensitivity", "audit", "prevalence")
"""The options that say how many rows are misfiled; one of them must be given."""

NEEDED = {
    "specificity": ("sensitivity",),
    "anytime": ("audit",),
    "prevalence_error": ("prevalence",),
    "confidence": ("audit", "prevalence"),
}
"""Options that go with some of them only."""

RANGE = re.compile(r"([0-9.]+)-([0-9.]+)")


def stated_amount(options: Mapping[str, Any]) -> Contamination:
    """Return how much is misfiled, stated in exactly one way."""
    given = [name for name in WAYS if options.get(name) is not None]
    if len(given) != 1:
        came = " and ".join(map(_flag, given)) if given else "none of them"
        *first, last = map(_flag, WAYS)
        msg = f"give exactly one of {', '.join(first)} and {last}; got {came}."
        raise MmdBoundsError(msg)
    way = given[0]
    for name, ways in NEEDED.items():
        if options.get(name) not in (None, False) and way not in ways:
            msg = f"`{_flag(name)}` goes with {' or '.join(map(_flag, ways))}; got {_flag(way)}."
            raise MmdBoundsError(msg)
    return replace(_AMOUNTS.get(way, _plain)(options), odds=options.get("odds"))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _plain(options: Mapping[str, Any]) -> Contamination:
    """Return a share or a number."""
    names = ("share_of_y", "n_moved", "y_in_x", "n_moved_of_x", "exactly")
    return Contamination(options["epsilon"], **{name: options[name] for name in names})


def _from_sensitivity(options: Mapping[str, Any]) -> Contamination:
    _refuse_two_way(options, "Use --specificity for rows filed under A that belong to B.")
    specificity = options["specificity"]
    rates = {} if specificity is None else {"specificity": specificity}
    said = Contamination.from_sensitivity(options["sensitivity"], **rates)
    return replace(said, exactly=options["exactly"])


def _from_audit(options: Mapping[str, Any]) -> Contamination:
    _refuse_two_way(options, "An audit of B says nothing about rows filed under A.")
    found = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", options["audit"])
    if found is None:
        got = shown_value(options["audit"])
        msg = f"`--audit` must be the rows found and the rows checked, such as 2/60; got {got}."
        raise MmdBoundsError(msg)
    n_found, n_checked = map(int, found.groups())
    if n_found > n_checked:
        guess = f" Did you mean {n_checked}/{n_found}?"
        msg = f"`--audit` must not have more rows found than checked; got {n_found}/{n_checked}.{guess}"
        raise MmdBoundsError(msg)
    return Contamination(n_checked=n_checked, n_found=n_found, anytime=options["anytime"], **_sure(options))


def _from_prevalence(options: Mapping[str, Any]) -> Contamination:
    _refuse_two_way(options, "A prevalence says nothing about rows filed under A.")
    text = options["prevalence"]
    pair = RANGE.fullmatch(text)
    try:
        share: Any = float(text) if pair is None else tuple(map(float, pair.groups()))
    except ValueError:
        msg = f"`--prevalence` must be a share or a range such as 0.35-0.4; got {shown_value(text)}."
        raise MmdBoundsError(msg) from None
    error = options["prevalence_error"]
    return Contamination(prevalence=share, prevalence_error=0.0 if error is None else error, **_sure(options))


def _sure(options: Mapping[str, Any]) -> dict[str, Any]:
    confidence, exactly = options["confidence"], {"exactly": options["exactly"]}
    return exactly if confidence is None else {"confidence": confidence, **exactly}


def _refuse_two_way(options: Mapping[str, Any], why: str) -> None:
    for name in ("y_in_x", "n_moved_of_x"):
        if options[name]:
            msg = f"`{_flag(name)}` goes with --epsilon or --n-moved. {why}"
            raise MmdBoundsError(msg)


_AMOUNTS = {"sensitivity": _from_sensitivity, "audit": _from_audit, "prevalence": _from_prevalence}
