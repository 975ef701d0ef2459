"""Sums on a device of PyTorch's: a GPU if there is one, else the CPU."""
