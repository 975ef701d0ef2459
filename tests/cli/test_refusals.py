"""Whatever a user can do wrong is one line and exit code 2."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--id", "name"]
Refused = Callable[..., str]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bonds"], r"^No such command 'bonds'.* See `mmdbounds --help`\.$"),
        (["--nope"], r"^No such option: --nope.* See `mmdbounds --help`\.$"),
        (["bounds"], r"^Missing argument 'FILE'\. See `mmdbounds bounds --help`\.$"),
        (["bounds", "f.csv"], r"^Missing option '--group'\. See `mmdbounds bounds --help`\.$"),
        (["demo", "extra"], r"^Got unexpected extra argument.*extra.* See `mmdbounds demo --help`\.$"),
        (
            ["bounds", "f.csv", "--group"],
            r"--group.* requires an argument.* See `mmdbounds",
        ),
    ],
)
def test_wrong_words(arguments: list[str], message: str, refused: Refused):
    assert re.search(message, refused(*arguments))


def test_near_flag_is_suggested(table: str, refused: Refused):
    message = refused("bounds", table, *GROUPS, "--epslon", "0.2")
    assert re.search(r"^No such option: --epslon.*--epsilon.* See `mmdbounds bounds --help`\.$", message)


ONE_WAY = "give exactly one of --epsilon, --share-of-y, --n-moved, --sensitivity, --audit and --prevalence;"


@pytest.mark.parametrize(
    ("amounts", "message"),
    [
        ([], f"{ONE_WAY} got none of them."),
        (
            ["--epsilon", "0.2", "--n-moved", "3"],
            f"{ONE_WAY} got --epsilon and --n-moved.",
        ),
        (
            ["--share-of-y", "0.2", "--n-moved", "0"],
            f"{ONE_WAY} got --share-of-y and --n-moved.",
        ),
        (["--epsilon", "20"], "`epsilon` must be in [0, 1); got 20. Did you mean 0.2?"),
        (["--epsilon", "1"], "`epsilon` must be in [0, 1); got 1."),
        (["--epsilon", "-0.1"], "`epsilon` must be in [0, 1); got -0.1."),
        (["--epsilon", "nan"], "`epsilon` must be in [0, 1); got nan."),
        (["--share-of-y", "30"], "`share_of_y` must be in [0, 1); got 30. Did you mean 0.3?"),
        (["--n-moved", "-3"], "`n_moved` must be a whole number from 0; got -3."),
        (
            ["--n-moved", "6"],
            "6 misfiled rows cannot be among the 5 rows of `Y`. The largest `epsilon` for ",
        ),
        (["--epsilon", "0.2", "--y-in-x", "2"], "`y_in_x` must be in [0, 1); got 2. Did you mean 0.02?"),
        (
            ["--epsilon", "0.2", "--n-moved-of-x", "1"],
            "`n_moved_of_x` is a count. Give it together with the count `n_moved`.",
        ),
        (["--audit", "2/60", "--epsilon", "0.1"], f"{ONE_WAY} got --epsilon and --audit."),
        (["--audit", "0/9"], "`n_checked` must be at most the 5 rows of `Y`; got 9."),
        (["--audit", "2"], "`--audit` must be the rows found and the rows checked, such as 2/60; got '2'."),
        (["--audit", "-1/5"], "`--audit` must be the rows found and the rows checked, such as 2/60; got "),
        (
            ["--audit", "60/2"],
            "`--audit` must not have more rows found than checked; got 60/2. Did you mean 2/60?",
        ),
        (["--audit", "0/0"], "`n_checked` must be a whole number from 1; got 0."),
        (
            ["--audit", "0/5", "--confidence", "95"],
            "`confidence` must be a number between 0 and 1; got 95. Did",
        ),
        (["--audit", "0/5", "--y-in-x", "0.1"], "`--y-in-x` goes with --epsilon or --n-moved. An audit of B"),
        (["--epsilon", "0.1", "--anytime"], "`--anytime` goes with --audit; got --epsilon."),
        (["--n-moved", "1", "--confidence", "0.9"], "`--confidence` goes with --audit or --prevalence; got "),
        (["--audit", "0/5", "--specificity", "0.9"], "`--specificity` goes with --sensitivity; got --audit."),
        (
            ["--sensitivity", "0.9", "--n-moved-of-x", "1"],
            "`--n-moved-of-x` goes with --epsilon or --n-moved. Use --specificity for",
        ),
        (["--sensitivity", "90"], "`sensitivity` must be a number in (0, 1]; got 90. Did you mean 0.9?"),
        (["--prevalence", "a"], "`--prevalence` must be a share or a range such as 0.35-0.4; got 'a'."),
        (["--prevalence", "40"], "`prevalence` must be a number between 0 and 1; got 40. Did you mean 0.4?"),
        (["--prevalence", "0.4-0.3"], "`prevalence` must be a pair (low, high) with low <= high; got (0.4, "),
        (["--prevalence", "0.001"], "`prevalence` allows at most 0 of the "),
    ],
)
def test_amounts(amounts: list[str], message: str, table: str, refused: Refused):
    assert refused("bounds", table, *GROUPS, *amounts).startswith(message)


@pytest.mark.parametrize(
    ("flag", "text", "message"),
    [
        ("--epsilon", "abc", "must be a number; got 'abc'."),
        ("--epsilon", "0,2", "must be a number; got '0,2'. Did you mean 0.2?"),
        ("--epsilon", "20%", "must be a number; got '20%'. Did you mean 0.2?"),
        ("--epsilon", "", "must be a number; got ''."),
        ("--share-of-y", "half", "must be a number; got 'half'."),
        ("--y-in-x", "x", "must be a number; got 'x'."),
        ("--working-memory", "1G", "must be a number; got '1G'."),
        ("--n-moved", "2.5", "must be a whole number; got '2.5'."),
        ("--n-moved-of-x", "one", "must be a whole number; got 'one'."),
        ("--n-steps", "many", "must be a whole number; got 'many'."),
        ("--n-starts", "1.5", "must be a whole number; got '1.5'."),
        ("--gap", "1%", "must be a number; got '1%'. Did you mean 0.01?"),
        ("--rng", "x", "must be a whole number; got 'x'."),
    ],
)
def test_bad_numbers(flag: str, text: str, message: str, table: str, refused: Refused):
    line = refused("bounds", table, *GROUPS, flag, text)
    assert line == f"Invalid value for '{flag}': {message} See `mmdbounds bounds --help`."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bandwidth", "0"], r"^`bandwidth` must be a positive finite number; got 0"),
        (["--bandwidth", "-1"], r"^`bandwidth` must be a positive finite number; got -1"),
        (
            ["--bandwidth", "wide"],
            r"^`--bandwidth` must be 'median', a multiple .*; got 'wide'\.$",
        ),
        (["--working-memory", "0"], r"^`working_memory` must be a number of MiB from 1; got 0"),
        (["--working-memory", "nan"], r"^`working_memory` must be a number of MiB from 1; got nan\.$"),
        (["--method", "shrp"], r"^`method` must be one of .*; got 'shrp'\. Did you mean 'sharp'\?$"),
        (["--kernel", "rbd"], r"^`kernel` must be one of .*; got 'rbd'\. Did you mean 'rbf'\?$"),
        (
            ["--kernel", "precomputed"],
            r"^`--kernel precomputed` needs a matrix, not a table; use it from Python\.$",
        ),
        (["--estimator", "bias"], r"^`estimator` must be one of .*; got 'bias'\. Did you mean 'biased'\?$"),
        (["--dtype", "float16"], r"^`dtype` must be one of .*; got 'float16'\. Did you mean 'float64'\?$"),
        (["--backend", "nunpy"], r"^`backend` must be one of .*; got 'nunpy'\. Did you mean 'numpy'\?$"),
        (
            ["--scale", "standart"],
            r"^`scale` must be one of .*'rank', 'none'; got 'standart'\. Did you mean 'standard'\?$",
        ),
        (
            ["--method", "s-sd", "--schedule", "papr"],
            r"^`schedule` must be one of .*; got 'papr'\. Did you mean 'paper'\?$",
        ),
        (["--method", "s-sd", "--n-steps", "0"], r"^`n_steps` must be a whole number from 1; got 0\.$"),
        (
            ["--n-steps", "3", "--method", "sd"],
            r"^`--n-steps` and `--schedule` go with `--method s-sd`; got --method sd\.$",
        ),
        (
            ["--schedule", "paper", "--method", "exhaustive"],
            r"^`--n-steps` and `--schedule` go with `--method s-sd`; got --method exhaustive\.$",
        ),
        (
            ["--n-steps", "3"],
            r"^`--n-steps` and `--schedule` go with `--method s-sd`; got --method sharp\.$",
        ),
        (
            ["--n-starts", "3", "--method", "s-sd"],
            r"^`--n-starts`, `--certify` and `--gap` go with `--method sharp`; got --method s-sd\.$",
        ),
        (["--certify", "no", "--method", "sd"], r"^`--n-starts`, .* `--method sharp`; got --method sd\.$"),
        (["--gap", "0.1", "--method", "exhaustive"], r"^`--n-starts`, .*; got --method exhaustive\.$"),
        (["--certify", "maybe"], r"^`--certify` must be 'auto', 'yes' or 'no'; got 'maybe'\.$"),
        (["--n-starts", "0"], r"^`n_starts` must be a whole number from 1; got 0\.$"),
        (["--gap", "1"], r"^`gap` must be in \[0, 1\); got 1\.$"),
        (["--rng", "-1"], r"^`rng` must be a whole number from 0, .*; got -1\.$"),
        (["--columns", "z"], r"^there is no column 'z', named in `--columns`\."),
        (["--columns", "x", "--columns", "Y"], r"^there is no column 'Y'.* Did you mean 'y'\?"),
        (["--exclude", "z"], r"^there is no column 'z', named in `--exclude`\."),
        (["--id", "nam"], r"^there is no column 'nam'.* Did you mean 'name'\?"),
        (
            ["--group", "G"],
            r"^there is no column 'G', named in `--group`\. Did you mean 'g'\?",
        ),
        (
            ["--among", "C"],
            r"^column 'g' has no group 'C'.* The groups are 'B' \(5 rows\), 'A' \(3 rows\)\.$",
        ),
        (["--among", "A"], r"must differ; got 'A' for both\.$"),
    ],
)
def test_options(options: list[str], message: str, table: str, refused: Refused):
    assert re.search(message, refused("bounds", table, *GROUPS, "--n-moved", "2", *options))


def test_id_is_suggested_for_names(table: str, refused: Refused):
    message = refused("bounds", table, *GROUPS[:-2], "--n-moved", "2")
    assert re.search(
        r"'name' \(text, different in every row\)\. If 'name' names the rows, set `--id` to it", message
    )


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"g,x\nA,1\nA,nan\nB,3\nB,4\n", r"has missing or infinite values in 1 of 1 column: 'x' \(1 row\)"),
        (b"g,x\nA,1\nA,2\n", r"^column 'g' has only one group, 'A' \(2 rows\); two are needed\.$"),
        (
            b"g,x\nA,1\nB,2\nB,3\n",
            r"`X` has 1 row; the unbiased estimator needs at least 2\.$",
        ),
        (b"", r"^'f\.csv' is an empty file\.$"),
        (b"g,x\n", r"^'f\.csv' has no rows below the header\.$"),
        (bytes(range(256)) * 9, r"^'f\.csv' \(a \.csv file\) holds binary data, neither CSV nor Parquet\."),
        pytest.param(
            b"PAR1" + b"\0" * 60 + b"PAR1",
            r"^'f\.csv' is a damaged Parquet file, or one that polars cannot read",
            marks=pytest.mark.full,
        ),
        (b"g,x\nA,1\nA,2,3\nB,1\n", r"^'f\.csv' is ragged: row 2 below the header has 3 fields"),
    ],
)
def test_files_that_are_no_tables(contents: bytes, message: str, tmp_path: Path, refused: Refused):
    path = tmp_path / "f.csv"
    path.write_bytes(contents)
    line = refused("bounds", str(path), "--group", "g", "--hidden", "A", "--among", "B", "--n-moved", "0")
    assert re.search(message, line)


def test_files_that_cannot_be_read(tmp_path: Path, table: str, refused: Refused):
    rest = [*GROUPS, "--n-moved", "1"]
    assert refused("bounds", str(tmp_path / "tabel.csv"), *rest).endswith("Did you mean 'table.csv'?")
    assert "is a folder" in refused("bounds", str(tmp_path), *rest)
    assert "cannot be read: " in refused("bounds", "x" * 5000 + ".csv", *rest)
    assert "cannot be read: " in refused("bounds", f"{table}/inside.csv", *rest)


LONG = "q" * 3000
FLAGS = (
    "epsilon n-moved audit prevalence group hidden id columns exclude verified may-move limit method certify "
    "kernel bandwidth dtype rng scale dates decimal encoding missing unit file rows report"
)


@pytest.mark.parametrize(
    "words",
    [
        [LONG],
        [f"--{LONG}"],
        ["bounds", f"--{LONG}"],
        ["bounds", "{table}", f"--json={LONG}"],
        ["demo", LONG],
        ["demo", "--save", LONG],
        ["demo", "--save", f"/{LONG}/t.csv"],
        ["demo", *["extra"] * 500],
        ["report", LONG, "--out", "a.html"],
        ["report", "{table}", "--out", LONG],
        *(
            ["bounds", LONG if flag == "file" else "{table}", *GROUPS, "--n-moved", "1", f"--{flag}={LONG}"]
            for flag in FLAGS.split()
        ),
    ],
)
def test_a_line_repeats_at_most_80_characters_of_an_argument(words: list[str], table: str, refused: Refused):
    line = refused(*(word.replace("{table}", table) for word in words))
    assert max(map(len, re.findall("q+", line)), default=0) <= 80
    assert len(line) < 600
