"""PyTorch on the processor: blocks of 1,024 rows and columns, worked on in place."""

from __future__ import annotations

import torch
from timed import main, unbiased

BLOCK = 1024


def squared_mmd(X, Y, bandwidth, n_moved):
    A, B = torch.from_numpy(X), torch.from_numpy(Y)
    return unbiased(total(A, A, bandwidth), total(B, B, bandwidth), total(A, B, bandwidth), len(X), len(Y))


def total(A, B, bandwidth):
    squares_a, squares_b = (A * A).sum(1), (B * B).sum(1)
    found = 0.0
    for i in range(0, len(A), BLOCK):
        for j in range(0, len(B), BLOCK):
            block = squares_a[i : i + BLOCK, None] + squares_b[None, j : j + BLOCK]
            block.addmm_(A[i : i + BLOCK], B[j : j + BLOCK].T, alpha=-2)
            found += block.clamp_(min=0).mul_(-0.5 / bandwidth**2).exp_().sum().item()
    return found


if __name__ == "__main__":
    main(squared_mmd, "torch")
