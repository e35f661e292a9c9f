"""Clocks that jump: a survey that the clock closed is open again when the clock is right again."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import running, wait_until

from hubbub.collector.clock import STEADY_SECONDS, Clock
from hubbub.store.life_cycle import GRACE_SECONDS
from hubbub.store.schema import reading, report_ids, surveys
from hubbub.wire.report_batch import encode_batch

CELLS = 100
DAY = 86_400.0


class Hands:
    """Two clocks that a test sets: `jump` moves the wall clock alone, `wait` moves both."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1.9e9, 1000.0

    def jump(self, seconds: float) -> None:
        """Set the wall clock."""
        self.wall += seconds

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.wall += seconds
        self.monotonic += seconds

    def clock(self) -> Clock:
        """The clock that a collector reads."""
        return Clock(lambda: self.wall, lambda: self.monotonic)


def test_a_jump_is_noticed_and_then_nothing_is_trusted_for_an_hour() -> None:
    """Small adjustments are no jumps; after a jump, forwards or back, the clock must be steady for an hour."""
    hands = Hands()
    clock = hands.clock()
    assert not clock.is_steady()
    hands.wait(STEADY_SECONDS)
    hands.jump(2)
    assert (clock.jump(), clock.is_steady()) == (0.0, True)
    for seconds in (31 * DAY, -31 * DAY):
        hands.jump(seconds)
        assert clock.jump() == pytest.approx(seconds)
        assert (clock.jump(), clock.is_steady()) == (0.0, False)
        hands.wait(STEADY_SECONDS)
        assert (clock.jump(), clock.is_steady()) == (0.0, True)


def test_a_month_ahead_for_a_moment_closes_nothing_for_good(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While the clock is wrong the survey is closed; when it is right again the survey goes on, with all its ids."""
    hands = Hands()
    closes = datetime.fromtimestamp(hands.wall, UTC) + timedelta(days=30)
    with running(str(tmp_path / "a.db"), fold_seconds=0.02, clock=hands.clock()) as service:
        survey = service.store.add_survey(own_cell_survey(CELLS, closes=closes)).survey
        body, more = (encode_batch(survey.survey_id, some_reports([cell], cell)) for cell in (1, 2))

        def over_since() -> int | None:
            with reading(service.store.engine) as connection:
                return connection.scalar(select(surveys.c.over_since))

        def state() -> str:
            return service.ask("GET", f"/v1/surveys/{survey.survey_id.hex()}/status", owner=True).json["state"]

        hands.wait(2 * STEADY_SECONDS)
        assert service.upload(survey.survey_id, body).status == 200
        hands.jump(31 * DAY)
        assert service.upload(survey.survey_id, more).kind == "closed"
        wait_until(lambda: over_since() is not None)
        assert state() == "closed"
        assert any("the clock jumped by +2678400 s" in record.message for record in caplog.records)
        hands.jump(60 * DAY)  # even beyond the time of grace
        wait_until(lambda: sum("the clock jumped" in record.message for record in caplog.records) == 2)
        hands.jump(-91 * DAY)
        wait_until(lambda: over_since() is None)
        assert state() == "open"
        assert service.upload(survey.survey_id, body).json["duplicate"] == 1
        assert service.upload(survey.survey_id, more).json["accepted"] == 1
        assert any(record.levelno >= logging.WARNING and "is open again" in record.message for record in caplog.records)


def test_after_a_week_of_grace_the_ids_go(tmp_path: Path) -> None:
    """A survey whose time is really over is closed for good after the grace, by a clock that has been steady."""
    hands = Hands()
    closes = datetime.fromtimestamp(hands.wall, UTC) + timedelta(days=30)
    with running(str(tmp_path / "a.db"), fold_seconds=0.02, clock=hands.clock()) as service:
        survey = service.store.add_survey(own_cell_survey(CELLS, closes=closes)).survey

        def row() -> tuple[str, bool, int]:
            with reading(service.store.engine) as connection:
                found = connection.execute(select(surveys)).one()
                return found.state, found.over_since is not None, connection.scalar(select(func.count(report_ids.c.id)))

        assert service.upload(survey.survey_id, encode_batch(survey.survey_id, some_reports([1]))).status == 200
        hands.wait(30 * DAY + 1)
        wait_until(lambda: row() == ("open", True, 1))
        hands.wait(GRACE_SECONDS - 60)
        assert service.ask("GET", "/readyz").status == 200
        assert row() == ("open", True, 1)
        hands.wait(120)
        wait_until(lambda: row() == ("closed", True, 0))
        assert service.store.tally(survey.survey_id).count == 1
