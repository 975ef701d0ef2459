"""The gallery: examples run, and what stories printed and drew is still what they print and draw."""

from __future__ import annotations

import io
import logging.handlers
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from docs.shown import kept

EXAMPLES = sorted(kept.EXAMPLES.glob("plot_*.py"))
LONGEST = ("plot_compas_audit", "plot_forest", "plot_map_audit")
SOURCE = '''"""
Title
=====
"""

# %%
# Text.

x = 1
print(x)

# %%
# More.

print(x / 3)

# %%
# End.
'''


def is_cut(picture: bytes) -> bool:
    """Tell whether anything is drawn on the rim of a picture."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGBA"))
    rims = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
    return any((rim != pixels[0, 0]).any() for rim in rims)


@pytest.mark.full
@pytest.mark.parametrize("example", [e for e in EXAMPLES if e != kept.HERO], ids=lambda path: path.stem)
def test_gallery_examples_run(example: Path) -> None:
    drawn = [picture for output in kept.run(example) for picture in output.pictures]
    assert drawn
    assert not any(is_cut(picture.png) for picture in drawn)


@pytest.mark.full
def test_the_picture_of_readme_is_what_its_example_draws() -> None:
    for path, png in kept.heroes().items():
        assert kept.looks_like(path.read_bytes(), png), f"{path.name}: `make refresh` draws it anew"


@pytest.mark.full
@pytest.mark.parametrize("picture", sorted(kept.KEPT.glob("*.png")), ids=lambda path: path.stem)
def test_no_kept_picture_is_cut(picture: Path) -> None:
    assert not is_cut(picture.read_bytes())


def _timed(story: Path) -> Any:
    """Return a story as a parameter; those that take a quarter of a minute are slow."""
    return pytest.param(story, marks=[pytest.mark.slow] if story.stem in LONGEST else [], id=story.stem)


@pytest.mark.full
@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("story", [*map(_timed, kept.STORIES)])
def test_stories_print_and_draw_what_is_kept(story: Path) -> None:
    found = list(kept.differences(kept.read(story)[1], kept.run(story)))
    assert not found, "`make refresh` writes it anew"


@pytest.mark.parametrize("story", kept.STORIES, ids=lambda path: path.stem)
def test_what_is_kept_is_of_the_present_code(story: Path) -> None:
    assert not kept.is_stale(story), "the code has changed: `make refresh` runs it, where the data are"
    assert len(kept.read(story)[1]) == len(kept.code_blocks(story))
    assert any(output.pictures for output in kept.read(story)[1])


@pytest.mark.full
@pytest.mark.parametrize("story", kept.STORIES, ids=lambda path: path.stem)
def test_a_story_without_its_data_says_so_and_ends(
    story: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("MMDBOUNDS_DATA", raising=False)
    with pytest.raises(SystemExit, match=r"^None$|^$") as ended:
        runpy.run_path(str(story), run_name="__main__")
    assert not ended.value.code
    (line,) = capsys.readouterr().out.splitlines()
    assert "MMDBOUNDS_DATA" in line


def test_the_gallery_is_there() -> None:
    assert len(kept.STORIES) >= 8
    assert len(EXAMPLES) >= 4


@pytest.mark.full
@pytest.mark.parametrize("example", [*EXAMPLES, *kept.STORIES], ids=lambda path: path.stem)
def test_blocks_are_those_of_the_gallery(example: Path) -> None:
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    theirs = [block for block in split_code_and_text_blocks(str(example))[1] if block.type == "code"]
    ours = kept.code_blocks(example)
    assert [block.strip() for block in ours] == [block.content.strip() for block in theirs]
    lines = example.read_text(encoding="utf-8").splitlines()
    for block in ours:
        start = block.count("\n") - block.strip().count("\n")
        assert lines[start] == block.strip().splitlines()[0]


def test_a_text_may_change_but_no_code(tmp_path: Path) -> None:
    example = tmp_path / "plot_it.py"
    digests = []
    for source in (SOURCE, SOURCE.replace("Text.", "Another\n# text."), SOURCE.replace("x / 3", "x / 4")):
        example.write_text(source, encoding="utf-8")
        digests.append(kept.digest(example))
    assert digests[0] == digests[1] != digests[2]


def png(line: slice = slice(0), shape: tuple[int, int] = (96, 96)) -> bytes:
    """Return a white picture with a black line across it."""
    from PIL import Image

    pixels, written = np.full(shape, 255, dtype=np.uint8), io.BytesIO()
    pixels[line] = 0
    Image.fromarray(pixels).save(written, "PNG")
    return written.getvalue()


@pytest.mark.full
def test_lines_may_move_by_two_pixels_and_not_by_three() -> None:
    for start in range(20, 40):
        for move in range(-6, 7):
            pictures = png(slice(start, start + 4)), png(slice(start + move, start + move + 4))
            assert kept.looks_like(*pictures) == (abs(move) <= 2)
    assert not kept.looks_like(png(), png(shape=(96, 97)))
    assert is_cut(png(slice(4)))
    assert not is_cut(png())


@pytest.mark.full
def test_what_was_kept_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "KEPT", tmp_path / "kept")
    story = tmp_path / "plot_it.py"
    story.write_text(SOURCE, encoding="utf-8")
    assert kept.is_stale(story)
    made = kept.run(story)
    assert [output.printed for output in made] == [["1"], ["0.3333333333333333"]]
    made[0].pictures += [kept.Picture("one", png()), kept.Picture("two", png(slice(9)))]
    kept.write(story, made)
    assert not kept.is_stale(story)
    assert kept.read(story)[1] == made
    assert not list(kept.differences(*[kept.read(story)[1]] * 2))

    other = kept.read(story)[1]
    other[0].pictures.pop()
    other[1].printed[:] = ["0.334"]
    assert list(kept.differences(made, other)) == [
        "block 1 draws something else",
        "block 2 prints something else",
    ]
    assert list(kept.differences(made, other[:1])) == ["1 blocks of code, 2 kept"]
    kept.write(story, other)
    assert [path.name for path in sorted(kept.KEPT.glob("*.png"))] == ["plot_it_1.png"]
    story.write_text(SOURCE.replace("x = 1", "x = 2"), encoding="utf-8")
    assert kept.is_stale(story)


@pytest.mark.full
def test_pages_show_what_is_kept_and_warn_if_it_is_of_other_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = next(path for path in kept.STORIES if path.stem == "plot_golub")
    blocks = [SimpleNamespace(type=kind) for kind in ("text", *["code", "text"] * 3)]
    places = iter([str(tmp_path / "one.png"), str(tmp_path / "two.png")])
    script = {"src_file": str(story), "image_path_iterator": places}
    shown = kept.shown_in_gallery(lambda *_: ([""] * 7, 0.0))
    outputs, _ = shown(blocks, script, {"src_dir": str(tmp_path)}, {})
    assert [bool(output) for output in outputs] == [block.type == "code" for block in blocks]
    assert "/one_2_00x.png 2.00x" in outputs[3]
    assert "holds with" in outputs[3]
    for path, drawn in zip(("one", "two"), sorted(kept.KEPT.glob("plot_golub_*.png")), strict=True):
        assert (tmp_path / f"{path}_2_00x.png").read_bytes() == drawn.read_bytes()

    said = logging.handlers.BufferingHandler(9)
    monkeypatch.setattr(logging.getLogger("sphinx.kept"), "handlers", [said])
    monkeypatch.setattr(kept, "digest", lambda _: "other")
    assert shown(blocks, script, {}, {}) == ([""] * 7, 0.0)
    (warning,) = said.buffer
    assert "plot_golub.py is not the code whose output is kept: `make refresh`" in warning.getMessage()
    assert shown(blocks, {"src_file": str(EXAMPLES[0])}, {}, {}) == ([""] * 7, 0.0)


@pytest.mark.full
def test_pages_can_be_searched_without_a_server(tmp_path: Path, browser: Any) -> None:
    from sphinx.application import Sphinx

    docs = kept.EXAMPLES.parent
    ours = f"import runpy\nglobals().update(runpy.run_path({str(docs / 'conf.py')!r}))\n"
    few = f"extensions.remove('sphinx_gallery.gen_gallery')\nhtml_static_path = [{str(docs / '_static')!r}]\n"
    (tmp_path / "conf.py").write_text(ours + few, encoding="utf-8")
    (tmp_path / "index.md").write_text("# Drawers\n\n```{toctree}\ncards\n```\n", encoding="utf-8")
    (tmp_path / "cards.md").write_text("# Index cards\n\nSome are misfiled.\n", encoding="utf-8")
    site = tmp_path / "site"
    Sphinx(tmp_path, tmp_path, site, tmp_path / "trees", "html", status=None, warningiserror=True).build()

    page, asked, wrong = browser.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((site / "index.html").as_uri())
    page.fill("input[name=q]", "misfiled")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results li a")
    assert page.inner_text("#search-results li a") == "Index cards"
    page.wait_for_load_state("networkidle")
    assert {address.partition(":")[0] for address in asked} == {"file"}
    assert not wrong
