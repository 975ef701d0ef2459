"""Which images are looked at, with their label and group, and how many are left after each decision.

Three tables say it: the metadata of the images (view), the labels that CheXpert's labeller found in the
reports (pneumonia), and the admissions of MIMIC-IV (race). Every decision is an option with a default, and
every one is counted.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.experiments.mimic.folder import Places, Table, image_file, read_table
from mmdbounds.experiments.mimic.rules import (
    NO_RACE,
    OTHER_RACE,
    TWO_RACES,
    UNCERTAIN_LABEL,
    UNMENTIONED,
    CohortRules,
    patient_races,
    study_labels,
)


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
    """The images that are looked at.

    Attributes
    ----------
    images
        Sorted, so that the order of the tables does not matter.
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
        """Where each image is, from the folder of MIMIC-CXR-JPG on."""
        return [image_file(i.subject, i.study, i.dicom) for i in self.images]

    def keep(self, kept: NDArray[np.bool_], what: str) -> Cohort:
        """Return the cohort of the images marked, and count it as one more step."""
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
    """Return the cohort of the images whose files are there; refuse to go on without all, unless allowed."""
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
    """Return the rows of the metadata, sorted; their ids name files, so nothing else may be in them."""
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
            msg = f"{table.name} names the image {image.dicom} twice. Get it anew."
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
