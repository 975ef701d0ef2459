"""What is not installed: the paper, its data, studies and benchmarks, run from a clone (README.md)."""
