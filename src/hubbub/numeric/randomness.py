"""Sources of random words. A report is a pure function of its random words, so all its randomness comes from here.

A device uses `OSRandomWords` only: no source on a device may have a seed.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from hubbub.errors import ParameterError, shown


def _check_sizes(reports: int, random_words_per_report: int) -> None:
    """Refuse sizes that are not whole numbers of at least 0."""
    for name, size in (("reports", reports), ("random_words_per_report", random_words_per_report)):
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise ParameterError(f"{name} must be a whole number of at least 0, got {name}={shown(size)}")


class RandomWordSource(Protocol):
    """A stream of uint64 random words."""

    def draw(self, reports: int, random_words_per_report: int) -> NDArray[np.uint64]:
        """The next random words, shape (reports, random_words_per_report)."""


class OSRandomWords:
    """Random words straight from the operating system: for a single report on a device."""

    def draw(self, reports: int, random_words_per_report: int) -> NDArray[np.uint64]:
        """The next random words, shape (reports, random_words_per_report)."""
        _check_sizes(reports, random_words_per_report)
        raw = os.urandom(8 * reports * random_words_per_report)
        return np.frombuffer(raw, "<u8").astype(np.uint64).reshape(reports, random_words_per_report)


_forks = 0  # forks between the first process and this one


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def _process() -> tuple[int, int]:
    """A pair that differs between this process and every process that it was forked from.

    The number of forks differs even if a process id is reused; the id differs even after a fork by C code, which does
    not count.
    """
    return os.getpid(), _forks


class StreamCipher(Protocol):
    """A stream cipher: given zeros, it returns the next bytes of its keystream."""

    def update_into(self, data: bytes, buf: memoryview, /) -> object:
        """Write the next bytes of the keystream, XORed with the data, into the buffer."""


class Keystream:
    """The keystream of a cipher. It belongs to one process; threads may share it."""

    _ZEROS = bytes(1 << 20)

    def __init__(self, cipher: StreamCipher) -> None:
        self.process = _process()
        self._lock = threading.Lock()
        self._cipher = cipher

    def draw(self, reports: int, random_words_per_report: int) -> NDArray[np.uint64]:
        """The next bytes as random words, shape (reports, random_words_per_report); one thread at a time."""
        drawn = np.empty((reports, random_words_per_report), "<u8")
        buffer = drawn.reshape(-1).data.cast("B")
        with self._lock:
            for start in range(0, len(buffer), len(self._ZEROS)):
                part = buffer[start : start + len(self._ZEROS)]
                self._cipher.update_into(self._ZEROS[: len(part)], part)
        return drawn.astype(np.uint64, copy=False)


def _new_keystream() -> Keystream:
    """AES-256-CTR under a key from the operating system."""
    return Keystream(Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(bytes(16))).encryptor())


class BulkRandomWords:
    """An AES-256-CTR keystream under a key from the operating system: for many reports at once.

    As hard to predict as the cipher, and about twenty times faster than asking the system for each byte.

    No two reports get the same random words. Threads may share a source: each draw gets its own words, in no
    particular order. A forked process takes a new key before its first draw. A copy, and an unpickled source, have a
    new key, too.
    """

    def __init__(self) -> None:
        self._keystream = _new_keystream()

    def __reduce__(self) -> tuple[type[BulkRandomWords], tuple[()]]:
        return (BulkRandomWords, ())

    def draw(self, reports: int, random_words_per_report: int) -> NDArray[np.uint64]:
        """The next random words, shape (reports, random_words_per_report)."""
        _check_sizes(reports, random_words_per_report)
        keystream = self._keystream
        if keystream.process != _process():
            # The old lock may be held by a thread that does not exist in this process, so it is not used. If two
            # threads get here at once, each makes a new key, which does no harm.
            keystream = self._keystream = _new_keystream()
        return keystream.draw(reports, random_words_per_report)


class KeyedRandomWords:
    """An AES-256-CTR keystream under a given key: the same key and stream give the same random words again.

    For work that may be done twice, such as a Spark task: when it is repeated, it makes the same reports. Anyone with
    the key can undo the noise. So the key is drawn from the operating system, stays with those who see the values
    anyway, and is used for one job.

    Parameters
    ----------
    key : bytes
        32 secret bytes.
    stream : int
        From 0 to 2^64 - 1. Streams of one key have nothing in common.
    """

    def __init__(self, key: bytes, stream: int) -> None:
        if not isinstance(key, bytes) or len(key) != 32:
            raise ParameterError("key must be 32 bytes, got something else")
        # The low half of the nonce counts blocks of 16 bytes.
        nonce = stream.to_bytes(8, "big") + bytes(8)
        self._keystream = Keystream(Cipher(algorithms.AES256(key), modes.CTR(nonce)).encryptor())

    def draw(self, reports: int, random_words_per_report: int) -> NDArray[np.uint64]:
        """The next random words, shape (reports, random_words_per_report)."""
        _check_sizes(reports, random_words_per_report)
        return self._keystream.draw(reports, random_words_per_report)


class SeededRandomWords:
    """Reproducible random words, for simulations and rehearsals only: anyone who knows the seed can undo the noise."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        if not isinstance(seed, np.random.SeedSequence) and not (isinstance(seed, int | np.integer) and seed >= 0):
            raise ParameterError(f"seed must be a whole number of at least 0, got seed={shown(seed)}")
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def draw(self, reports: int, random_words_per_report: int) -> NDArray[np.uint64]:
        """The next random words, shape (reports, random_words_per_report)."""
        _check_sizes(reports, random_words_per_report)
        return self._generator.integers(0, 2**64, (reports, random_words_per_report), dtype=np.uint64)


class ReplayedRandomWords:
    """Random words written down beforehand: for test vectors."""

    def __init__(self, random_words: NDArray[np.uint64]) -> None:
        if not isinstance(random_words, np.ndarray) or random_words.dtype != np.uint64:
            # Conversion from another type would cut or round the random words, and so weaken the noise.
            got = random_words.dtype if isinstance(random_words, np.ndarray) else type(random_words).__name__
            raise ParameterError(f"a replay must be an array of uint64, got {got}")
        self._random_words = np.ascontiguousarray(random_words).reshape(-1)
        self._next = 0

    def draw(self, reports: int, random_words_per_report: int) -> NDArray[np.uint64]:
        """The next random words, shape (reports, random_words_per_report)."""
        _check_sizes(reports, random_words_per_report)
        end = self._next + reports * random_words_per_report
        if end > len(self._random_words):
            raise ParameterError(
                f"a replay must have all the random words that are drawn, got {len(self._random_words)} of {end}"
            )
        drawn = self._random_words[self._next : end].reshape(reports, random_words_per_report)
        self._next = end
        return drawn
