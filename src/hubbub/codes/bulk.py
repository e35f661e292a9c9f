"""Many strings at once: rules of normalisation and a text code, by the loops in `kernels`."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hubbub.codes import kernels
from hubbub.codes.table import ESC, MAX_BYTES
from hubbub.codes.text_code import TextCode

RULES: Final = {"text-1": kernels.TEXT, "words-1": kernels.WORDS, "hostnames-1": kernels.HOSTNAMES}
"""Rules of normalisation that the kernels know."""


def normalize_ascii(
    rule: str, data: NDArray[np.uint8], ends: NDArray[np.int64], reserved: bytes
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """ASCII strings in normal form: rows of 64 bytes, and the size of each in bytes; −1 for a string that is refused.

    The strings are concatenated in `data`, and `ends` has the end of each. The text `reserved` is refused, too.
    """
    texts, sizes = np.empty((len(ends), MAX_BYTES), np.uint8), np.empty(len(ends), np.int64)
    kernels.normalize(RULES[rule], data, ends, np.frombuffer(reserved, np.uint8), texts, sizes)
    return texts, sizes


def encode_texts(code: TextCode, texts: NDArray[np.uint8], sizes: NDArray[np.int64], width: int) -> NDArray[np.uint64]:
    """The code of each text as an item of `width` bits: all ones if the size is −1 or the code is too long.

    Texts are rows of 64 bytes. Costs a fraction of a microsecond each.
    """
    items = np.zeros((len(texts), -(-width // 64)), np.uint64)
    kernels.encode(_tables(code), texts, sizes, width, items)
    return items


@lru_cache(maxsize=8)
def _tables(code: TextCode) -> kernels.CodeTables:
    """A code in the form that its kernel takes."""
    columns = np.zeros(256, np.int64)  # column 0 is for the bytes that no symbol has
    used = sorted(set(b"".join(code.symbols)))
    columns[used] = np.arange(1, len(used) + 1)
    matches = {code.symbols[index]: index for index in range(2, code.first_end)}
    ends = {code.symbols[index][::-1]: index for index in range(code.first_end, len(code.symbols))}
    sizes = [len(symbol) for symbol in code.symbols]
    sizes[ESC] = 1
    words = np.array(code.code_words, np.int64)
    return kernels.CodeTables(
        columns,
        *_tree(matches, columns),
        *_tree(ends, columns),
        np.ascontiguousarray(words[:, :, 0]),
        np.ascontiguousarray(words[:, :, 1]),
        np.array(code.next_class, np.int64),
        np.array(sizes, np.int64),
    )


def _tree(strings: dict[bytes, int], columns: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """A prefix tree: the node after each node and column, or −1, and the string that ends in each node, or −1."""
    after: list[dict[int, int]] = [{}]
    ending = [-1]
    for string, index in strings.items():
        node = 0
        for byte in string:
            column = int(columns[byte])
            if column not in after[node]:
                after[node][column] = len(after)
                after.append({})
                ending.append(-1)
            node = after[node][column]
        ending[node] = index
    nodes = np.full((len(after), int(columns.max()) + 1), -1, np.int32)
    for node, edges in enumerate(after):
        nodes[node, list(edges)] = list(edges.values())
    return nodes, np.array(ending, np.int64)
