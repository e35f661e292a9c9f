"""The tree's kernels against their slow twins."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from tests.reference import naive

from hubbub.mechanisms.base import Request
from hubbub.mechanisms.tree import ENTRY, Tree
from hubbub.mechanisms.tree_levels import Front, TreeLevels
from hubbub.mechanisms.tree_search import _Walk
from hubbub.model.domain import Integers
from hubbub.model.survey import Survey
from hubbub.numeric import tree_kernels
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
    ("bits", "epsilon"),
    [(3, "1"), (20, "2"), (21, "0.5"), (23, "1"), (64, "1"), (64, "4"), (64, "6"), (65, "2"), (130, "1")],
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


def test_no_report_depends_on_the_others_of_its_block() -> None:
    """More reports than are taken at once, at once and in parts of odd sizes: the same reports, the same sums."""
    tree = make_tree(130, "4")
    items = np.random.default_rng(5).integers(0, 4, (66_000, 3), dtype=np.uint64)
    words = SeededWords(6).draw(66_000, 4)
    whole, cells = tree.randomize(items, words), np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, whole)
    parts = np.zeros_like(cells)
    for part in np.split(np.arange(66_000), [1, 18, 529, 1042]):
        reports = tree.randomize(items[part], words[part])
        assert np.array_equal(reports, whole[part])
        tree.accumulate(parts, reports)
    assert np.array_equal(parts, cells)


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


@pytest.mark.parametrize("number", [1, 5, -1])
def test_the_steps_of_a_beam_equal_the_twins(number: int) -> None:
    """Children's scores at the second, a middle and the last depth (with its three rows), and the best of each root.

    What a row says counts up to a cap, one for each of two lists. Estimates are whole numbers, so that sums are exact
    and many ranks are equal.
    """
    tree = make_tree(64, "1")
    rng = np.random.default_rng(7)
    estimates = rng.integers(-6, 7, (tree.rows, 1 << tree.plan.bucket_bits)).astype(np.float32)
    walk = _Walk(tree, TreeLevels(estimates, np.full(tree.rows, 0.5), 1.0))  # so few that brothers tell apart
    depths = walk.depths
    number %= len(depths.bits)
    above, depth, chunk = depths.bits[number - 1], depths.bits[number], depths.chunks[number]
    roots = np.sort(rng.integers(0, 5, 40).astype(np.uint64))
    hidden = rng.integers(0, 2 ** (above - depths.bits[0] + 1), 40, dtype=np.uint64) >> np.uint64(1)
    paths = (roots << np.uint64(64 - depths.bits[0]) | hidden << np.uint64(64 - above))[:, np.newaxis]
    scores = rng.integers(-3, 4, 40).astype(np.float32)
    front = Front(paths, scores, np.zeros(40, np.int32), np.zeros(40, np.float32))
    step = walk._step(number)
    weight, gap = float(step[6]), float(step[7])
    levels, caps = TreeLevels(estimates, np.full(tree.rows, 0.5), 1.0), rng.integers(1, 7, (2, tree.rows))
    seen_scores, seen_ranks = walk._expand(number, levels, caps.astype(np.float64), front)
    key = key_bytes(tree.bucket_key)
    ranked = []
    for i, path in enumerate(paths[:, 0].tolist()):
        said = []
        for row in depths.rows[number].tolist():
            whole = [f"{path | child << (64 - depth):064b}" for child in range(1 << chunk)]
            places = [naive.tree_bucket(key, each, row, depth, chunk, tree.plan.bucket_bits) for each in whole]
            said.append({child: float(estimates[row, place]) for child, place in enumerate(places)})
        limits = caps[:, depths.rows[number]].tolist()
        expected = naive.tree_children(said, limits[i // 20], float(scores[i]), weight, gap)
        assert seen_scores[i].tolist() == expected
        assert seen_ranks[i].tolist() == expected
        first = naive.tree_children(said, limits[0], float(scores[i]), weight, gap)
        ranked += [(int(roots[i]), rank) for rank in first]
    for quota, cut in ((7, -2.0), (3, 1.0), (1000, 3.0), (1, -np.inf)):
        places = np.empty(40 << chunk, np.int64)
        out = np.empty(len(places), np.float32), np.empty(len(places), np.float32)
        shift = np.uint64(64 - depths.bits[0])
        first_caps = caps[0, depths.rows[number]].astype(np.float32)
        filled, turned_away = tree_kernels.grow(
            step, estimates, first_caps, *front, shift, quota, np.float32(cut), places, *out
        )
        alive = [(root, rank if rank > -np.inf else -1e9) for root, rank in ranked]
        expected_places = naive.best_under_each_root(alive, quota, max(cut, -1e6))
        assert places[:filled].tolist() == expected_places
        assert out[1][:filled].tolist() == [ranked[place][1] for place in expected_places]
        assert filled + turned_away == sum(rank >= cut and rank > -np.inf for _, rank in ranked)


@pytest.mark.parametrize("scale", [0.0, 0.3])
def test_log_weights_equal_the_twin(scale: float) -> None:
    """Sums of weights by list, of some of its paths, of which some are impossible; −∞ of none."""
    rng = np.random.default_rng(5)
    scores = rng.normal(0, 3, (3, 10)).astype(np.float32)
    scores[:, 4], scores[2] = -np.inf, -np.inf
    ranks = rng.normal(0, 3, (3, 10)).astype(np.float32)
    some = np.argsort(rng.random((3, 10)), axis=1)[:, :7]
    pulls, out = np.array([0.5, 2.0, 1.0]), np.empty(3)
    tree_kernels.log_weights(scores, ranks, some, pulls, 6.0, scale, out)
    for i in range(3):
        paths = [(float(scores[i, j]), float(ranks[i, j])) for j in some[i]]
        assert out[i] == pytest.approx(naive.log_weight(paths, float(pulls[i]), 6.0, scale), rel=1e-6)
    tree_kernels.log_weights(scores, ranks, some[:, :0], pulls, 6.0, scale, out)
    assert (out == -np.inf).all()
