"""Fitting a text code to sample strings: symbols by merging pairs, classes by clustering, lengths by Huffman.

1. The alphabet: the bytes that are not rare.
2. Ends, first pass: the suffixes that save most bits as one symbol together with the end of the string.
3. Tokens and more ends: repeatedly, the pair of neighbouring symbols that saves most bits becomes a symbol. The end of
   a string counts as a neighbour.
4. The counts of how often each symbol follows each other, in the encoder's greedy parse.
5. Rows of counts that lose least by sharing a code share a class.
6. Each class, smoothed, gets the best code lengths of at most 15 bits.

Clients only ever see the finished table, so the fit need not give the same bits on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hubbub.codes.classes import ROUNDS, Counts, cluster
from hubbub.codes.table import DIGITS, END, ESC, MAX_BYTES, MAX_JSON_BYTES
from hubbub.codes.text_code import TextCode
from hubbub.errors import ParameterError

_LONGEST_END = 16


@dataclass(frozen=True, slots=True)
class CodeShape:
    """How large a table to fit.

    Attributes
    ----------
    tokens, ends, classes : int
        The number of each. A table has about (symbols + 3) × classes bytes.
    seeded_ends : int
        Ends chosen as suffixes; merging may add the rest.
    dotted : bool
        Whether seeded ends must begin with a dot, as in names of hosts.
    rare : float
        Bytes with a smaller share than this are left to ESC.
    """

    tokens: int = 62
    ends: int = 34
    classes: int = 32
    seeded_ends: int = 24
    dotted: bool = False
    rare: float = 1e-4

    def __post_init__(self) -> None:
        for name, low, high in (("tokens", 0, 400), ("ends", 0, 400), ("classes", 1, 36), ("seeded_ends", 0, 400)):
            if not low <= getattr(self, name) <= high:
                raise ParameterError(f"{name} must be from {low} to {high}, got {name}={getattr(self, name)}")


SHAPES: Final[dict[str, CodeShape]] = {
    "hostnames": CodeShape(tokens=90, ends=50, classes=36, seeded_ends=44, dotted=True),
    "words": CodeShape(tokens=100, ends=50, classes=36, seeded_ends=36),
    "text": CodeShape(tokens=110, ends=30, seeded_ends=20),
}


def fit_code(
    strings: Mapping[bytes, float], shape: CodeShape, advance: Callable[[int], None] = lambda _: None
) -> TextCode:
    """Fit a code of this shape to weighted strings; calls advance(1) after each of `fit_steps(shape)` steps."""
    texts = sorted(text for text, weight in strings.items() if weight > 0 and len(text) <= MAX_BYTES)
    if not texts:
        raise ParameterError(f"a code must be fitted to at least 1 string of at most {MAX_BYTES} bytes, got none")
    weights = np.array([strings[text] for text in texts])
    if not np.isfinite(weights).all():
        raise ParameterError("weights must be finite, got one that is not")
    weights *= len(texts) / weights.sum()
    alphabet = _choose_alphabet(texts, weights, shape.rare)
    merging = _Merging(texts, weights, alphabet, _choose_ends(texts, weights, alphabet, shape))
    for _ in range(_merges(shape)):
        merging.step(shape)
        advance(1)
    table = merging.symbols()
    counts = _count_neighbours(texts, weights, _flat(table))
    after, rows = cluster(counts, min(shape.classes, _room(table)), advance)
    table["class"] = "".join(DIGITS[index] for index in after)
    table["lengths"] = ["".join(DIGITS[length] for length in row) for row in rows]
    return TextCode(table)


def fit_steps(shape: CodeShape) -> int:
    """How many steps a fit reports."""
    return _merges(shape) + ROUNDS


def _merges(shape: CodeShape) -> int:
    return shape.tokens + max(0, shape.ends - shape.seeded_ends)


def _room(symbols: Mapping[str, Any]) -> int:
    """The most classes that fit into a table with these symbols."""
    size = 2 + sum(len(symbols[name]) for name in ("bytes", "tokens", "ends"))
    rest = len(json.dumps({**symbols, "class": "", "lengths": []}, separators=(",", ":"), ensure_ascii=False).encode())
    classes = (MAX_JSON_BYTES - rest - size) // (size + len('"",'))
    if classes < 1:
        raise ParameterError(f"a table must be at most {MAX_JSON_BYTES} bytes, got {size} symbols that are too many")
    return classes


def _choose_alphabet(texts: list[bytes], weights: Counts, rare: float) -> list[int]:
    counts = _count_bytes(texts, weights)
    return [int(byte) for byte in np.flatnonzero(counts > rare * counts.sum())]


def _count_bytes(texts: list[bytes], weights: Counts) -> Counts:
    every = np.frombuffer(b"".join(texts), np.uint8)
    return np.bincount(every, np.repeat(weights, [len(text) for text in texts]), 256).astype(float)


def _choose_ends(texts: list[bytes], weights: Counts, alphabet: list[int], shape: CodeShape) -> list[bytes]:
    """Choose suffixes greedily: each is the one that saves most bits beyond those already chosen."""
    known = set(alphabet)
    counts = _count_bytes(texts, weights)
    bits = np.log2(max(1.0, counts.sum()) / np.maximum(counts, 1))
    places: dict[bytes, list[int]] = {}
    for index, text in enumerate(texts):
        for size in range(1, min(len(text), _LONGEST_END) + 1):
            suffix = text[-size:]
            if (not shape.dotted or suffix[:1] == b".") and set(suffix) <= known:
                places.setdefault(suffix, []).append(index)
    wanted = min(shape.seeded_ends, shape.ends)
    by_weight = {suffix: float(weights[where].sum()) for suffix, where in places.items()}
    likely = sorted(by_weight, key=lambda suffix: (-by_weight[suffix] * len(suffix), suffix))[: 40 * wanted]
    cost = {suffix: float(bits[list(suffix)].sum()) for suffix in likely}
    covered = np.zeros(len(texts))  # bits that the chosen end of each text saves
    chosen: list[bytes] = []
    everyone = float(weights.sum())
    for _ in range(wanted):
        best, most = b"", 0.0
        for suffix in likely:
            where = places[suffix]
            price = float(np.log2(everyone / by_weight[suffix]))
            saved = float((weights[where] * np.maximum(0, cost[suffix] - price - covered[where])).sum())
            if suffix not in chosen and saved > most:
                best, most = suffix, saved
        if not best:
            break
        chosen.append(best)
        where = places[best]
        price = float(np.log2(everyone / by_weight[best]))
        covered[where] = np.maximum(covered[where], cost[best] - price)
    return chosen


@dataclass(slots=True)
class _Merging:
    """All strings as one row of symbols; each step merges one pair of neighbours into a new symbol."""

    texts: list[bytes]
    text_weights: Counts
    alphabet: list[int]
    seeds: list[bytes]
    names: list[bytes] = field(init=False)
    ends: list[bool] = field(init=False)
    row: NDArray[np.int32] = field(init=False)
    weights: Counts = field(init=False)

    def __post_init__(self) -> None:
        self.names = [b"", b"", *(bytes([byte]) for byte in self.alphabet), *self.seeds]
        self.ends = [True, False, *(False for _ in self.alphabet), *(True for _ in self.seeds)]
        seeded = {seed: index for index, seed in enumerate(self.seeds, 2 + len(self.alphabet))}
        number = [ESC] * 256
        for index, byte in enumerate(self.alphabet, 2):
            number[byte] = index
        symbols: list[int] = []
        sizes: list[int] = []
        for text in self.texts:
            size = next((size for size in range(min(_LONGEST_END, len(text)), 0, -1) if text[-size:] in seeded), 0)
            symbols.extend(number[byte] for byte in text[: len(text) - size])
            symbols.append(seeded[text[-size:]] if size else END)
            sizes.append(len(text) - size + 1)
        self.row = np.array(symbols, np.int32)
        self.weights = np.repeat(self.text_weights, sizes)

    def step(self, shape: CodeShape) -> None:
        """Merge the best pair for which there is room."""
        size = len(self.names)
        left, right = self.row[:-1], self.row[1:]
        pairs = np.bincount(left.astype(np.int64) * size + right, self.weights[:-1], size * size).reshape(size, size)
        is_end = np.array(self.ends)
        pairs[is_end] = 0  # the next string starts there
        pairs[ESC], pairs[:, ESC] = 0, 0
        made = sum(self.ends) - 1
        if made >= shape.ends:
            pairs[:, is_end] = 0
        if size - 2 - len(self.alphabet) - made >= shape.tokens:
            pairs[:, ~is_end] = 0
        lengths = np.array([len(name) for name in self.names])
        pairs[lengths[:, None] + lengths[None, :] > _LONGEST_END] = 0
        alone = np.bincount(self.row, self.weights, size)
        chance = np.outer(alone, alone) / alone.sum()
        # The bits that a pair saves as one symbol: its count times log₂ of its frequency over that expected by chance.
        saved = pairs * np.log2(np.maximum(pairs, 1e-9) / np.maximum(chance, 1e-9))
        first, second = divmod(int(saved.argmax()), size)
        if saved[first, second] > 0:
            self._merge(first, second)

    def _merge(self, first: int, second: int) -> None:
        name, ends = self.names[first] + self.names[second], self.ends[second]
        both = enumerate(zip(self.names, self.ends, strict=True))
        known = [index for index, same in both if same == (name, ends)]  # "in" + "g" if "i" + "ng" was made before
        if not known:
            self.names.append(name)
            self.ends.append(ends)
        merged = known[0] if known else len(self.names) - 1
        at = np.flatnonzero((self.row[:-1] == first) & (self.row[1:] == second))
        if first == second:  # aaa is (aa)a: in a run, every other pair is merged
            starts = np.concatenate(([True], np.diff(at) != 1))
            run = np.arange(len(at)) - np.maximum.accumulate(np.where(starts, np.arange(len(at)), 0))
            at = at[run % 2 == 0]
        self.row[at] = merged
        self.row, self.weights = np.delete(self.row, at + 1), np.delete(self.weights, at + 1)

    def symbols(self) -> dict[str, Any]:
        """The fields of a table that name its symbols."""
        first = 2 + len(self.alphabet)
        names = [name.decode("latin-1") for name in self.names]
        made = list(zip(names[first:], self.ends[first:], strict=True))
        return {
            "bytes": bytes(self.alphabet).decode("latin-1"),
            "tokens": sorted(name for name, end in made if not end),
            "ends": sorted(name for name, end in made if end),
        }


def _flat(symbols: Mapping[str, Any]) -> TextCode:
    """A code with these symbols and nearly equal lengths, used only for its parse."""
    size = 2 + sum(len(symbols[name]) for name in ("bytes", "tokens", "ends"))
    longest = (size - 1).bit_length()
    short = (1 << longest) - size
    row = "".join(DIGITS[longest - 1] if index < short else DIGITS[longest] for index in range(size))
    return TextCode({**symbols, "class": "0" * size, "lengths": [row]})


def _count_neighbours(texts: list[bytes], weights: Counts, code: TextCode) -> Counts:
    """The total weight of each symbol (column) after each symbol (row); the row END stands for the start."""
    size = len(code.symbols)
    pairs: list[int] = []
    lengths: list[int] = []
    for text in texts:
        before = END
        symbols = code.greedy(text)
        for symbol in symbols:
            pairs.append(before * size + symbol)
            before = symbol
        lengths.append(len(symbols))
    return np.bincount(pairs, np.repeat(weights, lengths), size * size).astype(float).reshape(size, size)
