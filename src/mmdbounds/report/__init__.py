"""One self-contained HTML page from a result."""

from __future__ import annotations

from mmdbounds.report.page import write_report

__all__ = ["write_report"]
