"""Items of many values at once are those that the domains give, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.model.test_coded_domain import Hostile, anything, odd_text
from tests.reference import text_code as twin

from hubbub.codes.shipped import load_code
from hubbub.codes.text_code import TextCode
from hubbub.model.coded_domain import NORMALIZATIONS, CodedText, Hostnames, Words
from hubbub.model.domain import OTHER, Bytes, Categories, Integers, IPv4
from hubbub.numeric.bulk_items import encode_marked

SHIPPED = [Hostnames(), Words(), Words("tr"), CodedText(load_code("text"), "text-1", 192)]
DOMAINS = [
    *SHIPPED,
    *(CodedText(load_code("hostnames"), rule, 512) for rule in NORMALIZATIONS),
    *(CodedText(TextCode(table), "text-1", 77) for table in twin.TABLES.values()),
    Hostnames(16),
    *(Bytes(size) for size in (1, 7, 8, 32, 64)),
    *(Integers(bits) for bits in (1, 31, 32, 33, 63, 64, 65, 512)),
    IPv4(),
    Categories(["a", "b"]),
]
ONE_OF_A_KIND = [Hostnames(), Words(), Bytes(32), Integers(64), IPv4(), Categories(["a", "b"])]
EACH_DOMAIN = pytest.mark.parametrize(
    "domain",
    [pytest.param(each, marks=[] if each in ONE_OF_A_KIND else [pytest.mark.slow]) for each in DOMAINS],
    ids=repr,
)
URLS = st.from_regex(
    r"[ \t]?([a-zA-Z0-9+.:-]{0,6}:)?/{0,3}([a-z:]{0,5}@){0,2}"
    r"(\[[0-9A-F:.]{0,9}\]?|(www\.|WWW\.|m\.|Lm?\.|mobile\.|aMp\.|old\.){0,3}[a-zA-Z.(){}%-]{0,12})"
    r"(:[0-9]{0,5})?[.]{0,2}([/?#\\].{0,9})?[ \n\x1f]?",
    fullmatch=True,
)
NUMBERS = st.one_of(st.integers(0, 2**65), st.integers(2**512 - 3, 2**512 + 3)).map(str)
ascii_text = st.text(st.characters(max_codepoint=127), max_size=70)


@EACH_DOMAIN
@given(
    values=st.lists(
        st.one_of(ascii_text, odd_text, URLS, NUMBERS, NUMBERS.map(lambda number: f"\x1c{number} "), anything),
        max_size=9,
    )
)
@example(values=[])
@example(values=["", OTHER, " (OTHER) ", "x" * 64, "x" * 65, "x" * 63 + " y", "1" * 155, "1" * 156, "-1", "+1", "1_0"])
@example(values=["a1//b.org", "a1:b//c.org", "1a://b.org", "://b.org", "a://", "a:/b"])
@example(values=["www.www.", "www.www.a", "WwW.a.b", "www", "[::1", "[]", "[::1]x", f"[{'1' * 62}]", f"[{'1' * 63}]"])
@example(values=["m.me", "M.a.b", "lm.l.a.b", "old.amp.mobile.www.a.b", "mob.a.b", "m..b", ".a.b", "wwww.a.b"])
@example(values=["é" * 40, "Straße.de", b"bytes.org", None, 7, 7.0, Hostile(), "a\x00"])
def test_items_equal_those_of_the_domain(domain, values) -> None:
    """Any values of any type, with every rule, code and width."""
    items, expected = encode_marked(domain, iter(values)).items, domain.encode(values)
    assert items.dtype == expected.dtype
    assert items.shape == expected.shape
    assert np.array_equal(items, expected)


@pytest.mark.parametrize("domain", SHIPPED, ids=repr)
def test_texts_of_every_length_and_likelihood(domain) -> None:
    """Ten thousand strings of up to 70 bytes, from all text to all noise: plain codes, escapes, raw tails, no room."""
    rng = np.random.default_rng(1)
    tokens = [*"abcdefghijklmnopqrstuvwxyz.-0", ".com", ".co.uk", "ing", "the ", "shop", "~", "Q", " ", "\x07"]
    values = []
    for _ in range(10_000):
        likely = tokens[: int(rng.integers(1, len(tokens) + 1))]
        values.append("".join(rng.choice(likely, int(rng.integers(0, 25))))[: int(rng.integers(0, 71))])
    items = encode_marked(domain, values).items
    assert np.array_equal(items, domain.encode(values))
    other = domain.encode([None])[0]
    assert 100 < (items == other).all(axis=1).sum() < 9_000
