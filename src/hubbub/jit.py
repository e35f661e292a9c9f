"""Decorators for loops that numba compiles.

A `kernel` is called from Python; its compiled form is cached on disk. An `inlined` function is called by kernels only.
LLVM inlines it, so that loops are vectorised; numba's own inlining (inline="always") has the same effect, but takes
many times longer to compile.

Compiling takes about a second for each kernel and each combination of argument types. So kernels get only contiguous,
writable arrays, and functions that several kernels call get no literals (a 0 is np.int64(0)).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba import njit

_njit: Any = njit  # numba's own types do not know all of its options

kernel = _njit(cache=True, nogil=True)
inlined = _njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inner = _njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""A part of a kernel that is too large to be inlined."""


def is_compiled(function: Any) -> bool:
    """Whether a compiled form of a kernel is on disk; it may be of an older version of the kernel."""
    name = f"{function.py_func.__module__.rpartition('.')[2]}.{function.py_func.__qualname__}"
    return any(Path(function.stats.cache_path).glob(f"{name}-*.nbi"))
