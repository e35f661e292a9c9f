"""Reports and sums of the tree against their slow twins."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from tests.reference import naive

from hubbub import Integers, SeededRandomWords, Words
from hubbub.mechanisms.base import Request
from hubbub.mechanisms.tree import ENTRY, Tree
from hubbub.model.survey import Survey
from hubbub.numeric.hashing import Purpose, derive_key


def make_tree(bits: int, epsilon: str, people: int = 1000, domain=None) -> Tree:
    """A small tree, over integers if nothing else is said."""
    domain, options = domain or Integers(bits), {"size": "small"}
    parameters = ENTRY.derive(Request(domain, Decimal(epsilon), Decimal(0), options, people))
    return Tree(
        Survey(
            name="t",
            domain=domain,
            epsilon=Decimal(epsilon),
            delta=Decimal(0),
            mechanism="tree",
            options=options,
            parameters=parameters,
            public_seed=bytes(range(32)),
            expected_reports=people,
        )
    )


def key_bytes(key) -> bytes:
    """A key as the twin takes it."""
    return key.low.to_bytes(4, "little") + key.high.to_bytes(4, "little")


def check_reports(tree: Tree, numbers: list[int]) -> None:
    """Every step of a report and of its tally, by the twins."""
    shape, bits, limbs = tree.shape, tree.survey.domain.bits, tree.survey.domain.item_limbs
    steps = shape.to_parameters()["steps"]
    items = np.frombuffer(b"".join(n.to_bytes(8 * limbs, "little") for n in numbers), "<u8").reshape(-1, limbs)
    random_words = SeededRandomWords(3).draw(len(numbers), 4)
    reports = tree.randomize(items, random_words)
    cells = np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, reports)
    bijection, coins, bucket = (
        key_bytes(derive_key(tree.survey.public_seed, purpose))
        for purpose in (Purpose.TREE_BIJECTION, Purpose.TREE_COINS, Purpose.TREE_BUCKET)
    )
    expected = np.zeros_like(cells)
    for number, row_words, report in zip(numbers, random_words.tolist(), reports, strict=True):
        report_id = b"".join(word.to_bytes(8, "little") for word in row_words[:2])
        row, masks = naive.tree_coins(coins, report_id, shape.ends, tree.law.masks, shape.bucket_bits)
        digits = format(number, f"0{bits}b")
        own = naive.tree_class(digits, steps)
        path = naive.tree_path(bijection, digits, naive.bits_of(own))
        place = naive.tree_bucket(bucket, path, row, own, shape.bucket_bits)
        symbol = naive.tree_symbol(place, masks, row_words[2], row_words[3], tree.law.threshold)
        assert int(report["symbol"]) == symbol
        for position, sign in naive.tree_tally(symbol, masks).items():
            expected[(row << shape.bucket_bits) + position] += sign
        expected[(tree.rows << shape.bucket_bits) + row] += 1
    assert np.array_equal(cells, expected)


@pytest.mark.parametrize(
    ("bits", "epsilon"),
    [(3, "1"), (20, "2"), (21, "0.5"), (23, "1"), (64, "1"), (64, "4"), (64, "6"), (65, "2"), (130, "1")],
)
def test_reports_and_sums_equal_the_twins(bits: int, epsilon: str) -> None:
    """For universes with and without hashing and for one to eight masks."""
    rng = np.random.default_rng(bits)
    check_reports(make_tree(bits, epsilon), [int.from_bytes(rng.bytes(64), "little") % 2**bits for _ in range(60)])


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_reports_of_texts_equal_the_twins(epsilon: str) -> None:
    """Items of all classes in one batch: the empty text, words, "(other)", and codes that nothing ends."""
    domain = Words()
    words = domain.encode(["", "a", "of", "help", "privacy", "unforgettable", "naïve", None])
    numbers = [int.from_bytes(item.tobytes(), "little") for item in words]
    rng = np.random.default_rng(1)
    numbers += [int.from_bytes(rng.bytes(20), "little") >> zeros << zeros for zeros in range(0, domain.bits, 3)]
    check_reports(make_tree(0, epsilon, domain=domain), numbers)


def test_no_report_depends_on_the_others_of_its_block() -> None:
    """More reports than are taken at once, at once and in parts of odd sizes: the same reports, the same sums."""
    tree = make_tree(130, "4")
    items = np.random.default_rng(5).integers(0, 4, (66_000, 3), dtype=np.uint64)
    random_words = SeededRandomWords(6).draw(66_000, 4)
    whole, cells = tree.randomize(items, random_words), np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, whole)
    parts = np.zeros_like(cells)
    for part in np.split(np.arange(66_000), [1, 18, 529, 1042]):
        reports = tree.randomize(items[part], random_words[part])
        assert np.array_equal(reports, whole[part])
        tree.accumulate(parts, reports)
    assert np.array_equal(parts, cells)


def test_reports_of_one_row_are_added_up() -> None:
    """So many reports of one row that they cannot all be held back: the same sums as a few at a time."""
    tree = make_tree(64, "4")
    reports = np.zeros(40, tree.report_dtype)
    reports["id"] = SeededRandomWords(7).draw(len(reports), 2)
    reports["symbol"] = np.arange(len(reports)) % tree.law.symbols
    alone = np.zeros((len(reports), *tree.cells_shape), np.int64)
    for cells, report in zip(alone, reports, strict=True):
        tree.accumulate(cells, np.array([report]))
    rows = alone[:, -tree.rows :].argmax(axis=1)
    same = np.flatnonzero(rows == np.bincount(rows).argmax())
    cells = np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, np.repeat(reports[same], 2_000))
    assert len(same) > 2
    assert np.array_equal(cells, 2_000 * alone[same].sum(axis=0))


def test_the_transform_counts_matches() -> None:
    """For every bucket the transformed sums are q·(matching reports) − (reports), by the definition of a match."""
    tree = make_tree(5, "2")
    items = np.arange(32, dtype=np.uint64)[:, np.newaxis].repeat(10, axis=0)
    random_words = SeededRandomWords(4).draw(len(items), 4)
    reports = tree.randomize(items, random_words)
    cells = np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, reports)
    coins = key_bytes(derive_key(tree.survey.public_seed, Purpose.TREE_COINS))
    spectrum = naive.walsh_hadamard(cells[:32].tolist())
    for place in range(32):
        matches = 0
        for row_words, report in zip(random_words.tolist(), reports, strict=True):
            report_id = b"".join(word.to_bytes(8, "little") for word in row_words[:2])
            _, masks = naive.tree_coins(coins, report_id, tree.shape.ends, tree.law.masks, 5)
            matches += naive.tree_symbol(place, masks, 0, 0, 1) == int(report["symbol"])
        assert spectrum[place] == tree.law.symbols * matches - len(items)
