"""A text code as a binary automaton, for a decoder that walks many codes bit by bit.

* Each class has a binary tree of its code words; the root of class 0 is node 0.
* ESC leads to a shared node: after 0, eight raw bits and the tree of the class after ESC; after 1, six bits of a
  count r − 1, 8r raw bits, and done.
* In the node `done` the string has ended, and only padding, zeros, follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.model.text_code import END, ESC, MAX_BYTES, TextCode

DEAD = -1
_UNSET = -2


@dataclass(frozen=True, slots=True, eq=False)
class CodeAutomaton:
    """Where each bit leads; a walk starts at node 0 and takes the bits of a code from its first.

    Attributes
    ----------
    next : int32 array, shape (nodes, 2)
        The node after a bit; −1 is a dead end, which only a 1 in the padding is.
    accepting : bool array, shape (nodes,)
        Whether the string has ended. True of the node `done` alone.
    done : int
        The node of every string that has ended.

    A walk that ends in `done` is a string followed by padding. It need not be a string the encoder would write so:
    the automaton knows neither the greedy rule, nor the 64 bytes, nor UTF-8. `TextCode.decode_padded` knows them.
    """

    next: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    done: int

    def walk(self, bits: int, length: int) -> int:
        """The node after `length` bits, most significant first, or −1."""
        node = 0
        for place in range(length - 1, -1, -1):
            node = int(self.next[node, bits >> place & 1])
            if node == DEAD:
                break
        return node


def build_automaton(code: TextCode) -> CodeAutomaton:
    """The automaton of a code: about classes × symbols nodes, and 585 for raw bytes."""
    edges: list[list[int]] = []

    def add_node() -> int:
        edges.append([_UNSET, _UNSET])
        return len(edges) - 1

    def add_chain(length: int, target: int) -> list[int]:
        """Nodes that take a number of bits of any value: the k-th from now takes k bits to reach the target."""
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
    level = [raw_tail[8 * count] for count in range(1, MAX_BYTES + 1)]
    while len(level) > 1:
        parents = []
        for left, right in zip(level[::2], level[1::2], strict=True):
            parents.append(add_node())
            edges[parents[-1]] = [left, right]
        level = parents
    escape = add_node()
    edges[escape] = [raw_byte, level[0]]

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
    accepting = np.zeros(len(edges), np.bool_)
    accepting[done] = True
    table.flags.writeable = accepting.flags.writeable = False
    return CodeAutomaton(table, accepting, done)
