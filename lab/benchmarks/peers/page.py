"""What was measured, as tables, as CSV and as one picture; into the results and into the page of the docs."""

from __future__ import annotations

import csv
import io

from lab.benchmarks.peers.measuring import MIB, SECONDS
from lab.benchmarks.peers.peers import AGREES, PEERS

BEGIN = "<!-- made by `make bench-peers`; the text between these two lines is rewritten -->\n"
END = "<!-- end of what is made -->\n"
FIELDS = ("peer", "n", "p", "q", "status", "seconds", "peak_mib", "difference", "foreseen")
UNITS = {"seconds": "s", "memory": "MiB"}
STOPPED = {
    "seconds": "time",
    "memory": "memory",
    "not installed": "not installed",
    "failed": "failed",
    "set-up": "failed",
}
TITLES = {
    "mmd2": "The squared MMD of the groups as filed, in seconds",
    "bounds": "Bounds on it with a fifth of X misfiled, in seconds",
    "floor": "The smallest value with shares of rows (the lower side's convex relaxation), in seconds",
}


def write(found, source, root):
    """Write all four: tables, CSV, picture, and the part of the docs that is made."""
    results = root / "lab" / "benchmarks" / "results"
    tables = in_tables(found, source)
    (results / "peers.md").write_text(f"# Beside other packages\n\n{tables}", encoding="utf-8")
    (results / "growth.csv").write_text(as_csv(found), encoding="utf-8")
    from lab.benchmarks.peers.picture import drawn

    (results / "growth.png").write_bytes(drawn(found))
    docs = root / "docs" / "peers.md"
    docs.write_text(with_made_part(docs.read_text(encoding="utf-8"), tables), encoding="utf-8")


def with_made_part(text, tables):
    """Return the page of the docs with the part between its marks written anew."""
    before, rest = text.split(BEGIN, maxsplit=1)
    after = rest.split(END, maxsplit=1)[1]
    return f"{before}{BEGIN}\n{FIGURE}\n{tables}\n{END}{after}"


FIGURE = """```{figure} ../lab/benchmarks/results/growth.png
:alt: Seconds against the number of rows, for mmdbounds and for other packages
:width: 100%

Seconds for one call against the number of rows of both groups. A line ends where the next size would need
more than two minutes or 16 GiB.
```
"""


def in_tables(found, source):
    """Return a table for each task, and what they were measured on."""
    parts = []
    for task, title in TITLES.items():
        rows = [row(peer, found) for peer in PEERS if peer.task == task]
        heads = ["rows", *(f"{n / 1000:.3g}k" for n in sizes(found)), "MiB", "M pairs/s"]
        heads += [] if task not in AGREES else ["off by"]
        parts += [f"{title}:", table(heads, [cells[: len(heads)] for cells in rows])]
    return "\n\n".join([*parts, about(found, source)]) + "\n"


def row(peer, found):
    """Return the cells of one program."""
    mine = {record["n"]: record for record in found if record["peer"] == peer.name}
    done = [record for record in mine.values() if record["status"] == "done"]
    cells = [f"**{peer.name}**" if peer.is_ours else peer.name, *(cell(mine.get(n)) for n in sizes(found))]
    if not done:
        return [*cells, "", "", ""]
    last = max(done, key=lambda record: record["n"])
    differences = [record["difference"] for record in done if record["difference"] is not None]
    return [
        *cells,
        f"{last['peak_mib']:,.0f}",
        short(last["n"] ** 2 / 2 / last["seconds"] / 1e6),
        f"{max(differences):.0e}" if differences else "",
    ]


def cell(record):
    """Return what a table says about a size: seconds, or why there are none."""
    if record is None:
        return ""
    return short(record["seconds"]) if record["status"] == "done" else STOPPED[record["status"]]


def short(number):
    """Return a number with two digits that count, or more where it has them."""
    return f"{number:,.0f}" if number >= 99.5 else f"{number:.2g}"


def sizes(found):
    """Return the numbers of rows that anything was measured with."""
    return sorted({record["n"] for record in found})


def table(heads, rows):
    """Return a table in Markdown."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def about(found, source):
    """Return what the numbers are, and what they were measured on."""
    done = [record for record in found if record["status"] == "done"]
    if not done:
        return "Nothing was measured."
    last = max(done, key=lambda record: record["date"])
    versions = {}
    for record in done:
        versions |= {name: version for name, version in record["versions"].items() if name != "numpy"}
    listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return (
        f"{source[0].upper()}{source[1:]}, 54 columns, RBF kernel with the same bandwidth for all, float64. "
        f"Time: more than {SECONDS:.0f} s; memory: more than {MIB / 1024:.0f} GiB. "
        "Seconds are for one call, without imports and compilation. MiB: the most memory that the process "
        "used, imports included. M pairs/s: millions of pairs of rows per second. Both are for the most rows "
        "that were reached. Off by: the largest difference from our number, over all sizes. "
        f"{last['machine']}; {listed}; {last['date']}. Made by `python -m lab.benchmarks.peers.run`."
    )


def as_csv(found):
    """Return one line a measurement."""
    written = io.StringIO()
    writer = csv.DictWriter(written, FIELDS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: record.get(name) for name in FIELDS} for record in found)
    return written.getvalue()
