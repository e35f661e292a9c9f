"""Report ids go 14 days after their slice, never before, whatever clocks do; until then a report is counted once."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update
from tests.collector.own_cell import build, own_cell_survey, some_reports
from tests.store.test_slices import CELLS, MONDAY, Clock

from hubbub.store import aging_ids, life_cycle
from hubbub.store.aging_ids import KEPT_SECONDS, note_old_ids
from hubbub.store.life_cycle import close_survey, purge
from hubbub.store.reports import Upload, append
from hubbub.store.restoring import restore, restore_survey
from hubbub.store.schema import reading, report_ids, surveys, writing
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.upkeep import backup, check

KEPT_DAYS = KEPT_SECONDS // 86_400


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that the test sets."""
    return Clock(monkeypatch)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty store."""
    with Store(database, build) as opened:
        yield opened


def send(store: Store, stored: StoredSurvey, number: int) -> bool:
    """Send the report of a device, which says the cell of its number; return whether it was new."""
    sent = append(store.engine, [Upload(stored.key, some_reports([number], number), slice_days=stored.slice_days)])
    return bool(np.asarray(sent[0])[0])


def ids(store: Store) -> int:
    """How many ids are stored."""
    with reading(store.engine) as connection:
        return connection.scalar(select(func.count()).select_from(report_ids)) or 0


def keep_house(store: Store, trusted: bool = True) -> None:
    """What a collector does every few seconds."""
    note_old_ids(store, int(time.time()), trusted)
    assert purge(store)


def live(store: Store, clock: Clock, until: int) -> None:
    """Let a collector keep house on each day up to one, counted from Monday."""
    while clock.day < MONDAY + until:
        clock.day += 1
        keep_house(store)


def test_ids_go_14_days_after_their_slice(store: Store, clock: Clock) -> None:
    """Until then the same report is not counted again; the ids of later slices stay, and the check knows of all."""
    stored = store.add_survey(own_cell_survey(CELLS))
    for week in range(3):
        live(store, clock, 7 * week)
        assert send(store, stored, week)
    live(store, clock, 7 + KEPT_DAYS - 1)
    assert not send(store, stored, 0)
    assert ids(store) == 3
    live(store, clock, 7 + KEPT_DAYS)
    assert ids(store) == 2
    assert [send(store, stored, week) for week in (1, 2)] == [False, False]
    assert store.tally(stored.survey_id).count == 3
    assert check(store).problems == ()
    with reading(store.engine) as connection:
        assert connection.scalar(select(surveys.c.ids_purged)) == 1
    close_survey(store, stored.survey_id)
    assert purge(store)
    assert (ids(store), check(store).problems) == (0, ())


def test_only_days_on_which_a_collector_ran_count(store: Store, clock: Clock) -> None:
    """Away for a month, or a steady clock that jumps by a year and back: each counts for a day at most."""
    stored = store.add_survey(own_cell_survey(CELLS))
    send(store, stored, 1)
    for day in (7, 37, 38, 403, 39, 404, 40):
        clock.day = MONDAY + day
        for _ in range(3):
            keep_house(store)
            assert not send(store, stored, 1)


def test_a_lost_id_is_still_noticed(store: Store, clock: Clock) -> None:
    """That some ids were purged does not hide that others are missing."""
    stored = store.add_survey(own_cell_survey(CELLS), slice_days=1)
    for day in range(20):
        clock.day = MONDAY + day
        keep_house(store)
        send(store, stored, day)
    assert 0 < ids(store) < 20
    assert check(store).problems == ()
    with writing(store.engine) as connection:
        connection.execute(report_ids.delete().where(report_ids.c.id == some_reports([19], 19)[0]["id"].tobytes()))
    assert len(check(store).problems) == 1


MOVE = st.tuples(st.sampled_from([0, 0, 1, 3, 8, 15]), st.sampled_from([-400, -20, -6, 0, 0, 0, 9, 31]), st.booleans())


@settings(max_examples=40, deadline=None)
@example(moves=[(0, 0, True), (8, 0, True), (0, -400, True), (0, 0, True)], days=7)
@given(moves=st.lists(MOVE, max_size=14), days=st.sampled_from([1, 7]))
def test_a_report_is_counted_once_within_a_week_whatever_the_clock_does(
    moves: list[tuple[int, int, bool]], days: int
) -> None:
    """The clock may be wrong when a report comes, and steady or not; who sends again within 7 days is not doubled.

    A clock that has just jumped is not trusted, as in a collector.
    """
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        clock = Clock(patch)
        with Store(str(Path(folder) / "a.db"), build) as store:
            stored = store.add_survey(own_cell_survey(CELLS), slice_days=days)
            day, sent = MONDAY, list[int]()
            for number, (later, wrong, steady) in enumerate(moves):
                day += later
                clock.day = day + wrong
                keep_house(store, trusted=steady and wrong <= 0)
                send(store, stored, number)
                sent.append(day)
                again = [old for old, then in enumerate(sent) if then >= day - 8]
                assert not any(send(store, stored, old) for old in again)
            assert store.tally(stored.survey_id).count == len(moves)
            assert check(store).problems == ()


def test_a_clock_that_was_ahead_makes_ids_stay(store: Store, clock: Clock) -> None:
    """A steady clock that is a month ahead ends slices; their ids wait until the right clock has passed it."""
    stored = store.add_survey(own_cell_survey(CELLS))
    send(store, stored, 1)
    clock.day = MONDAY + 31
    keep_house(store)
    clock.day = MONDAY + 1
    keep_house(store)
    send(store, stored, 2)
    live(store, clock, 31 + KEPT_DAYS - 1)
    assert not send(store, stored, 1)
    live(store, clock, 31 + KEPT_DAYS)
    assert ids(store) == 1, "the second came when the clock had shown a later slice"
    assert not send(store, stored, 2)


def test_a_clock_that_is_slow_makes_nothing_due(store: Store, clock: Clock) -> None:
    """Found by killing collectors: a steady clock that went back made a slice look as if it had long been over."""
    stored = store.add_survey(own_cell_survey(CELLS))
    send(store, stored, 1)
    for day in (7, -40, 8):
        clock.day = MONDAY + day
        keep_house(store)
    assert not send(store, stored, 1)


def test_a_purge_goes_on_where_it_stopped(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads each id once, though it stops after every step; new ids between the old ones stay."""
    monkeypatch.setattr(life_cycle, "IDS_AT_ONCE", 10)
    stored = store.add_survey(own_cell_survey(CELLS))
    append(store.engine, [Upload(stored.key, some_reports([1] * 60, 1))])
    clock.day += 7
    keep_house(store)
    append(store.engine, [Upload(stored.key, some_reports([2] * 60, 2))])
    for _ in range(KEPT_DAYS):
        clock.day += 1
        note_old_ids(store, int(time.time()), True)
    rounds = 1
    while not purge(store, 0):
        rounds += 1
        append(store.engine, [Upload(stored.key, some_reports([3], 100 + rounds))])
    assert 6 <= rounds <= 30
    assert ids(store) == 60 + rounds - 1
    assert store.purged_to == {}
    assert check(store).problems == ()


def test_two_collectors_note_the_same(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another one has noted it meanwhile, nothing is overwritten."""
    store.add_survey(own_cell_survey(CELLS))
    clock.day += 7
    plain = aging_ids.slice_of

    def slow(day: int, days: int) -> int:
        """While one looks, the other notes, half a day earlier."""
        monkeypatch.setattr(aging_ids, "slice_of", plain)
        note_old_ids(store, int(time.time()) - 3_600, True)
        return plain(day, days)

    monkeypatch.setattr(aging_ids, "slice_of", slow)
    note_old_ids(store, int(time.time()), True)
    with reading(store.engine) as connection:
        noted = json.loads(connection.scalar(select(surveys.c.id_waits)) or "")
    assert noted == {"seen": int(time.time()) - 3_600, "waits": {str(MONDAY): 0}}


def test_copies_know_what_was_purged(store: Store, clock: Clock, tmp_path: Path) -> None:
    """A restored store, and a restored survey, are whole, and know the ids that they have."""
    stored = store.add_survey(own_cell_survey(CELLS))
    send(store, stored, 1)
    clock.day += 7
    keep_house(store)
    send(store, stored, 2)
    live(store, clock, 7 + KEPT_DAYS)
    assert ids(store) == 1
    backup(store, tmp_path / "copy.db")
    send(store, stored, 3)
    restore_survey(store, tmp_path / "copy.db", stored.survey_id)
    assert check(store).problems == ()
    assert not send(store, stored, 2)
    restore(tmp_path / "copy.db", str(tmp_path / "new.db"), build)
    with Store(str(tmp_path / "new.db"), build) as new:
        assert check(new).problems == ()
        assert not send(new, new.survey(stored.survey_id), 2)


def test_ids_of_an_earlier_version_stay_for_14_days(store: Store, clock: Clock) -> None:
    """Nobody noted when they came: their time begins when a steady clock first sees them."""
    stored = store.add_survey(own_cell_survey(CELLS))
    send(store, stored, 1)
    with writing(store.engine) as connection:
        connection.execute(update(surveys).values(id_slice=0))
        connection.execute(update(report_ids).values(slice=0))
    clock.day += 2  # the first look comes on the day after
    live(store, clock, 3 + KEPT_DAYS - 1)
    assert not send(store, stored, 1)
    live(store, clock, 3 + KEPT_DAYS)
    assert ids(store) == 0
