"""``mmdbounds backends``: where sums can be computed here, how fast, and how to get the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from mmdbounds.cli.options import SHOWN, grouped, option
from mmdbounds.cli.side_files import say

if TYPE_CHECKING:
    from mmdbounds.sums.registry import Rate, Status

INDENT = 8
MEASURED = "Rates: rbf kernel, {} columns. A pass is all pairs of 100,000 rows; its time grows quadratically."


@dataclass(frozen=True, kw_only=True)
class Listing:
    """How the backends are listed."""

    json: bool = option(False, "Print the full result as JSON.", None, SHOWN, "--json")


@grouped
def backends_command(listing: Listing) -> None:
    """List where this machine can compute, how fast (measured now), and what is missing.

    \b
    Example:
      mmdbounds backends
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.sums import registry
    from mmdbounds.words.phrases import wrapped

    found = registry.backends()
    choice, why = registry.automatic(found)
    if listing.json:
        say(as_json(found, choice, why))
        return
    for backend in found:
        say("\n".join(shown(backend)))
    say("\n" + MEASURED.format(registry.N_COLUMNS))
    say(wrapped(f"`auto` chooses {choice}: {why} Dask collections are computed by dask."))


def shown(backend: Status) -> list[str]:
    """Return the lines about one backend."""
    from mmdbounds.sums.registry import backend_called
    from mmdbounds.words.phrases import wrapped

    margin, notes = " " * INDENT, list(backend.notes)
    if backend.version is None:
        word, about = "missing", [notes.pop(0)]
    else:
        word = "available" if backend.is_available else "broken"
        package = backend_called(backend.name).package
        about = [f"{package} {backend.version}", backend.how, threads(backend.n_threads)]
    lines = [f"{backend.name:<{INDENT}}{word:<{INDENT + 2}}{', '.join(filter(None, about))}"]
    lines += [] if backend.device is None else [f"{margin}{'on':<{INDENT + 2}}{backend.device}"]
    lines += [f"{margin}{dtype:<{INDENT + 2}}{in_words(rate)}" for dtype, rate in backend.rates.items()]
    return lines + [wrapped(note, margin) for note in notes]


def threads(count: int | None) -> str:
    """Return ``1 thread`` or ``2 threads``, nothing where threads do not count."""
    return "" if count is None else f"{count} thread{'' if count == 1 else 's'}"


def in_words(rate: Rate) -> str:
    """Return a rate as people read it."""
    millions, seconds = rate.pairs_a_second / 1e6, rate.seconds_a_pass
    many = f"{millions:,.0f} million" if millions < 1e4 else f"{millions / 1e3:,.0f} billion"
    pass_ = f"{seconds:.2g}" if seconds < 10 else f"{seconds:,.0f}"
    return f"{many} kernel values per second, {pass_} s per pass"


def as_json(found: list[Status], choice: str, why: str) -> str:
    """Return the same for machines."""
    import json

    from mmdbounds._version import __version__

    content = {
        "version": __version__,
        "backends": [asdict(backend) for backend in found],
        "auto": {"backend": choice, "why": why},
    }
    return json.dumps(content, indent=2)
