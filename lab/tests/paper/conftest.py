"""Made-up data in place of the real ones, and experiments so small that they take no time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lab.paper import figures, runs
from lab.paper.experiments import EXPERIMENTS, SOURCES, Setting
from mmdbounds.plotting import canvas
from mmdbounds.tables import Group

FEW_ROWS = 40
"""N of the small experiments."""


def made_up(source):
    """Two normal groups with a few columns, the same for the same data set."""

    def load(folder):
        rng = np.random.default_rng(len(source))
        return Group(rng.normal(size=(60, 3))), Group(rng.normal(0.7, 1.0, size=(60, 3)))

    return load


def shrunk(experiment):
    """The same experiment with few rows; settings that become the same are one."""

    def few(settings):
        made = (
            dataclasses.replace(setting, n_rows=min(setting.n_rows, FEW_ROWS + 4 * (setting.n_rows > 100)))
            for setting in settings
        )
        return tuple(dict.fromkeys(made))

    return dataclasses.replace(
        experiment, settings=few(experiment.settings), inferred=few(experiment.inferred)
    )


@pytest.fixture
def small(monkeypatch):
    """Every experiment, small and on made-up data."""
    for name, source in SOURCES.items():
        whole = None if source.whole is None else (20, 12)
        monkeypatch.setitem(SOURCES, name, dataclasses.replace(source, load=made_up(name), whole=whole))
    for name, experiment in EXPERIMENTS.items():
        monkeypatch.setitem(EXPERIMENTS, name, shrunk(experiment))
    monkeypatch.setattr(runs, "require_file", lambda card, data, downloadable: None)
    return EXPERIMENTS


@pytest.fixture
def no_pictures(monkeypatch):
    """Pictures in name only, for environments without matplotlib."""
    stub = {"png": b"a picture", "svg": b"a picture"}
    monkeypatch.setattr(canvas, "check_available", lambda: None)
    monkeypatch.setattr(figures, "drawn", lambda document: stub)


@pytest.fixture
def one_setting(small, monkeypatch):
    """The main table with two settings only, one of each kind."""
    main = small["main"]
    settings = tuple(s for s in main.settings if s.source in ("FOREST", "BIO"))
    monkeypatch.setitem(EXPERIMENTS, "main", dataclasses.replace(main, settings=settings, inferred=()))
    assert all(isinstance(s, Setting) for s in settings)
    return EXPERIMENTS["main"]
