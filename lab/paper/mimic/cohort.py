"""Which images are in the cohort, with their labels and groups, and how many are left after each decision.

Three tables are used: the metadata of the images (view), the labels that CheXpert's labeller found in the
reports (pneumonia), and the admissions of MIMIC-IV (race). Every decision is an option with a default, and
the images left after it are counted.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.paper.mimic.physionet import Places, Table, image_file, read_table
from mmdbounds.checks import check_option
from mmdbounds.errors import DataError, MmdBoundsError

NEGATIVES: Final = ("no-finding", "stated", "unmentioned")
UNCERTAIN: Final = ("leave-out", "positive", "negative")
SEVERAL: Final = ("leave-out", "most-frequent")

UNSTATED = frozenset({"", "UNKNOWN", "UNABLE TO OBTAIN", "PATIENT DECLINED TO ANSWER"})
"""Entries that state no race; they do not contradict one either."""

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
        The column of the label table that is predicted.
    negatives
        What counts as negative: ``"stated"``, reports that deny it (0); ``"no-finding"``, these and reports
        that do not mention it but have ``No Finding``; ``"unmentioned"``, these and all others that do not
        mention it.
    uncertain
        What becomes of uncertain labels (-1): ``"leave-out"``, or they count as ``"positive"`` or
        ``"negative"``.
    x_race, y_race
        Prefixes of the entries for race that make group X and group Y: ``BLACK`` covers both
        ``BLACK/AFRICAN AMERICAN`` and ``BLACK/CAPE VERDEAN``.
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
            msg = f"{table.name} names the study {study} twice. Download it again."
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


class Step(NamedTuple):
    """What is left after a decision."""

    what: str
    n_images: int
    n_studies: int
    n_patients: int


class Image(NamedTuple):
    """One row of the metadata; sorted by patient, study and image."""

    subject: str
    study: str
    dicom: str
    view: str


@dataclass(frozen=True, slots=True, eq=False)
class Cohort:
    """The images of the study.

    Attributes
    ----------
    images
        Sorted, so that the order of the table rows does not matter.
    y
        1 for positive.
    group
        1 for X, 0 for Y.
    steps
        How many were left after each decision.
    sources
        The digests of the tables by their names.
    """

    images: tuple[Image, ...]
    y: NDArray[np.int8]
    group: NDArray[np.int8]
    steps: tuple[Step, ...]
    sources: Mapping[str, str]

    @property
    def subjects(self) -> list[str]:
        """The patient of each image."""
        return [image.subject for image in self.images]

    @property
    def files(self) -> list[PurePosixPath]:
        """The path of each image, relative to the folder of MIMIC-CXR-JPG."""
        return [image_file(i.subject, i.study, i.dicom) for i in self.images]

    def keep(self, kept: NDArray[np.bool_], what: str) -> Cohort:
        """Return the cohort of the marked images, counted as one more step."""
        images = tuple(image for image, stays in zip(self.images, kept, strict=True) if stays)
        return dataclasses.replace(
            self,
            images=images,
            y=self.y[kept],
            group=self.group[kept],
            steps=(*self.steps, _counted(what, images)),
        )


def build_cohort(places: Places, rules: CohortRules) -> Cohort:
    """Make the cohort from the tables."""
    ids = {"subject": ("subject_id",), "study": ("study_id",)}
    metadata = read_table(places.metadata, {**ids, "dicom": ("dicom_id",), "view": ("ViewPosition",)})
    labelled = read_table(places.labels, {**ids, "label": (rules.label,), "none": ("No Finding",)})
    admitted = read_table(places.admissions, {"subject": ("subject_id",), "race": ("race", "ethnicity")})
    images, labels, races = _images(metadata), study_labels(labelled, rules), patient_races(admitted, rules)
    left, steps = _sieve(images, _decisions(rules, labels, races))
    if not left:
        emptied = next(step.what for step in steps if not step.n_images)
        msg = f"no image is left in the cohort after the step {emptied!r}. Check the tables and the rules."
        raise DataError(msg)
    y = np.array([labels[i.subject, i.study] for i in left], dtype=np.int8)
    group = np.array([races[i.subject] == rules.x_race for i in left], dtype=np.int8)
    sources = {table.name: table.sha256 for table in (metadata, labelled, admitted)}
    return Cohort(left, y, group, steps, sources)


def keep_present(cohort: Cohort, root: Path, *, allow_missing: bool = False) -> Cohort:
    """Return the cohort of the images whose files exist; refuse missing ones unless allowed."""
    there = np.array([(root / file).is_file() for file in cohort.files], dtype=np.bool_)
    if not there.all() and not (allow_missing and there.any()):
        first = cohort.files[int(np.argmin(there))]
        msg = (
            f"{np.sum(~there):,} of the {len(there):,} images of the cohort are not in {str(root)!r}; the "
            f"first is {first}. Complete the folder, or leave them out (`allow_missing`)."
        )
        raise DataError(msg)
    return cohort.keep(there, "image file is there")


def cohort_table(steps: Iterable[Step]) -> list[str]:
    """Return the steps as lines of a table."""
    rows = [("", "images", "studies", "patients"), *((s.what, *(f"{n:,}" for n in s[1:])) for s in steps)]
    width = max(len(row[0]) for row in rows)
    return [f"{row[0]:<{width}}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows]


def _images(table: Table) -> list[Image]:
    """Return the rows of the metadata, sorted; their ids become file names, so odd ones are refused."""
    columns = (table.columns[name] for name in ("subject", "study", "dicom", "view"))
    images = sorted(Image(*row) for row in zip(*columns, strict=True))
    for image in images:
        if not (
            _is_number(image.subject) and _is_number(image.study) and re.fullmatch(r"[\w-]+", image.dicom)
        ):
            ids = f"{image.subject!r}, {image.study!r}, {image.dicom!r}"
            msg = f"{table.name} must have a subject_id, a study_id and a dicom_id in each row; got {ids}."
            raise DataError(msg)
    for before, image in itertools.pairwise(images):
        if before[:3] == image[:3]:
            msg = f"{table.name} names the image {image.dicom} twice. Download it again."
            raise DataError(msg)
    return images


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


_Decision = tuple[str, Callable[[Image], bool]]


def _decisions(
    rules: CohortRules, labels: Mapping[tuple[str, str], int | str], races: Mapping[str, str]
) -> list[_Decision]:
    """Return the decisions in their order: what is printed, and which images stay."""
    views = {view.strip().upper() for view in rules.views}
    negative = {
        "stated": "mentioned in the report",
        "no-finding": "mentioned, or No Finding",
        "unmentioned": "mentioned or not",
    }[rules.negatives]
    uncertain = "" if rules.uncertain == "leave-out" else f" (uncertain is {rules.uncertain})"
    same = "in all admissions" if rules.several == "leave-out" else "in most admissions"
    return [
        ("in the metadata", lambda i: True),
        (f"frontal view ({' or '.join(sorted(views))})", lambda i: i.view.upper() in views),
        ("report has labels", lambda i: (i.subject, i.study) in labels),
        (f"{rules.label} {negative}", lambda i: labels[i.subject, i.study] != UNMENTIONED),
        (f"{rules.label} not uncertain{uncertain}", lambda i: labels[i.subject, i.study] != UNCERTAIN_LABEL),
        ("patient has an admission", lambda i: i.subject in races),
        ("race is stated", lambda i: races[i.subject] != NO_RACE),
        (f"race is the same {same}", lambda i: races[i.subject] != TWO_RACES),
        (f"{' or '.join(reversed(rules.group_names))}", lambda i: races[i.subject] != OTHER_RACE),
    ]


def _sieve(
    images: Sequence[Image], decisions: Iterable[_Decision]
) -> tuple[tuple[Image, ...], tuple[Step, ...]]:
    left, steps = tuple(images), []
    for what, stays in decisions:
        left = tuple(image for image in left if stays(image))
        steps.append(_counted(what, left))
    return left, tuple(steps)


def _counted(what: str, images: Sequence[Any]) -> Step:
    studies, patients = {(i.subject, i.study) for i in images}, {i.subject for i in images}
    return Step(what, len(images), len(studies), len(patients))
