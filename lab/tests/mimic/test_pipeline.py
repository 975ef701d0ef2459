"""From a made-up folder in PhysioNet's layout to the file of logits, on the CPU."""

import hashlib
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from lab.paper import mimic
from lab.paper.mimic import pipeline
from lab.paper.mimic.__main__ import main
from lab.paper.mimic.images import read_image
from lab.paper.mimic.physionet import read_table
from mimic.made_up import METADATA, image_path, write_folder, write_weights
from mimic.needed import needed
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.journal import read_journal

torch = needed("torch")
needed("monai")
needed("PIL")
pytestmark = pytest.mark.full

RULES = mimic.TrainingRules(n_epochs=1, batch_size=8, seed=4)
OPTIONS = {"training": RULES, "size": 32, "device": "cpu", "seed": 2}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with made-up data in ``mimic`` and made-up weights in ``weights.pth``."""
    folder = tmp_path_factory.mktemp("made-up")
    write_folder(folder / "mimic")
    write_weights(folder / "weights.pth")
    return folder


@pytest.fixture(scope="module")
def made(place):
    """Return the file that a run makes, and what it said."""
    said = []
    out = mimic.run(place / "mimic", place / "weights.pth", place / "out.npz", say=said.append, **OPTIONS)
    return out, said


def loaded(path):
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def black(arrays):
    return [int(name == "Black") for name in arrays["group_names"][arrays["group"]]]


def frontal(place):
    """Return subject, study, image, label and group of the test part, from the tables alone."""
    names = {name: (name,) for name in ("subject_id", "study_id", "dicom_id", "ViewPosition")}
    images = read_table(place / "mimic" / METADATA, names).columns
    labels = read_table(
        place / "mimic" / METADATA.replace("metadata", "chexpert"), {"s": ("study_id",), "y": ("Pneumonia",)}
    ).columns
    y = {study: int(cell == "1.0") for study, cell in zip(labels["s"], labels["y"], strict=True)}
    found = []
    for subject, study, dicom, view in zip(*images.values(), strict=True):
        digits = int(hashlib.sha256(f"part|2|{subject}".encode()).hexdigest()[:12], 16)
        if view == "AP" and 5 * digits >= 4 * 2**48:
            black = (int(subject) - 10000000) // 37 % 3 == 0
            found.append((subject, study, dicom, y[study], int(black)))
    return found


def test_the_file_is_the_test_part(place, made):
    arrays, test = loaded(made[0]), frontal(place)
    assert set(arrays) >= {"logits", "group", "group_names", "patient", "y", "record"}
    assert arrays["logits"].shape == (len(test), 2)
    assert arrays["logits"].dtype == np.float32
    assert sorted(arrays["group_names"].tolist()) == ["Black", "White"]
    rows = sorted(zip(arrays["y"].tolist(), black(arrays), strict=True))
    assert rows == sorted((y, group) for *_, y, group in test)
    _, per_patient = np.unique(arrays["patient"], return_counts=True)
    assert sorted(per_patient) == sorted(np.unique([s for s, *_ in test], return_counts=True)[1])
    assert arrays["patient"].max() == len(per_patient) - 1
    assert np.all(np.diff(arrays["patient"]) >= 0)


def test_the_logits_are_those_of_the_network_kept(place, made):
    """The checkpoint's weights, in a network written out by hand, give the same logits."""
    from mimic import naive

    (checkpoint,) = (place / "out.work").glob("checkpoint-*.pt")
    (content,) = read_journal(checkpoint).records
    best = torch.load(io.BytesIO(content), weights_only=True)["best"]
    state = {name.replace(".layers.", "."): value for name, value in best.items()}
    expected = {}
    for subject, study, dicom, y, group in frontal(place):
        grey = read_image(image_path(place / "mimic", subject, study, dicom), 32)
        with torch.inference_mode():
            features = naive.features(state, naive.as_input(grey[None]))
            logits = features @ state["class_layers.out.weight"].T + state["class_layers.out.bias"]
        expected[tuple(np.round(logits[0].numpy(), 3))] = (y, group)
    arrays = loaded(made[0])
    assert len(expected) == len(arrays["y"])  # or rounding has made two of them one
    found = {
        tuple(np.round(row, 3)): (int(y), group)
        for row, y, group in zip(arrays["logits"], arrays["y"], black(arrays), strict=True)
    }
    keys = sorted(expected)
    np.testing.assert_allclose(sorted(found), keys, rtol=0, atol=2e-3)
    assert [found[key] for key in sorted(found)] == [expected[key] for key in keys]


def test_the_record_says_how_it_was_made(place, made):
    record = json.loads(str(loaded(made[0])["record"]))
    steps = {
        step["what"]: (step["n_images"], step["n_studies"], step["n_patients"]) for step in record["cohort"]
    }
    assert steps["in the metadata"] == (96, 48, 24)
    assert steps["frontal view (AP or PA)"] == (48, 48, 24)
    assert steps["image can be read"] == (48, 48, 24)
    assert record["parts"]["test"]["images"] == len(frontal(place))
    assert sum(part["patients"] for part in record["parts"].values()) == 24
    digest = hashlib.sha256((place / "weights.pth").read_bytes()).hexdigest()
    assert record["weights"] == {"name": "weights.pth", "sha256": digest}
    assert record["tables"][METADATA] == hashlib.sha256((place / "mimic" / METADATA).read_bytes()).hexdigest()
    assert record["training"]["seed"] == 4
    assert (record["seed"], record["size"], record["best_epoch"]) == (2, 32, 1)
    assert len(record["epochs"]) == 1
    assert set(record["versions"]) == {"python", "mmdbounds", "numpy", "torch", "monai", "PIL"}
    assert record["rules"]["negatives"] == "no-finding"
    arrays = loaded(made[0])
    score = arrays["logits"][:, 1] - arrays["logits"][:, 0]
    pairs = [(a > b) + (a == b) / 2 for a in score[arrays["y"] == 1] for b in score[arrays["y"] == 0]]
    np.testing.assert_allclose(record["test_auc"], np.mean(pairs), rtol=1e-12)


def test_no_number_of_a_patient_study_or_image_is_written(place, made):
    arrays = loaded(made[0])
    text = str(arrays["record"]) + str(arrays["patient"].tolist())
    for subject, study, dicom, *_ in frontal(place):
        assert subject not in text
        assert study not in text
        assert dicom not in text
    assert str(place) not in text


def test_what_will_be_done_is_said_first(place, made):
    said = made[1]
    first = next(i for i, line in enumerate(said) if "images read" in line)
    plan = "\n".join(said[:first])
    for part in (
        "nothing is downloaded",
        str(place / "mimic"),
        "frontal view (AP or PA)",
        "validation",
        "cpu",
    ):
        assert part in plan
    assert hashlib.sha256((place / "weights.pth").read_bytes()).hexdigest() in plan
    assert said[first] == "48 of 48 images read"
    assert said[first + 1].startswith("epoch 1: loss ")
    assert said[first + 2].startswith(f"{made[0]} written, {len(frontal(place))} rows.")


def test_the_same_settings_go_on_and_give_the_same_file(place, made, tmp_path):
    said = []
    again = mimic.run(
        place / "mimic",
        place / "weights.pth",
        tmp_path / "again.npz",
        work=place / "out.work",
        say=said.append,
        **OPTIONS,
    )
    assert not [line for line in said if line.startswith("epoch") or "images read" in line]
    one, two = loaded(made[0]), loaded(again)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])
    with pytest.raises(DataError, match=r"belongs to another run: `seed` was 2 and is 3"):
        mimic.run(
            place / "mimic",
            place / "weights.pth",
            tmp_path / "other.npz",
            work=place / "out.work",
            **{**OPTIONS, "seed": 3},
        )


def test_a_damaged_image_ends_the_run_or_is_left_out(place, made, tmp_path):
    subject, study, dicom, *_ = frontal(place)[0]
    path = image_path(place / "mimic", subject, study, dicom)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    try:
        with pytest.raises(DataError, match=f"the image '.*{dicom}.jpg' cannot be read"):
            mimic.run(place / "mimic", place / "weights.pth", tmp_path / "a.npz", **OPTIONS)
        assert not (tmp_path / "a.npz").exists()
        out = mimic.run(place / "mimic", place / "weights.pth", tmp_path / "a.npz", max_damaged=1, **OPTIONS)
    finally:
        path.write_bytes(whole)
    record = json.loads(str(loaded(out)["record"]))
    assert record["cohort"][-1] == {
        "what": "image can be read",
        "n_images": 47,
        "n_studies": 47,
        "n_patients": 24,
    }
    # Nothing of the training has changed: the image is one of the test part.
    before = json.loads(str(loaded(made[0])["record"]))
    assert record["epochs"] == before["epochs"]
    assert len(loaded(out)["y"]) == len(loaded(made[0])["y"]) - 1


def test_everything_is_checked_before_the_work(place, tmp_path):
    def plan(folder="mimic", weights="weights.pth", out=tmp_path / "x.npz", **options):
        return mimic.make_plan(place / folder, place / weights, out, **{**OPTIONS, **options})

    assert plan().work == tmp_path / "x.work"
    for options, match in (
        ({"folder": "nowhere"}, "there is no folder 'files' in it"),
        ({"weights": "nothing.pth"}, r"there is no file '.*nothing\.pth'"),
        ({"out": tmp_path / "no" / "x.npz"}, "nothing can be written in the folder"),
        ({"sha256": "0" * 64}, "has the wrong sha256"),
        ({"size": 16}, "`size` must be a whole number from 32; got 16"),
        ({"seed": -1}, "`seed` must be a whole number from 0; got -1"),
        ({"max_damaged": 0.5}, "`max_damaged` must be a whole number"),
        ({"allow_missing": "yes"}, "`allow_missing` must be True or False"),
        ({"shares": (0.98, 0.01, 0.01)}, "part must have .* images; got none among"),
        ({"rules": mimic.CohortRules(views=("LL",))}, r"no image is left .* the step 'frontal view \(LL\)'"),
    ):
        with pytest.raises(MmdBoundsError, match=match):
            plan(**options)
    assert list(tmp_path.iterdir()) == []


def test_the_command_plans_and_refuses(place, tmp_path, capsys):
    arguments = [
        str(place / "mimic"),
        "--weights",
        str(place / "weights.pth"),
        "--size",
        "32",
        "--device",
        "cpu",
    ]
    arguments += ["--split-seed", "2", "--out", str(tmp_path / "x.npz")]
    assert main([*arguments, "--dry-run", "--views", "AP", "--batch-size", "7"]) == 0
    said = capsys.readouterr()
    assert "frontal view (AP) " in said.out
    assert "batches of 7" in said.out
    assert said.err == ""
    assert list(tmp_path.iterdir()) == []
    assert main([*arguments, "--device", "abacus"]) == 2
    assert capsys.readouterr().err.startswith("mmdbounds: `device` must be 'auto', 'cpu' or")


def test_interrupted_the_command_says_that_it_goes_on(place, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "read_images", interrupted)
    arguments = [
        str(place / "mimic"),
        "--weights",
        str(place / "weights.pth"),
        "--out",
        str(tmp_path / "x.npz"),
    ]
    assert main([*arguments, "--device", "cpu", "--split-seed", "2"]) == 130
    assert capsys.readouterr().err == "mmdbounds: interrupted. The same command resumes where it stopped.\n"


def test_too_little_memory_is_one_line(place, tmp_path, monkeypatch):
    def full(*_, **__):
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(pipeline, "fine_tune", full)
    with pytest.raises(MmdBoundsError, match=r"not enough memory on cpu\. Lower `batch_size`, which is 8"):
        mimic.run(place / "mimic", place / "weights.pth", tmp_path / "x.npz", **OPTIONS)


def test_the_command_is_there():
    done = subprocess.run(
        [sys.executable, "-m", "lab.paper.mimic", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "--negatives {no-finding,stated,unmentioned}" in done.stdout
