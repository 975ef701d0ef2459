"""Weights from a file into MONAI's network: names, digests, refusals."""

import hashlib
import re

import numpy as np
import pytest

from lab.paper.mimic.network import (
    Weights,
    choose_device,
    load_weights,
    monai_name,
    pretrained_network,
)
from mimic.made_up import made_up_weights, torchvision_shapes
from mimic.needed import needed
from mmdbounds.errors import DataError, MmdBoundsError

torch = needed("torch")
needed("monai")
needed("PIL")
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def state():
    return made_up_weights(seed=1)


def saved(path, content):
    torch.save(content, path)
    return path


def older(name):
    return re.sub(r"(denselayer\d+\.)(norm|conv)([12])", r"\1\2.\3", name)


@pytest.mark.parametrize("rename", [str, older, monai_name])
def test_the_network_is_the_one_that_the_weights_were_made_for(tmp_path, state, rename):
    from mimic import naive

    renamed = {rename(name): value for name, value in state.items()}
    assert len(renamed) == len(state)
    assert rename is str or renamed.keys() != state.keys()
    network = pretrained_network(load_weights(saved(tmp_path / "w.pth", renamed))).eval()
    images = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 3, 64, 64)).astype(np.float32))
    with torch.inference_mode():
        expected = naive.features(state, images)
        found = network.class_layers[:3](network.features(images))
        logits = network(images)
    assert expected.std() > 0.01
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert logits.shape == (3, 2)


def test_every_shape_is_as_torchvision_has_it(state):
    shapes = dict(torchvision_shapes())
    assert sum(int(np.prod(s)) for n, s in shapes.items() if "running" not in n) == 6_953_856  # as published


def test_the_classifier_hangs_on_the_seed_alone(tmp_path, state):
    weights = load_weights(saved(tmp_path / "w.pth", state))
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, same, other = (pretrained_network(weights, seed).class_layers.out.weight for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_digest_is_kept_and_checked(tmp_path, state):
    path = saved(tmp_path / "w.pth", state)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load_weights(path, digest.upper()).sha256 == digest
    with pytest.raises(DataError, match=rf"w\.pth has the wrong sha256: it is {digest}, not 000"):
        load_weights(path, "0" * 64)
    with pytest.raises(MmdBoundsError, match="`sha256` must be 64 hexadecimal digits; got 'abc'"):
        load_weights(path, "abc")
    right = path.rename(tmp_path / f"densenet121-{digest[:8]}.pth")
    assert load_weights(right).name == right.name
    wrong = right.rename(tmp_path / "densenet121-a639ec97.pth")
    with pytest.raises(DataError, match=r"not a639ec97\. Download it again"):
        load_weights(wrong)


class Harmful:
    def __reduce__(self):
        return (open, ("harm", "w"))


@pytest.mark.parametrize("content", [{"features.conv0.weight": Harmful()}, Harmful()])
def test_nothing_in_the_file_is_executed(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "w.pth", content)
    with pytest.raises(DataError, match=r"w\.pth is not a file of weights"):
        load_weights(tmp_path / "w.pth")
    assert not (tmp_path / "harm").exists()


def test_other_files_are_refused(tmp_path, state):
    with pytest.raises(DataError, match=r"there is no file '.*no\.pth'"):
        load_weights(tmp_path / "no.pth")
    (tmp_path / "text.pth").write_text("not weights")
    with pytest.raises(DataError, match=r"text\.pth is not a file of weights"):
        load_weights(tmp_path / "text.pth")
    with pytest.raises(DataError, match=r"list\.pth must hold a state dict, tensors by name; got list"):
        load_weights(saved(tmp_path / "list.pth", [1, 2]))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda s: s.pop("features.norm5.bias"), "1 of them .* features.norm5.bias"),
        (lambda s: s.update({"features.norm6.bias": torch.zeros(2)}), "1 of them .* features.norm6.bias"),
        (
            lambda s: s.update({"features.conv0.weight": torch.zeros(64, 1, 7, 7)}),
            "1 of them .* features.conv0",
        ),
        (lambda s: s.clear(), "features.conv0.weight"),
    ],
)
def test_weights_of_another_network_are_refused(state, change, match):
    other = {monai_name(name): value for name, value in state.items() if name.startswith("features.")}
    change(other)
    with pytest.raises(DataError, match=f"does not hold the weights of a DenseNet-121: .*{match}"):
        pretrained_network(Weights("w.pth", "", other))


def test_the_device_is_one_that_is_there():
    assert choose_device("cpu").type == "cpu"
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for name in ("abacus", "cuda:99", ""):
        with pytest.raises(MmdBoundsError, match=f"`device` must be 'auto', 'cpu' or .* got '{name}'"):
            choose_device(name)
