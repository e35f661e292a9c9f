"""The client and the bulk randomisers: equal on anything that hypothesis can think of."""

from __future__ import annotations

import ipaddress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub import (
    Bytes,
    Categories,
    CodedText,
    Domain,
    Hex,
    Hostnames,
    Integers,
    IPv4,
    UUIDs,
    Words,
    create_survey,
    mechanism_for,
)
from hubbub.client.domains import read_domain
from hubbub.client.hashing import derive_key, hash_words
from hubbub.client.survey import encode_report, read_survey
from hubbub.codes.shipped import load_code
from hubbub.numeric import hashing

texts = st.one_of(
    st.text(st.characters(), max_size=80),  # surrogates included
    st.text("abcdefghijklmnopqrstuvwxyz.-/:@[]0123456789 ", max_size=80),
    st.from_regex(r"(https?://)?(www\.)?[a-zA-Z0-9-]{1,20}\.(com|org|co\.uk)(:[0-9]+)?(/.*)?", fullmatch=True),
    st.integers(0, 2**40).map(str),
    st.ip_addresses(v=4).map(str),
    st.uuids().map(str),
)
values = st.one_of(
    texts,
    st.binary(max_size=70),
    st.integers(-2, 2**512 + 2),
    st.integers(-(2**40), 2**40),
    st.floats(),
    st.none(),
    st.booleans(),
    st.ip_addresses(v=4),
    st.uuids(),
    st.sampled_from(
        [
            *(np.int8(-3), np.uint64(2**63), np.float32(5), np.float64(5.5), np.bool_(True), np.str_("a")),
            *(np.complex64(1), Fraction(5), Decimal(5), [5], (), {}, object(), 10**5000, ipaddress.ip_address("::1")),
        ]
    ),
)
small = st.one_of(
    st.integers(1, 24).map(Integers),
    st.lists(st.text(max_size=5), min_size=1, max_size=40).map(
        lambda names: Categories.stated(sorted({Bytes(60).decode(Bytes(60).encode([name]))[0] for name in names}), True)
    ),
    st.integers(1, 3).map(Bytes),
)
codes = st.sampled_from(
    [("text", "text-1"), ("words", "words-1"), ("hostnames", "hostnames-1"), ("hostnames", "hostnames-2")]
)
domains = st.one_of(
    small,
    st.integers(1, 512).map(Integers),
    st.integers(1, 64).map(Bytes),
    st.sampled_from([IPv4(), UUIDs(), Hex(1), Hex(32)]),
    st.builds(lambda code, width: CodedText(load_code(code[0]), code[1], width), codes, st.integers(16, 512)),
)
epsilons = st.decimals("0.01", "6", places=2)
random_words = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 2**64 - 1])), min_size=4, max_size=4)


def check_equal(
    domain: Domain, epsilon: Decimal, mechanism: str, drawn: list[list[int]], held: list[Any], **more: Any
) -> None:
    """Reports of the values by both, byte for byte."""
    survey = create_survey("equal", domain, epsilon, mechanism=mechanism, expected_reports=200, **more)
    bulk, device = mechanism_for(survey), read_survey(survey.to_json())
    assert device.survey_id == survey.survey_id
    used = np.array([each[: bulk.random_words_per_report] for each in drawn], np.uint64)
    expected = bulk.randomize(domain.encode(held), used)
    for value, each, report in zip(held, used.tolist(), expected, strict=True):
        assert encode_report(device, value, each) == report.tobytes()


@pytest.mark.slow
@settings(max_examples=120)
@given(
    domains,
    epsilons,
    st.lists(st.tuples(values, random_words), min_size=1, max_size=6),
    st.binary(min_size=32, max_size=32),
)
def test_tree(domain: Domain, epsilon: Decimal, held: list[tuple[Any, list[int]]], seed: bytes) -> None:
    """`tree` on every domain."""
    check_equal(domain, epsilon, "tree", [w for _, w in held], [v for v, _ in held], public_seed=seed)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    small,
    epsilons,
    st.lists(st.tuples(values, random_words), min_size=1, max_size=6),
    st.binary(min_size=32, max_size=32),
    st.sampled_from(["dense", "hadamard"]),
)
def test_jl(domain: Domain, epsilon: Decimal, held: list[tuple[Any, list[int]]], seed: bytes, projection: str) -> None:
    """`jl` with one bit, on domains that are small enough for it."""
    options = {"public_seed": seed, "options": {"projection": projection}}
    check_equal(domain, epsilon, "jl", [w for _, w in held], [v for v, _ in held], **options)


@settings(max_examples=25)
@given(domains.filter(lambda d: d.bits <= 160), epsilons, values, random_words, st.binary(min_size=32, max_size=32))
def test_bucket(domain: Domain, epsilon: Decimal, value: Any, drawn: list[int], seed: bytes) -> None:
    """`bucket` with one bit."""
    check_equal(domain, epsilon, "bucket", [drawn], [value], public_seed=seed, options={"beta": "0.9"})


@pytest.mark.slow
@settings(max_examples=300)
@given(st.sampled_from([Hostnames(), Words(), CodedText(load_code("text"), "text-1", 300), Bytes(20)]), texts)
def test_items_of_text(domain: Domain, text: str) -> None:
    """The item of any text, surrogates and all."""
    item = read_domain(domain.to_json()).item(text)
    assert item == int.from_bytes(domain.encode([text]).astype("<u8").tobytes(), "little")


@given(st.binary(min_size=32, max_size=32), st.integers(1, 9), st.lists(st.integers(0, 2**32 - 1), max_size=20))
def test_hash(seed: bytes, purpose: int, message: list[int]) -> None:
    """The public hash and its keys."""
    bulk = hashing.derive_key(seed, purpose)
    key = derive_key(seed, purpose)
    assert key == bulk.low | bulk.high << 32
    assert hash_words(key, message) == int(hashing.hash_words(bulk, np.array([message], np.uint32).reshape(1, -1))[0])


def test_a_mutant_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client whose hash has one wrong bit in its key does not pass for equal."""
    monkeypatch.setattr(
        "hubbub.client.mechanisms.hash_words", lambda key, random_words: hash_words(key ^ 1, random_words)
    )
    drawn = [[k * 0x9E3779B97F4A7C15 % 2**64, k, 0, k] for k in range(64)]
    with pytest.raises(AssertionError):
        check_equal(Integers(32), Decimal(2), "tree", drawn, list(range(64)), public_seed=bytes(32))
