"""Groups that nobody can change, with names that a result says back, and cards that can be read."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from lab.datasets import CARDS, load_bio, load_forest, load_standin
from lab.datasets.cards import STANDINS, Card


def test_nobody_can_change_the_rows(bio):
    data = load_bio(bio.folder)
    for other in (data, pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        np.testing.assert_array_equal(other.X, data.X)
        for array in (other.X, other.Y, other.ids_x):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]
        assert other.card == data.card
    with pytest.raises(AttributeError, match="cannot assign to field"):
        data.X = data.Y


def test_groups_carry_names_and_record(bio):
    data = load_bio(bio.folder)
    X, Y = data.groups()
    np.testing.assert_array_equal(X.values, data.X.astype(float))
    assert (X.name, Y.name) == ("ALL", "AML")
    assert (X.ids.tolist(), Y.ids.tolist()) == (["14", "12", "15"], ["11", "13"])
    assert X.columns == Y.columns == data.columns
    assert X.record == Y.record
    assert X.record["sha256"] == data.card.sha256
    assert X.record["prepared"] == "read from bio_golub_leukemia.npz; normal scores"
    result = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=1), estimator="biased", method="s-sd", exactly=True)
    assert "ALL" in result.summary()
    assert result.provenance.data["data"] == "BIO (leukaemia of Golub et al.)"
    assert result.lower.ids.tolist()[0] in ("11", "13")


def test_whole_numbers_go_into_every_function(forest):
    data = load_forest(forest.folder)
    X, Y = data.groups()
    assert mb.mmd2(data.X, data.Y) == mb.mmd2(X, Y)
    assert mb.simulate(data.X, data.Y, n_moved=2, rng=0).n_moved == 2


def test_a_card_in_print():
    card = Card(
        title="Made-up data",
        hidden="ill",
        among="well",
        n_x=1_000,
        n_y=20,
        n_patients=(900, 20),
        columns="2: " + "word " * 30,
        file="a.npz",
        sha256="0" * 64,
    )
    lines = str(card).splitlines()
    assert lines[:3] == [
        "Made-up data",
        "  X         ill, 1,000 rows of 900 patients",
        "  Y         well, 20 rows of 20 patients",
    ]
    assert lines[3].startswith("  columns   2: word word")
    assert lines[4].startswith("            word word")
    assert lines[-2:] == ["  file      a.npz", f"  sha256    {'0' * 64}"]
    assert not any(line.lstrip().startswith(("notes", "source", "cite", "licence")) for line in lines)
    assert repr(card) == "Card('Made-up data', 1,000 and 20 rows)"


def test_every_card_is_complete_and_fits():
    assert set(CARDS) == {"forest", "bio", *STANDINS}
    for card in CARDS.values():
        text = str(card)
        assert max(len(line) for line in text.splitlines()) <= 100
        for part in (card.title, f"{card.n_x:,} rows", f"{card.n_y:,} rows", card.file, card.sha256):
            assert part in text
        for label in ("columns", "notes", "source", "cite", "licence"):
            assert f"\n  {label} " in text
        assert re.fullmatch("[0-9a-f]{64}", card.sha256)
    assert len({card.title for card in CARDS.values()}) == len(CARDS)


def test_no_stand_in_is_called_mimic():
    for card in STANDINS.values():
        assert re.findall("MIMIC", card.title) == ["MIMIC"]
        assert card.title.endswith("(not MIMIC-CXR)")
        assert "MIMIC" not in str(card).removeprefix(card.title)


@pytest.mark.data
def test_the_digests_are_those_of_the_list(real):
    listed = Path(real, "README.md").read_text(encoding="utf-8")
    for card in CARDS.values():
        assert f"| {card.file} | {card.sha256} |" in listed


@pytest.mark.data
def test_every_real_file_has_its_digest(real):
    for name in STANDINS:
        assert load_standin(name, real).X.shape[1] == 2
