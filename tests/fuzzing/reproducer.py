"""A drawn call as a few lines of Python that anybody can run."""

from __future__ import annotations

import inspect

import numpy as np

from fuzzing.calls import users_kernel

SHORT = 200
"""Numbers that are written out; more are made again by the fuzz target's own code."""


def reproducer(call, name):
    """Return code that makes the same call and checks it, and for few plain rows the call alone as well."""
    imports = (
        "from fuzzing.calls import Call\n"
        "from fuzzing.catalogue import CATALOGUE\n"
        "from fuzzing.misfiling import Misfiling\n"
        "from fuzzing.rows import RowsSpec\n"
    )
    checked = f"# PYTHONPATH=src:tests python\n{imports}call = {call!r}\nCATALOGUE[{name!r}].check(call)\n"
    if call.pooled.size > SHORT or call.form != "array":
        return checked
    return f"{checked}\n# The call alone:\n{alone(call, name)}"


def alone(call, name):
    """Return the call of the package with its rows written out."""
    Z, p = call.pooled, call.rows.p
    function = {"statistic": "mmd2", "test": "robust_test", "sweep": "sweep"}.get(name, "mmd_bounds")
    options = call.options() | ({} if function == "mmd2" else {"rng": call.rng})
    if function in ("robust_test", "sweep"):
        options["n_permutations"] = call.n_permutations
    if function in ("robust_test", "mmd_bounds"):
        options["exactly"] = call.misfiling.exactly
    if function == "sweep":
        options["epsilons"] = sorted({m / (p + m) for m, _ in call.counts})
    written = {key: "users_kernel" if callable(value) else repr(value) for key, value in options.items()}
    if call.kernel == "energy":
        written["kernel"] = f"mb.kernels.{options['kernel']!r}"
    if function == "mmd_bounds":
        method = call.searched()
        written["method"] = repr(method) if isinstance(method, str) else f"mb.{method!r}"
    amount = f", {call.misfiling.in_code()}" if function in ("robust_test", "mmd_bounds") else ""
    keywords = ", ".join(f"{key}={value}" for key, value in written.items())
    users = f"{inspect.getsource(users_kernel)}\n" if call.kernel == "function" else ""
    return (
        f"import numpy as np\nimport mmdbounds as mb\n\n{users}"
        f"Z = np.array({Z.tolist()!r}, dtype={np.dtype(Z.dtype).name!r})\n"
        f"print(mb.{function}(Z[:{p}], Z[{p}:]{amount}, {keywords}))\n"
    )
