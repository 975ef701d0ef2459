"""Downloads through scikit-learn: only on request, and refused unless they are the very data expected.

scikit-learn keeps what it downloads in a folder of its own (``~/scikit_learn_data``) and asks the network
once. Its files are not ours, so the digest is that of the *values*; for BIO after sorting the rows, whose
order differs from source to source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.datasets.cards import BIO, FOREST, Card
from mmdbounds.datasets.local import digest_of_arrays, require_digest
from mmdbounds.errors import DataError

FOREST_DIGEST = "ab3609cb1053a32d40f9268acb3d27234ff31876fe9f827a71d6aceeb4d37964"
"""Of the values as int16 and the cover types as uint8, in the original order."""

BIO_DIGEST = "7a2bc1290e6435c3e3255da94625ad41d28cf52b1915c7d25238e0c31eb880dc"
"""Of the raw values as int32 with the class (0 = ALL, 1 = AML) as last column, rows sorted."""

OPENML_LEUKEMIA = 1104
"""OpenML's number for 72 samples x 7,129 probes, classes ALL and AML."""

# Golub's numbers of the samples: as their rows stand in our file, and once the raw rows are sorted.
# fmt: off
SAMPLES = (
    39, 40, 42, 47, 48, 49, 41, 43, 44, 45, 46, 70, 71, 72, 68, 69, 67, 55, 56, 59, 52, 53, 51, 50,
    54, 57, 58, 60, 61, 65, 66, 63, 64, 62, *range(1, 28), *range(34, 39), *range(28, 34),
)
SORTED_SAMPLES = (
    17, 8, 39, 30, 27, 49, 22, 47, 1, 36, 53, 45, 62, 60, 11, 63, 58, 68, 44, 21, 2, 6, 57, 33,
    4, 72, 48, 32, 24, 50, 16, 14, 26, 51, 15, 5, 56, 13, 54, 10, 40, 18, 25, 69, 67, 3, 23, 7,
    38, 12, 65, 41, 71, 66, 46, 70, 64, 61, 19, 55, 31, 37, 52, 34, 59, 28, 9, 35, 29, 20, 42, 43,
)
# fmt: on


def fetch_forest() -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Return the values and the cover types of all rows, in the original order."""
    from sklearn.datasets import fetch_covtype

    data, what = _asked(FOREST, fetch_covtype), f"{FOREST.title} as downloaded"
    values = whole_numbers(data.data, np.int16, what)
    types = whole_numbers(data.target, np.uint8, what)
    require_digest(digest_of_arrays(values, types), FOREST_DIGEST, what)
    return values, types


def fetch_bio() -> tuple[NDArray[np.int32], NDArray[np.uint8], tuple[str, ...]]:
    """Return raw values, classes (0 = ALL, 1 = AML) and probes, the rows in the order of our file."""
    from sklearn.datasets import fetch_openml

    # This reader needs no pandas.
    data = _asked(BIO, fetch_openml, data_id=OPENML_LEUKEMIA, as_frame=False, parser="liac-arff")
    what = f"{BIO.title} as downloaded"
    values = whole_numbers(data.data, np.int32, what)
    classes = [("ALL", "AML").index(name) if name in ("ALL", "AML") else -1 for name in data.target]
    rows = np.column_stack([values, np.array(classes, dtype=np.int32)])
    rows = rows[np.lexsort(rows.T[::-1])]
    require_digest(digest_of_arrays(rows), BIO_DIGEST, what)
    rows = rows[[SORTED_SAMPLES.index(sample) for sample in SAMPLES]]
    return rows[:, :-1], rows[:, -1].astype(np.uint8), tuple(str(name) for name in data.feature_names)


def whole_numbers(values: Any, dtype: DTypeLike, what: str) -> NDArray[Any]:
    """Return numbers in a type of whole numbers, if nothing of them is lost."""
    given = np.asarray(values)
    if given.dtype.kind in "fiu":
        with np.errstate(invalid="ignore"):
            numbers = given.astype(dtype)
        if np.array_equal(given, numbers):
            return numbers
    msg = (
        f"{what} is not the data expected: it holds other values than whole numbers "
        f"of type {np.dtype(dtype).name}. Name a folder that holds its file (folder=...)."
    )
    raise DataError(msg)


def _asked(card: Card, fetch: Callable[..., Any], **options: Any) -> Any:
    """Return what scikit-learn gives, or say in one line that it gave nothing."""
    try:
        return fetch(**options)
    except Exception as error:  # a network has many ways to fail, and scikit-learn passes them all on
        msg = (
            f"{card.title} cannot be downloaded ({type(error).__name__}). Check the network, or put "
            f"{card.file} into a folder and name the folder (folder=...)."
        )
        raise DataError(msg) from error
