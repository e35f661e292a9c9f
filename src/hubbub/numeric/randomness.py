"""Where words come from. A report is a pure function of words, so this is the only place with randomness.

A device uses `OSWords` and nothing else; no source that a device may use has a seed.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from hubbub.errors import ParameterError, shown


def _check_sizes(reports: int, words_per_report: int) -> None:
    """Refuse sizes that are not whole numbers of at least 0."""
    for name, size in (("reports", reports), ("words_per_report", words_per_report)):
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise ParameterError(f"{name} must be a whole number of at least 0, got {name}={shown(size)}")


class WordSource(Protocol):
    """A stream of uint64 words."""

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""


class OSWords:
    """Words straight from the operating system: for a single report on a device."""

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""
        _check_sizes(reports, words_per_report)
        raw = os.urandom(8 * reports * words_per_report)
        return np.frombuffer(raw, "<u8").astype(np.uint64).reshape(reports, words_per_report)


_forks = 0  # forks between the first process and this one


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def _process() -> tuple[int, int]:
    """What tells this process from every other that shares its past.

    The number of forks tells it from one that had the same id; the id, from a parent that C code has forked.
    """
    return os.getpid(), _forks


class _Keystream:
    """An AES-256-CTR keystream that belongs to one process."""

    _ZEROS = bytes(1 << 20)

    def __init__(self) -> None:
        self.process = _process()
        self._lock = threading.Lock()
        self._encryptor = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(bytes(16))).encryptor()

    def fill(self, buffer: memoryview) -> None:
        """The next bytes, for one thread at a time."""
        with self._lock:
            for start in range(0, len(buffer), len(self._ZEROS)):
                part = buffer[start : start + len(self._ZEROS)]
                self._encryptor.update_into(self._ZEROS[: len(part)], part)


class BulkWords:
    """An AES-256-CTR keystream under a key from the operating system: for many reports at once.

    As hard to predict as the cipher, and some twenty times faster than asking the system for each byte.

    No two reports get the same words. Threads may share a source: each draw has words of its own, in an order that
    nobody promises. A process that was forked draws a key of its own before its first words, whoever forked it. A
    copy, and what comes out of a pickle, is a source with a key of its own.
    """

    def __init__(self) -> None:
        self._keystream = _Keystream()

    def __reduce__(self) -> tuple[type[BulkWords], tuple[()]]:
        return (BulkWords, ())

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""
        _check_sizes(reports, words_per_report)
        words = np.empty((reports, words_per_report), "<u8")
        keystream = self._keystream
        if keystream.process != _process():
            # The old lock may be held by a thread that is not here. Two threads may both come by: each has a key then.
            keystream = self._keystream = _Keystream()
        keystream.fill(words.reshape(-1).data.cast("B"))
        return words.astype(np.uint64, copy=False)


class SeededWords:
    """Reproducible words for simulations and rehearsals only: whoever knows the seed can undo the noise."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        if not isinstance(seed, np.random.SeedSequence) and not (isinstance(seed, int | np.integer) and seed >= 0):
            raise ParameterError(f"seed must be a whole number of at least 0, got seed={shown(seed)}")
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""
        _check_sizes(reports, words_per_report)
        return self._generator.integers(0, 2**64, (reports, words_per_report), dtype=np.uint64)


class ReplayedWords:
    """Words written down beforehand: for test vectors."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        if not isinstance(words, np.ndarray) or words.dtype != np.uint64:
            # Another type would be cut or rounded, and with it the noise.
            got = words.dtype if isinstance(words, np.ndarray) else type(words).__name__
            raise ParameterError(f"a replay must be an array of uint64, got {got}")
        self._words = np.ascontiguousarray(words).reshape(-1)
        self._next = 0

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""
        _check_sizes(reports, words_per_report)
        end = self._next + reports * words_per_report
        if end > len(self._words):
            raise ParameterError(f"a replay must hold all words asked for, got {len(self._words)} of {end}")
        drawn = self._words[self._next : end].reshape(reports, words_per_report)
        self._next = end
        return drawn
