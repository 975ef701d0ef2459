"""Python that finds this file on its path finds no numba, in this process and in all that it starts."""

from importlib.machinery import PathFinder

_find_spec = PathFinder.find_spec


def _find_all_but_numba(finder, name, path=None, target=None):
    return None if name.partition(".")[0] == "numba" else _find_spec(name, path, target)


PathFinder.find_spec = classmethod(_find_all_but_numba)
