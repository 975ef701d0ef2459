"""How far what is proved above is from what is reached, where that was hard: the default call.

    python -m lab.benchmarks.upper_gaps [--records FILE] [--before FILE] [--most SECONDS]

More than half of the rows move; few of many rows move; nearly all of Y moves; little memory. X is N(0, 1), Y
is N(shift, 1) in each of d columns. gap = (proved - attained) / attained width. Each call is one JSON line of
FILE (default: results/upper_gaps.jsonl); calls already there are not made again, so what was stopped
continues. `--before` names the file of another version, made by this script with that version on the path.
After each call the table is written to the file of the same name that ends in .md. Seconds are those of a
machine that did other things, too.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import mmdbounds as mb

RESULTS = Path(__file__).parent / "results" / "upper_gaps.jsonl"
D, SHIFT = 5, 1.0
MORE_THAN_HALF = ((150, 120, 100), (400, 200, 170), (60, 60, 50))
OF_250 = (0.3, 0.4, 0.45, 0.49, 0.498)
BESIDE_FIFTY = (3000, 5000, 10_000, 30_000, 100_000)


def cases():
    """Yield for each line of the table: what it is, both groups, and the options of the call."""
    for p, q, m in MORE_THAN_HALF:
        for exactly in (True, False):
            how = "exactly" if exactly else "at most"
            yield f"{p} + {q} rows, {how} {m} move", (p, q), {"n_moved": m, "exactly": exactly}, {}
    for share in OF_250:
        yield f"250 + 250 rows, epsilon {share}", (250, 250), {"x_in_y": share}, {}
    yield "the same, d = 10, shift 0.1, epsilon 0.3", (250, 250, 10, 0.1), {"x_in_y": 0.3}, {}
    both = {"n_moved": 50, "n_moved_of_x": 40, "exactly": True}
    yield "60 + 60 rows, exactly 50 and 40 move", (60, 60), both, {}
    few_stay = {"n_moved": 4023, "exactly": True}
    yield "1,000 + 4,148 rows, exactly 4,023 move", (1000, 4148), few_stay, {}
    yield "40 + 600 rows, epsilon 0.2, 1 MiB", (40, 600), {"x_in_y": 0.2}, {"working_memory": 1}
    for q in BESIDE_FIFTY:
        yield f"50 + {q:,} rows, d = 10, shift 0.1, epsilon 0.2", (50, q, 10, 0.1), {"x_in_y": 0.2}, {}


def measured(sizes, amount, options):
    """Return what a call proves and reaches, and its seconds."""
    p, q, d, shift = (*sizes, D, SHIFT)[:4] if len(sizes) == 2 else sizes
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(p, d)), rng.normal(shift, 1, size=(q, d))
    start = time.perf_counter()
    result = mb.mmd_bounds(X, Y, mb.Contamination(**amount), rng=0, **options)
    seconds = time.perf_counter() - start
    upper, width = result.upper, result.upper.value - result.lower.value
    return {"value": upper.value, "certified": upper.certified, "width": width, "seconds": seconds}


def known(path):
    """Return the records of a file by what they are about."""
    lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
    return {record["case"]: record for record in map(json.loads, lines)}


def table(now, before):
    """Return the table in Markdown."""
    lines = ["| groups | reached | proved before | proved | gap before | gap | seconds |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for case, record in now.items():
        cells = ["", ""]
        if case in before:
            cells = [f"{before[case]['certified']:.4f}", f"{gap(before[case]):.1f} %"]
        here = f"{record['certified']:.4f}", f"{gap(record):.1f} %", f"{record['seconds']:.1f}"
        numbers = f"{record['value']:.4f}", cells[0], here[0], cells[1], here[1], here[2]
        lines.append(f"| {case} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def gap(record):
    """Return the gap in percent of the width."""
    return 100 * (record["certified"] - record["value"]) / record["width"]


def main():
    """Make the calls that are missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, default=RESULTS)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--most", type=float, default=np.inf, help="begin no call after so many seconds")
    asked, start = parser.parse_args(), time.perf_counter()
    for case, *call in cases():
        if case not in known(asked.records) and time.perf_counter() - start < asked.most:
            with asked.records.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": case, **measured(*call)}) + "\n")
        write(asked.records, asked.before)


def write(records, before):
    """Write the table of what is recorded."""
    text = f"{__doc__.splitlines()[0]} See lab/benchmarks/upper_gaps.py.\n\n"
    text += table(known(records), known(before)) + "\n"
    records.with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
