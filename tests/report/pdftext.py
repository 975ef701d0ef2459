"""The text of a PDF that Chromium printed: glyphs back to characters through each font's own table."""

from __future__ import annotations

import re
import zlib


def pdf_text(data: bytes) -> str:
    """Return what the pages say, in the order in which it was painted, without blanks."""
    objects = {
        int(number): body for number, body in re.findall(rb"(?m)^(\d+) 0 obj\b(.*?)\bendobj", data, re.DOTALL)
    }
    names = dict(re.findall(rb"/(F\d+) (\d+) 0 R", data))
    maps = {name: _characters(objects, int(number)) for name, number in names.items()}
    return "".join(_page_text(objects, page, maps) for page in re.findall(rb"/Contents (\d+) 0 R", data))


def _stream(body: bytes) -> bytes:
    start = re.search(rb"stream\r?\n", body)
    assert start is not None
    raw = body[start.end() : body.rindex(b"endstream")]
    return zlib.decompressobj().decompress(raw) if b"FlateDecode" in body[: start.start()] else raw


def _characters(objects: dict[int, bytes], font: int) -> dict[int, str]:
    """Return which character each glyph of a font stands for."""
    found = re.search(rb"/ToUnicode (\d+) 0 R", objects[font])
    if found is None:
        return {}
    table, glyphs = _stream(objects[int(found[1])]).decode("ascii"), {}
    for block in re.findall(r"beginbfchar\n(.*?)endbfchar", table, re.DOTALL):
        for glyph, text in re.findall(r"<(\w+)> <(\w+)>", block):
            glyphs[int(glyph, 16)] = bytes.fromhex(text).decode("utf-16-be")
    for block in re.findall(r"beginbfrange\n(.*?)endbfrange", table, re.DOTALL):
        for first, last, text in re.findall(r"<(\w+)> <(\w+)> <(\w+)>", block):
            for step in range(int(last, 16) - int(first, 16) + 1):
                glyphs[int(first, 16) + step] = chr(int(text, 16) + step)
    return glyphs


def _page_text(objects: dict[int, bytes], page: bytes, maps: dict[bytes, dict[int, str]]) -> str:
    said, font = [], b""
    for name, shown in re.findall(rb"/(F\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)>", _stream(objects[int(page)])):
        if name:
            font = name
        else:
            codes = [int(shown[i : i + 4], 16) for i in range(0, len(shown), 4)]
            said.append("".join(maps[font].get(code, "") for code in codes))
    return "".join("".join(said).split())
