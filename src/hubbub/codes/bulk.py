"""Rules of normalisation and text codes in the form that the loops in `kernels` take, for many strings at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hubbub.codes import kernels
from hubbub.codes.table import ESC
from hubbub.codes.text_code import TextCode

RULES: Final = {
    "text-1": kernels.TEXT,
    "words-1": kernels.WORDS,
    "hostnames-1": kernels.HOSTNAMES,
    "hostnames-2": kernels.HOSTNAMES_2,
}
"""Rules of normalisation that the kernels know."""


@lru_cache(maxsize=8)
def code_tables(code: TextCode) -> kernels.CodeTables:
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
