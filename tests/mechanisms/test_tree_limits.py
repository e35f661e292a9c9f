"""The limit that an answer states, against the chances that it is read off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from hubbub import Hostnames, Integers, create_survey, mechanism_for
from hubbub.mechanisms.tree.gates import Place
from hubbub.mechanisms.tree.limits import found_chance, found_from
from hubbub.model.domain import Domain
from hubbub.model.estimates import Query


@pytest.mark.parametrize("domain", [Integers(32), Hostnames()], ids=["numbers", "hosts"])
@pytest.mark.parametrize(("people", "epsilon"), [(300, 6), (5_000, 2), (20_000, 1), (10**6, 1)])
def test_a_value_at_the_limit_is_found(domain: Domain, people: int, epsilon: float) -> None:
    """Less its margin of 2 %, the limit has a chance of about 95 %; less a quarter, it has not."""
    tree = mechanism_for(create_survey("limits", domain, epsilon, mechanism="tree", expected_reports=people))
    length = tree.stated_bits[0]
    limit = found_from(tree, people, length, Query())
    assert limit < people
    assert 0.89 < found_chance(tree, people, limit / 1.02, length, Query()) < 0.97
    assert found_chance(tree, people, limit / 1.25, length, Query()) < 0.9


@pytest.mark.parametrize(("people", "epsilon"), [(500, 4), (5_000, 2), (20_000, 1)])
def test_the_limit_of_one_row_is_that_of_two_binomials(people: int, epsilon: float) -> None:
    """With one row a value is found if its matches pass the threshold, and their law is known exactly."""
    tree = mechanism_for(create_survey("limits", Integers(16), epsilon, mechanism="tree", expected_reports=people))
    limit = found_from(tree, people, 16, Query()) / 1.02
    needed = tree.law.threshold_of(people, math.log(Query().level / 4) - 16 * math.log(2))
    matches = math.ceil(needed / tree.law.per_match + people * tree.law.absent - 1e-9)
    chances = [
        binom.pmf(held, count, tree.law.true) @ binom.sf(matches - 1 - held, people - count, tree.law.absent)
        for count in (math.floor(0.985 * limit), math.ceil(1.015 * limit))
        for held in [np.arange(count + 1)]
    ]
    assert chances[0] < 0.95 < chances[1]


def test_a_crowd_that_is_too_small_has_no_limit() -> None:
    """Where not even a value that everybody holds is found with a chance of 95 %, the limit is infinite."""
    tree = mechanism_for(create_survey("limits", Integers(32), 0.5, mechanism="tree", expected_reports=50))
    assert math.isinf(found_from(tree, 50, tree.stated_bits[0], Query()))


def test_a_step_that_prunes_nothing_asks_for_nothing() -> None:
    """A beam has room for all roots of a small tree: a value whose holders all missed the first row can be found."""
    tree = mechanism_for(create_survey("limits", Integers(64), 6.0, mechanism="tree", expected_reports=100))
    place = Place(tree.shape, tree.law, tree.shape.classes[0], 64, 0.0, 100 * tree.shape.shares)
    assert tree.in_beam.widths(place.kind)[0] >= 1 << place.kind.steps[0]
    assert min(window.rows.stop for window in tree.in_beam.needs(place)) > 1
    assert found_from(tree, 100, 64, Query()) < 70
