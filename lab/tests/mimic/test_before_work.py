"""What is refused before the work, in one line, and life without the extra."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.paper import mimic
from lab.paper.mimic import plan
from lab.paper.mimic.__main__ import main
from lab.paper.mimic.images import read_images
from lab.paper.mimic.network import choose_device, load_weights
from mmdbounds.errors import DataError, MmdBoundsError


@pytest.fixture
def without_extra(monkeypatch):
    for name in ("torch", "monai"):
        monkeypatch.setitem(sys.modules, name, None)


def test_importing_loads_no_package_of_the_extra():
    code = (
        "import sys, lab.paper.mimic.__main__; "
        "print({m.split('.')[0] for m in sys.modules} & {'torch', 'monai', 'PIL', 'polars', 'scipy'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.usefixtures("without_extra")
@pytest.mark.parametrize(
    "call",
    [
        lambda: mimic.run("folder", "weights.pth", "out.npz"),
        lambda: mimic.make_plan("folder", "weights.pth", "out.npz"),
        lambda: load_weights(Path("weights.pth")),
        lambda: choose_device("auto"),
        lambda: read_images([], 32, Path()),
    ],
)
def test_without_the_extra_every_call_names_it(call):
    with pytest.raises(MmdBoundsError, match=r"needs PyTorch and MONAI.*: pip install --group mimic\."):
        call()


@pytest.mark.usefixtures("without_extra")
def test_the_command_says_the_same_and_ends_with_2(capsys):
    assert main(["folder", "--weights", "weights.pth", "--out", "out.npz"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("mmdbounds: the MIMIC pipeline needs PyTorch")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["folder", "--out", "out.npz"], "the following arguments are required: --weights"),
        (["folder", "--weights", "w", "--out", "o.npz", "--negatives", "some"], "invalid choice: 'some'"),
        (["folder", "--weights", "w", "--out", "o.npz", "--batch-size", "x"], "invalid int value: 'x'"),
    ],
)
def test_what_is_typed_wrong_is_one_line(capsys, arguments, match):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    said = capsys.readouterr().err
    assert match in said
    assert said.count("\n") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        ({"n_epochs": 0}, "`n_epochs` must be a whole number from 1; got 0"),
        ({"batch_size": 1}, "`batch_size` must be a whole number from 2; got 1"),
        ({"learning_rate": 0}, "`learning_rate` must be a positive number; got 0"),
        ({"learning_rate": "1e-4"}, "`learning_rate` must be a positive number"),
        ({"class_weights": "balance"}, "Did you mean 'balanced'"),
        ({"choose": "accuracy"}, "`choose` must be one of 'auc', 'loss'"),
        ({"mixed_precision": 1}, "`mixed_precision` must be True or False"),
        ({"seed": -1}, "`seed` must be a whole number from 0"),
    ],
)
def test_wrong_training_rules_are_refused(rules, match):
    with pytest.raises(MmdBoundsError, match=match):
        mimic.TrainingRules(**rules)


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    assert plan.check_out(tmp_path / "out.npz") == tmp_path / "out.npz"
    (tmp_path / "there.npz").touch()
    with pytest.raises(DataError, match=r"there\.npz' exists already\. Remove it"):
        plan.check_out(tmp_path / "there.npz")
    with pytest.raises(DataError, match=r"nothing can be written in the folder .*nowhere'"):
        plan.check_out(tmp_path / "nowhere" / "out.npz")
    with pytest.raises(DataError, match=r"must name a file ending in \.npz; got .*out\.csv"):
        plan.check_out(tmp_path / "out.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["there.npz"]


def test_a_work_folder_without_room_is_refused(tmp_path):
    assert plan.check_work(tmp_path / "a" / "b", 10, 32) == tmp_path / "a" / "b"
    assert not (tmp_path / "a").exists()
    with pytest.raises(DataError, match=r"needs 1,000,000\.5 GB, and .* GB are free"):
        plan.check_work(tmp_path / "a", 10**9, 1000)
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="file' is not a folder"):
        plan.check_work(tmp_path / "file", 10, 32)


def test_a_work_folder_belongs_to_its_settings(tmp_path):
    folder = tmp_path / "new" / "work"
    settings = {"size": 224, "shares": (0.6, 0.2, 0.2), "training": {"batch_size": 64}}
    plan.claim(folder, settings)
    plan.claim(folder, settings)
    with pytest.raises(DataError, match=r"`size` was 224 and is 32\. Remove it"):
        plan.claim(folder, {**settings, "size": 32})
    with pytest.raises(DataError, match=r"`training` was .*64\} and is .*32\}"):
        plan.claim(folder, {**settings, "training": {"batch_size": 32}})
    (folder / plan.SETTINGS).write_text("{")
    with pytest.raises(DataError, match=r"run\.json' cannot be read"):
        plan.claim(folder, settings)
