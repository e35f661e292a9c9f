"""Items as paths of a class, and back.

An item of coded text is the code, then zeros. Its class is the first that holds it without the zeros at its end, and
its number is as many of its first bits as the class has. Integers are one class, and the number is the item itself.
A keyed bijection of the numbers of a class makes paths of them: values that begin alike (sequential ids, sibling
hosts) share no more buckets than others do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hubbub.codes.automaton import build_automaton, open_shares
from hubbub.mechanisms.tree import kernels, kernels_paths
from hubbub.mechanisms.tree.shape import Shape
from hubbub.model.coded_domain import CodedText
from hubbub.model.domain_base import Domain
from hubbub.model.mechanism import Items
from hubbub.numeric.hashing import Purpose, derive_key

Paths = NDArray[np.uint64]


class PathCode:
    """How the items of a survey become paths, and what is known of them beforehand.

    Attributes
    ----------
    log_masses : float array
        For each class, the logarithm of the prior of all its values together.
    """

    def __init__(self, domain: Domain, shape: Shape, seed: bytes) -> None:
        self.domain, self.shape = domain, shape
        bijection, bucket = derive_key(seed, Purpose.TREE_BIJECTION), derive_key(seed, Purpose.TREE_BUCKET)
        self._key = np.uint32(bijection.low), np.uint32(bijection.high)
        self.kernel_rows = []
        for each in shape.classes:
            asked = [each.step_of(row) for row in range(shape.rows)]
            befores = np.array([(0, *each.depths)[step] for step in asked], np.int64)
            known = np.clip(befores[:, np.newaxis] - 32 * np.arange(-(-each.bits // 32)), 0, 32)
            rows = kernels.Rows(
                low=np.uint32(bucket.low),
                high=np.uint32(bucket.high),
                bits=each.bits,
                befores=befores,
                chunks=np.array([each.steps[step] for step in asked], np.int64),
                masks=(2**32 - (1 << (32 - known))).astype(np.uint32),
                steps=len(each.steps),
                bucket_bits=shape.bucket_bits,
            )
            self.kernel_rows.append(rows)

    @cached_property
    def log_masses(self) -> NDArray[np.float64]:  # noqa: D102
        if not isinstance(self.domain, CodedText):
            return np.zeros(1)
        ended = -np.diff(open_shares(build_automaton(self.domain.code), self.domain.width), prepend=1.0)
        masses, shortest = [], 0
        for each in self.shape.classes:
            masses.append(float(ended[shortest + 1 : each.bits + 1].sum()))
            shortest = each.bits
        return np.log(np.maximum(masses, 1e-12))

    def classes(self, items: Items) -> Iterator[tuple[int, NDArray[np.int64] | slice, Paths]]:
        """For each class that occurs: its number, the places of its items, and their paths."""
        sizes = [each.bits for each in self.shape.classes]
        if len(sizes) == 1:
            yield 0, slice(None), self._to_paths(0, items)
            return
        lengths = np.empty(len(items), np.int64)
        kernels_paths.lengths(np.ascontiguousarray(items, np.uint64), self.domain.bits, lengths)
        numbers = np.searchsorted(sizes, lengths).astype(np.uint16)
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=len(sizes)))
        for number, end in enumerate(ends.tolist()):
            places = order[ends[number - 1] if number else 0 : end]
            if len(places):
                yield number, places, self._to_paths(number, items[places])

    def _to_paths(self, number: int, items: Items) -> Paths:
        each = self.shape.classes[number]
        paths = np.zeros((len(items), each.limbs), np.uint64)
        items = np.ascontiguousarray(items, np.uint64)
        kernels_paths.to_paths(*self._key, items, self.domain.bits, each.bits, paths)
        return paths

    def to_items(self, number: int, paths: Paths) -> Items:
        """The items of paths of a class; not all of them need be values."""
        items = np.zeros((len(paths), self.domain.item_limbs), np.uint64)
        bits = self.shape.classes[number].bits
        kernels_paths.to_items(*self._key, np.ascontiguousarray(paths), self.domain.bits, bits, items)
        return items

    def valid(self, numbers: NDArray[np.int64], items: Items) -> NDArray[np.int64]:
        """The places of those items that are values of the domain, and of the class with the given number."""
        places = np.arange(len(items))
        if isinstance(self.domain, CodedText):
            bits = np.array([-1, *(each.bits for each in self.shape.classes)])
            lengths = np.empty(len(items), np.int64)
            kernels_paths.lengths(items, self.domain.bits, lengths)
            places = np.flatnonzero(lengths > bits[numbers])
            places = places[build_automaton(self.domain.code).ends(items[places], self.domain.width)]
            is_value = [value is not None for value in self.domain.decode(items[places])]
            places = places[np.array(is_value, bool)]
        elif self.domain.size != 1 << self.domain.bits:
            inside = [int.from_bytes(item.tobytes(), "little") < self.domain.size for item in items]
            places = np.flatnonzero(np.array(inside, bool))
        return places

    def lengths(self, items: Items) -> NDArray[np.float64]:
        """Code bits of each item."""
        if isinstance(self.domain, CodedText):
            return build_automaton(self.domain.code).lengths(items, self.domain.width)
        return np.full(len(items), float(self.domain.bits))

    def log_priors(self, items: Items) -> NDArray[np.float64]:
        """The logarithm of each value's share of the level: 2^−l for a code of l bits; they sum to at most 1."""
        if isinstance(self.domain, CodedText):
            return -math.log(2) * self.lengths(items)
        return np.full(len(items), -math.log(self.domain.size))

    def buckets(self, items: Items) -> NDArray[np.int64]:
        """The bucket of each item in each row, shape (n, rows)."""
        found = np.empty((len(items), self.shape.rows), np.int64)
        for number, places, paths in self.classes(items):
            found[places] = self.path_buckets(number, paths)
        return found

    def path_buckets(self, number: int, paths: Paths) -> NDArray[np.int64]:
        """The bucket of each path of a class in each row, shape (n, rows)."""
        found = np.empty((self.shape.rows, len(paths)), np.uint64)
        kernels.buckets(self.kernel_rows[number], np.arange(self.shape.rows), np.ascontiguousarray(paths), found)
        return np.ascontiguousarray(found.T).astype(np.int64)
