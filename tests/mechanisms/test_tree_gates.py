"""The gates: what the search demands of a value, and what limits say it does, are the same numbers."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import ndtri_exp
from scipy.stats import binom

from hubbub import Histogram, Hostnames, Integers, Words, create_survey, mechanism_for
from hubbub.mechanisms.tree import Tree
from hubbub.mechanisms.tree.gates import (
    InBeam,
    InList,
    LevelBudget,
    Neighbours,
    NoSingleRow,
    Place,
    StandsOut,
    Window,
    beam_rarities,
    collision_chance,
    crowded_caps,
    first_hashed,
    most_of_a_row,
)
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.tuning import TUNING
from hubbub.model.estimates import Query
from hubbub.testing import public_seed

BUDGET = LevelBudget(0.05)
PEOPLE = 30_000


@lru_cache
def tree_of(name: str, epsilon: float = 2) -> Tree:
    """A small tree."""
    domain = {"numbers": Integers(40), "hosts": Hostnames(), "words": Words()}[name]
    survey = create_survey("t", domain, epsilon, None, "tree", {"size": "small"}, PEOPLE, public_seed=public_seed(5))
    tree = mechanism_for(survey)
    assert isinstance(tree, Tree)
    return tree


def place_in(tree: Tree, bits: int) -> Place:
    """A value of so many code bits."""
    sizes = [each.bits for each in tree.shape.classes]
    number = int(np.searchsorted(sizes, bits))
    people = np.random.default_rng(3).multinomial(PEOPLE, tree.shape.shares).astype(np.float64)
    return Place(tree.shape, tree.law, tree.shape.classes[number], bits, float(tree.code.log_masses[number]), people)


def log_chance_of(place: Place, window: Window) -> tuple[float, float]:
    """The exact log-chance that an absent value shows so much in these rows, and that it shows one match less."""
    rows = np.ones(place.shape.rows, bool)
    rows[window.rows] = False
    people = int(place.people[rows if window.without else ~rows].sum())
    matches = round(window.least / place.law.per_match + people * place.law.absent)
    return (
        float(binom.logsf(matches - 1, people, place.law.absent)),
        float(binom.logsf(matches - 2, people, place.law.absent)),
    )


EACH = pytest.mark.parametrize(("name", "bits"), [("numbers", 40), ("hosts", 48), ("hosts", 76), ("words", 30)])


@EACH
def test_standing_out_is_the_same_in_search_and_limits(name: str, bits: int) -> None:
    """The least count of the search is the window of the limit: a share 2^−bits of a quarter of the level."""
    tree = tree_of(name)
    place, gate = place_in(tree, bits), StandsOut(BUDGET)
    (window,) = gate.needs(place)
    assert window == Window(slice(0, tree.rows), gate.least(tree.law, PEOPLE, np.array([-math.log(2) * bits]))[0])
    wanted = math.log(0.0125) - bits * math.log(2)
    at, below = log_chance_of(place, window)
    assert at <= wanted + 1e-6
    assert below > wanted - 1e-6


@EACH
@pytest.mark.parametrize("values", [1, 40])
def test_no_single_row_is_the_same_in_search_and_limits(name: str, bits: int, values: int) -> None:
    """A value passes if it is above all windows: for rows drawn around the threshold, about half of which pass."""
    tree = tree_of(name)
    place, gate, rng = place_in(tree, bits), NoSingleRow(BUDGET, values), np.random.default_rng(4)
    windows = list(gate.needs(place))
    assert [window.rows.start for window in windows] == list(range(first_hashed(tree.shape), tree.rows))
    center = 1.1 * max(window.least for window in windows) * place.people / PEOPLE
    passed = 0
    for _ in range(200):
        parts = center + np.sqrt(tree.law.noise * place.people) * rng.standard_normal(tree.rows)
        above = all(parts.sum() - parts[window.rows.start] >= window.least for window in windows)
        passed += above
        assert gate.passes(tree.shape, tree.law, place.people, parts, -math.log(2) * bits) == above
    assert 20 < passed < 180
    wanted = math.log(0.0125) - bits * math.log(2) - math.log(collision_chance(tree.shape, values) * tree.rows)
    for window in windows:
        at, below = log_chance_of(place, window)
        assert at <= wanted + 1e-6
        assert below > wanted - 1e-6


@EACH
def test_a_beam_demands_what_its_last_path_has(name: str, bits: int) -> None:
    """Down to each step, as rare as the last path of a beam of absent values; nothing where all paths have room."""
    tree = tree_of(name)
    place, gate = place_in(tree, bits), tree.in_beam
    windows, kind = list(gate.needs(place)), place.kind
    ends = [kind.rows(step, tree.rows).stop for step in range(len(kind.steps))]
    so_far = tuple(np.cumsum(tree.shape.shares)[[end - 1 for end in ends]].tolist())
    rarities = beam_rarities(kind.steps, so_far, tuple(gate.widths(kind).tolist()))
    assert min(rarities) < -5
    pruning = [(slice(0, end), rarity) for end, rarity in zip(ends, rarities, strict=True) if rarity < 0]
    assert [window.rows for window in windows] == [rows for rows, _ in pruning]
    for window, (_, rarity) in zip(windows, pruning, strict=True):
        at, below = log_chance_of(place, window)
        assert at <= min(rarity, -math.log(2)) + 1e-6
        assert below > min(rarity, -math.log(2)) - 1e-6


@pytest.mark.parametrize("width", [300, 2000])
def test_the_last_path_of_a_beam_is_that_of_a_real_one(width: int) -> None:
    """Beams of normal noise, step by step: the last score is the one foreseen, to a few hundredths of an error."""
    steps, shares, rng = (8, 4, 0, 5, 3), np.array([0.2, 0.15, 0.1, 0.3, 0.25]), np.random.default_rng(2)
    so_far = np.cumsum(shares)
    foreseen = [-ndtri_exp(rarity) for rarity in beam_rarities(steps, tuple(so_far.tolist()), (width,) * 5)]
    drawn = []
    for _ in range(20):
        scores, last = np.zeros(1), []
        for step, share, total in zip(steps, shares, so_far, strict=True):
            scores = np.repeat(scores, 1 << step)
            scores = scores + math.sqrt(share) * rng.standard_normal(len(scores))
            full = len(scores) > width
            scores = np.sort(scores)[-width:]
            last.append(scores[0] / math.sqrt(total) if full else -math.inf)
        drawn.append(last)
    last = np.median(drawn, axis=0)
    assert np.isneginf(last).tolist() == np.isneginf(foreseen).tolist()
    assert np.allclose(last[np.isfinite(last)], np.array(foreseen)[np.isfinite(last)], atol=0.06)


@EACH
def test_a_list_has_room_for_what_reaches_its_windows(name: str, bits: int) -> None:
    """Of the paths that part from a value's at any step above, no more show as much than have room."""
    tree = tree_of(name)
    place, gate = place_in(tree, bits), InList()
    widths, kind = gate.widths(place.kind), place.kind
    windows = {(window.rows.start, window.rows.stop): window for window in gate.needs(place)}
    for step, depth in enumerate(kind.depths):
        for above in range(step):
            parted = depth - kind.depths[above]
            rows = kind.rows(above, tree.rows).stop, kind.rows(step, tree.rows).stop
            assert (rows in windows) == (1 << parted > widths[step])
            if rows in windows:
                at, below = log_chance_of(place, windows[rows])
                room = min(math.log(widths[step]) - parted * math.log(2), -math.log(2))
                assert at <= room + 1e-6
                assert below > room - 1e-6
    assert windows


@EACH
def test_neighbours_are_as_unlikely_as_they_are_many(name: str, bits: int) -> None:
    """Below each step, a neighbour that shows as much is rarer than a quarter of the level over all of them."""
    tree = tree_of(name)
    place = place_in(tree, bits)
    windows, kind = list(Neighbours(BUDGET).needs(place)), place.kind
    assert len(windows) == len(kind.steps) - 1
    for depth, window in zip(kind.depths, windows, strict=False):
        assert window.rows.stop == tree.rows
        wanted = math.log(0.0125) - (kind.bits - depth) * math.log(2) - place.log_mass
        at, below = log_chance_of(place, window)
        assert at <= min(wanted, -math.log(2)) + 1e-6
        assert below > min(wanted, -math.log(2)) - 1e-6


def test_beams_are_as_wide_as_tuned() -> None:
    """Texts have narrower beams than numbers, in a small tree still narrower, and for long texts, too."""
    tree = tree_of("hosts")
    for size, root in enumerate(TUNING.root_bits):
        widths = [int(InBeam(56, root).widths(each)[0]) for each in tree.shape.classes]
        assert widths[0] == 1 << TUNING.text_beam_bits[size]
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] < widths[0]
    assert set(InBeam(None, 16).widths(tree.shape.classes[0])) == {1 << TUNING.beam_bits}
    assert set(InBeam(None, 16).widths(tree.shape.classes[-1])) == {1 << TUNING.beam_bits}


def test_the_level_is_not_spent_twice() -> None:
    """Noise and neighbours together have half of it; the intervals of an answer have the other half."""
    assert BUDGET.noise + BUDGET.neighbours <= 0.05 / 2


@pytest.mark.parametrize("epsilon", [0.5, 2, 6])
@pytest.mark.parametrize("share", [0.001, 0.05, 1.0])
def test_odds_are_the_likelihood_ratio_of_the_matches(epsilon: float, share: float) -> None:
    """Matches are binomial, with chance 1/q for an absent value: the logarithms of both laws differ by the odds."""
    law = tree_of("numbers", epsilon).law
    held = law.absent + share * (law.true - law.absent)
    pulls, costs = law.odds(np.array([share]))
    matches = np.array([200, 260, 400])
    estimates = (matches - 1000 * law.absent) * law.per_match
    ratio = binom.logpmf(matches, 1000, held) - binom.logpmf(matches, 1000, law.absent)
    assert np.allclose(pulls * estimates - 1000 * costs, ratio, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize(("name", "first"), [("numbers", 1), ("hosts", 0)])
@pytest.mark.parametrize("values", [1, 20, 1 << 20])
def test_a_row_speaks_as_much_as_a_collision_is_rare(name: str, first: int, values: int) -> None:
    """At its cap a row has the nats that speak against a collision, or says what the value explains.

    Roots of one class cannot collide: they have no cap.
    """
    tree = tree_of(name)
    people = PEOPLE * tree.shape.shares
    shares = np.linspace(0.01, 0.5, 20)
    pulls, costs = tree.law.odds(shares)
    caps = most_of_a_row(tree.shape, tree.law, shares, people, values)
    chance = min(max(2 * values, 16) / (1 << tree.shape.bucket_bits), 0.5)
    rare = (np.outer(costs, people) - math.log(chance)) / pulls[:, np.newaxis]
    assert np.allclose(caps[:, first:], np.maximum(rare, np.outer(shares, people))[:, first:])
    assert np.isinf(caps[:, :first]).all()
    assert first_hashed(tree.shape) == first


@pytest.mark.parametrize("seed", range(4))
def test_doubts_are_the_odds_of_all_neighbours_by_brute_force(seed: int) -> None:
    """The posterior odds that another of the 256 paths of the root is the real value, which all are in its list."""
    people, held = 8_000, 800
    survey = create_survey("t", Integers(24), 2, None, "tree", {"size": "small"}, people, public_seed=public_seed(5))
    tree, item = mechanism_for(survey), np.array([[123_456]], np.uint64)
    sample = tree.sample(Histogram(item, np.array([held]), singletons=people - held), np.random.default_rng(seed))
    found, row_counts = sample.discover(Query()), sample.discover.args[0]
    ((_, _, paths),) = tree.code.classes(item)
    below = (paths[0, 0] >> np.uint64(48) << np.uint64(48)) + (np.arange(256, dtype=np.uint64) << np.uint64(40))
    said = row_counts.parts(tree.code.path_buckets(0, below[:, np.newaxis]))
    own = int(np.flatnonzero(below == paths[0, 0])[0])
    shares = said[[own]].sum(axis=1) / people
    pulls, _ = tree.law.odds(shares)
    caps = most_of_a_row(tree.shape, tree.law, shares, row_counts.people, 1)
    weights = pulls[0] * np.minimum(said, caps[0]).sum(axis=1)
    expected = np.exp(np.delete(weights, own) - weights[own]).sum()
    assert found.items.tolist() == item.tolist()
    assert found.doubts[0] == pytest.approx(expected, rel=1e-6, abs=0)


@pytest.mark.parametrize(("heavy", "most"), [(0, 32), (20, 32), (600, 512), (4_096, 4_096)])
def test_a_row_with_many_large_buckets_says_less(heavy: int, most: int) -> None:
    """What a capped beam takes from a row is ln(buckets/k) nats, if k of its buckets say so much, and 32 at least."""
    buckets, rng, people = 1 << 16, np.random.default_rng(3), np.full(4, 9_000.0)
    spread = math.sqrt(0.7 * 9_000)
    said = (spread * rng.standard_normal((4, buckets))).astype(np.float32)
    said[2, rng.permutation(buckets)[:heavy]] = 8 * spread
    expected = np.full(4, spread * math.sqrt(2 * math.log(buckets / 32)))
    expected[2] = spread * math.sqrt(2 * math.log(buckets / most))
    np.testing.assert_allclose(crowded_caps(RowCounts(said, people, 0.7)), expected, rtol=1e-6)


@pytest.mark.parametrize("bucket_bits", [1, 5, 7, 8])
def test_a_row_of_few_buckets_says_all(bucket_bits: int) -> None:
    """With fewer than 2^8 buckets 32 of them are no crowd."""
    caps = crowded_caps(RowCounts(np.zeros((3, 1 << bucket_bits), np.float32), np.full(3, 10.0), 0.7))
    assert np.isinf(caps).tolist() == [bucket_bits < 8] * 3
