"""The tables and figures of the paper, run again: settings, runs, and a page with both sets of numbers."""
