"""Decorators for loops that numba compiles.

A `kernel` is called from Python; its compiled form is cached on disk. An `inlined` function is called by kernels only.
LLVM inlines it, so that loops are vectorised; numba's own inlining (inline="always") has the same effect, but takes
many times longer to compile.

Compiling takes about a second for each kernel and each combination of argument types. So kernels get only contiguous,
writable arrays, and functions that several kernels call get no literals (a 0 is np.int64(0)).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, runtime

_njit: Any = numba.njit  # numba's own types do not know all of its options
_caching: Any = caching
_runtime: Any = runtime
_TRIED = "0.68."  # the version of numba with which kernels were loaded without the compiler


class _Cache(_caching.FunctionCache):  # type: ignore[misc]  # numba has no types
    """Compiled kernels on disk. Loading one does not load the compiler as well, which takes numba 0.4 s."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled form for these argument types, or None. It needs numba's memory management, and nothing else."""
        try:
            if not numba.__version__.startswith(_TRIED):
                return super().load_overload(sig, target_context)
            _runtime.rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # a damaged file, in whatever way: forget all that is kept of this kernel
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled form. On a full disk it is not kept, and works all the same."""
        with suppress(OSError):
            super().save_overload(sig, data)


def kernel(function: Any) -> Any:
    """Compile a function that is called from Python, when it is first called, and keep its compiled form on disk.

    If nothing can be written, neither beside the source nor in NUMBA_CACHE_DIR nor in the user's own directory, it is
    compiled by every process.
    """
    try:
        compiled = _njit(cache=True, nogil=True)(function)
        compiled._cache = _Cache(function)
    except RuntimeError:  # numba has no place for it
        compiled = _njit(nogil=True)(function)
    return compiled


inlined = _njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inner = _njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""A part of a kernel that is too large to be inlined."""


def is_compiled(function: Any) -> bool:
    """Whether a compiled form of a kernel is on disk; it may be of an older version of the kernel."""
    name = f"{function.py_func.__module__.rpartition('.')[2]}.{function.py_func.__qualname__}"
    kept_in = function.stats.cache_path
    return kept_in is not None and any(Path(kept_in).glob(f"{name}-*.nbi"))
