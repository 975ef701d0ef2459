"""The decisions that make the cohort, and what they make of a report's labels and a patient's admissions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from mmdbounds.checks import check_option
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.experiments.mimic.folder import Table

NEGATIVES: Final = ("no-finding", "stated", "unmentioned")
UNCERTAIN: Final = ("leave-out", "positive", "negative")
SEVERAL: Final = ("leave-out", "most-frequent")

UNSTATED = frozenset({"", "UNKNOWN", "UNABLE TO OBTAIN", "PATIENT DECLINED TO ANSWER"})
"""Entries for race that say nothing; they contradict nothing either."""

_MEANING: Final = {"1": 1, "1.0": 1, "0": 0, "0.0": 0, "-1": -1, "-1.0": -1, "": None}

UNCERTAIN_LABEL, UNMENTIONED = "uncertain", "unmentioned"
"""Labels of studies that are left out."""

NO_RACE, TWO_RACES, OTHER_RACE = "(unstated)", "(several)", "(other)"
"""Races of patients who are left out; no entry in the tables is in brackets."""


@dataclass(frozen=True, slots=True)
class CohortRules:
    """The decisions that make the cohort.

    Parameters
    ----------
    views
        Values of ``ViewPosition`` that count as frontal.
    label
        The column of the labels that is predicted.
    negatives
        What counts as negative: ``"stated"``, reports that deny it (0); ``"no-finding"``, these and reports
        that do not mention it but have ``No Finding``; ``"unmentioned"``, these and all others that do not
        mention it.
    uncertain
        What becomes of uncertain labels (-1): ``"leave-out"``, or they count as ``"positive"`` or
        ``"negative"``.
    x_race, y_race
        How the entries for race begin that make group X and group Y: ``BLACK`` stands for
        ``BLACK/AFRICAN AMERICAN`` and ``BLACK/CAPE VERDEAN`` alike.
    several
        What becomes of patients whose admissions name different races: ``"leave-out"``, or the
        ``"most-frequent"`` counts (patients without one are left out).
    """

    views: tuple[str, ...] = ("AP", "PA")
    label: str = "Pneumonia"
    negatives: str = "no-finding"
    uncertain: str = "leave-out"
    x_race: str = "BLACK"
    y_race: str = "WHITE"
    several: str = "leave-out"

    def __post_init__(self) -> None:
        check_option(self.negatives, "negatives", NEGATIVES)
        check_option(self.uncertain, "uncertain", UNCERTAIN)
        check_option(self.several, "several", SEVERAL)
        views = self.views if isinstance(self.views, tuple) else ()
        if not views or not all(isinstance(view, str) and view.strip() for view in views):
            msg = f"`views` must name views, like ('AP', 'PA'); got {self.views!r}."
            raise MmdBoundsError(msg)
        x, y = (str(race).strip().upper() for race in (self.x_race, self.y_race))
        if not x or not y or x.startswith(y) or y.startswith(x):
            msg = (
                f"`x_race` and `y_race` must tell two groups apart; got {self.x_race!r} and {self.y_race!r}."
            )
            raise MmdBoundsError(msg)

    @property
    def group_names(self) -> tuple[str, str]:
        """The names of the groups 0 (Y) and 1 (X)."""
        return self.y_race.capitalize(), self.x_race.capitalize()


def study_labels(table: Table, rules: CohortRules) -> dict[tuple[str, str], int | str]:
    """Return for each study 1, 0, ``"uncertain"`` or ``"unmentioned"``."""
    labels: dict[tuple[str, str], int | str] = {}
    columns = (table.columns[name] for name in ("subject", "study", "label", "none"))
    for subject, study, label, none in zip(*columns, strict=True):
        if (subject, study) in labels:
            msg = f"{table.name} names the study {study} twice. Get it anew."
            raise DataError(msg)
        values = [_meaning(label, rules.label, table.name), _meaning(none, "No Finding", table.name)]
        labels[subject, study] = _decided(values[0], values[1] == 1, rules)
    return labels


def _meaning(cell: str, column: str, label: str) -> int | None:
    if cell not in _MEANING:
        msg = f"{label} must have 1.0, 0.0, -1.0 or nothing in the column {column!r}; got {cell!r}."
        raise DataError(msg)
    return _MEANING[cell]


def _decided(value: int | None, no_finding: bool, rules: CohortRules) -> int | str:
    if value == -1:
        return UNCERTAIN_LABEL if rules.uncertain == "leave-out" else int(rules.uncertain == "positive")
    if value is not None:
        return value
    negative = rules.negatives == "unmentioned" or (rules.negatives == "no-finding" and no_finding)
    return 0 if negative else UNMENTIONED


def patient_races(table: Table, rules: CohortRules) -> dict[str, str]:
    """Return for each patient with an admission a race of the rules, or why it has none."""
    entries: dict[str, Counter[str]] = {}
    for subject, entry in zip(table.columns["subject"], table.columns["race"], strict=True):
        counts = entries.setdefault(subject, Counter())
        if entry.upper() not in UNSTATED:
            counts[_race(entry.upper(), rules)] += 1
    return {subject: _one_race(counts, rules) for subject, counts in entries.items()}


def _race(entry: str, rules: CohortRules) -> str:
    names = (name for name in (rules.x_race, rules.y_race) if entry.startswith(name.upper()))
    return next(names, OTHER_RACE)


def _one_race(counts: Counter[str], rules: CohortRules) -> str:
    if not counts:
        return NO_RACE
    (race, most), *others = counts.most_common()
    if not others or (rules.several == "most-frequent" and others[0][1] < most):
        return race
    return TWO_RACES
