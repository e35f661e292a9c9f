"""Forged reports: fewer than the answer prints take no value away, and those that nearly do are seen."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from benchmarks.forgers import EPSILONS, KINDS, Attack, Crowd, crowd

from hubbub import find_hitters
from hubbub.mechanisms.tree.gates import InBeam
from hubbub.model.estimates import Estimates
from hubbub.model.tally import Tally

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("forgers")]
cells = pytest.mark.parametrize(("kind", "epsilon"), [(kind, epsilon) for kind in KINDS for epsilon in EPSILONS])


@cache
def searched(kind: str, epsilon: float) -> tuple[Crowd, Estimates]:
    """A crowd in which 30 % hold a value, and what is found in it."""
    people = crowd(kind, epsilon, 3)
    return people, people.answer()


def printed(people: Crowd, found: Estimates) -> int:
    """The number of forged reports that the answer prints for the value."""
    place = people.place(found)
    assert place is not None
    assert found.fakes is not None
    return int(found.fakes[place])


def nearest(people: Crowd) -> Attack:
    """The attack on the fewest rows that tell a neighbour from the value."""
    return [each for each in people.attacks() if each.name.startswith("neighbour")][-1]


@cells
def test_honest_crowds_have_no_rivals(kind: str, epsilon: float) -> None:
    """Without forgers the value is found, its rows agree, and no neighbour is its rival."""
    people, found = searched(kind, epsilon)
    assert people.place(found) == 0
    assert found.uneven is not None
    assert not found.uneven.any()
    assert np.array_equal(found.rivals, found.items)


@cells
def test_fewer_than_printed_take_nothing_away(kind: str, epsilon: float) -> None:
    """Every eighth attack, with one report less than the answer prints, leaves the value in the answer."""
    people, found = searched(kind, epsilon)
    count = printed(people, found) - 1
    for attack in [*people.attacks()][::8]:
        assert people.place(people.answer(people.forged(attack, count))) is not None, attack.name


@cells
def test_twice_as_many_as_printed_are_enough(kind: str, epsilon: float) -> None:
    """Twice as many as printed, aimed at the rows that tell neighbours apart, replace the value."""
    people, found = searched(kind, epsilon)
    attack, count = nearest(people), 2 * printed(people, found)
    after = people.answer(people.forged(attack, count))
    assert people.place(after) is None
    assert people.place(after, attack.lift) is not None


@cells
def test_a_contested_value_has_a_rival(kind: str, epsilon: float) -> None:
    """Half as many as printed make the neighbour a rival; once it is in front, the value is named as its rival."""
    people, found = searched(kind, epsilon)
    attack, count = nearest(people), printed(people, found)
    after = people.answer(people.forged(attack, count // 2))
    place = people.place(after)
    assert place is not None
    assert after.rivals is not None
    assert after.uneven is not None
    assert np.array_equal(after.rivals[place], attack.lift)
    assert after.uneven[place]
    after = people.answer(people.forged(attack, 3 * count // 2))
    place = people.place(after, attack.lift)
    assert place is not None
    assert after.fakes is not None
    assert after.fakes[place] <= 3 * count // 2
    assert people.is_mentioned(after)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_value_that_nobody_holds_needs_as_many_as_printed(epsilon: float) -> None:
    """Reports that lift a value which nobody holds are at least as many as its row prints."""
    people = searched("ids", epsilon)[0]
    nobody = people.value ^ np.uint64(0x5555)
    attack = Attack("lifted", people.rows_from(0), nobody, None)
    count = people.fewest(attack, lambda after: people.place(after, nobody) is not None, 0, 20_000)
    assert count is not None
    for many in (count, 2 * count):
        found = people.answer(people.forged(attack, many))
        place = people.place(found, nobody)
        assert place is not None
        assert found.fakes is not None
        assert found.fakes[place] <= many


def test_the_answer_names_both() -> None:
    """A sentence names the value and its rival, and says that it is one of the two."""
    people, found = searched("hosts", 2.0)
    reports = people.forged(nearest(people), printed(people, found) // 2)
    cells = people.honest.cells.copy()
    people.tree.accumulate(cells, reports)
    tally = Tally(people.honest.survey_id, people.honest.count + len(reports), cells)
    answer = find_hitters(people.tree.survey, tally, decoder=people.tree)
    row = answer.hitters[0]
    assert row.rival is not None
    assert f"{row.value} or {row.rival}: one of the two" in str(answer)


def test_a_flood_of_one_symbol_is_not_covered() -> None:
    """Ids with the same masks, all in the first row, can push a value out of the beam with fewer than printed."""
    people = crowd("ids", 1.0, 11)
    people.tree.in_beam = InBeam(people.tree.in_beam.typical, people.tree.in_beam.root)
    count = printed(people, people.answer())
    assert people.place(people.flooded(0, count // 2)) is not None
    assert not people.is_mentioned(people.flooded(0, count - 1))
