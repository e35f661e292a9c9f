"""A text code as a binary automaton: it walks many codes at once, bit by bit.

* Each class has a binary tree of its code words; the root of class 0 is node 0.
* ESC leads to a shared node: after 0, eight raw bits and the tree of the class after ESC; after 1, six bits of a
  count r − 1, 8r raw bits, and done.
* In the node `done` the string has ended, and only padding, zeros, follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hubbub.codes.table import END, ESC, MAX_BYTES
from hubbub.codes.text_code import TextCode

DEAD = -1
_UNSET = -2


@dataclass(frozen=True, slots=True, eq=False)
class CodeAutomaton:
    """Where each bit leads; a walk starts at node 0 and takes the bits of a code from its first.

    Attributes
    ----------
    next : int32 array, shape (nodes, 2)
        The node after a bit; −1 is a dead end, which only a 1 in the padding leads to.
    done : int
        The node of every string that has ended.

    A walk that ends in `done` is a string followed by padding. The encoder may write the same string otherwise: the
    automaton checks neither the greedy rule, nor the limit of 64 bytes, nor UTF-8. `TextCode.decode_padded` does.
    """

    next: NDArray[np.int32]
    done: int

    def lengths(self, items: NDArray[np.uint64], width: int) -> NDArray[np.float64]:
        """The number of code bits in each item of `width` bits; all bits if the code does not end."""
        return self._walk(items, width)[1].astype(np.float64)

    def ends(self, items: NDArray[np.uint64], width: int) -> NDArray[np.bool_]:
        """Whether each item of `width` bits is a code and then zeros."""
        return np.asarray(self._walk(items, width, to_the_end=True)[0] == self.done)

    def _walk(
        self, items: NDArray[np.uint64], width: int, to_the_end: bool = False
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The node after all bits of each item, or after its code, and the bits of its code."""
        raw = items[:, ::-1].astype(">u8").view(np.uint8).reshape(len(items), 8 * items.shape[1])
        bits = np.unpackbits(raw, axis=1)[:, 64 * items.shape[1] - width :]
        nodes, used = np.zeros(len(items), np.int32), np.zeros(len(items), np.int32)
        for place in range(width):
            going_on = (nodes >= 0) & (nodes != self.done)  # padding does not count
            if not going_on.any() and not to_the_end:
                break
            used += going_on
            nodes = np.where(nodes >= 0, self.next[nodes, bits[:, place]], DEAD).astype(np.int32)
        return nodes, used


@lru_cache(maxsize=4)
def open_shares(automaton: CodeAutomaton, width: int) -> NDArray[np.float64]:
    """For 0 to `width` code bits: the share of all strings of so many bits that begin a longer code.

    The others begin with a code that has ended before. Some ms.
    """
    paths = np.zeros(len(automaton.next))
    paths[0] = 1.0
    shares = [1.0]
    targets = np.where(automaton.next < 0, automaton.done, automaton.next)
    for _ in range(width):
        zero, one = (np.bincount(targets[:, bit], paths / 2, len(paths)) for bit in (0, 1))
        paths = np.asarray(zero + one, np.float64)
        paths[automaton.done] = 0.0
        shares.append(float(paths.sum()))
    return np.array(shares)


@lru_cache(maxsize=4)
def build_automaton(code: TextCode) -> CodeAutomaton:
    """The automaton of a code: about classes × symbols nodes, and 585 for raw bytes. Equal codes share one."""
    edges: list[list[int]] = []

    def add_node() -> int:
        edges.append([_UNSET, _UNSET])
        return len(edges) - 1

    def add_chain(length: int, target: int) -> list[int]:
        """A chain of nodes that accept any bits: from node k of the list it takes k bits to reach the target."""
        chain = [target]
        for _ in range(length):
            node = add_node()
            edges[node] = [chain[-1], chain[-1]]
            chain.append(node)
        return chain

    roots = [add_node() for _ in code.code_words]
    done = add_node()
    edges[done] = [done, DEAD]
    raw_byte = add_chain(8, roots[code.next_class[ESC]])[8]
    raw_tail = add_chain(8 * MAX_BYTES, done)
    nodes = [raw_tail[8 * count] for count in range(1, MAX_BYTES + 1)]
    while len(nodes) > 1:
        parents = []
        for left, right in zip(nodes[::2], nodes[1::2], strict=True):
            parents.append(add_node())
            edges[parents[-1]] = [left, right]
        nodes = parents
    escape = add_node()
    edges[escape] = [raw_byte, nodes[0]]

    for root, row in zip(roots, code.code_words, strict=True):
        for symbol, (word, length) in enumerate(row):
            node = root
            for place in range(length - 1, 0, -1):
                bit = word >> place & 1
                if edges[node][bit] == _UNSET:
                    edges[node][bit] = add_node()
                node = edges[node][bit]
            ended = symbol == END or symbol >= code.first_end
            target = escape if symbol == ESC else done if ended else roots[code.next_class[symbol]]
            edges[node][word & 1] = target

    table = np.array(edges, np.int32)
    table.flags.writeable = False
    return CodeAutomaton(table, done)
