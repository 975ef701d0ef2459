"""Small made-up files in the layout of the real ones, with cards that carry their digests."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from types import SimpleNamespace

import numpy as np
import pytest

from lab.datasets import cards, files, loaders


@pytest.fixture(autouse=True)
def _no_folder(request, monkeypatch):
    """Nothing made up is looked for among the real data."""
    if request.node.get_closest_marker("data") is None:
        monkeypatch.delenv("MMDBOUNDS_DATA", raising=False)


@pytest.fixture
def real():
    folder = os.environ.get("MMDBOUNDS_DATA")
    if folder is None:
        pytest.skip("MMDBOUNDS_DATA does not name the folder with the data")
    return folder


def written(folder, card, arrays):
    """Write a card's file and return the card with the digest that the file has."""
    path = folder / card.file
    np.savez_compressed(path, **arrays)
    return dataclasses.replace(card, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.fixture
def forest(tmp_path, monkeypatch):
    """30 cells of 7 cover types, stored by columns as the real ones are."""
    rng = np.random.default_rng(1)
    X = np.asfortranarray(rng.integers(-300, 8000, size=(30, 54)).astype(np.int16))
    y = rng.permutation(np.arange(30) % 7 + 1).astype(np.uint8)
    card = written(tmp_path, cards.FOREST, {"X": X, "y": y, "feature_names": np.array(["a"] * 54)})
    monkeypatch.setattr(loaders, "FOREST", card)
    return SimpleNamespace(folder=tmp_path, X=X, y=y, card=card)


@pytest.fixture
def bio(tmp_path, monkeypatch):
    """Five samples of four probes, the second of which is the lowest in all of them."""
    raw = np.array([[5, -9, 7, 7], [1, -3, 2, 0], [8, -1, 4, 6], [1, -8, 2, 9], [3, 0, 2, 1]], dtype=np.int32)
    arrays = {
        "X_raw": raw,
        "X_ns": np.arange(15, dtype=np.float32).reshape(5, 3),
        "y": np.array([0, 1, 0, 1, 0], dtype=np.uint8),
        "sample_id": np.array([14, 11, 12, 13, 15], dtype=np.int16),
        "genes": np.array(["g0", "g1", "g2", "g3"]),
        "ns_gene_index": np.array([0, 2, 3], dtype=np.int16),
    }
    monkeypatch.setattr(loaders, "BIO", written(tmp_path, cards.BIO, arrays))
    monkeypatch.setattr(loaders, "SAMPLES", (14, 11, 12, 13, 15))
    monkeypatch.setattr(files, "SAMPLES", (14, 11, 12, 13, 15))
    # Sorted by hand: (1, -8, ..), (1, -3, ..), (3, ..), (5, ..), (8, ..).
    monkeypatch.setattr(files, "SORTED_SAMPLES", (13, 11, 15, 14, 12))
    return SimpleNamespace(folder=tmp_path, **arrays)


def standin_arrays(name, rng):
    n = 24
    arrays = {
        "logits": rng.normal(size=(n, 2)).astype(np.float32),
        "y": rng.integers(0, 2, n).astype(np.uint8),
        "black": rng.integers(0, 2, n).astype(np.uint8),
        "patient": rng.integers(0, 9, n).astype(np.int32),
    }
    if name == "nih_cxr14":
        arrays["female"] = arrays.pop("black")
        arrays["part"] = rng.integers(0, 3, n).astype(np.uint8)
        arrays["image_index"] = np.array([f"{i:03}.png" for i in range(n)])
    if name.startswith("diabetes130"):
        arrays["logits_30d"] = rng.normal(size=(n, 2)).astype(np.float32)
        arrays["y_30d"] = rng.integers(0, 2, n).astype(np.uint8)
    if name == "compas":
        del arrays["patient"]
    return arrays


@pytest.fixture(params=list(cards.STANDINS))
def standin(request, tmp_path, monkeypatch):
    name = request.param
    arrays = standin_arrays(name, np.random.default_rng(3))
    card = written(tmp_path, cards.STANDINS[name], arrays)
    monkeypatch.setattr(loaders, "STANDINS", {**cards.STANDINS, name: card})
    return SimpleNamespace(name=name, folder=tmp_path, arrays=arrays)
