"""Fail if the built pages would fetch anything from elsewhere: scripts, styles, fonts, pictures.

Plain links (``<a href="https://...">``) are fine; whatever a browser loads by itself is not.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

_LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "link": "href",
}
_NOT_LOADED = {"canonical", "license", "author", "help", "next", "prev", "index", "search", "alternate"}
_IN_CSS = re.compile(r"""(?:url\(|@import)\s*['"]?\s*(?:https?:)?//[^'")\s]+""")


class _Requests(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        address = values.get(_LOADS.get(tag, "")) or ""
        if tag == "link" and set((values.get("rel") or "").split()) <= _NOT_LOADED:
            return
        if re.match(r"(https?:)?//", address):
            self.found.append(address)


def requests(folder: Path) -> list[str]:
    """Return ``page: address`` for everything that a browser would fetch from elsewhere."""
    found = []
    for page in sorted(folder.rglob("*.html")):
        parser = _Requests()
        text = page.read_text(encoding="utf-8")
        parser.feed(text)
        found += [
            f"{page.relative_to(folder)}: {address}" for address in parser.found + _IN_CSS.findall(text)
        ]
    for sheet in sorted(folder.rglob("*.css")):
        text = sheet.read_text(encoding="utf-8")
        found += [f"{sheet.relative_to(folder)}: {address}" for address in _IN_CSS.findall(text)]
    return found


def main() -> int:
    """Print what would be fetched; 1 if anything would."""
    folder = Path(sys.argv[1])
    if not any(folder.rglob("*.html")):
        print(f"no pages in {folder}")
        return 1
    found = requests(folder)
    print("\n".join(found) if found else "the pages load nothing from elsewhere")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
