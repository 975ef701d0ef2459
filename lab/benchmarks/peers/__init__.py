"""Seconds and memory beside other packages, each in an environment of its own: see `run`."""
