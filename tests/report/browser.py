"""A page in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Opened:
    """A page in the browser, and all that went wrong or out."""

    def __init__(self, browser: Any, path: Path, **context: Any) -> None:
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.failed: list[tuple[str, str | None]] = []
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.failed.append((request.url, request.failure)))
        self.address = path.as_uri()
        self.page.goto(self.address)
        self.page.wait_for_selector("html[data-ready=yes]", timeout=60_000)

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))
