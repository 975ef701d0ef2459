"""JAX on the processor: strips of rows, compiled, one after the other."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from timed import main, unbiased

VALUES = 2**24
"""Kernel values of a strip."""

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def squared_mmd(X, Y, bandwidth, n_moved):
    A, B = jnp.asarray(X), jnp.asarray(Y)
    return unbiased(total(A, A, bandwidth), total(B, B, bandwidth), total(A, B, bandwidth), len(X), len(Y))


def total(A, B, bandwidth):
    rows = min(len(A), max(1, VALUES // len(B)))
    whole = len(A) // rows * rows
    found = float(strips(A[:whole], B, bandwidth, rows))
    return found + (float(strips(A[whole:], B, bandwidth, len(A) - whole)) if whole < len(A) else 0.0)


@functools.partial(jax.jit, static_argnums=3)
def strips(A, B, bandwidth, rows):
    squares = (B * B).sum(axis=1)

    def strip(a):
        distances2 = (a * a).sum(axis=1)[:, None] + squares - 2 * a @ B.T
        return jnp.exp(jnp.maximum(distances2, 0) * (-0.5 / bandwidth**2)).sum()

    return jax.lax.map(strip, A.reshape(-1, rows, A.shape[1])).sum()


if __name__ == "__main__":
    main(squared_mmd, "jax")
