"""Fine-tuning, on a network small enough to be quick: what is learnt, chosen, kept and gone on from."""

import itertools

import numpy as np
import pytest

from lab.paper.mimic.train import (
    Epoch,
    TrainingRules,
    area_under_curve,
    batches,
    best_epoch,
    fine_tune,
    predict,
)
from mimic.needed import needed
from mmdbounds.errors import DataError, MmdBoundsError

torch = needed("torch")
needed("monai")
needed("PIL")
pytestmark = pytest.mark.full

CPU = torch.device("cpu")
RULES = TrainingRules(n_epochs=4, batch_size=8, learning_rate=0.01)


def small_network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(144, 2)
    )


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.3).astype(np.int8)
    pixels = (rng.integers(0, 100, size=(60, 8, 8)) + 100 * y[:, None, None]).astype(np.uint8)
    return pixels, y, np.arange(40), np.arange(40, 60)


def tuned(data, path, rules=RULES, say=None, seed=0):
    network = small_network(seed)
    epochs, best = fine_tune(network, *data, rules, checkpoint=path, device=CPU, say=say)
    return network, epochs, best


def weights(network):
    return torch.cat([value.flatten().double() for value in network.state_dict().values()])


def test_something_is_learnt(data, tmp_path):
    network, epochs, best = tuned(data, tmp_path / "c.pt")
    assert epochs[-1].training_loss < epochs[0].training_loss
    assert epochs[best].validation_auc > 0.95
    logits = predict(network, data[0], data[3], device=CPU)
    assert logits.dtype == np.float32
    assert area_under_curve(logits[:, 1] - logits[:, 0], data[1][40:]) == epochs[best].validation_auc
    rows = data[1][40:].astype(int)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    naive = -np.mean(np.log(shares[np.arange(20), rows]))
    np.testing.assert_allclose(epochs[best].validation_loss, naive, rtol=1e-5)


class Spy(torch.nn.Module):
    """Writes down which rows it is trained on; a row's grey value is its number."""

    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(1, 2)
        self.seen = []

    def forward(self, x):
        grey = 255 * (x[:, :1, 0, 0] * 0.229 + 0.485)
        if self.training:
            self.seen += grey[:, 0].round().int().tolist()
        return self.last(grey / 255)


def test_every_epoch_sees_every_row_once_in_an_order_of_its_own(data, tmp_path):
    pixels = np.broadcast_to(np.arange(60, dtype=np.uint8)[:, None, None], (60, 4, 4))
    spy = Spy()
    fine_tune(spy, pixels, *data[1:], RULES, checkpoint=tmp_path / "c.pt", device=CPU)
    orders = [tuple(spy.seen[start : start + 40]) for start in range(0, 160, 40)]
    assert len(spy.seen) == 160
    assert all(sorted(order) == list(range(40)) for order in orders)
    assert len({tuple(range(40)), *orders}) == 5


@pytest.mark.parametrize(
    "rules", [RULES, TrainingRules(n_epochs=4, batch_size=8, choose="loss", learning_rate=0.3)]
)
def test_a_killed_run_goes_on_as_if_it_had_not_been(data, tmp_path, rules):
    whole, epochs, best = tuned(data, tmp_path / "whole.pt", rules)

    def kill(line):
        raise KeyboardInterrupt(line)

    for n in (1, 2, 3):
        with pytest.raises(KeyboardInterrupt, match=f"epoch {n}: loss"):
            tuned(data, tmp_path / "killed.pt", rules, say=kill, seed=n)
    said = []
    network, later, later_best = tuned(data, tmp_path / "killed.pt", rules, say=said.append, seed=9)
    assert [line[:8] for line in said] == ["epoch 4:"]
    assert (later, later_best) != ([], None)
    # The first epoch started from the weights of seed 1: compare with a run that does so, too.
    reference, expected, expected_best = tuned(data, tmp_path / "seed.pt", rules, seed=1)
    assert later == expected
    assert later_best == expected_best
    assert torch.equal(weights(network), weights(reference))
    assert not torch.equal(weights(network), weights(whole))
    assert len(epochs) == 4
    assert best in range(4)


def test_done_is_done_and_more_epochs_go_on(data, tmp_path):
    first, epochs, _ = tuned(data, tmp_path / "c.pt")
    said = []
    again, same, _ = tuned(data, tmp_path / "c.pt", say=said.append, seed=5)
    assert said == []
    assert same == epochs
    assert torch.equal(weights(first), weights(again))
    more = TrainingRules(n_epochs=5, batch_size=8, learning_rate=0.01)
    _, longer, _ = tuned(data, tmp_path / "c.pt", more)
    assert longer[:4] == epochs
    assert len(longer) == 5
    with pytest.raises(
        MmdBoundsError, match="`n_epochs` must be at least 5, the number of finished epochs; got 4"
    ):
        tuned(data, tmp_path / "c.pt")


def test_the_network_ends_with_its_best_epoch(data, tmp_path):
    rules = TrainingRules(n_epochs=6, batch_size=8, learning_rate=0.5, choose="loss", seed=3)
    network, epochs, best = tuned(data, tmp_path / "c.pt", rules)
    losses = [epoch.validation_loss for epoch in epochs]
    assert best == losses.index(min(losses)) < 5  # or the test shows nothing
    logits = torch.from_numpy(predict(network, data[0], data[3], device=CPU))
    target = torch.from_numpy(data[1][40:].astype(np.int64))
    np.testing.assert_allclose(torch.nn.functional.cross_entropy(logits, target), losses[best], rtol=1e-6)


def test_class_weights_seed_and_precision_change_the_training(data, tmp_path):
    plain = tuned(data, tmp_path / "plain.pt")[0]
    for i, change in enumerate(({"class_weights": "balanced"}, {"seed": 1}, {"mixed_precision": True})):
        rules = TrainingRules(n_epochs=4, batch_size=8, learning_rate=0.01, **change)
        other = tuned(data, tmp_path / f"{i}.pt", rules)[0]
        assert not torch.equal(weights(plain), weights(other))
        assert torch.allclose(weights(plain), weights(other), rtol=0, atol=1.0)


def test_balanced_weights_are_those_of_equal_classes(data, tmp_path):
    """Repeating each class until both are equally many is the same loss."""
    pixels, y, _, validation = data
    rare, common = np.flatnonzero(y[:40] == 1)[:3], np.flatnonzero(y[:40] == 0)[:6]
    few = np.concatenate([rare, common])
    equal = np.concatenate([rare, rare, common])
    losses = []
    for i, (rows, kind) in enumerate(((few, "balanced"), (equal, "none"))):
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2))
        rules = TrainingRules(n_epochs=1, batch_size=50, class_weights=kind)
        done = fine_tune(
            network, pixels, y, rows, validation, rules, checkpoint=tmp_path / f"{i}", device=CPU
        )
        losses.append(done[0][0].training_loss)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def test_a_training_that_fails_says_so(data, tmp_path):
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2))
    torch.nn.init.constant_(network[1].weight, float("nan"))
    with pytest.raises(MmdBoundsError, match=r"the loss became nan\. Lower `learning_rate`, which is 0\.01"):
        fine_tune(network, *data, RULES, checkpoint=tmp_path / "c.pt", device=CPU)
    assert not (tmp_path / "c.pt").exists()


def test_a_damaged_checkpoint_is_refused(data, tmp_path):
    path = tmp_path / "c.pt"
    tuned(data, path)
    whole = path.read_bytes()
    other = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2))
    with pytest.raises(DataError, match=r"c\.pt' is damaged or belongs to another network"):
        fine_tune(other, *data, RULES, checkpoint=path, device=CPU)
    for content in (whole[: len(whole) // 2], b"", b"text"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"c\.pt' is damaged"):
            tuned(data, path)


def test_the_area_under_the_curve_counts_pairs():
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, y = (
            rng.integers(0, 6, size=15) / 2,
            np.array([0, 1, *rng.integers(0, 2, size=13)], dtype=np.int8),
        )
        pairs = itertools.product(scores[y == 1], scores[y == 0])
        naive = np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs])
        np.testing.assert_allclose(area_under_curve(scores, y), naive, rtol=1e-12)


def test_the_first_of_the_best_epochs_is_chosen():
    epochs = [Epoch(1, 0.5, 0.7), Epoch(1, 0.4, 0.8), Epoch(1, 0.3, 0.8), Epoch(1, 0.3, 0.6)]
    assert best_epoch(epochs, "auc") == 1
    assert best_epoch(epochs, "loss") == 2


@pytest.mark.parametrize("n", [2, 3, 8, 9, 10, 17, 33])
def test_no_batch_is_a_single_row(n):
    parts = list(batches(np.arange(n), 8))
    assert np.concatenate(parts).tolist() == list(range(n))
    assert all(2 <= len(part) <= 8 for part in parts)
