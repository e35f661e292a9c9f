"""How many bits a text code gives to strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.codes.table import ESC
from hubbub.codes.text_code import TextCode
from hubbub.errors import ParameterError


@dataclass(frozen=True, slots=True)
class CodeBits:
    """How many bits a code gives to distinct strings: mean, mean by weight, median and the most that nine in ten have.

    `escaping` is the share of strings that need ESC.
    """

    lengths: NDArray[np.int64]
    mean: float
    weighted_mean: float
    median: int
    p90: int
    escaping: float

    @property
    def strings(self) -> int:
        """How many strings were measured."""
        return len(self.lengths)

    def share_within(self, width: int) -> float:
        """The share of strings whose code has at most `width` bits."""
        return float((self.lengths <= width).mean())


def measure_code(code: TextCode, strings: Mapping[bytes, float]) -> CodeBits:
    """Measure a code on strings of at most 64 bytes, given with their weights."""
    if not strings:
        raise ParameterError("a code must be measured on at least 1 string, got none")
    lengths = np.array([code.length(text) for text in strings])
    weights = np.array(list(strings.values()), float)
    ordered = np.sort(lengths)
    return CodeBits(
        lengths=lengths,
        mean=float(lengths.mean()),
        weighted_mean=float((lengths * weights).sum() / weights.sum()),
        median=int(ordered[(len(ordered) - 1) // 2]),
        p90=int(ordered[-(-9 * len(ordered) // 10) - 1]),
        escaping=sum(_escapes(code, text, int(n)) for text, n in zip(strings, lengths, strict=True)) / len(strings),
    )


def _escapes(code: TextCode, text: bytes, length: int) -> bool:
    state = plain = 0
    symbols = code.greedy(text)
    for symbol in symbols:
        plain += code.code_words[state][symbol][1]
        state = code.next_class[symbol]
    return ESC in symbols or plain > length
