"""Calls that are stopped on the way, and what is left of a result once its cost is taken away."""

import json

import pytest

from mmdbounds.progress import Meter


def stopped_after(n_times, call):
    """Make a call and stop it when kernel values were counted so many times, in whatever thread that is."""
    original, left = Meter.add, [n_times]

    def add(self, pairs):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        original(self, pairs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Meter, "add", add)
        with pytest.raises(KeyboardInterrupt):
            call()


def told(result):
    """Return what a result says, but for what this call cost."""
    data = result.to_dict()
    for cost in ("seconds", "n_pairs"):
        del data["provenance"][cost]
    return json.dumps(data)
