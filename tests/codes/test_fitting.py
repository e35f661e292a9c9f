"""Fitting codes: each part against brute force or by hand, and the whole on strings it has not seen."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import text_code as twin

from hubbub.codes.bits import measure_code
from hubbub.codes.classes import code_lengths
from hubbub.codes.fitting import SHAPES, CodeShape, fit_code, fit_steps
from hubbub.codes.shipped import load_code
from hubbub.codes.table import ESC
from hubbub.codes.text_code import TextCode
from hubbub.errors import ParameterError

SMALL = CodeShape(tokens=6, ends=4, classes=4, seeded_ends=2)


def lines(count: int) -> list[bytes]:
    """Made-up hosts, drawn with a fixed seed."""
    rng = np.random.default_rng(20120402)
    syllables = ["ba", "ner", "ti", "shop", "lo", "ding", "news", "ra"]
    ends = [".com", ".org", ".co.uk", ".de"]
    parts, sizes = rng.integers(0, 8, (count, 3)), rng.integers(1, 4, count)
    drawn = zip(parts, sizes, rng.choice(4, count, p=[0.6, 0.2, 0.1, 0.1]), strict=True)
    return ["".join(syllables[i] for i in row[:size]).encode() + ends[end].encode() for row, size, end in drawn]


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=40))
def test_lengths_without_a_limit_are_huffmans(weights: list[int]) -> None:
    """Where the limit does not bind, package-merge costs what Huffman's algorithm costs."""
    heap, cost = sorted(weights), 0
    while len(heap) > 1:
        pair = heapq.heappop(heap) + heapq.heappop(heap)
        cost += pair
        heapq.heappush(heap, pair)
    lengths = code_lengths([weight / sum(weights) for weight in weights], 39)
    assert sum(weight * length for weight, length in zip(weights, lengths, strict=True)) == cost


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=6), st.integers(3, 4))
def test_limited_lengths_are_the_best(weights: list[int], longest: int) -> None:
    """With a limit nothing complete is cheaper, and the Kraft sum is 1."""
    lengths = code_lengths(weights, longest)
    options = [
        sum(weight * length for weight, length in zip(weights, option, strict=True))
        for option in itertools.product(range(1, longest + 1), repeat=len(weights))
        if sum(2 ** (longest - length) for length in option) == 2**longest
    ]
    assert sum(2 ** (longest - length) for length in lengths) == 2**longest
    assert sum(weight * length for weight, length in zip(weights, lengths, strict=True)) == min(options)


def test_ties_go_by_index() -> None:
    """Of equal shares the earlier ones are no shorter, always."""
    assert code_lengths([1, 1, 1]) == [2, 2, 1]
    assert code_lengths([0.2] * 5) == [3, 3, 2, 2, 2]
    assert code_lengths([0, 0, 1]) == [2, 2, 1]
    with pytest.raises(ParameterError, match="at most 2\\^2 words, got 5"):
        code_lengths([1] * 5, 2)


def test_a_fit_is_short_on_strings_it_has_not_seen() -> None:
    """Half of the strings are fitted to; the other half gets less than a third of eight bits a character."""
    hosts = sorted(set(lines(2000)))
    fitted, held = hosts[::2], hosts[1::2]
    steps: list[int] = []
    code = fit_code(dict.fromkeys(fitted, 1.0), SMALL, steps.append)
    assert sum(steps) == fit_steps(SMALL)
    assert [len(code.to_json()[name]) for name in ("tokens", "ends")] == [6, 4]
    assert len(code.code_words) <= 4
    assert ".com" in {end[-4:] for end in code.to_json()["ends"]}
    bits = measure_code(code, dict.fromkeys(held, 1.0))
    assert bits.mean < 8 * np.mean([len(host) for host in held]) / 3
    assert bits.escaping == 0
    assert fit_code(dict.fromkeys(reversed(fitted), 2.0), SMALL) == code


def test_weights_count() -> None:
    """A string that weighs more gets fewer bits."""
    strings = dict.fromkeys(lines(300), 1.0)
    heavy = b"zzyzx.de"
    light, loaded = (fit_code({**strings, heavy: weight}, SMALL).length(heavy) for weight in (0.01, 300.0))
    assert loaded < light


def test_seeded_ends_of_hosts_begin_with_a_dot() -> None:
    """With as many ends as are seeded, all of them are dotted suffixes."""
    code = fit_code(dict.fromkeys(lines(500), 1.0), CodeShape(tokens=4, ends=3, seeded_ends=3, classes=2, dotted=True))
    assert all(end.startswith(".") for end in code.to_json()["ends"])
    assert ".com" in code.to_json()["ends"]


@pytest.mark.parametrize("strings", [[b""], [b"a"], [b"aaaa", b"aaa"], [b"\xff\xfe"], [b"x" * 64, b"y" * 65]])
def test_very_small_samples(strings: list[bytes]) -> None:
    """A fit to next to nothing is a code all the same."""
    code = fit_code(dict.fromkeys(strings, 1.0), SMALL)
    assert TextCode(code.to_json()) == code


@pytest.mark.slow
def test_a_fit_always_fits() -> None:
    """Where an alphabet is large, the classes are fewer, and the table still has its size."""
    every = {chr(code).encode(): 1.0 for code in range(0x20, 0x3000)}
    code = fit_code(every, CodeShape(tokens=100, ends=40, classes=36, rare=0))
    assert 1 <= len(code.code_words) < 36


@pytest.mark.parametrize(
    ("strings", "said"),
    [
        ({}, "at least 1 string of at most 64 bytes, got none"),
        ({b"x" * 65: 1.0}, "at least 1 string"),
        ({b"a": 0.0}, "at least 1 string"),
        ({b"a": float("inf")}, "weights must be finite"),
    ],
)
def test_nothing_to_fit_to(strings: dict[bytes, float], said: str) -> None:
    """Strings that no code can be fitted to are refused."""
    with pytest.raises(ParameterError, match=said):
        fit_code(strings, SMALL)


def test_shapes() -> None:
    """The shapes that ship are named after their domains; an impossible one is refused."""
    assert sorted(SHAPES) == ["hostnames", "text", "words"]
    with pytest.raises(ParameterError, match="classes must be from 1 to 36, got classes=37"):
        CodeShape(classes=37)


def test_measure() -> None:
    """Means, quantiles, escapes and widths, by hand."""
    code = TextCode(twin.TABLES["plain ties with a tail"])  # a and END have two bits, ESC has one
    bits = measure_code(code, {b"": 1.0, b"a": 1.0, b"aa": 2.0, b"x": 1.0, b"vwxyz": 5.0})
    lengths = [2, 4, 6, 1 + 9 + 2, 1 + 7 + 40]
    assert bits.lengths.tolist() == lengths
    assert bits.mean == np.mean(lengths)
    assert bits.weighted_mean == np.average(lengths, weights=[1, 1, 2, 1, 5])
    assert (bits.strings, bits.median, bits.p90, bits.escaping) == (5, 6, 48, 0.4)
    assert [bits.share_within(width) for width in (1, 2, 6, 47, 48)] == [0, 0.2, 0.6, 0.8, 1]
    with pytest.raises(ParameterError, match="at least 1 string"):
        measure_code(code, {})


def test_a_tail_counts_as_escaping() -> None:
    """A raw tail that is merely shorter than symbols of the alphabet is ESC all the same."""
    code = load_code("hostnames")
    text = b"j-.j-zj-0jzj-"
    assert ESC not in code.greedy(text)
    assert measure_code(code, {text: 1.0}).escaping == 1
    assert measure_code(code, {b"example.org": 1.0}).escaping == 0
