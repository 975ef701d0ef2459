"""Which kernels there are: found by name, listed wherever somebody reads, open to new ones."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from mmdbounds.errors import MmdBoundsError, did_you_mean, shown_value
from mmdbounds.kernels import SHIPPED
from mmdbounds.kernels.base import BandwidthKernel, CompiledForms, Kernel, PairKernel, Precomputed

K = TypeVar("K", bound=type[Kernel])
T = TypeVar("T")

OF_PAIRS = ("distance2", "l1", "inner")  # geometries with a number per pair
LINE = 104  # letters in a line of a docstring

_CLASSES: dict[str, type[Kernel]] = {}
_NAMES: dict[str, str] = {}  # the kernel's name for each spelling of it, folded


def folded(name: str) -> str:
    """Return a name without what people write differently: case, dashes, underscores, blanks."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def register(cls: K) -> K:
    """Make a kernel known by its name and its other spellings; also a decorator of its class.

    Parameters
    ----------
    cls
        A class derived from `PairKernel` or, if the median distance is to set its bandwidth, from
        `BandwidthKernel`. Its object must need no arguments, apart from that bandwidth.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> import mmdbounds as mb
    >>> from mmdbounds.kernels import BandwidthKernel, register
    >>> @register
    ... class Cauchy(BandwidthKernel):
    ...     name = "cauchy"
    ...     geometry = "distance2"
    ...
    ...     def value(self, t):
    ...         return 1 / (1 + t / self.bandwidth**2)
    >>> round(mb.mmd2([[0.0], [1.0]], [[2.0], [4.0]], kernel="cauchy", bandwidth=1.0), 6)
    0.270588
    """
    _check_class(cls)
    spellings = (cls.name, *cls.spellings)
    for spelling in spellings:
        known = _CLASSES.get(_NAMES.get(folded(spelling), ""), cls)
        # A class may be defined again, as in a notebook.
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            msg = f"a kernel called {spelling!r} is there already: {known.__name__}."
            raise MmdBoundsError(msg)
    _CLASSES[cls.name] = cls
    _NAMES.update(dict.fromkeys(map(folded, spellings), cls.name))
    return cls


def _check_class(cls: Any) -> None:
    """Refuse what is no kernel with a formula and a name."""
    if not (isinstance(cls, type) and issubclass(cls, PairKernel)):
        msg = f"`register` takes a class derived from PairKernel; got {shown_value(cls)}."
        raise MmdBoundsError(msg)
    if inspect.isabstract(cls):
        msg = f"the kernel {cls.__name__} has no formula. Define `value`."
        raise MmdBoundsError(msg)
    if not folded(str(getattr(cls, "name", ""))):
        msg = f'the kernel {cls.__name__} has no name. Set `name = "..."` in the class.'
        raise MmdBoundsError(msg)
    if getattr(cls, "geometry", None) not in OF_PAIRS:
        msg = f"`geometry` of {cls.__name__} must be one of {', '.join(map(repr, OF_PAIRS))}."
        raise MmdBoundsError(msg)
    try:
        inspect.signature(cls).bind(*([1.0] if issubclass(cls, BandwidthKernel) else []))
    except TypeError:
        msg = f"{cls.__name__} must need no arguments apart from a bandwidth, to be made from its name."
        raise MmdBoundsError(msg) from None


def kernel_class(name: str) -> type[Kernel]:
    """Return the kernel of a name, however it is spelt, or say which there are."""
    found = _NAMES.get(folded(name))
    if found is None:
        known = [*_CLASSES, *(spelling for cls in _CLASSES.values() for spelling in cls.spellings)]
        hint, names = did_you_mean(name, known), ", ".join(map(repr, _CLASSES))
        wanted = f"one of {names}, a kernel object or a function k(A, B)"
        msg = f"`kernel` must be {wanted}; got {shown_value(name)}.{hint}"
        raise MmdBoundsError(msg)
    return _CLASSES[found]


_HAS: dict[str, Callable[[type[Kernel]], bool]] = {
    "name": lambda cls: True,
    "formula": lambda cls: issubclass(cls, PairKernel),
    "bandwidth": lambda cls: issubclass(cls, BandwidthKernel),
    "slope": lambda cls: cls.slope is not Kernel.slope,
    "bound": lambda cls: isinstance(cls.upper_bound, float),
}


def kernel_names(having: str = "name") -> tuple[str, ...]:
    """Return the names of the kernels that have something: one of the keys of `_HAS`."""
    return tuple(name for name, cls in _CLASSES.items() if _HAS[having](cls))


def takes_bandwidth(kernel: object) -> bool:
    """Return whether `kernel` is the name of a kernel with a bandwidth."""
    known = isinstance(kernel, str) and folded(kernel) in _NAMES
    return known and issubclass(kernel_class(str(kernel)), BandwidthKernel)


def is_precomputed(kernel: object) -> bool:
    """Return whether `kernel` says that the matrix is given, by its name or as an object."""
    if isinstance(kernel, str):
        return folded(kernel) == folded(Precomputed.name)
    return isinstance(kernel, Precomputed)


def shipped_class(name: str) -> type[Kernel] | None:
    """Return the kernel of the package with this name, `None` for any other."""
    return _CLASSES[name] if name in SHIPPED else None


def is_shipped(kernel: Kernel) -> bool:
    """Return whether every installation of the package has the kernel's class."""
    return type(kernel) is shipped_class(kernel.name)


def lists_kernels(of: T) -> T:
    """Fill names of kernels into a docstring, for a line ``<kernels having slope>`` (see `kernel_names`)."""

    def filled(found: re.Match[str]) -> str:
        names = ", ".join(f'``"{name}"``' for name in kernel_names(found[2]))
        return textwrap.fill(names + found[3], LINE, initial_indent=found[1], subsequent_indent=found[1])

    if of.__doc__:  # none with python -OO
        of.__doc__ = re.sub(r"(?m)^( *)<kernels having (\w+)>(.*)$", filled, of.__doc__)
    return of


for _name, (_file, _made) in SHIPPED.items():
    _cls = getattr(importlib.import_module(f"mmdbounds.kernels.{_file}"), _made)
    _CLASSES[_name] = _cls
    _NAMES.update(dict.fromkeys(map(folded, (_name, *_cls.spellings)), _name))

# The compiled forms of the package; numba makes them a part of its loops.
SHIPPED_FORMS: tuple[tuple[type[Kernel], CompiledForms], ...] = tuple(
    (cls, cls.forms) for cls in _CLASSES.values() if cls.forms is not None
)
