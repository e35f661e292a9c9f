"""Items as paths from the root of a binary tree: two codecs behind one interface, for numbers and for texts.

A path is bits, the first bit first, packed from the top of limb 0 downwards and padded with zeros.

* `NumberPaths`: values that share a prefix (sequential ids!) would share buckets at every depth. Two Feistel rounds of
  the public hash remove that structure, and are as fast to invert. A search ranks paths by their scores.
* `TextPaths`: the bits of a text code and of a fingerprint (`fingerprint`). A search follows the code's automaton, and
  ranks paths by their evidence less the code bits used.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.codes.automaton import Jumps, build_automaton, open_shares
from hubbub.mechanisms.tree import kernels_paths
from hubbub.mechanisms.tree.fingerprint import LEADING, code_runs, fingerprint_before, fingerprint_places, path_bits
from hubbub.model.coded_domain import CodedText
from hubbub.model.mechanism import Items
from hubbub.numeric.hashing import HashKey, hash_words

Paths = NDArray[np.uint64]


class Front(NamedTuple):
    """Paths of one depth: score, state of the text code's automaton, and code bits used (0 for numbers)."""

    paths: Paths
    scores: NDArray[np.float32]
    nodes: NDArray[np.int32]
    used: NDArray[np.float32]

    def take(self, chosen: NDArray[np.int64]) -> Front:
        """The paths at these indices."""
        return Front(self.paths[chosen], self.scores[chosen], self.nodes[chosen], self.used[chosen])


class PathCodec(ABC):
    """How items become paths, and what a search knows of a path on its way down.

    Attributes
    ----------
    bits, limbs : int
        Bits of a whole path, and the 64-bit limbs that hold them.
    prefix_masks : uint64 array, shape (bits + 1, limbs)
        For each depth, a path whose first `depth` bits are ones.
    unranked_bits : sequence of int
        For each depth, how many of a path's first `depth` bits are not subtracted from its rank.
    log_open : sequence of float
        For each depth, the logarithm of the share of all paths of so many bits that lead on to values.
    done : int
        The state of a path whose text has ended; −1 if there are no states.
    """

    bits: int
    limbs: int
    prefix_masks: Paths
    unranked_bits: Sequence[int]
    log_open: Sequence[float]
    done: int = -1

    @abstractmethod
    def to_paths(self, items: Items) -> Paths:
        """The path of each item, shape (n, limbs)."""

    @abstractmethod
    def to_items(self, paths: Paths) -> Items:
        """The item of each path, shape (n, limbs of an item)."""

    @abstractmethod
    def completed(self, paths: Paths, depth: int) -> tuple[Paths, NDArray[np.bool_]]:
        """Whole paths of values that end within the first `depth` bits, and which of them are values of the domain."""

    @abstractmethod
    def lengths(self, items: Items) -> NDArray[np.float64]:
        """Code bits of each item."""

    @abstractmethod
    def log_priors(self, paths: Paths) -> NDArray[np.float64]:
        """The logarithm of each value's share of the level; the shares of all values sum to at most 1."""

    @abstractmethod
    def jumps(self, depth: int, chunk: int) -> Jumps:
        """For every state and every chunk, where the last `chunk` of a path's first `depth` bits lead."""

    @abstractmethod
    def begin(self, roots: Paths, scores: NDArray[np.float32], depth: int) -> Front:
        """Roots of `depth` bits with their states; impossible ones are left out."""


class NumberPaths(PathCodec):
    """Paths by a public bijection; all values have the same prior."""

    def __init__(self, key: HashKey, bits: int, size: int) -> None:
        self._key = np.uint32(key.low), np.uint32(key.high)
        self.bits, self.limbs, self._size = bits, -(-bits // 64), size
        self.prefix_masks = _prefix_masks(bits)
        self.unranked_bits = range(bits + 1)  # all of them: numbers are ranked by score alone
        self.log_open = [0.0] * (bits + 1)

    def to_paths(self, items: Items) -> Paths:
        """Apply the bijection and write the most significant bit first."""
        paths = np.zeros_like(items)
        kernels_paths.numbers_to_paths(*self._key, np.ascontiguousarray(items, np.uint64), self.bits, paths)
        return paths

    def to_items(self, paths: Paths) -> Items:
        """Undoes `to_paths`."""
        items = np.zeros_like(paths)
        kernels_paths.paths_to_numbers(*self._key, np.ascontiguousarray(paths, np.uint64), self.bits, items)
        return items

    def completed(self, paths: Paths, depth: int) -> tuple[Paths, NDArray[np.bool_]]:  # noqa: ARG002
        """The paths, and whether the item of each is inside the universe."""
        if self._size == 1 << self.bits:
            return paths, np.ones(len(paths), bool)
        items = self.to_items(paths)
        return paths, np.array([int.from_bytes(item.tobytes(), "little") < self._size for item in items], bool)

    def lengths(self, items: Items) -> NDArray[np.float64]:
        """All bits of an item, for each."""
        return np.full(len(items), float(self.bits))

    def log_priors(self, paths: Paths) -> NDArray[np.float64]:
        """−ln N for each path."""
        return np.full(len(paths), -math.log(self._size))

    def jumps(self, depth: int, chunk: int) -> Jumps:  # noqa: ARG002
        """Empty tables of the types that the kernels take."""
        return Jumps(np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float32))

    def begin(self, roots: Paths, scores: NDArray[np.float32], depth: int) -> Front:  # noqa: ARG002
        """All roots; numbers have no states."""
        return Front(roots, scores, np.zeros(len(roots), np.int32), np.zeros(len(roots), np.float32))


class TextPaths(PathCodec):
    """Paths of a text code and a fingerprint; a value with a code of l bits has the prior 2^−l."""

    def __init__(self, key: HashKey, domain: CodedText, fingerprint: int) -> None:
        self._key, self._domain, self._fingerprint = key, domain, fingerprint
        self.bits = path_bits(fingerprint, domain.width)
        self.limbs, self.prefix_masks = -(-self.bits // 64), _prefix_masks(self.bits)
        # The fingerprint's bits: they only select among codes, and carry no prior.
        self.unranked_bits = [fingerprint_before(fingerprint, depth) for depth in range(self.bits + 1)]
        self.automaton = build_automaton(domain.code)
        self.done = self.automaton.done
        # Of paths whose code has ended, few have the right fingerprint; they are not counted.
        shares = np.log(np.maximum(open_shares(self.automaton, domain.width), 1e-300))
        self.log_open = [float(shares[depth - bits]) for depth, bits in enumerate(self.unranked_bits)]
        self._runs = code_runs(domain.width, fingerprint)

    def to_paths(self, items: Items) -> Paths:
        """The bits of each item's code, interleaved with a fingerprint, which is a hash of the whole item."""
        items = np.ascontiguousarray(items)
        paths = np.zeros((len(items), self.limbs), np.uint64)
        places = np.array([place for place in fingerprint_places(self._fingerprint) if place < self.bits], np.int64)
        hashes = hash_words(self._key, items.astype("<u8", copy=False).view("<u4"))
        kernels_paths.texts_to_paths(items, hashes, self._domain.width, places, self._runs, paths)
        return paths

    def to_items(self, paths: Paths) -> Items:
        """The items whose codes stand in the paths. Fingerprints are not checked."""
        items = np.zeros((len(paths), self._domain.item_limbs), np.uint64)
        kernels_paths.paths_to_texts(np.ascontiguousarray(paths), self._domain.width, self._runs, items)
        return items

    def completed(self, paths: Paths, depth: int) -> tuple[Paths, NDArray[np.bool_]]:
        """Whole paths of texts that end within the first `depth` bits, and which of them are valid.

        A valid one is a text of the domain whose fingerprint agrees with the first `depth` bits of the given path.
        """
        items = self.to_items(paths)
        whole = self.to_paths(items)
        matching = np.asarray(((whole & self.prefix_masks[depth]) == paths).all(axis=1))
        matching[matching] = [value is not None for value in self._domain.decode(items[matching])]
        return whole, matching

    def lengths(self, items: Items) -> NDArray[np.float64]:
        """Code bits of each item; all bits if the code does not end."""
        return self.automaton.lengths(items, self._domain.width)

    def log_priors(self, paths: Paths) -> NDArray[np.float64]:
        """−l·ln 2 for each path, where l is the length of its code in bits."""
        return -math.log(2) * self.automaton.lengths(self.to_items(paths), self._domain.width)

    def jumps(self, depth: int, chunk: int) -> Jumps:
        """Where the code bits of the chunk lead; bits of the fingerprint change nothing."""
        places = fingerprint_places(self._fingerprint)
        return self.automaton.jumps(tuple(place not in places for place in range(depth - chunk, depth)))

    def begin(self, roots: Paths, scores: NDArray[np.float32], depth: int) -> Front:
        """The roots whose code continues, or has ended in a valid text."""
        bits = depth - min(self._fingerprint, LEADING)  # code bits of a root; the fingerprint leads the path
        first = (roots[:, 0] >> np.uint64(64 - depth)).astype(np.int64) & ((1 << bits) - 1)
        after, used = self.jumps(depth, bits)
        nodes, roots, scores = after[0, first], roots.copy(), scores.copy()
        ended = np.flatnonzero(nodes == self.done)
        roots[ended], real = self.completed(roots[ended], depth)
        scores[ended[~real]] = -np.inf
        front = Front(roots, scores, nodes, used[0, first].astype(np.float32))
        return front.take(np.flatnonzero((nodes >= 0) & (scores > -np.inf)))


@cache
def _prefix_masks(bits: int) -> Paths:
    """The table `PathCodec.prefix_masks` of paths of this many bits."""
    ones = np.tri(bits + 1, 64 * -(-bits // 64), -1, dtype=np.uint8)  # in row d, before place d
    masks = np.packbits(ones, axis=1).view(">u8").astype(np.uint64)
    masks.flags.writeable = False
    return masks
