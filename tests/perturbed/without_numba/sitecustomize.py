"""Python that finds this file on its path finds no numba, in this process and in all that it starts."""

import sys

sys.modules["numba"] = None
