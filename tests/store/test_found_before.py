"""What was found at the end of a slice is a candidate for later slices, and for these only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select
from tests.store.test_slices import MONDAY, Clock

from hubbub import Answer, Histogram, Integers, Question, create_survey
from hubbub.analysis.asking import answer_question
from hubbub.store.found_before import Ended, ended_slices, remember
from hubbub.store.life_cycle import delete_survey
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.names import names_of
from hubbub.store.restoring import restore
from hubbub.store.schema import reading, remembered
from hubbub.store.slices import ALL, Range
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.upkeep import backup
from hubbub.testing import public_seed

SURVEY = create_survey("x", Integers(16), 2, None, "tree", None, 5_000, public_seed=public_seed(3))
WEEKS = ({7: 1_500, 9: 1_200}, {7: 230}, {8: 900})  # how many hold a value; everybody else holds 0
PEOPLE = 5_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that the test sets."""
    return Clock(monkeypatch)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty store."""
    with Store(database) as opened:
        yield opened


def add_week(store: Store, stored: StoredSurvey, number: int) -> None:
    """Add the reports of a week."""
    held = {**WEEKS[number], 0: PEOPLE - sum(WEEKS[number].values())}
    crowd = Histogram(SURVEY.domain.encode(list(held)), np.array(list(held.values())))
    tally = stored.mechanism.sample_tally(crowd, np.random.default_rng([29, number]))
    merge_tally(store, stored.survey_id, str(number), bytes(32), tally, MONDAY + 7 * number)


def rows(store: Store) -> list[tuple[int, list[str]]]:
    """What was remembered, by week."""
    query = select(remembered.c.slice, remembered.c.names).order_by(remembered.c.slice)
    with reading(store.engine) as connection:
        return [((start - MONDAY) // 7, json.loads(names)) for start, names in connection.execute(query)]


def ask(store: Store, stored: StoredSurvey, asked: Range) -> Answer:
    """The answer of a range, as the collector gives it."""
    about = Question().about(SURVEY.domain, names_of(store.engine, stored, asked))
    return answer_question(stored.mechanism, store.tally(stored.survey_id, asked), about)


def look(store: Store) -> list[Ended]:
    """Remember what there is to remember, as the collector does; return what it was."""
    found = ended_slices(store)
    for ended in found:
        remember(store, ended)
    return found


def test_a_name_is_a_candidate_after_its_slice_alone(store: Store, clock: Clock) -> None:
    """On later slices a smaller count is enough; on ranges with its own slice it must be found. Mutants fail here."""
    stored = store.add_survey(SURVEY)
    add_week(store, stored, 0)
    assert look(store) == [], "the slice goes on"
    for number in (1, 2):
        clock.day = MONDAY + 7 * number
        assert look(store) == [Ended(stored.survey_id, MONDAY + 7 * (number - 1))]
        assert look(store) == [], "once for each slice"
        add_week(store, stored, number)
    assert rows(store) == [(0, ["0", "7", "9"]), (1, ["0", "7", "9"])]
    first, second, third = (MONDAY + 7 * number for number in range(3))
    last = ask(store, stored, Range(second, third))
    assert last.remembered_names == 3
    assert {row.value: row.listed for row in last.hitters} == {0: True, 7: True}, "7 is seen since it was found before"
    alone = answer_question(
        stored.mechanism, store.tally(stored.survey_id, Range(second, third)), Question().about(SURVEY.domain)
    )
    assert [row.value for row in alone.hitters] == [0], "a search does not see it"
    assert any("the level is per answer" in each.text for each in last.sentences())
    # Ranges that have a slice in which it was found.
    for asked in (ALL, Range(first), Range(None, second), Range(first, third)):
        answer = ask(store, stored, asked)
        assert (answer.remembered_names, answer.candidate_limit) == (0, None)
        assert not any(row.listed for row in answer.hitters)
    assert ask(store, stored, Range(third)).remembered_names == 3


def test_two_collectors_and_one_that_was_away(store: Store, clock: Clock) -> None:
    """The first result stays; slices that ended meanwhile are searched together, and empty ones not at all."""
    stored = store.add_survey(SURVEY)
    assert look(store) == []
    clock.day = MONDAY + 70
    assert look(store) == [], "no report came"
    add_week(store, stored, 0)
    add_week(store, stored, 1)
    ended = ended_slices(store)
    assert ended == [Ended(stored.survey_id, MONDAY + 7)]
    for _ in range(2):
        remember(store, ended[0])
    assert [week for week, _ in rows(store)] == [1]
    add_week(store, stored, 2)
    remember(store, ended[0])
    assert [week for week, _ in rows(store)] == [1]


def test_copies_have_what_was_remembered_and_deleted_surveys_do_not(store: Store, clock: Clock, tmp_path: Path) -> None:
    """A restored copy knows it; nothing is left after the survey, and a late search adds nothing."""
    stored = store.add_survey(SURVEY)
    add_week(store, stored, 0)
    clock.day = MONDAY + 7
    (ended,) = look(store)
    copy = tmp_path / "copy.db"
    backup(store, copy)
    delete_survey(store, stored.survey_id)
    remember(store, ended)
    assert rows(store) == []
    restore(copy, str(tmp_path / "new.db"))
    with Store(str(tmp_path / "new.db")) as new:
        assert rows(new) == [(0, ["0", "7", "9"])]
        assert look(new) == []
