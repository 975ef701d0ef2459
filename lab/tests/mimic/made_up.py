"""Made-up data in PhysioNet's layout, and made-up weights in torchvision's names.

``python tests/mimic/made_up.py FOLDER`` writes both into a folder, for a run of the whole
pipeline where there is a GPU.
"""

import csv
import gzip
import io
import sys
from pathlib import Path

import numpy as np

BLOCKS = (6, 12, 24, 16)
METADATA = "mimic-cxr-2.0.0-metadata.csv.gz"
LABELS = "mimic-cxr-2.0.0-chexpert.csv.gz"
ADMISSIONS = "hosp/admissions.csv.gz"


def write_table(path, header, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    data = text.getvalue().encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_tables(folder, images, labels, admissions):
    """Write the three tables; columns that are not asked for come before, between and after."""
    folder = Path(folder)
    (folder / "files").mkdir(parents=True, exist_ok=True)
    write_table(
        folder / METADATA,
        ["dicom_id", "subject_id", "study_id", "PerformedProcedureStepDescription", "ViewPosition", "Rows"],
        [[dicom, subject, study, "CHEST, PORTABLE", view, 64] for subject, study, dicom, view in images],
    )
    write_table(
        folder / LABELS,
        ["subject_id", "study_id", "Atelectasis", "No Finding", "Pneumonia", "Support Devices"],
        [[subject, study, "", none, label, ""] for subject, study, label, none in labels],
    )
    write_table(
        folder / ADMISSIONS,
        ["subject_id", "hadm_id", "race", "hospital_expire_flag"],
        [[subject, 20000000 + i, race, 0] for i, (subject, race) in enumerate(admissions)],
    )


def image_path(folder, subject, study, dicom):
    return Path(folder, "files", f"p{str(subject)[:2]}", f"p{subject}", f"s{study}", f"{dicom}.jpg")


def write_folder(folder, n_patients=24, side=64, seed=0):
    """Write patients with two studies each, of a frontal and a lateral image; pneumonia is a bright spot."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    images, labels, admissions = [], [], []
    for patient in range(n_patients):
        subject = 10000000 + 37 * patient
        race = ("BLACK/AFRICAN AMERICAN", "WHITE", "WHITE - RUSSIAN")[patient % 3]
        admissions += [(subject, race), (subject, "UNKNOWN")]
        for visit in range(2):
            study = 50000000 + 2 * patient + visit
            positive = rng.random() < 0.5
            labels.append((subject, study, "1.0" if positive else "", "" if positive else "1.0"))
            for view in ("AP", "LATERAL"):
                dicom = "-".join(f"{v:08x}" for v in rng.integers(2**32, size=5))
                images.append((subject, study, dicom, view))
                grey = rng.integers(0, 90, size=(side, side))
                if positive:
                    i, j = rng.integers(side // 2, size=2)
                    grey[i : i + side // 2, j : j + side // 2] += 120
                path = image_path(folder, subject, study, dicom)
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(grey.astype(np.uint8)).save(path, quality=90)
    write_tables(folder, images, labels, admissions)


def torchvision_shapes():
    """Yield name and shape of every weight of torchvision's DenseNet-121 but the classifier."""
    yield "features.conv0.weight", (64, 3, 7, 7)
    yield from norm_shapes("features.norm0", 64)
    channels = 64
    for b, n_layers in enumerate(BLOCKS, start=1):
        for j in range(1, n_layers + 1):
            layer = f"features.denseblock{b}.denselayer{j}"
            yield from norm_shapes(f"{layer}.norm1", channels)
            yield f"{layer}.conv1.weight", (128, channels, 1, 1)
            yield from norm_shapes(f"{layer}.norm2", 128)
            yield f"{layer}.conv2.weight", (32, 128, 3, 3)
            channels += 32
        if b < len(BLOCKS):
            yield from norm_shapes(f"features.transition{b}.norm", channels)
            yield f"features.transition{b}.conv.weight", (channels // 2, channels, 1, 1)
            channels //= 2
    yield from norm_shapes("features.norm5", channels)


def norm_shapes(name, channels):
    return [(f"{name}.{what}", (channels,)) for what in ("weight", "bias", "running_mean", "running_var")]


def made_up_weights(seed=0):
    """Return random weights of a size that keeps signals alive through 121 layers."""
    import torch

    rng = np.random.default_rng(seed)
    state = {}
    for name, shape in torchvision_shapes():
        if len(shape) == 4:
            value = rng.normal(scale=np.sqrt(2 / np.prod(shape[1:])), size=shape)
        elif name.endswith(("weight", "running_var")):
            value = rng.uniform(0.5, 1.5, size=shape)
        else:
            value = rng.normal(scale=0.1, size=shape)
        state[name] = torch.tensor(value, dtype=torch.float32)
    state["classifier.weight"], state["classifier.bias"] = torch.zeros(1000, 1024), torch.zeros(1000)
    return state


def write_weights(path, seed=0):
    import torch

    torch.save(made_up_weights(seed), path)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_folder(target / "mimic", n_patients=200, side=256)
    write_weights(target / "weights.pth")
