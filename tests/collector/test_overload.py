"""Overload: what is refused is not stored, and memory has a bound."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.collector.overload import most_memory, overload
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Service, running

from hubbub import Integers, Survey, create_survey, mechanism_for
from hubbub.collector.bodies import Budget
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

SLOW_SQLITE = (
    "CREATE TRIGGER slow AFTER INSERT ON hubbub_pending BEGIN SELECT count(*) FROM (WITH RECURSIVE n(x) AS ("
    "SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4000000) SELECT x FROM n); END",
)
SLOW_POSTGRESQL = (
    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NEW; END'",
    "CREATE TRIGGER slow BEFORE INSERT ON hubbub_pending FOR EACH ROW EXECUTE FUNCTION slow()",
)


def make_commits_slow(service: Service) -> None:
    """Let the database take about a second for each commit."""
    with service.store.engine.begin() as connection:
        for statement in SLOW_SQLITE if service.store.embedded else SLOW_POSTGRESQL:
            connection.execute(text(statement))


def test_a_commit_that_has_begun_is_waited_for(database: str) -> None:
    """A commit takes longer than an upload may wait for it: its reports are acknowledged all the same."""
    with running(database, Budget(commit_seconds=0.3), fold_seconds=3600) as service:
        stored = service.store.add_survey(own_cell_survey(10))
        make_commits_slow(service)
        body = encode_batch(stored.survey_id, some_reports([1, 2]))
        reply = service.upload(stored.survey_id, body)
        while reply.status == 503:  # it waited for too long before its commit began, on a machine that is very busy
            reply = service.upload(stored.survey_id, body)
        assert reply.json["accepted"] == 2
        assert service.store.tally(stored.survey_id).count == 2


def test_an_overload(tmp_path: Path) -> None:
    """150 connections send the largest batches: nothing is stored though refused, and memory stays below the bound."""
    survey = create_survey("overload", Integers(64), 1)
    found = overload(str(tmp_path / "a.db"), 5, survey=survey)
    assert found.peak_mib < most_memory(cells_of(survey))
    assert found.acknowledged > 0
    assert found.refused > 0


def test_memory_with_many_cells(tmp_path: Path) -> None:
    """A survey of millions of cells, each of 8 bytes, takes no more than 48 bytes for each while it is folded."""
    survey = create_survey("large", Integers(256), 1, expected_reports=10**8)
    found = overload(str(tmp_path / "a.db"), 1, connections=2, batch=1000, survey=survey, before=1 << 40)
    assert found.peak_mib < most_memory(cells_of(survey))


def cells_of(survey: Survey) -> int:
    """How many cells a survey has."""
    return math.prod(mechanism_for(survey).cells_shape)
