"""The paper run again, its numbers beside the printed ones: `python -m lab.paper`; README.md says more."""
