"""Tallies by slice of time: every range adds up exactly, also when clocks jump, and nothing finer is stored."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update
from tests.collector.own_cell import build, own_cell_survey, some_reports

from hubbub import Hostnames, Tally, create_survey, mechanism_for
from hubbub.errors import ParameterError, StoreDamaged
from hubbub.model.mechanism import Histogram
from hubbub.store.life_cycle import delete_survey
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.reports import Upload, append
from hubbub.store.restoring import restore, restore_survey
from hubbub.store.schema import reading, slices, writing
from hubbub.store.slices import ALL, Range, date_of, pack, parse_range, slice_of, unpack
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.upkeep import backup, check

CELLS = 40
MONDAY = slice_of(20_000, 7)


class Clock:
    """A clock that a test sets, in days since 1970."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.day = MONDAY
        monkeypatch.setattr(time, "time", lambda: self.day * 86_400.0 + 3_600)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock."""
    return Clock(monkeypatch)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty store."""
    with Store(database, build) as opened:
        yield opened


def send(store: Store, stored: StoredSurvey, cell: int, number: int, seed: int) -> None:
    """Append reports that all say one cell."""
    append(store.engine, [Upload(stored.key, some_reports([cell] * number, seed), slice_days=stored.slice_days)])


def counted(tally: Tally) -> dict[int, int]:
    """How often each cell was reported."""
    assert tally.count == tally.cells.sum()
    return {int(cell): int(tally.cells[cell]) for cell in np.flatnonzero(tally.cells)}


STEP = st.tuples(st.integers(-15, 20), st.integers(0, CELLS - 1), st.integers(1, 3), st.booleans())
STEPS = st.lists(STEP, max_size=12)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS, days=st.sampled_from([1, 7]), bounds=st.tuples(st.integers(-30, 40), st.integers(-30, 40)))
def test_ranges_add_up_whatever_the_clock_does(
    steps: list[tuple[int, int, int, bool]], days: int, bounds: tuple[int, int]
) -> None:
    """After any jumps, folds and merges, each range has exactly the reports that were durable in its slices."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        clock = Clock(patch)
        with Store(str(Path(folder) / "a.db"), build) as store:
            stored = store.add_survey(own_cell_survey(CELLS), slice_days=days)
            expected: dict[int, Counter[int]] = {}
            for seed, (move, cell, number, now) in enumerate(steps):
                clock.day = MONDAY + move
                send(store, stored, cell, number, seed)
                expected.setdefault(slice_of(clock.day, days), Counter())[cell] += number
                if now:
                    store.tally(stored.survey_id)
            low, high = sorted(slice_of(MONDAY + bound, days) for bound in bounds)
            for asked in (ALL, Range(low), Range(None, high), Range(low, high)):
                inside = sum((some for start, some in expected.items() if asked.has(start)), Counter())
                assert counted(store.tally(stored.survey_id, asked)) == dict(inside)
            listed = {each.start: each.reports for each in store.slices(stored.survey_id)}
            assert listed == {date_of(start): some.total() for start, some in sorted(expected.items())}
            assert check(store).problems == ()


def test_a_slice_ends_when_the_next_begins(store: Store, clock: Clock) -> None:
    """The newest slice has no row of its own; a report for a slice that has ended is added, and marks it as changed."""
    stored = store.add_survey(own_cell_survey(CELLS))
    send(store, stored, 1, 2, 1)
    assert [each.open for each in store.slices(stored.survey_id)] == [True]
    clock.day += 7
    send(store, stored, 2, 3, 2)
    first, second = store.slices(stored.survey_id)
    assert (first.start, first.end, first.reports, first.open, first.changed) == (
        date_of(MONDAY),
        date_of(MONDAY + 7),
        2,
        False,
        False,
    )
    assert (second.start, second.reports, second.open) == (date_of(MONDAY + 7), 3, True)
    with reading(store.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(slices)) == 1
    clock.day -= 1  # a clock that goes back
    send(store, stored, 3, 1, 3)
    assert counted(store.tally(stored.survey_id, Range(MONDAY, MONDAY + 7))) == {1: 2, 3: 1}
    assert store.slices(stored.survey_id)[0].changed
    assert counted(store.tally(stored.survey_id)) == {1: 2, 2: 3, 3: 1}


def test_a_tally_is_merged_into_its_slice(store: Store, clock: Clock) -> None:
    """A merged tally may name a day; without one it belongs to today."""
    stored = store.add_survey(own_cell_survey(CELLS))
    more = Tally(stored.survey_id, 4, 4 * np.eye(1, CELLS, 5, np.int64)[0].astype(np.int64))
    assert merge_tally(store, stored.survey_id, "a", bytes(32), more, MONDAY - 20)
    assert merge_tally(store, stored.survey_id, "b", bytes(32), more)
    assert not merge_tally(store, stored.survey_id, "a", bytes(32), more, MONDAY - 20)
    assert [(each.start, each.reports) for each in store.slices(stored.survey_id)] == [
        (date_of(MONDAY - 21), 4),
        (date_of(MONDAY), 4),
    ]
    assert check(store).problems == ()


def test_two_collectors_at_a_boundary(database: str, clock: Clock) -> None:
    """Two that fold at the same time, with clocks on both sides of a boundary, count each report once in its slice."""
    with Store(database, build) as first, Store(database, build) as second:
        stored = first.add_survey(own_cell_survey(CELLS))
        for seed in range(12):
            clock.day = MONDAY + 7 * (seed % 2)
            send(first, stored, seed, 1, seed)
        folding = [threading.Thread(target=each.tally, args=(stored.survey_id,)) for each in (first, second)]
        for thread in folding:
            thread.start()
        for thread in folding:
            thread.join()
        for start in (MONDAY, MONDAY + 7):
            asked = Range(start, start + 7)
            assert counted(first.tally(stored.survey_id, asked)) == dict.fromkeys(range(start != MONDAY, 12, 2), 1)


def test_copies_and_deletion_carry_slices(database: str, tmp_path: Path, clock: Clock) -> None:
    """A backup, a restored store and a restored survey have the same slices; a deleted survey leaves none."""
    with Store(database, build) as store:
        stored = store.add_survey(own_cell_survey(CELLS), slice_days=1)
        for seed in range(3):
            clock.day = MONDAY + seed
            send(store, stored, seed, 2, seed)
        before = store.slices(stored.survey_id)
        assert len(before) == 3
        copy = tmp_path / "copy.db"
        backup(store, copy)
        restore(copy, str(tmp_path / "new.db"), build)
        with Store(str(tmp_path / "new.db"), build) as new:
            assert new.slices(stored.survey_id) == before
            assert counted(new.tally(stored.survey_id, Range(MONDAY, MONDAY + 2))) == {0: 2, 1: 2}
        clock.day = MONDAY + 5
        send(store, stored, 9, 1, 9)
        assert len(store.slices(stored.survey_id)) == 4
        restore_survey(store, copy, stored.survey_id)
        assert store.slices(stored.survey_id) == [each._replace(open=False) for each in before]
        delete_survey(store, stored.survey_id)
        with reading(store.engine) as connection:
            assert connection.scalar(select(func.count()).select_from(slices)) == 0


def test_a_damaged_slice_is_noticed(store: Store, clock: Clock) -> None:
    """Each bit of a stored slice is checked: by `check`, and before its sums are used."""
    stored = store.add_survey(own_cell_survey(CELLS))
    send(store, stored, 1, 2, 1)
    clock.day += 7
    send(store, stored, 2, 2, 2)
    store.tally(stored.survey_id)
    with writing(store.engine) as connection:
        data = bytearray(connection.scalar(select(slices.c.tally)))
        data[len(data) // 2] ^= 4
        connection.execute(update(slices).values(tally=bytes(data)))
    assert "damaged" in check(store).problems[0]
    with pytest.raises(StoreDamaged, match="slice"):
        store.tally(stored.survey_id, Range(MONDAY, MONDAY + 7))


def test_every_flipped_byte_of_a_packed_tally_is_noticed() -> None:
    """None gives other sums."""
    cells = np.zeros((3, 100), np.int64)
    cells[1, 7], cells[2, 99], cells[0, 0], cells[1, 1] = 5, -3, 2**63 - 1, -(2**63)
    tally = Tally(bytes(range(32)), 9, cells)
    data = pack(tally)
    assert unpack(data, tally.survey_id, cells.shape) == tally
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(StoreDamaged):
            unpack(changed, tally.survey_id, cells.shape)
    with pytest.raises(StoreDamaged):
        unpack(data, bytes(32), cells.shape)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "megabytes"), [(1, 5), (2, 5), (4, 40)])
def test_a_year_of_weeks_is_small(epsilon: float, megabytes: float) -> None:
    """52 weeks of the standard tree with 10,000 reports each take at most 5 MB up to ε = 2, and 40 MB at ε = 4."""
    domain, rng = Hostnames(), np.random.default_rng(5)
    mechanism = mechanism_for(create_survey("a", domain, epsilon, public_seed=bytes(32)))
    hosts = Histogram(domain.encode([f"site-{number}.example.org" for number in range(500)]), np.full(500, 20))
    assert 52 * len(pack(mechanism.sample_tally(hosts, rng))) <= megabytes * 1e6


def test_ranges_are_named_by_dates_and_lengths(clock: Clock) -> None:
    """`from` is the first day, `to` the first day that is not asked for, `last` ends with the slice that goes on."""
    monday = date_of(MONDAY)
    assert parse_range(7, None, None, None) == ALL
    assert parse_range(7, str(monday), None, None) == Range(MONDAY)
    assert parse_range(7, None, str(monday), None) == Range(None, MONDAY)
    clock.day = MONDAY + 6
    assert parse_range(7, None, None, "1w") == Range(MONDAY)
    assert parse_range(7, None, None, "4w") == parse_range(7, None, None, "28d") == Range(MONDAY - 21)
    assert parse_range(1, None, None, "3d") == Range(MONDAY + 4)
    assert date_of(0) == date(1970, 1, 1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("2026-10-06", None, None), "from must be the first day of a slice, a Monday, .* 2026-10-05 or 2026-10-12"),
        (("yesterday", None, None), "from must be a date such as"),
        (("2026-10-05", "2026-10-05", None), "to must be after from"),
        (("2026-10-05", None, "4w"), "last must come without from and to"),
        ((None, None, "0w"), "last must be a number of weeks or days"),
        ((None, None, "-1w"), "last must be a number of weeks or days"),
        ((None, None, ""), "last must be a number of weeks or days"),
        ((None, None, "10d"), "last must be whole slices of 7 days"),
    ],
)
def test_other_ranges_are_refused(asked: tuple[str | None, str | None, str | None], said: str) -> None:
    """In one sentence, with what was given and what would do."""
    with pytest.raises(ParameterError, match=said):
        parse_range(7, *asked)
