"""Amounts of misfiling as users state them, and the counts that these mean, by definition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

import mmdbounds as mb

SLACK = Fraction(1, 10**9)
"""The definition rounds down after adding this."""


@dataclass(frozen=True)
class Misfiling:
    """One way to say how much is misfiled.

    Attributes
    ----------
    form
        ``"n_moved"``, ``"share"``, ``"share_of_y"``, ``"counts"`` or ``"shares"`` (two-way).
    numbers
        One or two of them.
    exactly
        Whether fewer rows cannot be misfiled as well.
    """

    form: str
    numbers: tuple
    exactly: bool = True

    def argument(self):
        """Return what `epsilon` takes."""
        match self.form:
            case "share":
                return self.numbers[0]
            case "share_of_y":
                return mb.Contamination(share_of_y=self.numbers[0])
            case "n_moved":
                return mb.Contamination(n_moved=self.numbers[0])
            case "counts":
                return mb.Contamination(n_moved=self.numbers[0], n_moved_of_x=self.numbers[1])
        return mb.Contamination(self.numbers[0], y_in_x=self.numbers[1])

    def in_code(self):
        """Return the same as Python code."""
        argument = self.argument()
        return f"mb.{argument!r}" if isinstance(argument, mb.Contamination) else repr(argument)

    def counts(self, p, q):
        """Return all pairs (rows of Y, rows of X) that may be misfiled."""
        first, *rest = self.numbers
        match self.form:
            case "n_moved":
                most = first
            case "share":
                most = of_share(first, p)
            case "share_of_y":
                most = math.floor(exact(first) * q + SLACK)
            case "counts":
                if self.exactly:
                    return [(first, rest[0])]
                return [(m, m_d) for m in range(first + 1) for m_d in range(rest[0] + 1)]
            case "shares":
                return self._of_shares(p, q)
        return [(m, 0) for m in range(most if self.exactly else 0, most + 1)]

    def _of_shares(self, p, q):
        x, y = map(exact, self.numbers)
        if not self.exactly:
            return [
                (m, m_d)
                for m in range(q + 1)
                for m_d in range(p + 1)
                if m <= x * (p + m - m_d) + SLACK and m_d <= y * (q - m + m_d) + SLACK
            ]
        n_x = ((1 - y) * p - y * q) / (1 - x - y)
        n_y = ((1 - x) * q - x * p) / (1 - x - y)
        if n_x <= 0 or n_y <= 0:  # there are no such groups
            return []
        return [(math.floor(x * n_x + SLACK), math.floor(y * n_y + SLACK))]


def exact(share):
    """0.2 is meant as one fifth."""
    return Fraction(repr(share))


def of_share(share, p):
    return math.floor(exact(share) * p / (1 - exact(share)) + SLACK)


@st.composite
def misfilings(draw, p, q, estimator, *, two_way=True):
    """Draw an amount that leaves both groups large enough."""
    fewest = 2 if estimator == "unbiased" else 1
    most, most_of_x = max(q - fewest, 0), max(p - fewest, 0)
    m = draw(st.integers(0, most))
    forms = ["n_moved", "share", "share_of_y"] + (["counts", "shares"] if two_way else [])
    form, exactly = draw(st.sampled_from(forms)), draw(st.booleans())
    match form:
        case "n_moved":
            numbers = (m,)
        case "share":
            numbers = (round(m / (p + m), 6),)
        case "share_of_y":
            numbers = (round(m / q, 6),)
        case "counts":
            numbers = (m, draw(st.integers(0, most_of_x)))
        case "shares":
            numbers = (
                draw(st.sampled_from((0.1, 0.2, 0.3, 0.45))),
                draw(st.sampled_from((0.1, 0.2, 0.3, 0.45))),
            )
    return Misfiling(form, numbers, exactly)
