"""Items as paths of a class, and back: classes, the bijection, buckets, and what is known of values beforehand."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import naive
from tests.reference import text_code as twin

from hubbub import Categories, Integers, Words
from hubbub.codes.shipped import load_code
from hubbub.codes.text_code import TextCode
from hubbub.mechanisms.tree.code import PathCode
from hubbub.mechanisms.tree.shape import BitClass, Shape, class_bits, plan_shape
from hubbub.model.coded_domain import CodedText
from hubbub.numeric.hashing import Purpose, derive_key

SEED = bytes(range(32))
NUMBER_BITS = [1, 2, 3, 19, 20, 21, 63, 64, 65, 127, 128, 129, 200, 256, 511, 512]
TEXT_WIDTHS = [16, 17, 19, 20, 21, 22, 63, 64, 65, 80, 81, 96, 127, 128, 129, 160, 161, 192, 352, 511, 512]


def key_of(purpose: Purpose) -> bytes:
    """A key as the twins take it."""
    key = derive_key(SEED, purpose)
    return key.low.to_bytes(4, "little") + key.high.to_bytes(4, "little")


def by_tens(bits: int) -> BitClass:
    """Steps of ten bits, and the rest."""
    return BitClass((10,) * (bits // 10) + ((bits % 10,) if bits % 10 else ()))


@lru_cache
def code_of_numbers(bits: int) -> PathCode:
    """The code of whole numbers."""
    return PathCode(Integers(bits), Shape(10, (1 << 24,), (by_tens(bits),)), SEED)


@lru_cache
def code_of_texts(width: int) -> PathCode:
    """The code of texts, with the classes of a real tree."""
    shape = Shape(10, (1 << 24,), tuple(map(by_tens, class_bits(width, min(width, 64)))))
    return PathCode(CodedText(load_code("text"), "text-1", width), shape, SEED)


def packed(numbers: list[int], bits: int) -> np.ndarray:
    """Numbers as items."""
    width = 8 * -(-bits // 64)
    return np.frombuffer(b"".join(n.to_bytes(width, "little") for n in numbers), "<u8").reshape(len(numbers), -1)


def as_digits(path: np.ndarray) -> str:
    """A path of whole words as binary digits."""
    return "".join(format(int(word), "064b") for word in path)


def steps_of(shape: Shape) -> list[str]:
    """The steps of every class as a survey has them."""
    steps: list[str] = shape.to_parameters()["steps"]
    return steps


def check(code: PathCode, numbers: list[int]) -> None:
    """Classes and paths are the twins', padded with zeros; every path leads back to its item, which is in order."""
    width, steps = code.domain.bits, steps_of(code.shape)
    items, seen = packed(numbers, width), []
    for number, chosen, paths in code.classes(items):
        bits, places = code.shape.classes[number].bits, np.arange(len(items))[chosen]
        assert paths.shape == (len(places), -(-bits // 64))
        for place, path in zip(places.tolist(), paths, strict=True):
            digits = format(numbers[place], f"0{width}b")
            assert naive.tree_class(digits, steps) == steps[number]
            assert as_digits(path)[:bits] == naive.tree_path(key_of(Purpose.TREE_BIJECTION), digits, bits)
            assert set(as_digits(path)[bits:]) <= {"0"}
            assert naive.tree_item(key_of(Purpose.TREE_BIJECTION), as_digits(path)[:bits]) == digits[:bits]
        assert np.array_equal(code.to_items(number, paths), items[places])
        seen += places.tolist()
    assert sorted(seen) == list(range(len(numbers)))


@pytest.mark.parametrize("bits", NUMBER_BITS)
@given(data=st.data())
def test_paths_of_numbers_equal_the_twin_and_come_back(bits: int, data) -> None:
    """Any item of any width."""
    check(code_of_numbers(bits), [data.draw(st.integers(0, 2**bits - 1))])


@given(width=st.sampled_from(TEXT_WIDTHS), data=st.data())
def test_paths_of_texts_equal_the_twin_and_come_back(width: int, data) -> None:
    """Any items of any width, whichever classes they fall into."""
    drawn = st.tuples(st.integers(0, 2**width - 1), st.integers(0, width))
    some = data.draw(st.lists(drawn, min_size=1, max_size=4))
    check(code_of_texts(width), [number >> zeros << zeros for number, zeros in some])


@pytest.mark.parametrize("width", [16, 20, 21, 65, 136, 160])
def test_texts_of_every_length_have_a_class(width: int) -> None:
    """Codes of 0 bits up to all of them, each at every place of a class: none is left out, and no class is empty."""
    code = code_of_texts(width)
    numbers = [0, *(1 << zeros for zeros in range(width)), *(((1 << width) - 1) >> z << z for z in range(width))]
    check(code, numbers)
    assert [number for number, _, _ in code.classes(packed(numbers, width))] == list(range(len(code.shape.classes)))


@pytest.mark.parametrize("shift", [0, 12, 32, 44])
def test_structure_leaves_no_trace_in_prefixes(shift: int) -> None:
    """Ids in sequence, at any position of the word, have as many different 20-bit prefixes as random ids."""
    items = (np.arange(2**16, dtype=np.uint64) << np.uint64(shift))[:, np.newaxis]
    ((_, _, paths),) = code_of_numbers(64).classes(items)
    expected = 2**20 * -np.expm1(-(2**16) / 2**20)
    assert abs(len(np.unique(paths[:, 0] >> np.uint64(44))) - expected) < 6 * np.sqrt(2**16 / 32)


@pytest.mark.parametrize("domain", [Integers(130), Words()], ids=["numbers", "words"])
def test_buckets_equal_the_twin(domain) -> None:
    """In every row, whatever the class."""
    shape = plan_shape(domain.bits, None if isinstance(domain, Integers) else 44, False)
    code, steps = PathCode(domain, shape, SEED), steps_of(shape)
    items = domain.encode(["a", "help", "privacy", "unforgettable"] if domain == Words() else [5, 2**100, 2**129 + 3])
    found = code.buckets(items)
    seen = 0
    for number, places, paths in code.classes(items):
        for place, path in zip(np.arange(len(items))[places].tolist(), paths, strict=True):
            digits, seen = as_digits(path)[: shape.classes[number].bits], seen + 1
            for row in range(shape.rows):
                key = key_of(Purpose.TREE_BUCKET)
                assert found[place, row] == naive.tree_bucket(key, digits, row, steps[number], shape.bucket_bits)
    assert seen == len(items)


def test_only_values_of_the_right_class_are_valid() -> None:
    """A word is valid in its own class alone; codes that do not end, or go on after their end, are valid in none."""
    domain = Words()
    code = PathCode(domain, plan_shape(domain.bits, 44, False), SEED)
    words = ["a", "of", "help", "privacy", "unforgettable", "naïve"]
    known = [int.from_bytes(item.tobytes(), "little") for item in domain.encode(words)]
    numbers = known + [number ^ 1 << place for number in known for place in (0, 40, 100, 135, 150, 159)]
    items, classes = packed(numbers, domain.bits), steps_of(code.shape)
    right = []
    for number in numbers:
        digits = format(number, f"0{domain.bits}b")
        parsed = twin.parse(twin.TABLES["words"], digits)
        ended = parsed is not None and "1" not in digits[parsed[1] :]
        value = domain.code.decode_padded(number, domain.bits) is not None
        right.append(classes.index(naive.tree_class(digits, classes)) if ended and value else None)
    for asked, kind in enumerate(code.shape.classes):
        fits = [place for place, number in enumerate(numbers) if number % (1 << domain.bits - kind.bits) == 0]
        valid = code.valid(np.full(len(fits), asked), items[fits])
        assert [fits[place] for place in valid.tolist()] == [place for place in fits if right[place] == asked]
    assert None not in right[: len(words)]
    assert right.count(None) > len(words)


def test_numbers_beyond_the_list_are_not_valid() -> None:
    """A list of 5 names has paths of 3 bits, of which three are nobody's."""
    domain = Categories([f"v{number}" for number in range(5)], other=False)
    code = PathCode(domain, Shape(3, (1 << 24,), (BitClass((3,)),)), SEED)
    items = np.arange(8, dtype=np.uint64)[:, np.newaxis]
    assert code.valid(np.zeros(8, np.int64), items).tolist() == list(range(5))
    assert np.exp(code.log_priors(items[:5])).tolist() == pytest.approx([0.2] * 5)


def all_codes(table: dict, longest: int, begun: str = "") -> list[str]:
    """Every code of a table with up to so many bits, found by going on wherever none has ended."""
    if twin.parse(table, begun) is not None:
        return [begun]
    if len(begun) == longest:
        return []
    return all_codes(table, longest, begun + "0") + all_codes(table, longest, begun + "1")


@pytest.mark.parametrize("name", ["nothing but END and ESC", "the class after ESC", "tokens that are ends"])
def test_masses_are_those_of_all_codes_by_their_length(name: str) -> None:
    """The prior of a class is the sum of 2^−l over the codes of l bits that would fall into it by their lengths.

    This is an approximation: the class of a text is that of its code without the zeros at its end. So the masses of
    the shorter classes are a little too small, and those of the longer ones too large.
    """
    ends = [3, 6, 10, 16]
    shape = Shape(10, (1 << 24,), tuple(map(by_tens, ends)))
    masses = np.exp(PathCode(CodedText(TextCode(twin.TABLES[name]), "text-1", 16), shape, SEED).log_masses)
    by_length, by_class = np.zeros(3), np.zeros(3)
    for code in all_codes(twin.TABLES[name], 10):
        by_length[np.searchsorted(ends, len(code))] += 2.0 ** -len(code)
        by_class[np.searchsorted(ends, len(code.rstrip("0")))] += 2.0 ** -len(code)
    assert masses[:3] == pytest.approx(np.maximum(by_length, 1e-12))
    assert by_length.sum() > 0.4
    assert (np.cumsum(by_class) >= np.cumsum(by_length)).all()
    assert masses.sum() <= 1 + 1e-9


def test_priors_go_by_the_length_of_the_code() -> None:
    """Each value's is 2^−l, and a whole number's is one over all."""
    domain = Words()
    code = PathCode(domain, plan_shape(domain.bits, 44, False), SEED)
    words = ["a", "help", "privacy"]
    lengths = [domain.code_length(word) for word in words]
    assert code.lengths(domain.encode(words)).tolist() == lengths
    assert np.exp2(code.log_priors(domain.encode(words)) / np.log(2)) == pytest.approx(np.exp2(-np.array(lengths)))
    assert code_of_numbers(64).log_priors(np.zeros((2, 1), np.uint64)).tolist() == [-64 * np.log(2)] * 2
