"""Where words come from. A report is a pure function of words, so this is the only place with randomness.

A device uses `OSWords` and nothing else; no source that a device may use has a seed.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from hubbub.errors import ParameterError


class WordSource(Protocol):
    """A stream of uint64 words."""

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""


class OSWords:
    """Words straight from the operating system: for a single report on a device."""

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""
        raw = os.urandom(8 * reports * words_per_report)
        return np.frombuffer(raw, "<u8").astype(np.uint64).reshape(reports, words_per_report)


class BulkWords:
    """An AES-256-CTR keystream under a key from the operating system: for many reports at once.

    As hard to predict as the cipher, and some twenty times faster than asking the system for each byte.
    """

    _ZEROS = bytes(1 << 20)

    def __init__(self) -> None:
        cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(bytes(16)))
        self._stream = cipher.encryptor()

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""
        words = np.empty((reports, words_per_report), "<u8")
        buffer = words.reshape(-1).data.cast("B")
        for start in range(0, len(buffer), len(self._ZEROS)):
            part = buffer[start : start + len(self._ZEROS)]
            self._stream.update_into(self._ZEROS[: len(part)] if len(part) < len(self._ZEROS) else self._ZEROS, part)
        return words.astype(np.uint64, copy=False)


class SeededWords:
    """Reproducible words for simulations and rehearsals only: whoever knows the seed can undo the noise."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""
        return self._generator.integers(0, 2**64, (reports, words_per_report), dtype=np.uint64)


class ReplayedWords:
    """Words written down beforehand: for test vectors."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = np.ascontiguousarray(words, np.uint64).reshape(-1)
        self._next = 0

    def draw(self, reports: int, words_per_report: int) -> NDArray[np.uint64]:
        """The next words, shape (reports, words_per_report)."""
        end = self._next + reports * words_per_report
        if end > len(self._words):
            raise ParameterError(f"a replay must hold all words asked for, got {len(self._words)} of {end}")
        drawn = self._words[self._next : end].reshape(reports, words_per_report)
        self._next = end
        return drawn
