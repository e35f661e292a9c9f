"""Items as paths from the root of a binary tree: two codecs behind one interface, for numbers and for texts.

A path is bits, the first bit first, packed from the top of limb 0 downwards and padded with zeros.

* `NumberPaths`: values that share a prefix (sequential ids!) would share buckets at every depth. Two Feistel rounds of
  the public hash leave no structure in the prefixes, and the way back is as short. A search ranks paths by scores.
* `TextPaths`: the bits of a text code and of a fingerprint (`fingerprint`). A search follows the code's automaton, and
  ranks paths by their evidence less the code bits used.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.codes.automaton import Jumps, build_automaton
from hubbub.mechanisms.tree import kernels_paths
from hubbub.mechanisms.tree.fingerprint import LEADING, code_runs, fingerprint_before, fingerprint_places, path_bits
from hubbub.model.coded_domain import CodedText
from hubbub.model.mechanism import Items
from hubbub.numeric.hashing import HashKey, hash_uint64

Paths = NDArray[np.uint64]


class Front(NamedTuple):
    """Paths of one depth: score, state of the text code's automaton, and code bits used (0 for numbers)."""

    paths: Paths
    scores: NDArray[np.float32]
    nodes: NDArray[np.int32]
    used: NDArray[np.float32]

    def take(self, chosen: NDArray[np.int64]) -> Front:
        """Some of them."""
        return Front(self.paths[chosen], self.scores[chosen], self.nodes[chosen], self.used[chosen])


class PathCodec(ABC):
    """How items become paths, and what a search knows of a path on its way down.

    Attributes
    ----------
    bits, limbs : int
        Bits of a whole path, and the 64-bit limbs that hold them.
    done : int
        The state of a path whose text has ended; −1 if there are no states.
    """

    bits: int
    done: int = -1

    @property
    def limbs(self) -> int:
        """64-bit limbs of a path."""
        return -(-self.bits // 64)

    def prefix_mask(self, depth: int) -> Paths:
        """A path whose first `depth` bits are ones."""
        total = 64 * self.limbs
        mask = ((1 << depth) - 1) << (total - depth)
        return np.frombuffer(mask.to_bytes(total // 8, "big"), ">u8").astype(np.uint64)

    @abstractmethod
    def to_paths(self, items: Items) -> Paths:
        """Where the items lie in the tree, shape (n, limbs)."""

    @abstractmethod
    def to_items(self, paths: Paths) -> Items:
        """The items that lie there, shape (n, limbs of an item)."""

    @abstractmethod
    def is_value(self, paths: Paths) -> NDArray[np.bool_]:
        """Whether each whole path can be somebody's."""

    @abstractmethod
    def lengths(self, items: Items) -> NDArray[np.float64]:
        """Code bits of each item."""

    @abstractmethod
    def log_priors(self, paths: Paths) -> NDArray[np.float64]:
        """The logarithm of each value's share of the level."""

    @abstractmethod
    def prior_nats(self, used: NDArray[np.float32]) -> NDArray[np.floating]:
        """What the bits of whole paths speak against them, given `Front.used`."""

    @abstractmethod
    def unranked_bits(self, depth: int) -> int:
        """How many of a path's first `depth` bits its rank does not pay for."""

    @abstractmethod
    def hidden_paths(self) -> Paths:
        """Paths of values that no search comes by, so that they must be asked for by name."""

    @abstractmethod
    def jumps(self, depth: int, chunk: int) -> Jumps:
        """Where the last `chunk` of a path's first `depth` bits lead from every state."""

    @abstractmethod
    def begin(self, roots: Paths, scores: NDArray[np.float32], depth: int) -> Front:
        """Roots of `depth` bits with their states; impossible ones are left out."""

    @abstractmethod
    def advance(self, parents: Front, last: NDArray[np.int64], grown: Paths, depth: int, chunk: int) -> Front:
        """Children (`grown`), given for each its parent with the score of the child, and the chunk that it adds.

        Impossible ones get a score of −∞.
        """


class NumberPaths(PathCodec):
    """Paths by a public bijection; every value is as likely as another."""

    def __init__(self, key: HashKey, bits: int, size: int) -> None:
        self._key = np.uint32(key.low), np.uint32(key.high)
        self.bits, self._size = bits, size

    def to_paths(self, items: Items) -> Paths:
        """The bijection, then first bit first."""
        paths = np.zeros_like(items)
        kernels_paths.numbers_to_paths(*self._key, np.ascontiguousarray(items, np.uint64), self.bits, paths)
        return paths

    def to_items(self, paths: Paths) -> Items:
        """Undoes `to_paths`."""
        items = np.zeros_like(paths)
        kernels_paths.paths_to_numbers(*self._key, np.ascontiguousarray(paths, np.uint64), self.bits, items)
        return items

    def is_value(self, paths: Paths) -> NDArray[np.bool_]:
        """Whether the item is inside the universe."""
        if self._size == 1 << self.bits:
            return np.ones(len(paths), bool)
        items = self.to_items(paths)
        return np.array([int.from_bytes(item.tobytes(), "little") < self._size for item in items], bool)

    def lengths(self, items: Items) -> NDArray[np.float64]:
        """All bits of each."""
        return np.full(len(items), float(self.bits))

    def log_priors(self, paths: Paths) -> NDArray[np.float64]:
        """−ln N of each."""
        return np.full(len(paths), -math.log(self._size))

    def prior_nats(self, used: NDArray[np.float32]) -> NDArray[np.floating]:
        """All bits of each."""
        return np.full(used.shape, math.log(2) * self.bits)

    def unranked_bits(self, depth: int) -> int:
        """All: a rank is a score."""
        return depth

    def hidden_paths(self) -> Paths:
        """None."""
        return np.empty((0, self.limbs), np.uint64)

    def jumps(self, depth: int, chunk: int) -> Jumps:  # noqa: ARG002
        """Nothing, in the types that kernels take."""
        return Jumps(np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float32))

    def begin(self, roots: Paths, scores: NDArray[np.float32], depth: int) -> Front:  # noqa: ARG002
        """All of them; there are no states."""
        return Front(roots, scores, np.zeros(len(roots), np.int32), np.zeros(len(roots), np.float32))

    def advance(self, parents: Front, last: NDArray[np.int64], grown: Paths, depth: int, chunk: int) -> Front:  # noqa: ARG002
        """All of them."""
        return parents._replace(paths=grown)


class TextPaths(PathCodec):
    """Paths of a text code and a fingerprint; a value is as likely as its code is short."""

    def __init__(self, key: HashKey, domain: CodedText, fingerprint: int) -> None:
        self._key, self._domain, self._fingerprint = key, domain, fingerprint
        self.bits = path_bits(fingerprint, domain.width)
        self.automaton = build_automaton(domain.code)
        self.done = self.automaton.done
        self._runs = code_runs(domain.width, fingerprint)

    def to_paths(self, items: Items) -> Paths:
        """The bits of the code, and a hash of the whole item for its fingerprint."""
        items = np.ascontiguousarray(items)
        paths = np.zeros((len(items), self.limbs), np.uint64)
        places = np.array([place for place in fingerprint_places(self._fingerprint) if place < self.bits], np.int64)
        hashes = hash_uint64(self._key, items)
        kernels_paths.texts_to_paths(items, hashes, self._domain.width, places, self._runs, paths)
        return paths

    def to_items(self, paths: Paths) -> Items:
        """The items whose codes stand in the paths, whatever their fingerprints say."""
        items = np.zeros((len(paths), self._domain.item_limbs), np.uint64)
        kernels_paths.paths_to_texts(np.ascontiguousarray(paths), self._domain.width, self._runs, items)
        return items

    def is_value(self, paths: Paths) -> NDArray[np.bool_]:
        """Whether it is the code of a text of the domain, with the right fingerprint."""
        return self._completed(paths, self.bits)[1]

    def _completed(self, paths: Paths, depth: int) -> tuple[Paths, NDArray[np.bool_]]:
        """Whole paths of texts that end within the first `depth` bits, and which of them are somebody's.

        Those are texts of the domain whose fingerprint is the one that the path began with.
        """
        items = self.to_items(paths)
        whole = self.to_paths(items)
        matching = np.asarray(((whole & self.prefix_mask(depth)) == paths).all(axis=1))
        matching[matching] = [value is not None for value in self._domain.decode(items[matching])]
        return whole, matching

    def lengths(self, items: Items) -> NDArray[np.float64]:
        """Bits of the code of each; all bits of an item whose code does not end."""
        return self.automaton.lengths(items, self._domain.width)

    def log_priors(self, paths: Paths) -> NDArray[np.float64]:
        """The logarithm of 2^−(length of its code)."""
        return -math.log(2) * self.lengths(self.to_items(paths))

    def prior_nats(self, used: NDArray[np.float32]) -> NDArray[np.floating]:
        """Those of the code."""
        return np.asarray(math.log(2) * used)

    def unranked_bits(self, depth: int) -> int:
        """Those of the fingerprint: of the ways to go on with a code, few have the one that the path says."""
        return fingerprint_before(self._fingerprint, depth)

    def hidden_paths(self) -> Paths:
        """The path of "(other)", which has no code."""
        return self.to_paths(self._domain.encode([None]))

    def jumps(self, depth: int, chunk: int) -> Jumps:
        """Where the code bits of the chunk lead; bits of the fingerprint change nothing."""
        places = fingerprint_places(self._fingerprint)
        return self.automaton.jumps(tuple(place not in places for place in range(depth - chunk, depth)))

    def begin(self, roots: Paths, scores: NDArray[np.float32], depth: int) -> Front:
        """Roots of which the code goes on, or has ended in a value."""
        bits = depth - min(self._fingerprint, LEADING)  # what comes before them is fingerprint
        first = (roots[:, 0] >> np.uint64(64 - depth)).astype(np.int64) & ((1 << bits) - 1)
        after, used = self.jumps(depth, bits)
        nodes, roots, scores = after[0, first], roots.copy(), scores.copy()
        self._complete(np.flatnonzero(nodes == self.done), roots, scores, depth)
        front = Front(roots, scores, nodes, used[0, first].astype(np.float32))
        return front.take(np.flatnonzero((nodes >= 0) & (scores > -np.inf)))

    def advance(self, parents: Front, last: NDArray[np.int64], grown: Paths, depth: int, chunk: int) -> Front:
        """Children that follow the code; a text that ends here gets its whole path."""
        _, scores, nodes, used = parents
        after, more = self.jumps(depth, chunk)
        open_ = np.flatnonzero(nodes != self.done)
        used[open_] += more[nodes[open_], last[open_]]
        nodes[open_] = after[nodes[open_], last[open_]]
        self._complete(open_[(nodes[open_] == self.done) & (scores[open_] > -np.inf)], grown, scores, depth)
        return Front(grown, scores, nodes, used)

    def _complete(self, ended: NDArray[np.int64], paths: Paths, scores: NDArray[np.float32], depth: int) -> None:
        """Write whole paths where texts have ended, and a score of −∞ where those are nobody's."""
        paths[ended], real = self._completed(paths[ended], depth)
        scores[ended[~real]] = -np.inf
