"""Who is measured: programs, the environment each runs in, and what their numbers mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
OURS = "mmdbounds"


@dataclass(frozen=True)
class Peer:
    """A program that is measured.

    Attributes
    ----------
    name
        As tables and picture call it.
    program
        Its file, in the folder `programs`.
    environment
        The list in the folder `requirements` that its environment is made from; `OURS` is the
        environment that the driver runs in.
    task
        "mmd2": the squared MMD as filed. "bounds": bounds on it. "floor": the lower side's relaxation.
    convention
        What it returns, where that is not the U-statistic of the squared MMD.
    """

    name: str
    program: str
    environment: str
    task: str = "mmd2"
    convention: str = ""

    @property
    def path(self):
        """The program's file."""
        return FOLDER / "programs" / f"{self.program}.py"

    @property
    def is_ours(self):
        """Whether this is no peer at all."""
        return self.environment == OURS


PEERS = (
    Peer("mmdbounds", "ours_mmd2", OURS),
    Peer("scikit-learn, blocks", "with_scikit_learn", "scikit_learn"),
    Peer("scikit-learn, whole matrix", "with_scikit_learn_whole", "scikit_learn"),
    Peer("PyTorch, blocks", "with_torch", "torch"),
    Peer("JAX, strips", "with_jax", "jax"),
    Peer("KeOps", "with_keops", "keops"),
    Peer("frouros", "with_frouros", "frouros"),
    Peer("hyppo", "with_hyppo", "hyppo", convention="root of a normalised V-statistic"),
    Peer("mmdbounds, S-SD", "ours_s_sd", OURS, "bounds"),
    Peer("mmdbounds, sharp", "ours_sharp", OURS, "bounds"),
    Peer("mmdbounds, floor", "ours_floor", OURS, "floor"),
    Peer("Clarabel", "with_clarabel", "clarabel", "floor"),
    Peer("OSQP", "with_osqp", "osqp", "floor"),
)

REFERENCES = {"mmd2": "mmdbounds", "floor": "mmdbounds, floor"}
"""Whose number the others of a task are compared with."""

AGREES = {"mmd2": 1e-10, "floor": 1e-6}
"""Numbers of a task that differ by less agree."""
