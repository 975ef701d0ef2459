"""The program of the guide to clusters runs as it stands, and the command line finds a cluster."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb

pytestmark = pytest.mark.full

GUIDE = Path(__file__).parents[3] / "docs" / "cluster.md"


def output_of(*command, **environment):
    ran = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_program_of_the_guide(tmp_path):
    blocks = re.findall(r"```\{code-block\} python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "guide.py"
    script.write_text(blocks[0], encoding="utf-8")
    shown = " ".join(output_of(str(script)).split())
    assert "float64, dask on 2 workers" in shown


def test_the_command_line_finds_the_scheduler_that_it_is_told_of(client, tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2100, 2)), rng.normal(0.3, 1, size=(2200, 2))
    table = np.column_stack([np.concatenate([X, Y]), np.repeat([0, 1], [len(X), len(Y)])])
    file = tmp_path / "rows.csv"
    np.savetxt(file, table, delimiter=",", header="a,b,group", comments="", fmt="%.17g")
    asked = ["bounds", str(file), "--group", "group", "--hidden", "0", "--among", "1", "--epsilon", "0.1"]
    options = ["--method", "sd", "--scale", "none", "--json", "--backend"]
    address = {"DASK_SCHEDULER_ADDRESS": client.scheduler.address}
    found, expected = (
        mb.results.BoundsResult.from_dict(
            json.loads(output_of("-m", "mmdbounds", *asked, *options, each, **address))
        )
        for each in ("dask", "numpy")
    )
    assert found.provenance.backend == "dask"
    np.testing.assert_array_equal(found.upper.rows, expected.upper.rows)
    np.testing.assert_allclose(found.observed, expected.observed, rtol=0, atol=1e-12)
