"""How the figures of the paper look: each method has its colour and its marker. Bars are standard errors."""

from __future__ import annotations

from mmdbounds.evaluation.presets import OURS, PAPER, SHARP
from mmdbounds.experiments import printed
from mmdbounds.plotting.canvas import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    SKY,
    VERMILION,
    check_available,
    empty_figure,
    legend,
    rendered,
)

__all__ = ["ROWS", "STYLES", "check_available", "empty_figure", "legend", "rendered"]

STYLES: dict[str, tuple[str, str]] = {
    printed.S_SD: (BLUE, "o"),
    printed.S_QNO: (ORANGE, "s"),
    printed.QNO: (VERMILION, "^"),
    printed.SD: (SKY, "D"),
    printed.SM: (GREEN, "v"),
    printed.BOOTSTRAP: (PINK, "P"),
    SHARP: (BLACK, "*"),
}
"""Colour and marker of each method."""

ROWS = {PAPER: "paper's protocol", OURS: "our protocol"}
