"""The cohort: every decision by hand on a few images, all against a naive definition on random tables."""

import dataclasses
import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.paper.mimic.cohort import (
    NEGATIVES,
    SEVERAL,
    UNCERTAIN,
    CohortRules,
    build_cohort,
    cohort_table,
    keep_present,
)
from lab.paper.mimic.physionet import find_places
from mimic.made_up import (
    ADMISSIONS,
    LABELS,
    METADATA,
    image_path,
    write_table,
    write_tables,
)
from mmdbounds.errors import DataError, MmdBoundsError

# Two images of 1 (one lateral), two studies of 2; 3 to 9 have one each.
IMAGES = [
    (11, 501, "a1", "AP"),
    (11, 501, "a2", "LATERAL"),
    (12, 502, "b1", "PA"),
    (12, 503, "b2", "AP"),
    (13, 504, "c1", "AP"),
    (14, 505, "d1", "AP"),
    (15, 506, "e1", "AP"),
    (16, 507, "f1", "AP"),
    (17, 508, "g1", "PA"),
    (18, 509, "h1", "AP"),
    (19, 510, "i1", "AP"),
    (19, 511, "i2", "LL"),
]
LABELLED = [
    (11, 501, "1.0", ""),
    (12, 502, "0.0", ""),
    (12, 503, "", "1.0"),
    (13, 504, "-1.0", ""),
    (14, 505, "", ""),
    (15, 506, "1.0", ""),
    (16, 507, "1.0", ""),
    (17, 508, "0.0", "1.0"),
    (18, 509, "1.0", ""),
    (19, 511, "1.0", ""),  # 510 has no report
]
ADMITTED = [
    (11, "BLACK/AFRICAN AMERICAN"),
    (11, "UNKNOWN"),
    (12, "WHITE"),
    (12, "WHITE - RUSSIAN"),
    (13, "WHITE"),
    (14, "BLACK/CAPE VERDEAN"),
    (15, "UNABLE TO OBTAIN"),
    (16, "WHITE"),
    (16, "BLACK/AFRICAN"),
    (16, "WHITE"),
    (18, "ASIAN"),  # 17 was never admitted
    (19, "WHITE"),
]


def built(folder, images=IMAGES, labels=LABELLED, admissions=ADMITTED, **rules):
    write_tables(folder, images, labels, admissions)
    return build_cohort(find_places(folder), CohortRules(**rules))


def rows(cohort):
    return {i.dicom: (int(y), int(g)) for i, y, g in zip(cohort.images, cohort.y, cohort.group, strict=True)}


def test_the_decisions_one_by_one(tmp_path):
    cohort = built(tmp_path)
    assert [tuple(step) for step in cohort.steps] == [
        ("in the metadata", 12, 11, 9),
        ("frontal view (AP or PA)", 10, 10, 9),
        ("report has labels", 9, 9, 8),
        ("Pneumonia mentioned, or No Finding", 8, 8, 7),
        ("Pneumonia not uncertain", 7, 7, 6),
        ("patient has an admission", 6, 6, 5),
        ("race is stated", 5, 5, 4),
        ("race is the same in all admissions", 4, 4, 3),
        ("Black or White", 3, 3, 2),
    ]
    assert rows(cohort) == {"a1": (1, 1), "b1": (0, 0), "b2": (0, 0)}
    assert set(cohort.sources) == {METADATA, LABELS, "admissions.csv.gz"}
    assert str(cohort.files[0]) == "files/p11/p11/s501/a1.jpg"


@pytest.mark.parametrize(
    ("rules", "more"),
    [
        ({"negatives": "stated"}, {"b2": None}),
        ({"negatives": "unmentioned"}, {"d1": (0, 1)}),
        ({"uncertain": "positive"}, {"c1": (1, 0)}),
        ({"uncertain": "negative"}, {"c1": (0, 0)}),
        ({"several": "most-frequent"}, {"f1": (1, 0)}),
        ({"views": ("LATERAL", "ll")}, {"a1": None, "b1": None, "b2": None, "a2": (1, 1), "i2": (1, 0)}),
        ({"x_race": "ASIAN"}, {"a1": None, "h1": (1, 1)}),
        ({"x_race": "white", "y_race": "black"}, {"a1": (1, 0), "b1": (0, 1), "b2": (0, 1)}),
        (
            {"label": "Support Devices", "negatives": "unmentioned"},
            {"a1": (0, 1), "c1": (0, 0), "d1": (0, 1)},
        ),
    ],
)
def test_every_decision_is_an_option(tmp_path, rules, more):
    expected = {"a1": (1, 1), "b1": (0, 0), "b2": (0, 0)} | more
    assert rows(built(tmp_path, **rules)) == {k: v for k, v in expected.items() if v is not None}


def test_a_tie_between_two_races_is_left_out(tmp_path):
    cohort = built(tmp_path, admissions=[*ADMITTED, (16, "BLACK/AFRICAN")], several="most-frequent")
    assert "f1" not in rows(cohort)


def naive_cohort(images, labels, admissions, rules):
    """Return label and group of each image that stays, decided image by image."""
    found = {}
    for subject, study, dicom, view in images:
        entries = [race for s, race in admissions if s == subject]
        stated = ["B" if r[0] == "B" else "W" if r[0] == "W" else "?" for r in entries if r != "UNKNOWN"]
        tops = [r for r in "BW?" if stated.count(r) == max((stated.count(q) for q in "BW?"), default=0) > 0]
        if len(set(stated)) > 1 and (rules.several == "leave-out" or len(tops) > 1):
            continue
        race = tops[0] if tops else "?"
        label, none = next(((v, n) for s, t, v, n in labels if (s, t) == (subject, study)), ("missing", ""))
        if label == "-1.0":
            label = {"leave-out": "missing", "positive": "1.0", "negative": "0.0"}[rules.uncertain]
        elif label == "" and (
            rules.negatives == "unmentioned" or (rules.negatives == "no-finding" and none == "1.0")
        ):
            label = "0.0"
        if view in ("AP", "PA") and race in "BW" and label in ("0.0", "1.0"):
            found[dicom] = (int(label == "1.0"), int(race == "B"))
    return found


@st.composite
def tables(draw):
    subjects = st.integers(10, 14)
    studies = draw(st.lists(st.tuples(subjects, st.integers(50, 59)), min_size=1, max_size=8, unique=True))
    views = st.sampled_from(["AP", "PA", "LATERAL", ""])
    images = [
        (*draw(st.sampled_from(studies)), f"d{i}", draw(views)) for i in range(draw(st.integers(1, 10)))
    ]
    cells = st.sampled_from(["1.0", "0.0", "-1.0", ""]), st.sampled_from(["1.0", ""])
    labels = [(*study, draw(cells[0]), draw(cells[1])) for study in studies if draw(st.integers(0, 4))]
    races = st.sampled_from(["BLACK/AFRICAN", "WHITE", "WHITE - BRAZILIAN", "ASIAN", "UNKNOWN"])
    return images, labels, draw(st.lists(st.tuples(subjects, races), max_size=12))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@settings(max_examples=25)
@given(
    tables(),
    st.builds(
        CohortRules,
        negatives=st.sampled_from(NEGATIVES),
        uncertain=st.sampled_from(UNCERTAIN),
        several=st.sampled_from(SEVERAL),
    ),
    st.randoms(use_true_random=False),
)
def test_the_cohort_is_the_naive_one_in_any_order(folder, made, rules, random):
    expected = naive_cohort(*made, rules)
    shuffled = [random.sample(rows, len(rows)) for rows in made]
    if not expected:
        with pytest.raises(DataError, match="no image is left in the cohort after the step"):
            built(folder, *shuffled, **dataclasses.asdict(rules))
        return
    cohort = built(folder, *shuffled, **dataclasses.asdict(rules))
    assert rows(cohort) == expected
    assert cohort.images == tuple(sorted(cohort.images))
    last = cohort.steps[-1]
    assert last.n_images == len(expected)
    assert last.n_patients == len(set(cohort.subjects))
    for before, after in zip(cohort.steps, cohort.steps[1:], strict=False):
        assert all(b >= a for b, a in zip(before[1:], after[1:], strict=True))


def test_older_tables_and_unpacked_ones_are_read(tmp_path):
    new = built(tmp_path / "new")
    write_tables(tmp_path / "old", IMAGES, LABELLED, ADMITTED)
    (tmp_path / "old" / ADMISSIONS).unlink()
    for name in (METADATA, LABELS):
        packed = tmp_path / "old" / name
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    write_table(tmp_path / "iv" / "core" / "admissions.csv", ["subject_id", "ethnicity"], ADMITTED)
    for named in (tmp_path / "iv", tmp_path / "iv" / "core" / "admissions.csv"):
        old = build_cohort(find_places(tmp_path / "old", named), CohortRules())
        assert rows(old) == rows(new)
        assert old.steps == new.steps


def test_the_table_of_steps_is_aligned(tmp_path):
    lines = cohort_table(built(tmp_path).steps)
    assert lines[0].split() == ["images", "studies", "patients"]
    assert len({len(line) for line in lines}) == 1
    assert lines[2].split()[-3:] == ["10", "10", "9"]
    assert lines[-1].startswith("Black or White ")


def test_missing_images_are_refused_or_counted(tmp_path):
    cohort = built(tmp_path)
    with pytest.raises(DataError, match=r"3 of the 3 images .* the first is files/p11/p11/s501/a1\.jpg"):
        keep_present(cohort, tmp_path)
    with pytest.raises(DataError, match="3 of the 3 images"):
        keep_present(cohort, tmp_path, allow_missing=True)
    path = image_path(tmp_path, 12, 503, "b2")
    path.parent.mkdir(parents=True)
    path.touch()
    kept = keep_present(cohort, tmp_path, allow_missing=True)
    assert rows(kept) == {"b2": (0, 0)}
    assert tuple(kept.steps[-1]) == ("image file is there", 1, 1, 1)
    assert kept.y.dtype == kept.group.dtype == np.int8


def test_files_that_are_not_there_are_named(tmp_path):
    with pytest.raises(DataError, match="there is no folder 'files' in it"):
        find_places(tmp_path)
    write_tables(tmp_path, IMAGES, LABELLED, ADMITTED)
    with pytest.raises(DataError, match=r"there is no table of admissions at .*nowhere"):
        find_places(tmp_path, tmp_path / "nowhere")
    (tmp_path / "mimic-cxr-2.1.0-metadata.csv").touch()
    with pytest.raises(DataError, match=r"one table mimic-cxr-2\.0\.0-metadata\.csv\.gz; got 2 files"):
        find_places(tmp_path)
    for file in tmp_path.glob("*metadata*"):
        file.unlink()
    with pytest.raises(DataError, match="got no file with such a name"):
        find_places(tmp_path)
    with pytest.raises(DataError, match="`folder` must be a path; got 3"):
        find_places(3)


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        (METADATA, lambda text: text.replace(b"ViewPosition", b"View"), "no column 'ViewPosition'"),
        (ADMISSIONS, lambda text: text.replace(b"race", b"rice"), "no column 'race' or 'ethnicity'"),
        (METADATA, lambda text: text.replace(b",PA,", b",PA,,"), "ragged: row 3 has 7 fields"),
        (METADATA, lambda text: text.replace(b"a1,11", b"../x,11"), "got '11', '501', '../x'"),
        (METADATA, lambda text: text.replace(b"a1,11", b"a1,"), "got '', '501', 'a1'"),
        (METADATA, lambda text: text + text.splitlines()[1], "names the image a1 twice"),
        (METADATA, lambda text: text.replace(b"AP", b"\xff"), "not UTF-8"),
        (METADATA, lambda text: text + b'"', "cannot be read as CSV"),
        (METADATA, lambda text: b"", "no column 'subject_id'"),
        (LABELS, lambda text: text.replace(b"-1.0", b"2.0"), "in the column 'Pneumonia'; got '2.0'"),
        (LABELS, lambda text: text + text.splitlines()[1], "names the study 501 twice"),
    ],
)
def test_damaged_tables_are_refused_in_one_line(tmp_path, name, change, match):
    write_tables(tmp_path, IMAGES, LABELLED, ADMITTED)
    file = tmp_path / name
    file.write_bytes(gzip.compress(change(gzip.decompress(file.read_bytes()))))
    with pytest.raises(DataError, match=match) as caught:
        build_cohort(find_places(tmp_path), CohortRules())
    assert "\n" not in str(caught.value)


def test_a_cut_gzip_file_is_refused(tmp_path):
    write_tables(tmp_path, IMAGES, LABELLED, ADMITTED)
    file = tmp_path / LABELS
    file.write_bytes(file.read_bytes()[:-12])
    with pytest.raises(DataError, match="damaged or incomplete gzip"):
        build_cohort(find_places(tmp_path), CohortRules())


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        ({"negatives": "no finding"}, r"`negatives` must be one of .* Did you mean 'no-finding'\?"),
        ({"uncertain": None}, "`uncertain` must be one of"),
        ({"several": "first"}, "`several` must be one of"),
        ({"views": "AP"}, "`views` must name views"),
        ({"views": ()}, "`views` must name views"),
        ({"x_race": "WHITE - RUSSIAN"}, "must tell two groups apart"),
        ({"y_race": ""}, "must tell two groups apart"),
    ],
)
def test_wrong_rules_are_refused(rules, match):
    with pytest.raises(MmdBoundsError, match=match):
        CohortRules(**rules)
