"""The tree's kernels against their slow twins."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hubbub.mechanisms.tree.paths import Front
from hubbub.mechanisms.tree.text_beam import TextBeam
from hubbub.mechanisms.tree.walk import Walk
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from tests.reference import naive

from hubbub import Hostnames, find
from hubbub.codes.automaton import build_automaton
from hubbub.mechanisms.base import Request
from hubbub.mechanisms.tree import ENTRY, Tree, kernels, kernels_beam
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.model.coded_domain import Words
from hubbub.model.domain import Integers
from hubbub.model.survey import Survey
from hubbub.numeric.hashing import Purpose, derive_key
from hubbub.numeric.randomness import SeededRandomWords


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
    random_words = SeededRandomWords(3).draw(60, 4)
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
    reports["symbol"] = np.arange(len(reports)) % tree.symbols
    alone = np.zeros((len(reports), *tree.cells_shape), np.int64)
    for cells, report in zip(alone, reports, strict=True):
        tree.accumulate(cells, np.array([report]))
    rows = alone[:, -tree.rows :].argmax(axis=1)
    same = np.flatnonzero(rows == np.bincount(rows).argmax())
    cells = np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, np.repeat(reports[same], 10_000))
    assert len(same) > 2
    assert np.array_equal(cells, 10_000 * alone[same].sum(axis=0))


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
            _, masks = naive.tree_coins(coins, report_id, tree.plan.ends, tree.masks, 5)
            matches += naive.tree_symbol(place, masks, 0, 0, 1) == int(report["symbol"])
        assert spectrum[place] == tree.symbols * matches - len(items)


def said_of_children(
    tree: Tree, row_counts: RowCounts, walk: Walk, number: int, path: list[int]
) -> list[dict[int, float]]:
    """What each row of a depth says of each child of a path, by the twin of buckets. The path has zeros there."""
    depth, chunk = walk.depths[number], walk.chunks[number]
    bits = "".join(f"{word:064b}" for word in path)
    said = []
    for row in walk.rows[number].tolist():
        whole = [
            bits[: depth - chunk] + f"{child:0{chunk}b}" + "0" * (len(bits) - depth) for child in range(1 << chunk)
        ]
        key = key_bytes(derive_key(tree.survey.public_seed, Purpose.TREE_BUCKET))
        places = [naive.tree_bucket(key, each, row, depth, chunk, tree.plan.bucket_bits) for each in whole]
        said.append({child: float(row_counts.estimates[row, place]) for child, place in enumerate(places)})
    return said


def check_grow(walk: Walk, number: int, row_counts: RowCounts, caps: np.ndarray, front: Front, cases) -> int:
    """`grow` keeps what the twin keeps of the children that `expand` ranks. Returns how many the gaps ruled out."""
    tree, step = walk.tree, walk.steps[number]
    buckets = tree.buckets(front.paths, walk.rows[number])
    scores, ranks = walk.expand(number, row_counts, caps, front)
    roots = (front.paths[:, 0] >> walk.root_shift).repeat(scores.shape[1])
    children = list(zip(roots.tolist(), scores.ravel().tolist(), ranks.ravel().tolist(), strict=True))
    ruled_out = 0
    for quota, cut in cases:
        out = kernels_beam.Children(
            np.empty(ranks.size, np.int64), np.empty(ranks.size, np.float32), np.empty(ranks.size, np.float32)
        )
        needed = walk.needed_scores(number, cut)
        own_caps = caps[walk.rows[number]].astype(np.float32)
        shift = np.uint64(64 - walk.depths[0])
        filled, turned_away = kernels_beam.grow(
            step, row_counts.estimates, own_caps, front, buckets, shift, quota, np.float32(cut), needed, out
        )
        expected, beyond = naive.best_under_each_root(
            children,
            quota,
            max(cut, -1e30),
            kernels_beam.SMALL_ROOT,
            lambda best: naive.hopeless_gap(
                best,
                float(walk.people[: number + 1].sum()),
                tree.absent,
                tree.true,
                1 / tree.per_match,
                kernels_beam.ROOT_GAP,
            ),
        )
        assert out.places[:filled].tolist() == expected
        assert turned_away == beyond
        assert out.scores[:filled].tolist() == [children[place][1] for place in expected]
        assert out.ranks[:filled].tolist() == [children[place][2] for place in expected]
        ruled_out += sum(rank >= max(cut, -1e30) for _, _, rank in children) - filled - turned_away
    return ruled_out


@pytest.mark.parametrize("number", [1, 5, -1])
@pytest.mark.parametrize("scale", [1, 40])
def test_the_steps_of_a_beam_equal_the_twins(number: int, scale: int) -> None:
    """Children's scores at the second, a middle and the last depth (with its three rows), and the best of each root.

    What a row says counts up to a cap, one for each of two lists. Estimates are whole numbers, so that sums are exact
    and many ranks are equal; large ones leave some children hopeless beside the best of their root.
    """
    tree = make_tree(64, "1")
    rng = np.random.default_rng(7)
    estimates = scale * rng.integers(-6, 7, (tree.rows, 1 << tree.plan.bucket_bits)).astype(np.float32)
    row_counts = RowCounts(estimates, np.full(tree.rows, 50.0), tree.noise)
    walk = Walk(tree, row_counts)
    number %= len(walk.depths)
    above = walk.depths[number - 1]
    roots = np.sort(rng.integers(0, 5, 40).astype(np.uint64))
    hidden = rng.integers(0, 2 ** (above - walk.depths[0] + 1), 40, dtype=np.uint64) >> np.uint64(1)
    paths = (roots << np.uint64(64 - walk.depths[0]) | hidden << np.uint64(64 - above))[:, np.newaxis]
    scores = scale * rng.integers(-3, 4, 40).astype(np.float32)
    front = Front(paths, scores, np.zeros(40, np.int32), np.zeros(40, np.float32))
    caps = scale * rng.integers(1, 7, (2, tree.rows)).astype(np.float64)
    seen_scores, seen_ranks = walk.expand(number, row_counts, caps, front)
    all_children = range(1 << walk.chunks[number])
    for i, path in enumerate(paths.tolist()):
        said = said_of_children(tree, row_counts, walk, number, path)
        limits = caps[i // 20, walk.rows[number]].tolist()
        expected = naive.tree_children(said, limits, float(scores[i]), all_children)
        assert seen_scores[i].tolist() == expected
        assert seen_ranks[i].tolist() == expected
    cases = [(7, -2.0 * scale), (3, 1.0 * scale), (1000, 3.0 * scale), (1, -np.inf), (1000, -np.inf)]
    ruled_out = check_grow(walk, number, row_counts, caps[0], front, cases)
    assert (ruled_out > 0) == (scale > 1)


HELD = ("a", "at", "crowd", "hello", "help", "helping", "of", "privacy", "private", "the", "there", "zebra")


def text_front(walk: Walk, number: int, rng: np.random.Generator) -> Front:
    """Some words on their way down the tree, at one depth, with whole numbers for scores."""
    tree = walk.tree
    paths = tree.codec.to_paths(tree.survey.domain.encode(HELD))
    paths = paths[np.argsort(paths[:, 0], kind="stable")]
    first = paths & tree.codec.prefix_masks[walk.depths[0]]
    front = tree.codec.begin(first, rng.integers(-30, 60, len(paths)).astype(np.float32), walk.depths[0])
    for step in range(1, number + 1):
        depth, chunk = walk.depths[step], walk.chunks[step]
        bits = ["".join(f"{word:064b}" for word in path)[depth - chunk : depth] for path in paths.tolist()]
        chosen = (np.arange(len(paths)) << chunk) + np.array([int(each, 2) for each in bits])
        front = walk.descend(step, front, front.scores.copy(), chosen)
    return front


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, -1])
def test_the_steps_of_a_text_beam_equal_the_twins(number: int) -> None:
    """The code rules children out; a text that has ended has one child; ranks are evidence less code bits."""
    tree = make_tree(0, "4", domain=Words())
    rng = np.random.default_rng(8)
    estimates = rng.integers(-6, 25, (tree.rows, 1 << tree.plan.bucket_bits)).astype(np.float32)
    row_counts = RowCounts(estimates, np.full(tree.rows, 80.0), tree.noise)
    walk = Walk(tree, row_counts)
    number %= len(walk.depths)
    front = text_front(walk, number - 1, rng)
    chunk, depth = walk.chunks[number], walk.depths[number]
    caps = rng.integers(8, 25, (2, tree.rows)).astype(np.float64)
    seen_scores, seen_ranks = walk.expand(number, row_counts, caps, front)
    after, more = tree.codec.jumps(depth, chunk)
    table, per_error = walk.tables[number], walk.per_error[number]
    ended = 0
    for i, path in enumerate(front.paths.tolist()):
        node, used = int(front.nodes[i]), float(front.used[i])
        bits = "".join(f"{word:064b}" for word in path)
        if node == tree.codec.done:
            ended += 1
            spent = {int(bits[depth - chunk : depth], 2): used}
        else:
            spent = {c: used + float(more[node, c]) for c in range(1 << chunk) if after[node, c] >= 0}
        said = said_of_children(tree, row_counts, walk, number, path)
        limits = caps[2 * i // len(front.paths), walk.rows[number]].tolist()
        expected = naive.tree_children(said, limits, float(front.scores[i]), spent)
        assert seen_scores[i].tolist() == expected
        for child, code in spent.items():
            place = expected[child] * float(per_error) + kernels.EVIDENCE_FROM * kernels.EVIDENCE_STEPS
            assert seen_ranks[i, child] == pytest.approx(naive.interpolated(table.tolist(), place) - code, abs=2e-3)
        assert np.isneginf(np.delete(seen_ranks[i], list(spent))).all()
    assert ended == sum(np.array(front.nodes) == tree.codec.done)
    assert ended > 0 or number < 3
    check_grow(walk, number, row_counts, caps[0], front, [(7, -np.inf), (10, -20.0), (1000, -np.inf), (1000, 0.0)])


def test_an_ended_text_goes_on_alone() -> None:
    """Down to the full depth a word stays one path, that of its item, and it uses no more of its code."""
    tree = make_tree(0, "4", domain=Words())
    walk = Walk(tree, RowCounts(np.zeros((tree.rows, 1 << tree.plan.bucket_bits), np.float32), np.ones(tree.rows), 1))
    front = text_front(walk, len(walk.depths) - 1, np.random.default_rng(3))
    assert (front.nodes == tree.codec.done).all()
    assert set(tree.survey.domain.decode(tree.codec.to_items(front.paths))) == set(HELD)
    assert tree.codec.completed(front.paths, tree.codec.bits)[1].all()
    assert front.used.tolist() == [
        tree.survey.domain.code_length(v) for v in tree.survey.domain.decode(tree.codec.to_items(front.paths))
    ]


def test_jumps_are_steps_of_the_automaton() -> None:
    """A chunk leads where its code bits lead one by one; bits of the fingerprint lead nowhere and cost nothing."""
    automaton = build_automaton(Words().code)
    for is_code in ((True, True, True), (False, True, True, True), (True, False, True), (False, False)):
        after, used = automaton.jumps(is_code)
        for state in range(0, len(automaton.next), 7):
            for value in range(1 << len(is_code)):
                node, cost = state, 0
                for place, of_code in enumerate(is_code):
                    if of_code and node >= 0:
                        cost += node != automaton.done
                        node = int(automaton.next[node, value >> (len(is_code) - 1 - place) & 1])
                assert after[state, value] == max(node, -1)
                assert node < 0 or used[state, value] == cost


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
@pytest.mark.parametrize("people", [3, 1000, 10**7])
def test_evidence_is_the_likelihood_ratio_of_the_matches(epsilon: str, people: int) -> None:
    """The table has people·KL at each of its counts, and between them a likelihood ratio of whole matches."""
    tree = make_tree(64, epsilon)
    table, per_match = tree.evidence(people), 1 / tree.per_match
    steps, first = kernels.EVIDENCE_STEPS, kernels.EVIDENCE_FROM
    stderr = np.sqrt(tree.noise * people)
    assert len(table) == (first + kernels.EVIDENCE_TO) * steps + 1
    assert table[first * steps] == 0
    seen = 0
    for place in range(0, len(table), 11):
        score = (place / steps - first) * stderr
        if 0 < tree.absent + score * per_match / people < 1:
            seen += 1
            expected = naive.evidence(people, score, tree.absent, per_match)
            assert table[place] == pytest.approx(expected, rel=1e-6, abs=1e-6 * people**0.5)
    assert seen > 3
    assert (np.diff(table) >= 0).all()
    if people == 1000:
        for matches in range(-(-people // tree.symbols), people // 2, 37):
            score = (matches - people * tree.absent) * tree.per_match
            ratio = binom.logpmf(matches, people, matches / people) - binom.logpmf(matches, people, tree.absent)
            found = kernels.evidence_bits.py_func(np.float32(score), np.float32(steps / stderr), table)
            if score < kernels.EVIDENCE_TO * stderr:
                assert found == pytest.approx(ratio / np.log(2), rel=1e-3, abs=0.01)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("kept", [1, 3, 7, 10])
def test_parted_lists_equal_the_twin(coded: bool, kept: int) -> None:
    """The places of the best by list, and sums of the weights of the rest, of which some are impossible; −∞ of none."""
    rng = np.random.default_rng(5)
    scores = rng.normal(0, 3, (3, 10)).astype(np.float32)
    scores[:, 4], scores[2] = -np.inf, -np.inf
    code = rng.integers(3, 30, (3, 10)).astype(np.float32)
    table, per_error = np.empty(0, np.float32), np.float32(9.0)
    ranks = scores.copy()
    if coded:
        table = make_tree(64, "4").evidence(50.0)
        places = scores * per_error + kernels.EVIDENCE_FROM * kernels.EVIDENCE_STEPS
        known = [[naive.interpolated(table.tolist(), x) if x > -np.inf else x for x in row] for row in places.tolist()]
        ranks = (np.array(known) - code).astype(np.float32)
    pulls, best, weights = np.array([0.5, 2.0, 1.0]), np.empty((3, kept), np.int64), np.empty(3)
    kernels.part(scores, ranks, ranks.view(np.uint32), pulls, 6.0, per_error, table, best, weights)
    for i in range(3):
        expected, others = naive.parted(ranks[i].tolist(), kept)
        assert best[i].tolist() == expected
        paths = [(float(scores[i, j]), float(code[i, j]) if coded else 0.0) for j in others]
        assert weights[i] == pytest.approx(naive.log_weight(paths, float(pulls[i]), 6.0), rel=1e-4)


@given(
    st.lists(
        st.one_of(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 1.0, 1e30, -1e30]), st.floats(width=32, allow_nan=False)),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 40),
)
def test_the_best_are_found_among_any_ranks(ranks: list[float], kept: int) -> None:
    """Also of ranks that are equal, tiny, huge or impossible, the highest are kept."""
    line, kept = np.array([ranks], np.float32), min(kept, len(ranks))
    best, weights, none = np.empty((1, kept), np.int64), np.empty(1), np.empty(0, np.float32)
    impossible = np.full_like(line, -np.inf)
    kernels.part(impossible, line, line.view(np.uint32), np.ones(1), 0.0, np.float32(1), none, best, weights)
    expected, _ = naive.parted(line[0].tolist(), kept)
    assert sorted(line[0, best[0]].tolist()) == sorted(line[0, expected].tolist())
    assert (np.diff(best[0]) > 0).all()


@pytest.mark.parametrize("wanted", [1, 5, 17, 60, 200])
def test_crowded_roots_share_a_beam(wanted: int) -> None:
    """Each root keeps its best, all roots as many if they have them, and more if these are above all but wanted/2."""
    rng = np.random.default_rng(wanted)
    roots = np.sort(rng.integers(0, 7, 30).astype(np.uint64))
    places = np.sort(rng.choice(30 << 2, 90, replace=False)).astype(np.int64)
    ranks = rng.integers(0, 12, 90).astype(np.float32)
    scores = rng.normal(size=90).astype(np.float32)
    known = {int(place): (float(score), float(rank)) for place, score, rank in zip(places, scores, ranks, strict=True)}
    of_root: dict[int, list[int]] = {}
    for place in places.tolist():
        of_root.setdefault(int(roots[place >> 2]), []).append(place)
    high = sorted(ranks.tolist(), reverse=True)[min(max(wanted // 2, 1), 90) - 1]
    stay = {root: sum(known[place][1] > high for place in some) for root, some in of_root.items()}

    def kept_of(root: int, quota: int) -> int:
        return max(min(len(of_root[root]), quota), stay[root])

    quota = max((q for q in range(1, 91) if sum(kept_of(root, q) for root in of_root) <= wanted), default=1)
    kept = kernels_beam.share(roots, 2, wanted, 90, kernels_beam.Children(places, scores, ranks))
    left = places[:kept].tolist()
    assert left == sorted(left)
    for root, some in of_root.items():
        mine = [place for place in left if int(roots[place >> 2]) == root]
        assert len(mine) == kept_of(root, quota)
        best = sorted((known[place][1] for place in some), reverse=True)[: len(mine)]
        assert sorted((known[place][1] for place in mine), reverse=True) == best
    assert [known[place] for place in left] == list(zip(scores[:kept].tolist(), ranks[:kept].tolist(), strict=True))


@pytest.mark.parametrize(("heavy", "most"), [(0, 32), (20, 32), (600, 512), (4_096, 4_096)])
def test_a_row_with_many_large_buckets_says_less(heavy: int, most: int) -> None:
    """What a capped beam takes from a row is ln(buckets/k) nats, if k of its buckets say so much, and 32 at least."""
    tree = make_tree(0, "4", domain=Words())
    buckets = 1 << tree.plan.bucket_bits
    rng = np.random.default_rng(3)
    people = np.full(tree.rows, 9_000.0)
    spread = math.sqrt(tree.noise * people[0])
    said = (spread * rng.standard_normal((tree.rows, buckets))).astype(np.float32)
    said[2, rng.permutation(buckets)[:heavy]] = 8 * spread
    row_counts = RowCounts(said, people, tree.noise)
    caps = TextBeam(Walk(tree, row_counts), row_counts, capped=True).caps
    expected = np.full(tree.rows, spread * math.sqrt(2 * math.log(buckets / 32)))
    expected[2] = spread * math.sqrt(2 * math.log(buckets / most))
    np.testing.assert_allclose(caps, expected, rtol=1e-6)
    assert np.isinf(TextBeam(Walk(tree, row_counts), row_counts, capped=False).caps).all()


def test_a_beam_may_end_when_every_root_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all paths have left the beam, since their roots have lists of their own, it ends there."""
    seen = []

    def leave_all(beam: TextBeam, number: int, front: Front, ranks: np.ndarray) -> Front:
        stay = leave(beam, number, front, ranks)
        seen.append(len(stay.paths))
        return stay.take(np.arange(0)) if number == 6 else stay

    leave = TextBeam.leave
    monkeypatch.setattr(TextBeam, "leave", leave_all)
    answer = find(["news.example"] * 600 + [f"{k:x}.example" for k in range(400)], 4, Hostnames(), seed=1)
    assert [hitter.value for hitter in answer.hitters] == ["news.example"]
    assert len(seen) == 12  # two passes
    assert min(seen) > 0
