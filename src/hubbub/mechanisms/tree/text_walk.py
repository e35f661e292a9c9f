"""A text code as the tree search walks it: chunks of bits at a time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hubbub.model.text_code import TextCode
from hubbub.numeric.code_automaton import build_automaton


class TextWalk:
    """Where a chunk of code bits leads, and how many of them are code and not padding."""

    def __init__(self, code: TextCode) -> None:
        self._automaton = build_automaton(code)
        self._jumps: dict[tuple[bool, ...], tuple[NDArray[np.int32], NDArray[np.float32]]] = {}

    @property
    def done(self) -> int:
        """The state of a code that has ended."""
        return self._automaton.done

    def jumps(self, is_code: tuple[bool, ...]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """For every state and chunk value: the state after it (negative if there is none), and code bits used.

        `is_code` says of each bit of the chunk whether it is one of the code or of the fingerprint.
        """
        if is_code not in self._jumps:
            chunk, states = len(is_code), len(self._automaton.next)
            nodes = np.repeat(np.arange(states, dtype=np.int32)[:, np.newaxis], 1 << chunk, axis=1)
            used = np.zeros(nodes.shape, np.float32)
            values = np.arange(1 << chunk)
            for place, of_code in enumerate(is_code):
                if of_code:
                    nodes, used = self._step(nodes, used, values >> (chunk - 1 - place) & 1)
            self._jumps[is_code] = nodes, used
        return self._jumps[is_code]

    def lengths(self, items: NDArray[np.uint64], width: int) -> NDArray[np.float64]:
        """The code bits in each item; all `width` of them where the code does not end."""
        raw = items[:, ::-1].astype(">u8").view(np.uint8).reshape(len(items), 8 * items.shape[1])
        bits = np.unpackbits(raw, axis=1)[:, 64 * items.shape[1] - width :]
        nodes, used = np.zeros(len(items), np.int32), np.zeros(len(items), np.float32)
        for place in range(width):
            nodes, used = self._step(nodes, used, bits[:, place])
        return used.astype(np.float64)

    def _step(
        self, nodes: NDArray[np.int32], used: NDArray[np.float32], bits: NDArray[np.integer]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        after = np.where(nodes >= 0, self._automaton.next[nodes, bits], -1).astype(np.int32)
        return after, used + ((nodes >= 0) & (nodes != self.done))


@lru_cache(maxsize=4)  # some ten megabytes each, once its jumps are made
def text_walk(code: TextCode) -> TextWalk:
    """The walk of a code; surveys with equal codes share it."""
    return TextWalk(code)
