"""What a domain makes of people's values, counted, and the truth beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub import Bytes, Categories, Hostnames, Integers, IPv4, Words
from hubbub.codes.shipped import load_code
from hubbub.inputs.encoding import Encoder, Held
from hubbub.model.coded_domain import CodedText
from hubbub.model.estimates import Intake
from hubbub.numeric.bulk_items import encode_marked

CODED = CodedText(load_code("text"), "text-1", 512)
ALL = [Integers(8), IPv4(), Categories(["a", "b"]), Bytes(4), CODED, Words(), Hostnames()]
VALUES = ["a", "é", "abcd", "abcde", "ééé", "x" * 64, "X" * 65, " " * 70 + "b", "é" * 33, "é" * 32, 5, 12345, "13.0"]


@pytest.mark.parametrize("domain", ALL, ids=repr)
class TestMarks:
    """Which values were cut and which are not in the domain."""

    def test_the_items_are_those_of_the_domain(self, domain):
        """Marking changes no item, and a mark is what one value alone would get."""
        marked = encode_marked(domain, VALUES)
        assert np.array_equal(marked.items, domain.encode(VALUES))
        assert np.array_equal(marked.items, domain.encode(VALUES))
        for place, value in enumerate(VALUES):
            decoded = domain.decode(marked.items[place])
            assert marked.other[place] == (decoded == ["(other)"])
            assert marked.cut[place] == (domain.cuts(value) and not marked.other[place])

    def test_nobody(self, domain):
        """No values are no marks."""
        assert [len(part) for part in encode_marked(domain, [])] == [0, 0, 0]


@pytest.mark.parametrize(
    ("domain", "kept", "cut"),
    [
        (Bytes(4), ["abcd", "éé", "", 1234], ["abcde", "ééé", "abcé", 12345]),
        (CODED, ["x" * 64, "é" * 32], ["x" * 65, "é" * 33, " " + "x" * 64]),
        (Words(width=512), ["x" * 64, "  " + "x" * 64 + " "], ["x" * 65]),
        (Hostnames(512), ["x" * 64, "x" * 65, "a.example/" + "x" * 99], []),
        (Integers(8), ["1" * 99], []),
    ],
    ids=repr,
)
def test_cuts(domain, kept, cut):
    """Text is cut if its normal form has more bytes than there is room for."""
    assert [domain.cuts(value) for value in [*kept, *cut]] == [False] * len(kept) + [True] * len(cut)
    assert not domain.cuts([])


@given(st.lists(st.text(max_size=9)))
def test_a_text_that_is_not_cut_comes_back(texts):
    """A text is marked as cut exactly if decoding gives another one, NULs at its end aside."""
    domain = Bytes(6)
    marked = encode_marked(domain, texts)
    for text, value, was_cut in zip(texts, domain.decode(marked.items), marked.cut, strict=True):
        whole = domain.decode(Bytes(6).encode([text])) == Bytes(60).decode(Bytes(60).encode([text]))
        assert value is not None
        assert not was_cut or not whole or text.endswith("\0")
        assert was_cut or whole


class TestEncoder:
    """Counts over all chunks."""

    def test_whole_floats_are_integers(self):
        """Numbers that were written as floats are in the domain; what is not stays out."""
        encoder = Encoder(Integers(8), missing=2)
        items = encoder.encode(["13.0", "13", 13, "2.5", "300.0", "x", "1e2"])
        assert Integers(8).decode(items) == [13, 13, 13, "(other)", "(other)", "(other)", 100]
        assert encoder.intake == Intake(missing=2, cut=0, other=3, better_domain="text", better_share=1.0)

    def test_texts_stay_texts(self):
        """In a domain of texts 13.0 is the text that it is."""
        assert Bytes(4).decode(Encoder(Bytes(4)).encode(["13.0"])) == ["13.0"]

    def test_the_counts_add_up(self):
        """What was cut is counted over all chunks."""
        encoder = Encoder(Bytes(4))
        for _ in range(3):
            encoder.encode(["abcde", "abcd"])
        assert encoder.intake == Intake(cut=3)


class TestTruth:
    """What people hold."""

    def test_two_texts_that_are_cut_to_one_are_two(self):
        """The truth has both, whole, and nobody holds their beginning."""
        encoder = Encoder(Bytes(4), with_truth=True)
        encoder.encode(["abcd-1"] * 3 + ["abcd-2"] * 2 + ["abc"])
        assert encoder.truth is not None
        assert encoder.truth.largest(9) == [Held("abcd-1", 3, "cut"), Held("abcd-2", 2, "cut"), Held("abc", 1, "kept")]
        assert encoder.truth.largest(1) == [Held("abcd-1", 3, "cut")]
        assert (encoder.truth.count("abcd"), encoder.truth.count("abc")) == (0, 1)

    def test_what_is_not_in_the_domain_is_itself(self):
        """Values outside the domain are told apart, and all of them are "(other)"."""
        encoder = Encoder(Integers(8), with_truth=True)
        encoder.encode([300, 300, "x", 7, "7.0", "7"])
        assert encoder.truth is not None
        assert encoder.truth.largest(9) == [Held(7, 3, "kept"), Held(300, 2, "other"), Held("x", 1, "other")]
        assert (encoder.truth.count("(other)"), encoder.truth.count(7), encoder.truth.count(8)) == (3, 3, 0)

    def test_the_spelling_is_the_domains(self):
        """Spellings that the domain takes for one value are one, also of texts that are cut."""
        encoder = Encoder(Hostnames(), with_truth=True)
        encoder.encode(["https://www.A.example/x", "a.example", "no host"])
        assert encoder.truth is not None
        assert encoder.truth.largest(9) == [Held("a.example", 2, "kept"), Held("no host", 1, "other")]
        encoder = Encoder(Bytes(4), with_truth=True)
        encoder.encode(["ééé", "e\u0301e\u0301e\u0301", "abcd\ud800"])
        assert encoder.truth is not None
        assert encoder.truth.largest(9) == [Held("ééé", 2, "cut"), Held("abcd\ufffd", 1, "cut")]

    def test_nobody(self):
        """Before anybody is counted there is no largest."""
        truth = Encoder(Bytes(4), with_truth=True).truth
        assert truth is not None
        assert truth.largest(9) == []
        assert truth.count("a") == 0
