"""Sums on this machine's processor: a matrix that is kept, or blocks as they are needed."""
