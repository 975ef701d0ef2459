"""Seconds and memory beside other packages, from a thousand rows on, each peer in an environment of its own.

    python -m lab.benchmarks.peers.run [--data FOLDER] [--cache .peers] [--sizes N ...] [--only NAME ...]

Leave the machine alone meanwhile. Every program gets the same rows (FOREST if there is a folder with it,
else made up; 54 columns, float64) and the same bandwidth, and runs in a process of its own. Seconds are those
of the call, after a first one on a few rows that imports and compiles; memory is the most that the
process held. A peer is taken up to where it needs two minutes or 16 GiB; what the sizes before foretell
is not tried.

One JSON line a measurement goes to the cache, and a run that was stopped continues: remove
``records.jsonl`` there to measure anew. The environments are made there too, from the lists in
lab/benchmarks/peers/requirements (the network is needed once). Tables and picture go to
lab/benchmarks/results, and into the page docs/peers.md.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import sys
from pathlib import Path

import mmdbounds as mb
from lab.benchmarks.peers import page, rows
from lab.benchmarks.peers.environments import interpreter
from lab.benchmarks.peers.measuring import foreseen, measure
from lab.benchmarks.peers.peers import AGREES, OURS, PEERS, REFERENCES
from lab.studies import records

ROOT = Path(__file__).parents[3]


def main(arguments=None):
    options = parse(arguments)
    peers, given = chosen(options.only), given_pythons(options.python)
    if options.write and importlib.util.find_spec("matplotlib") is None:
        records.fail("the picture needs matplotlib: pip install 'mmdbounds[plot]'.")
    try:
        source = rows.written(options.data, options.cache)
    except mb.MmdBoundsError as error:
        records.fail(str(error))
    pythons = interpreters(peers, options.cache, given)
    found = collect(peers, source, options, pythons)
    if options.write:
        page.write(found, source.name, ROOT)
    sys.exit(verdict(found, pythons))


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m lab.benchmarks.peers.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with the data")
    parser.add_argument("--cache", type=Path, default=ROOT / ".peers", help="folder for what is kept")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(rows.SIZES), help="rows of both groups")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these peers only, by name")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="ENVIRONMENT=FILE",
        help="a Python that has a peer already, instead of an environment made for it",
    )
    parser.add_argument("--no-write", dest="write", action="store_false", help="leave results and docs alone")
    return parser.parse_args(arguments)


def chosen(names):
    """Return the peers asked for, or end with the names there are."""
    known = {peer.name: peer for peer in PEERS}
    for name in names or ():
        if name not in known:
            records.fail(f"there is no peer {name!r}. The peers are {'; '.join(known)}.")
    return [peer for peer in PEERS if not names or peer.name in names]


def given_pythons(pairs):
    """Return the interpreters that the caller names, by environment."""
    given = dict(pair.partition("=")[::2] for pair in pairs)
    for name in given:
        if name not in {peer.environment for peer in PEERS} - {OURS}:
            records.fail(f"--python must be ENVIRONMENT=FILE; there is no environment {name!r}.")
    return given


def interpreters(peers, cache, given):
    """Return for each environment its Python, or `None`, and what went wrong."""
    return {name: interpreter(name, cache, given) for name in dict.fromkeys(p.environment for p in peers)}


def collect(peers, source, options, pythons):
    """Return the records of all peers at all sizes, measuring those that are missing."""
    path = options.cache / "records.jsonl"
    kept = {
        (r["peer"], r["n"]): r
        for r in records.load(path)
        if r["source"] == source.name and r["status"] != "failed"
    }
    for size in sorted(options.sizes):
        request = source.request(size)
        n = request["p"] + request["q"]
        for peer in peers:
            if (peer.name, n) in kept or is_over(peer, n, kept):
                continue
            python, trouble = pythons[peer.environment]
            if python is None:
                kept[peer.name, n] = {"peer": peer.name, "n": n, "status": "not installed", "reason": trouble}
                continue
            record = one(peer, n, request, python, kept)
            record |= {"source": source.name, "difference": difference(peer, record, source, kept)}
            records.append(path, record)
            kept[peer.name, n] = record
            print(f"{n:>9,}  {peer.name:<28}{in_words(record)}", file=sys.stderr, flush=True)
    return sorted(kept.values(), key=lambda record: record["n"])


def is_over(peer, n, kept):
    """Return whether a peer was stopped, or is not there, at fewer rows."""
    return any(r["peer"] == peer.name and r["n"] < n and r["status"] != "done" for r in kept.values())


def one(peer, n, request, python, kept):
    """Return one record: measured, or foreseen to be too much."""
    before = sorted(
        (r for r in kept.values() if r["peer"] == peer.name and r["n"] < n and r["status"] == "done"),
        key=lambda record: record["n"],
    )
    about = {"peer": peer.name, "n": n, "p": request["p"], "q": request["q"]}
    about |= {
        "date": datetime.date.today().isoformat(),
        "machine": records.machine(),
        "version": mb.__version__,
    }
    return about | (foreseen(before, n) or measure(python, peer.path, request))


def difference(peer, record, source, kept):
    """Return how far a peer's number is from ours, `None` where there is nothing to compare."""
    if record["status"] != "done" or peer.task not in REFERENCES or peer.is_ours:
        return None
    n, bandwidth = record["n"], source.bandwidth
    if peer.name == "hyppo":
        X, Y = source.rows(n)
        ours = mb.mmd2(X, Y, bandwidth=bandwidth, estimator="biased", backend="numpy", progress=False)
        return abs(rows.mmd2_of_hyppo(record["value"], X, Y, bandwidth) - ours)
    ours = kept.get((REFERENCES[peer.task], n), {"status": ""})
    return abs(record["value"] - ours["value"]) if ours["status"] == "done" else None


def in_words(record):
    """Return a record as one line of the log."""
    if record["status"] == "done":
        off = "" if record["difference"] is None else f", differs by {record['difference']:.1e}"
        return f"{record['seconds']:9.3g} s, {record['peak_mib']:,.0f} MiB{off}"
    if "foreseen" in record:
        return f"would need about {record['foreseen']:,.0f} {page.UNITS[record['status']]}: not tried"
    return f"stopped: {record['status']} {record.get('reason', '')}".rstrip()


def verdict(found, pythons):
    """Name what is missing or wrong; return the exit code."""
    missing = {name: trouble for name, (python, trouble) in pythons.items() if python is None}
    for name, trouble in missing.items():
        print(f"not installed: {name}. {trouble}", file=sys.stderr)
    tasks = {peer.name: peer.task for peer in PEERS}
    wrong = [
        r for r in found if r.get("difference") is not None and r["difference"] > AGREES[tasks[r["peer"]]]
    ]
    for record in wrong:
        print(
            f"{record['peer']} at {record['n']:,} rows is off by {record['difference']:.1e}", file=sys.stderr
        )
    failed = [record for record in found if record["status"] in ("failed", "set-up")]
    for record in failed:
        print(f"{record['peer']} failed at {record['n']:,} rows: {record.get('reason')}", file=sys.stderr)
    return 1 if missing or wrong or failed else 0


if __name__ == "__main__":
    main()
