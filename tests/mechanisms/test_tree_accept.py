"""Which paths are accepted: exact odds, caps against collisions, and the doubt that unlisted paths leave."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hubbub.mechanisms.tree.accept import accept, odds
from hubbub.mechanisms.tree.lists import list_roots
from hubbub.mechanisms.tree.walk import Walk
from scipy.special import logsumexp
from scipy.stats import binom

from hubbub import Integers, Query, SeededRandomWords, Words, create_survey, mechanism_for
from hubbub.simulation import population
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import public_seed

PEOPLE = 40_000


@pytest.fixture(scope="module")
def searched():
    """A tree of 24 bits (under each root 256 paths), its row_counts, and the path of the one value that many hold."""
    survey = create_survey("t", Integers(24), 2, None, "tree", {}, PEOPLE, public_seed=public_seed(5))
    tree = mechanism_for(survey)
    alone = population.random_items(PEOPLE - 4000, 24, np.random.default_rng(5))
    items = np.concatenate([np.full((4000, 1), 123_456, np.uint64), alone])
    tally = rehearse(tree, survey.survey_id, [items], SeededRandomWords(5))
    return tree, tree.row_counts(tally), tree.codec.to_paths(items[:1])


@pytest.mark.parametrize("share", [0.001, 0.05, 1.0])
def test_odds_are_the_likelihood_ratio_of_the_matches(searched, share: float) -> None:
    """Matches are binomial, with chance 1/q for an absent value: the logarithms of both laws differ by the odds."""
    tree, row_counts, _ = searched
    true = tree.keep + (1 - tree.keep) / tree.symbols
    held = 1 / tree.symbols + share * (true - 1 / tree.symbols)
    pull, cost, _ = odds(tree, row_counts, np.array([share]))
    matches = np.array([200, 260, 400])
    estimates = (matches - 1000 * tree.absent) * tree.per_match
    ratio = binom.logpmf(matches, 1000, held) - binom.logpmf(matches, 1000, 1 / tree.symbols)
    assert np.allclose(pull * estimates - 1000 * cost, ratio, rtol=1e-9, atol=1e-6)


def test_a_row_speaks_as_much_as_a_collision_is_rare(searched) -> None:
    """At its cap a row has the nats that speak against a collision; the root has no hash, and no cap."""
    tree, row_counts, _ = searched
    pulls, costs, caps = odds(tree, row_counts, np.linspace(0.01, 0.5, 20))
    said = pulls[:, np.newaxis] * caps - np.outer(costs, row_counts.people)
    assert np.allclose(said[:, 1:], math.log((1 << tree.plan.bucket_bits) / 40))
    assert np.isinf(caps[:, 0]).all()


def all_below(tree, path):
    """Every path of full depth under the root of a path."""
    bits = tree.plan.depths[0]
    root = int(path[0, 0]) >> (64 - bits) << (64 - bits)
    below = 1 << (24 - bits)
    return (np.uint64(root) + (np.arange(below, dtype=np.uint64) << np.uint64(40)))[:, np.newaxis]


@pytest.mark.parametrize("width", [1, 20, 512])
def test_what_a_list_lets_go(searched, width: int) -> None:
    """The weights of what leaves the last step of a list, by going through all paths below a root."""
    tree, row_counts, path = searched
    walk = Walk(tree, row_counts)
    last = len(walk.depths) - 1
    walk.list_widths[last] = width
    size = row_counts.sums(tree.buckets(path))
    listed, let_go = list_roots(walk, row_counts, path, size)
    pulls, costs, caps = odds(tree, row_counts, size / PEOPLE)
    paths = all_below(tree, path)
    said = np.minimum(row_counts.parts(tree.buckets(paths)), caps).sum(axis=1)
    kept = {row.tobytes() for row in listed.paths}
    gone = np.array([row.tobytes() not in kept for row in paths])
    assert len(listed.paths) == min(width, 64)
    assert path[0].tobytes() == listed.paths[0].tobytes()
    expected = logsumexp(pulls[0] * said[gone]) - costs[0] * PEOPLE - 24 * math.log(2)
    assert let_go[0] == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_doubt_is_spent_and_decides(searched) -> None:
    """A value is accepted if what its list let go weighs little beside it, and its doubt is told."""
    tree, row_counts, path = searched
    walk = Walk(tree, row_counts)
    size = row_counts.sums(tree.buckets(path))
    listed, let_go = list_roots(walk, row_counts, path, size)
    found, doubts = accept(tree, row_counts, listed, let_go, Query(), 0.025)
    assert found.tolist() == path.tolist()
    assert 0.0 <= doubts[0] < 0.001
    pull, cost, caps = odds(tree, row_counts, size / PEOPLE)
    own = pull * np.minimum(row_counts.parts(tree.buckets(path)), caps).sum() - cost * PEOPLE - 24 * math.log(2)
    found, doubts = accept(tree, row_counts, listed, own + math.log(0.02), Query(), 0.025)
    assert len(found) == 1
    assert doubts[0] == pytest.approx(0.02, abs=1e-4)
    found, doubts = accept(tree, row_counts, listed, own + math.log(0.03), Query(), 0.025)
    assert len(found) == 0
    assert len(doubts) == 0


@pytest.fixture(scope="module")
def searched_words():
    """A tree of words, its row counts, and the path of the one word that many hold."""
    domain = Words()
    survey = create_survey("t", domain, 4, None, "tree", {"size": "small"}, 5_000, public_seed=public_seed(6))
    tree = mechanism_for(survey)
    items = domain.encode(["tea"] * 250 + [f"qu{number:x}ing" for number in range(4_750)])
    tally = rehearse(tree, survey.survey_id, [items], SeededRandomWords(6))
    return tree, tree.row_counts(tally), tree.codec.to_paths(items[:1])


def test_a_text_that_ends_is_looked_at_before_the_list_is_cut(searched_words) -> None:
    """The row where it ends speaks against it, and its brothers are before it; but it has the right fingerprint."""
    tree, row_counts, path = searched_words
    walk = Walk(tree, row_counts)
    length = tree.codec.lengths(tree.codec.to_items(path))[0]
    known = [depth - tree.codec.unranked_bits[depth] for depth in walk.depths]
    ends = next(number for number, bits in enumerate(known) if bits >= length)
    row = walk.rows[ends][0]
    estimates = row_counts.estimates.copy()
    estimates[row, tree.buckets(path)[0, row]] = -2 * math.sqrt(row_counts.noise * row_counts.people[row])
    walk.list_widths[ends] = 4
    size = row_counts.sums(tree.buckets(path))
    listed, _ = list_roots(walk, replace(row_counts, estimates=estimates), path, size)
    assert listed.paths[0].tobytes() == path[0].tobytes()
