"""The tree's kernels against their slow twins."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from tests.reference import naive

from hubbub.mechanisms.base import Request
from hubbub.mechanisms.tree import ENTRY, Tree
from hubbub.model.domain import Integers
from hubbub.model.survey import Survey
from hubbub.numeric.randomness import SeededWords


def make_tree(bits: int, epsilon: str, people: int = 1000) -> Tree:
    """A tree over integers."""
    options = {"size": "small"}
    parameters = ENTRY.derive(Request(Integers(bits), Decimal(epsilon), Decimal(0), options, people))
    return Tree(
        Survey(
            name="t",
            domain=Integers(bits),
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


@pytest.mark.parametrize(
    ("bits", "epsilon"), [(3, "1"), (20, "2"), (21, "0.5"), (23, "1"), (64, "1"), (64, "4"), (65, "2"), (130, "1")]
)
def test_reports_and_sums_equal_the_twins(bits: int, epsilon: str) -> None:
    """Every step of a report and of its tally, for universes with and without hashing and for one to six masks."""
    tree = make_tree(bits, epsilon)
    plan = tree.plan
    rng = np.random.default_rng(bits)
    width = -(-bits // 64)
    numbers = [int.from_bytes(rng.bytes(8 * width), "little") % 2**bits for _ in range(60)]
    items = np.frombuffer(b"".join(n.to_bytes(8 * width, "little") for n in numbers), "<u8").reshape(60, width)
    words = SeededWords(3).draw(60, 4)
    reports = tree.randomize(items, words)
    cells = np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, reports)
    bijection, coins, bucket = (key_bytes(key) for key in tree._keys)
    expected = np.zeros_like(cells)
    for number, row_words, report in zip(numbers, words.tolist(), reports, strict=True):
        report_id = b"".join(word.to_bytes(8, "little") for word in row_words[:2])
        row, masks = naive.tree_coins(coins, report_id, plan.ends, tree.masks, plan.bucket_bits)
        path = naive.to_path(bijection, number, bits)
        place = naive.tree_bucket(bucket, path, row, plan.depths[row], plan.chunks[row], plan.bucket_bits)
        symbol = naive.tree_symbol(place, masks, row_words[2], row_words[3], tree.threshold)
        assert int(report["symbol"]) == symbol
        for position, sign in naive.tree_tally(symbol, masks).items():
            expected[(row << plan.bucket_bits) + position] += sign
        expected[(tree.rows << plan.bucket_bits) + row] += 1
    assert np.array_equal(cells, expected)


def test_the_transform_counts_matches() -> None:
    """For every bucket the transformed sums are q·(matching reports) − (reports), by the definition of a match."""
    tree = make_tree(5, "2")
    items = np.arange(32, dtype=np.uint64)[:, np.newaxis].repeat(10, axis=0)
    words = SeededWords(4).draw(len(items), 4)
    reports = tree.randomize(items, words)
    cells = np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, reports)
    coins = key_bytes(tree._keys[1])
    spectrum = naive.walsh_hadamard(cells[:32].tolist())
    for place in range(32):
        matches = 0
        for row_words, report in zip(words.tolist(), reports, strict=True):
            report_id = b"".join(word.to_bytes(8, "little") for word in row_words[:2])
            _, masks = naive.tree_coins(coins, report_id, tree.plan.ends, tree.masks, 5)
            matches += naive.tree_symbol(place, masks, 0, 0, 1) == int(report["symbol"])
        assert spectrum[place] == tree.symbols * matches - len(items)
