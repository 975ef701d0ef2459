"""HTML that cannot be broken by what stands in the data: text is escaped unless it was made here."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

from mmdbounds.errors import MmdBoundsError

VOID = ("meta", "input", "br")  # elements without an end tag


class Html(str):
    """Text that is markup already; all other text is escaped."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: str | bool | None) -> Html:
    """Return an element; text that it holds is escaped, `None` left out.

    ``class_`` is written without the underscore at its end, and other underscores of attributes as dashes.
    `True` is an attribute without a value, `None` and `False` leave it out.
    """
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start) if name in VOID else Html(f"{start}{together(children)}</{name}>")


def together(parts: Iterable[str | None]) -> Html:
    """Return elements and text one after the other; `None` is left out."""
    known = (part for part in parts if part is not None)
    return Html("".join(p if isinstance(p, Html) else html.escape(p, quote=False) for p in known))


def _attribute(key: str, value: str | bool | None) -> str:
    name = key.removesuffix("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(value, quote=True)}"'


def script_data(value: Any, name: str) -> Html:
    """Return plain data as an element that scripts can read and browsers do not run."""
    # Nothing in it can end the element.
    text = json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", Html(text), type="application/json", id=name)


def inline(name: str, code: str, /, **attributes: str | bool | None) -> Html:
    """Return a ``script`` or ``style``; code that holds an end tag of its own is refused."""
    if f"</{name}" in code.lower() or "<!--" in code:
        msg = f"code with a </{name}> in it cannot stand in a page. Install mmdbounds again."
        raise MmdBoundsError(msg)
    return element(name, Html(code), **attributes)


def policy(scripts: Iterable[str], styles: Iterable[str]) -> Html:
    """Return the Content-Security-Policy: this code, these styles, and nothing else at all."""
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(map(_hash, scripts)),
        "style-src": " ".join(map(_hash, styles)),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    content = "; ".join(f"{name} {value}" for name, value in rules.items())
    return element("meta", http_equiv="Content-Security-Policy", content=content)


def _hash(code: str) -> str:
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def table(
    head: Iterable[str], body: Iterable[Sequence[str]], caption: str, name: str, current: int | None = None
) -> Html:
    """Return a table whose first column names the rows; it scrolls by itself where it is too wide.

    `name` is that of the element, and `current` the row that is marked, if any.
    """
    titles = element("tr", *(element("th", each, scope="col") for each in head))
    rows = (
        element(
            "tr",
            element("th", cells[0], scope="row"),
            *(element("td", cell) for cell in cells[1:]),
            aria_current="true" if place == current else None,
        )
        for place, cells in enumerate(body)
    )
    label = f"{name}-caption"
    whole = element(
        "table", element("thead", titles), element("tbody", *rows), id=name, aria_labelledby=label
    )
    # A caption inside the table would be as wide as the table, and out of sight where that scrolls.
    above = element("p", caption, id=label, class_="caption")
    wide = element("div", whole, class_="wide", tabindex="0", role="region", aria_labelledby=label)
    return together([above, wide])
