"""Damage stays with its survey: the others go on, and a backup brings the damaged one back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, update
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Service, running

from hubbub import Survey
from hubbub.errors import ParameterError
from hubbub.model.tally import Tally
from hubbub.store.daily import reports_by_day
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.restoring import restore_survey
from hubbub.store.schema import surveys, tallies, writing
from hubbub.store.upkeep import backup, check
from hubbub.wire.report_batch import encode_batch

CELLS = 1000


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A collector on a file."""
    with running(str(tmp_path / "a.db")) as started:
        yield started


def send(service: Service, survey: Survey, cells: list[int], seed: int) -> object:
    """Upload reports to these cells."""
    return service.upload(survey.survey_id, encode_batch(survey.survey_id, some_reports(cells, seed)))


def flip_a_byte(service: Service, survey: Survey) -> None:
    """Change one byte of a stored tally."""
    with writing(service.store.engine) as connection:
        key = connection.scalar(select(surveys.c.key).where(surveys.c.survey_id == survey.survey_id))
        blob = bytearray(connection.scalar(select(tallies.c.tally).where(tallies.c.survey == key)))
        blob[100] ^= 1
        connection.execute(update(tallies).where(tallies.c.survey == key).values(tally=bytes(blob)))


def test_a_flipped_byte_is_confined_to_its_survey(service: Service, tmp_path: Path) -> None:
    """The list works, the survey says that it is damaged and takes nothing, the other one goes on."""
    hurt, well = (service.store.add_survey(own_cell_survey(CELLS, name)).survey for name in ("hurt", "well"))
    assert send(service, hurt, [1, 2], 1).status == 200
    assert service.store.tally(hurt.survey_id).count == 2
    backup(service.store, tmp_path / "copy.db")
    assert send(service, hurt, [3], 2).status == 200
    assert service.store.tally(hurt.survey_id).count == 3
    flip_a_byte(service, hurt)
    path = f"/v1/surveys/{hurt.survey_id.hex()}"

    assert service.ask("POST", f"{path}/close", owner=True).kind == "damaged"
    listed = service.ask("GET", "/v1/surveys", owner=True)
    assert [(each["name"], each["state"]) for each in listed.json["surveys"]] == [("hurt", "damaged"), ("well", "open")]
    assert "checksum" in listed.json["surveys"][0]["damage"]
    refused = send(service, hurt, [4], 3)
    assert (refused.status, refused.kind) == (503, "damaged")
    assert int(refused.headers["retry-after"]) > 0
    assert service.ask("GET", f"{path}/hitters", owner=True).kind == "damaged"
    assert send(service, well, [5], 4).status == 200
    assert service.store.tally(well.survey_id).count == 1
    assert service.ask("GET", "/readyz").status == 200
    (problem,) = check(service.store).problems
    assert problem.startswith(f"survey {hurt.survey_id.hex()[:8]}: ")

    restore_survey(service.store, tmp_path / "copy.db", hurt.survey_id)
    service.store.forget_state(hurt.survey_id)
    assert send(service, hurt, [4], 3).json["accepted"] == 1
    assert send(service, hurt, [1, 2], 1).json["duplicate"] == 2
    tally = service.store.tally(hurt.survey_id)
    assert [cell for cell in range(CELLS) if tally.cells[cell]] == [1, 2, 4]
    assert check(service.store).problems == ()
    assert service.ask("POST", f"{path}/close", owner=True).json["state"] == "closed"


def test_what_was_merged_after_a_copy_can_be_merged_again(service: Service, tmp_path: Path) -> None:
    """A copy has the tallies that were merged before it, and the reports of each day; no others are left."""
    stored = service.store.add_survey(own_cell_survey(CELLS))

    def merge(key: str, cell: int) -> bool:
        more = Tally(stored.survey_id, 1, np.eye(1, CELLS, cell, np.int64)[0])
        return merge_tally(service.store, stored.survey_id, key, bytes([cell]), more)

    assert merge("before", 1)
    assert send(service, stored.survey, [2], 1).status == 200
    assert service.store.tally(stored.survey_id).count == 2
    backup(service.store, tmp_path / "copy.db")
    assert merge("after", 3)
    assert send(service, stored.survey, [4], 2).status == 200
    assert service.store.tally(stored.survey_id).count == 4
    flip_a_byte(service, stored.survey)
    assert restore_survey(service.store, tmp_path / "copy.db", stored.survey_id) == 2
    assert check(service.store).problems == ()
    assert sum(reports_by_day(service.store.engine, stored.key).values()) == 2
    assert not merge("before", 1), "it is in the copy"
    assert merge("after", 3)
    assert service.store.tally(stored.survey_id).count == 3
    assert check(service.store).problems == ()


def test_a_copy_that_is_not_there(service: Service, tmp_path: Path) -> None:
    """It is said so, and nothing is changed."""
    stored = service.store.add_survey(own_cell_survey(CELLS))
    with pytest.raises(ParameterError, match="a copy must be a file that exists"):
        restore_survey(service.store, tmp_path / "copy.db", stored.survey_id)
