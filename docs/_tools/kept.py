"""What the stories print and draw: kept in the repository, because their data are not.

For each story in ``docs/examples/stories``, ``docs/kept`` holds ``NAME.json`` (a digest of its code, and for
each block of code the lines it printed and what its pictures show) and the pictures ``NAME_1.png``, ... The
pages show these wherever they are built, and no build runs a story. The picture at the top of README is kept
in the same way.

``python docs/_tools/kept.py`` (``make refresh``) runs them all, and writes what has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))
import pages

sys.path.append(str(pages.ROOT))  # the stories read the data of lab

EXAMPLES = pages.ROOT / "docs" / "examples"
STORIES = sorted((EXAMPLES / "stories").glob("plot_*.py"))
KEPT = pages.ROOT / "docs" / "kept"
HERO = EXAMPLES / "plot_overlooked_tumours.py"
INK = {"light": "#000000", "dark": "#dddddd"}
INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
DPI = 200  # pages show half the size, and screens that can the whole

# Pictures are compared by the mean colour of every square. Where a proof ends a thousandth of the width
# elsewhere, a line moves by one of some 800 pixels: two are allowed, three are not.
SQUARE, MOVED = 16, 2.5

_BLOCK = re.compile(r"^# %%\n(?:#[^\n]*\n|\n)*(.*?)(?=^# %%\n|\Z)", flags=re.MULTILINE | re.DOTALL)


@dataclass
class Picture:
    """A picture as PNG, and what it shows in words."""

    alt: str
    png: bytes


@dataclass
class Output:
    """What one block of code printed and drew."""

    printed: list[str]
    pictures: list[Picture]


def code_blocks(example: Path) -> list[str]:
    """Return the code between the texts of an example, on the lines where it stands in the file."""
    source = example.read_text(encoding="utf-8")
    return ["\n" * source.count("\n", 0, b.start(1)) + b[1].rstrip() for b in _BLOCK.finditer(source) if b[1]]


def digest(example: Path) -> str:
    """Return what changes with the code of an example, but not with its texts."""
    return hashlib.sha256("".join(map(str.strip, code_blocks(example))).encode()).hexdigest()[:16]


def run(example: Path) -> list[Output]:
    """Run an example, and return what each block of its code prints and draws."""
    from matplotlib import pyplot  # noqa: PLC0415 -- the digests need none

    pyplot.switch_backend("agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for block in code_blocks(example):
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            exec(compile(block, str(example), "exec"), namespace)
        drawn = [_picture(pyplot.figure(number)) for number in pyplot.get_fignums()]
        pyplot.close("all")
        outputs.append(Output([line.rstrip() for line in written.getvalue().splitlines()], drawn))
    return outputs


def heroes() -> dict[Path, bytes]:
    """Return the picture of the first example for light and for dark pages, and where each is kept."""
    from matplotlib import pyplot  # noqa: PLC0415

    pyplot.switch_backend("agg")
    *computing, drawing = code_blocks(HERO)
    namespace: dict[str, Any] = {}
    pictures = {}
    with contextlib.redirect_stdout(None):
        for block in computing:
            exec(compile(block, str(HERO), "exec"), namespace)
    for page, ink in INK.items():
        with pyplot.rc_context(dict.fromkeys(INKED, ink)):
            exec(compile(drawing, str(HERO), "exec"), namespace)
        pictures[KEPT / f"hero_{page}.png"] = _png(pyplot.gcf(), transparent=True)
        pyplot.close("all")
    return pictures


def _picture(figure: Any) -> Picture:
    labels = [label for ax in figure.axes[:1] for label in (ax.get_ylabel(), ax.get_xlabel()) if label]
    return Picture(" ".join(" against ".join(labels).split()), _png(figure))


def _png(figure: Any, *, transparent: bool = False) -> bytes:
    """Return a figure in few bytes: one that is not transparent needs no more than 256 colours."""
    from PIL import Image  # noqa: PLC0415

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=DPI, transparent=transparent)
    image = Image.open(drawn)
    if not transparent:
        image = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(small, "PNG", optimize=True)
    return small.getvalue()


def looks_like(one: bytes, other: bytes) -> bool:
    """Tell whether two pictures differ by no more than lines that lie a pixel or two apart."""
    from PIL import Image  # noqa: PLC0415
    from scipy.ndimage import uniform_filter  # noqa: PLC0415

    pixels = [np.asarray(Image.open(io.BytesIO(each)).convert("RGBA"), dtype=float) for each in (one, other)]
    if pixels[0].shape != pixels[1].shape:
        return False
    means = uniform_filter(pixels[0] - pixels[1], (SQUARE, SQUARE, 1))
    return bool(np.abs(means).max() <= 255 * MOVED / SQUARE)


def differences(kept: list[Output], made: list[Output]) -> Iterator[str]:
    """Yield which blocks of a story print or draw something else than is kept."""
    if len(kept) != len(made):
        yield f"{len(made)} blocks of code, {len(kept)} kept"
        return
    for number, (old, new) in enumerate(zip(kept, made, strict=True), start=1):
        if not pages.is_same(*(pages.constant_part("\n".join(each.printed)) for each in (old, new))):
            yield f"block {number} prints something else"
        pairs = zip(old.pictures, new.pictures, strict=False)
        same = all(a.alt == b.alt and looks_like(a.png, b.png) for a, b in pairs)
        if not same or len(old.pictures) != len(new.pictures):
            yield f"block {number} draws something else"


def read(story: Path) -> tuple[str, list[Output]]:
    """Return the digest of the code that was run, and what is kept of it."""
    kept = json.loads((KEPT / f"{story.stem}.json").read_text(encoding="utf-8"))
    pictures = (path.read_bytes() for path in _picture_paths(story))
    return kept["code"], [
        Output(block["printed"], [Picture(alt, next(pictures)) for alt in block["pictures"]])
        for block in kept["blocks"]
    ]


def write(story: Path, outputs: list[Output]) -> None:
    """Keep what a story prints and draws."""
    KEPT.mkdir(exist_ok=True)
    blocks = [{"printed": o.printed, "pictures": [each.alt for each in o.pictures]} for o in outputs]
    text = json.dumps({"code": digest(story), "blocks": blocks}, indent=1, ensure_ascii=False)
    (KEPT / f"{story.stem}.json").write_text(text + "\n", encoding="utf-8")
    pictures = [each.png for output in outputs for each in output.pictures]
    for path, png in zip(_picture_paths(story), pictures, strict=False):
        path.write_bytes(png)
    for path in KEPT.glob(f"{story.stem}_*.png"):
        if int(path.stem.rpartition("_")[2]) > len(pictures):
            path.unlink()


def _picture_paths(story: Path) -> Iterator[Path]:
    return (KEPT / f"{story.stem}_{number}.png" for number in count(1))


def is_stale(story: Path) -> bool:
    """Tell whether the code of a story is not the one whose output is kept."""
    return not (KEPT / f"{story.stem}.json").is_file() or read(story)[0] != digest(story)


def shown_in_gallery(execute_script: Callable[..., Any]) -> Callable[..., Any]:
    """Return sphinx-gallery's `execute_script` such that stories, which it does not run, have outputs."""
    from sphinx.util import logging  # noqa: PLC0415

    def with_kept(blocks: Any, script: dict[str, Any], gallery: Any, file: Any) -> tuple[list[str], float]:
        nothing, seconds = execute_script(blocks, script, gallery, file)
        story = Path(script["src_file"])
        if story not in STORIES:
            return nothing, seconds
        if is_stale(story):
            name = story.relative_to(pages.ROOT)
            logging.getLogger(__name__).warning(
                "%s is not the code whose output is kept: `make refresh`", name
            )
            return nothing, seconds
        kept = iter(read(story)[1])
        return [_as_rst(next(kept), script, gallery) if b.type == "code" else "" for b in blocks], seconds

    return with_kept


def _as_rst(output: Output, script: dict[str, Any], gallery: Any) -> str:
    """Return an output as sphinx-gallery writes it, pictures first, and put the pictures where it looks."""
    from PIL import Image  # noqa: PLC0415
    from sphinx_gallery import gen_rst, scrapers  # noqa: PLC0415

    shown = ""
    for picture, place in zip(output.pictures, script["image_path_iterator"], strict=False):
        path = Path(place)
        large = path.with_stem(f"{path.stem}_2_00x")
        large.write_bytes(picture.png)
        Image.open(large).convert("RGB").reduce(2).save(path)
        sizes = [{0: path, 2.0: large}]
        shown += scrapers.figure_rst([path], gallery["src_dir"], picture.alt, sizes) + "\n"
    if output.printed:
        shown += gen_rst.CODE_OUTPUT.format("\n".join(f"    {line}" for line in output.printed))
    return f"\n{shown}\n\n"


def main() -> int:
    """Write what has changed."""
    for path, png in heroes().items():
        if not path.is_file() or not looks_like(path.read_bytes(), png):
            path.write_bytes(png)
            print(f"rewritten: {path.relative_to(pages.ROOT)}")
    if not os.environ.get("MMDBOUNDS_DATA"):
        print("docs/kept: the stories need their data (make refresh DATA=folder); they are left as they are")
        return 0
    for story in STORIES:
        made = run(story)
        if is_stale(story) or any(differences(read(story)[1], made)):
            write(story, made)
            print(f"rewritten: {(KEPT / story.stem).relative_to(pages.ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
