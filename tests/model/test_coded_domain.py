"""Coded text as a domain: total, in normal form, and the code at the top of the item."""

from __future__ import annotations

import pickle
import unicodedata
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import text_code as twin

from hubbub.codes.shipped import CODE_NAMES, load_code
from hubbub.codes.text_code import TextCode
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import create_survey, load_survey
from hubbub.model.coded_domain import (
    NORMALIZATIONS,
    WIDTHS,
    CodedText,
    Hostnames,
    Words,
    hostnames_v1,
    hostnames_v2,
    text_v1,
    words_v1,
)
from hubbub.model.domain import OTHER, Hex, IPv4, UUIDs, domain_from_json

DOMAINS = [
    Hostnames(),
    Hostnames(32),
    Words(),
    Words(width=500),
    Words("pl"),
    CodedText(load_code("text"), "text-1", WIDTHS["text-1"]),
    CodedText(TextCode(twin.TABLES["plain ties with a tail"]), "text-1", 16),
    CodedText(TextCode(twin.TABLES["nothing but END and ESC"]), "words-1", 65),
    IPv4(),
]
EACH_DOMAIN = pytest.mark.parametrize("domain", DOMAINS, ids=repr)


class Hostile:
    """An object that fails however it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError("secret")

    __index__ = __float__ = __repr__ = __hash__ = __str__  # type: ignore[assignment]


odd_text = st.text("wW.:/@[]\\?# aAbΣςİ\u0301\u0331H\xa0\ufeff\ud800é1", max_size=20)
anything = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec=None)),
    odd_text,
    st.binary(),
    st.just(10**5000),
    st.builds(Hostile),
    st.sampled_from([OTHER, f" {OTHER} ", "255.255.255.255", "x" * 100, "é" * 33]),
)


@EACH_DOMAIN
@given(values=st.lists(anything, max_size=5))
def test_encode_is_total(domain, values) -> None:
    """No value makes encode raise; every item decodes, and to a value with that same item."""
    items = domain.encode(values)
    assert items.shape == (len(values), domain.item_limbs)
    decoded = domain.decode(items)
    assert None not in decoded
    assert np.array_equal(domain.encode(decoded), items)


@EACH_DOMAIN
@given(data=st.data())
def test_decode_is_total_and_encode_undoes_it(domain, data) -> None:
    """Any item decodes to a value or None; what it decodes to encodes to the same item."""
    index = data.draw(st.integers(0, domain.size - 1))
    item = np.frombuffer(index.to_bytes(8 * domain.item_limbs, "little"), "<u8").reshape(1, -1)
    (value,) = domain.decode(item)
    if value is not None:
        assert np.array_equal(domain.encode([value]), item)


@pytest.mark.slow
@EACH_DOMAIN
def test_it_is_plain_data(domain) -> None:
    """A domain comes back from its JSON, from a pickle and from a survey; equal ones have equal hashes."""
    for other in (domain_from_json(domain.to_json()), pickle.loads(pickle.dumps(domain))):  # noqa: S301
        assert other == domain
        assert hash(other) == hash(domain)
    survey = create_survey("test", domain, 1, expected_reports=1000)
    assert load_survey(survey.to_json()).domain == domain


def test_the_first_bit_of_a_code_is_the_highest_of_the_item() -> None:
    """Bit i of the code is bit (width − 1 − i) of the item as a number, whose words are least significant first."""
    for width in (70, 96, 128, 130):
        domain = Words(width=width)
        (item,) = domain.encode(["privacy"])
        number = sum(int(word) << 64 * index for index, word in enumerate(item))
        bits = twin.encode(twin.SHIPPED["words"], b"privacy")
        assert format(number, f"0{width}b") == bits.ljust(width, "0")
        assert domain.code_length("privacy") == len(bits)
        assert domain.bits == width


def test_other_is_all_ones() -> None:
    """What does not fit, is not text, or reads "(other)" is the item of ones, which is the code of nothing."""
    words = Words(width=64)
    outside = ["~" * 9, None, [], Hostile(), OTHER, "(OTHER)"]
    assert (words.encode(outside) == np.uint64(2**64 - 1)).all()
    assert words.decode(words.encode(outside)) == [OTHER] * len(outside)
    assert [words.code_length(value) for value in outside[1:]] == [None] * 5
    assert (words.code_length("~" * 9) or 0) > 64


def test_a_code_of_ones_is_other() -> None:
    """A text whose code fills the width with ones is given up for "(other)"; no shipped code has one."""
    rows = ["123456887", "123456788"]  # eight ones are f in class 0 and the end z in class 1, where f leads
    code = TextCode({"bytes": "abcdef", "tokens": [], "ends": ["z"], "class": "000000010", "lengths": rows})
    assert code.encode(b"fz") == (2**16 - 1, 16)
    for width, value in ((16, OTHER), (17, "fz")):
        domain = CodedText(code, "text-1", width)
        assert domain.decode(domain.encode(["fz"])) == [value]
    for name in CODE_NAMES:
        width = WIDTHS[f"{name.partition('-')[0]}-1"]
        assert load_code(name).decode((1 << width) - 1, width) is None


@pytest.mark.parametrize(
    ("value", "host"),
    [
        ("https://www.Example.org:8080/a?b#c", "example.org"),
        ("http://user:secret@example.org", "example.org"),
        ("//cdn.example.org/x.js", "cdn.example.org"),
        ("example.org.", "example.org"),
        ("EXAMPLE.ORG:443", "example.org"),
        ("www.example.org", "example.org"),
        ("www.www.example.org", "example.org"),
        ("www.com", "www.com"),
        ("www.", "www"),
        ("wwww.example.org", "wwww.example.org"),
        (" localhost ", "localhost"),
        ("example.org\\path", "example.org"),
        ("example.org?query=/@x", "example.org"),
        ("http://[2001:DB8::1]:80/", "[2001:db8::1]"),
        ("http://192.0.2.1:80/", "192.0.2.1"),
        ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("MÜNCHEN.de", "mÜnchen.de"),
        ("android-app://com.example.app/", "com.example.app"),
        ("", None),
        ("https://", None),
        ("...", None),
        ("two words", None),
        ("a<b>.org", None),
        ("http://[x]/", None),
        ("a" * 64, "a" * 64),
        ("a" * 65, None),
    ],
)
def test_hosts(value: str, host: str | None) -> None:
    """The rules of hosts, one by one; both versions agree where there is no alias but "www."."""
    assert hostnames_v1(value) == hostnames_v2(value) == host
    assert Hostnames(512).decode(Hostnames(512).encode([value])) == [host or OTHER]


@pytest.mark.parametrize(
    ("value", "first", "second"),
    [
        ("https://M.Example.org/a", "m.example.org", "example.org"),
        ("www.m.example.org", "m.example.org", "example.org"),
        ("lm.facebook.com", "lm.facebook.com", "facebook.com"),
        ("old.amp.mobile.l.a.b", "old.amp.mobile.l.a.b", "a.b"),
        ("m.m.me", "m.m.me", "m.me"),
        ("m.me", "m.me", "m.me"),
        ("m.com:80", "m.com", "m.com"),
        ("old.", "old", "old"),
        ("my.example.org", "my.example.org", "my.example.org"),
        ("mm.example.org", "mm.example.org", "mm.example.org"),
        ("beta.m.example.org", "beta.m.example.org", "beta.m.example.org"),
        ("[::1]", "[::1]", "[::1]"),
    ],
)
def test_aliases_of_a_host(value: str, first: str, second: str) -> None:
    """The second version folds the aliases of a site as long as a dot remains; the first one only "www."."""
    assert (hostnames_v1(value), hostnames_v2(value)) == (first, second)
    older = CodedText(load_code("hostnames"), "hostnames-1", 512)
    assert [domain.decode(domain.encode([value])) for domain in (older, Hostnames(512))] == [[first], [second]]


def test_text_rules() -> None:
    """Surrogates, composition, case, cuts and white space."""
    pairs = [
        ("E\u0301", "é"),
        ("\ud83d\ude00", "😀"),
        ("x\udc00Y", "x\ufffdy"),
        ("ΟΔΟΣ", "οδος"),
        ("H\u0331", "\u1e96"),
        ("a" * 63 + "é", "a" * 63),
        ("a" * 62 + "é", "a" * 62 + "é"),
        (" a ", " a "),
        ("", ""),
    ]
    assert [text_v1(given_) for given_, _ in pairs] == [wanted for _, wanted in pairs]
    assert words_v1("\ufeff\u3000 A b\n\xa0") == "a b"
    assert words_v1("a" * 63 + " b") == "a" * 63
    assert words_v1("\x1f") == "\x1f"  # a browser's trim leaves it


@pytest.mark.parametrize("rule", sorted(NORMALIZATIONS))
@given(value=odd_text | st.text(st.characters(codec=None), max_size=80))
def test_rules_are_idempotent(rule: str, value: str) -> None:
    """What is normal stays, is NFC, and has at most 64 bytes."""
    normal = NORMALIZATIONS[rule](value)
    if normal is not None:
        assert NORMALIZATIONS[rule](normal) == normal == unicodedata.normalize("NFC", normal)
        assert len(normal.encode("utf-8")) <= 64


def test_items_that_no_value_has() -> None:
    """A code of text that is not in normal form, and bits after the end, decode to nothing."""
    code = load_code("text")
    bits, length = code.encode(b"UPPER")
    domain = CodedText(code, "text-1", length + 1)
    upper, beyond = (np.array([[bits << 1 & 2**64 - 1, bits << 1 >> 64]], np.uint64)[:, : domain.item_limbs],) * 2
    assert domain.decode(upper) == [None]
    assert domain.decode(beyond | np.uint64(1)) == [None]


def test_ipv4() -> None:
    """Dotted quads and numbers; the broadcast address and everything else is "(other)"."""
    good = ["0.0.0.0", "192.0.2.1", " 10.0.0.1\n", 3221225985, b"255.255.255.254"]  # noqa: S104
    assert IPv4().decode(IPv4().encode(good)) == ["0.0.0.0", "192.0.2.1", "10.0.0.1", "192.0.2.1", "255.255.255.254"]  # noqa: S104
    bad = ["255.255.255.255", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.٤", "::1", -1, 2**32, 1.5, None]
    assert IPv4().decode(IPv4().encode(bad)) == [OTHER] * len(bad)
    assert (IPv4().bits, int(IPv4().encode(["1.2.3.4"])[0, 0])) == (32, 0x01020304)


def test_hexadecimal_ids() -> None:
    """Each digit is four bits, the first one highest; case, dashes and colons between digits do not matter."""
    good = ["01:23:ab", "0123AB", " 01-23ab ", b"0123ab"]
    assert Hex(6).decode(Hex(6).encode([*good, 123456])) == ["0123ab"] * 4 + ["123456"]
    bad = ["ffffff", "0123a", "0123abc", "-123abc", "0x23ab", "01--23ab", "0123ag", "", None, -12345, True, UUID(int=1)]
    assert Hex(6).decode(Hex(6).encode(bad)) == [OTHER] * len(bad)
    assert (Hex(6).bits, int(Hex(6).encode(["0123ab"])[0, 0])) == (24, 0x0123AB)
    known = UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
    assert UUIDs().decode(UUIDs().encode([known, known.hex, str(known).upper()])) == [str(known)] * 3
    assert (Hex(32).encode([known]) == UUIDs().encode([known])).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Hex(0), "digits must be a whole number from 1 to 128, got digits=0"),
        (lambda: domain_from_json({"kind": "uuid", "digits": 32}), "has the fields kind alone, got unknown digits"),
        (lambda: Hostnames(15), "width must be a whole number from 16 to 512, got width=15"),
        (lambda: Words(width=513), "width=513"),
        (lambda: Words("xx"), "language must be one of de, en, es, fr, it, nl, pl, pt, sv, tr, got language='xx'"),
        (lambda: Words(96), "language must be one of de, en, es, fr, it, nl, pl, pt, sv, tr, got language=96"),
        (lambda: CodedText({}, "text-1", 64), "code must be a TextCode, got dict"),
        (
            lambda: CodedText(load_code("text"), "text-2", 64),
            "one of text-1, hostnames-1, hostnames-2, words-1, got norm",
        ),
        (lambda: CodedText(load_code("text"), 1, 64), "normalization=1"),
        (lambda: domain_from_json({**Words().to_json(), "code": {}}), "a code has the fields"),
        (lambda: domain_from_json({**Words().to_json(), "more": 1}), "unknown more"),
        (lambda: domain_from_json({"kind": "ipv4", "bits": 32}), "has the fields kind alone, got unknown bits"),
        (lambda: domain_from_json({"kind": "coded_text"}), "no code"),
        (lambda: domain_from_json({"kind": ["ipv4"]}), "domain.kind must be one of"),
    ],
)
def test_bad_domains(make, said: str) -> None:
    """A domain that cannot be is refused with the rule, the name and the value."""
    with pytest.raises(ParameterError, match=said):
        make()


def test_repr_shows_no_table() -> None:
    """A repr is short whatever the code is."""
    assert repr(Hostnames()) == f"Hostnames(hostnames-2, {WIDTHS['hostnames-2']} bits)"
    assert repr(Words()) == "Words(words-1, 160 bits)"
    assert repr(Words("de")) == "Words(words-1, code words-de, 160 bits)"
    assert repr(domain_from_json(Words("en").to_json())) == "CodedText(words-1, code words-en, 160 bits)"
    table = {"bytes": "ab", "tokens": [], "ends": [], "class": "0000", "lengths": ["2222"]}
    own = CodedText(TextCode(table), "words-1", 160)
    assert repr(own) == "CodedText(words-1, own code, 160 bits)"
    assert (own.described, own.long_example, own.language) == ("words, in a code of their own", None, None)
    assert Words("de").member == "a word whose code for German has at most 160 bits"
