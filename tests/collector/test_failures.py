"""Disks that are full and databases that cannot be written: 503, nothing acknowledged, and all is well afterwards."""

from __future__ import annotations

import os
import re
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlalchemy import event
from tests.collector import troubles
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Service, running, wait_until
from tests.collector.troubles import fill
from tests.databases import new_postgresql_database

from hubbub import Integers, create_survey
from hubbub.errors import StoreFull
from hubbub.store import disk_guard
from hubbub.store.store import StoredSurvey
from hubbub.store.upkeep import check
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

CELLS = 200_000
EACH = 500


class Uploads:
    """Batches one after the other, and what was acknowledged."""

    def __init__(self, service: Service, name: str = "own cells", each: int = EACH) -> None:
        self.service, self.each = service, each
        self.stored: StoredSurvey = service.store.add_survey(own_cell_survey(CELLS, name))
        self.acknowledged = 0
        self.next = 0

    def body(self) -> bytes:
        """The batch that comes next."""
        cells = list(range(self.next * self.each, (self.next + 1) * self.each))
        return encode_batch(self.stored.survey_id, some_reports(cells, seed=self.next))

    def send(self) -> bool:
        """Whether the next batch was taken; all of it is new then, so no refusal before had left anything behind."""
        reply = self.service.upload(self.stored.survey_id, self.body())
        if reply.status == 503:
            assert reply.kind == "unavailable"
            assert int(reply.headers["retry-after"]) > 0
            assert reply.json["detail"] == "nothing can be stored now; send this again later"
            metrics = self.service.ask("GET", "/metrics").body.decode()
            assert re.search(r"^hubbub_(commit|fold)_failures_total [1-9]\d*\.0$", metrics, re.MULTILINE)
            return False
        assert reply.json["accepted"] == self.each, reply
        self.acknowledged += self.each
        self.next += 1
        return True

    def until_refused(self) -> None:
        """Send until the disk is full."""
        for _ in range(CELLS // self.each - self.next - 1):
            if not self.send():
                return
        pytest.fail("the disk was never full")

    def until_full(self, ballast: Callable[[], None]) -> None:
        """Send until folding cannot make room any more, and the collector says so."""
        patience = time.monotonic() + 40
        while time.monotonic() < patience:
            ballast()
            self.until_refused()
            time.sleep(1.2)
            ballast()
            if self.service.ask("GET", "/readyz").status == 503 and not self.send():
                return
        pytest.fail("the disk was never full for long")

    def must_be_whole(self) -> None:
        """Everything that was acknowledged is counted once, and nothing else."""
        tally = self.service.store.tally(self.stored.survey_id)
        assert tally.count == self.acknowledged
        assert tally.cells[: self.acknowledged].tolist() == [1] * self.acknowledged
        assert check(self.service.store).problems == ()


def wait_for_readiness(service: Service, status: int) -> None:
    """Ask until /readyz answers so: it asks the store at most once a second."""
    patience = time.monotonic() + 60
    while (reply := service.ask("GET", "/readyz")).status != status:
        assert time.monotonic() < patience, reply
        time.sleep(0.05)


def fail_and_recover(
    service: Service, failing: Callable[[], object], healing: Callable[[], object], partly: bool = False
) -> None:
    """Work, fail, still serve what needs no disk, heal, work. A failure is `partly` where small writes may succeed."""
    uploads = Uploads(service)
    assert uploads.send()
    assert service.ask("GET", "/readyz").status == 200
    failing()
    try:
        uploads.until_refused()
        if not partly:
            assert not uploads.send()
            wait_for_readiness(service, 503)
        assert service.ask("GET", "/healthz").status == 200
    finally:
        healing()
    wait_for_readiness(service, 200)
    assert uploads.send(), "the batch that was refused is taken as new"
    assert uploads.send()
    uploads.must_be_whole()


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """The operating system refuses to let files grow, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with running(str(tmp_path / "a.db"), fold_seconds=0.1) as service:
        fail_and_recover(
            service,
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1])),
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before),
        )


@contextmanager
def small_disk(folder: Path, size: str = "8m") -> Iterator[None]:
    """A disk of eight megabytes; where the system does not let us have one, the test is skipped."""
    with troubles.small_disk(folder, size) as mounted:
        if not mounted:
            pytest.skip("mounting a small disk needs rights that this user has not")
        yield


@contextmanager
def somebody_reads(database: Path) -> Iterator[None]:
    """Another program is in the middle of reading: the log of the database cannot be begun anew."""
    reader = sqlite3.connect(database, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM hubbub_surveys").fetchall()
    try:
        yield
    finally:
        reader.close()


def test_a_disk_that_another_program_fills(tmp_path: Path) -> None:
    """No room is left, and then there is: not ready and nothing acknowledged meanwhile, nothing lost, by itself."""
    disk = tmp_path / "disk"
    with small_disk(disk), running(str(disk / "a.db"), fold_seconds=0.1) as service:
        uploads = Uploads(service)
        assert uploads.send()
        for _ in range(2):
            uploads.until_full(lambda: fill(disk / "ballast"))
            assert service.ask("GET", "/readyz").status == 503
            assert service.ask("GET", "/healthz").status == 200
            (disk / "ballast").unlink()
            wait_for_readiness(service, 200)
            assert uploads.send()
        uploads.must_be_whole()


def test_a_disk_that_the_collector_fills(tmp_path: Path) -> None:
    """Ids take all room: readiness says so, everything is counted, and closing a survey makes room for another."""
    disk = tmp_path / "disk"
    with small_disk(disk, "6m"), running(str(disk / "a.db"), fold_seconds=0.1) as service:
        uploads, others = Uploads(service, each=2000), Uploads(service, "others")
        assert others.send()
        uploads.until_full(lambda: None)
        assert not uploads.send()
        assert not others.send()
        uploads.must_be_whole()
        path = f"/v1/surveys/{uploads.stored.survey_id.hex()}"
        assert service.ask("POST", f"{path}/close", owner=True).json["state"] == "closed"
        wait_for_readiness(service, 200)
        for _ in range(20):
            assert others.send()
        others.must_be_whole()
        assert service.store.tally(uploads.stored.survey_id).count == uploads.acknowledged


def test_a_disk_that_is_full_before_anything_was_folded(tmp_path: Path) -> None:
    """Reports and the log of a large commit take all room: the reserve is enough to fold them, and then to close."""
    disk = tmp_path / "disk"
    with small_disk(disk), running(str(disk / "a.db"), fold_seconds=3600) as service:
        uploads, others = Uploads(service, each=1000), Uploads(service, "others")
        uploads.until_full(lambda: None)
        uploads.must_be_whole()
        path = f"/v1/surveys/{uploads.stored.survey_id.hex()}"
        assert service.ask("POST", f"{path}/close", owner=True).json["state"] == "closed"
        wait_for_readiness(service, 200)
        assert others.send()
        others.must_be_whole()


class LargeReports:
    """Uploads of 30 reports with 32 KiB each, all of which go to the table of pending reports."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.stored = service.store.add_survey(create_survey("large", Integers(14), 1, mechanism="naive-laplace"))
        self.acknowledged = 0

    def send(self, number: int) -> int:
        """Send one upload; the status of its reply."""
        reports = np.zeros(30, self.stored.mechanism.report_dtype)
        reports["id"] = np.random.default_rng(number).integers(0, 2**63, (30, 2), np.uint64)
        reply = self.service.upload(self.stored.survey_id, encode_batch(self.stored.survey_id, reports))
        self.acknowledged += 30 * (reply.status == 200)
        return reply.status

    def must_be_whole(self) -> None:
        """Everything that was acknowledged is counted once."""
        assert self.service.store.tally(self.stored.survey_id).count == self.acknowledged
        assert check(self.service.store).problems == ()


def test_a_disk_that_is_full_of_pages_that_nobody_uses(tmp_path: Path) -> None:
    """Reports were folded and their pages are free: they are given back to the disk, and no survey need be closed."""
    disk = tmp_path / "disk"
    with small_disk(disk, "48m"), running(str(disk / "a.db"), fold_seconds=3600) as service:
        uploads = LargeReports(service)
        number = 0
        while uploads.send(number) == 200:
            number += 1
            assert number < 60
        wait_for_readiness(service, 200)
        assert (disk / "a.db").stat().st_size < 1 << 20
        assert uploads.send(number) == 200, "the upload that was refused is taken"
        uploads.must_be_whole()


def test_uploads_that_come_together_leave_room_for_the_log(tmp_path: Path) -> None:
    """Many wait for a lock and would share a commit, which the file has no room for: the log can be emptied anyway."""
    disk = tmp_path / "disk"
    with small_disk(disk, "100m"), running(str(disk / "a.db"), fold_seconds=0.5) as service:
        uploads, others = LargeReports(service), Uploads(service, "others")
        assert others.send()
        with open(disk / "ballast", "wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, shutil.disk_usage(disk).free - (36 << 20))
        holder = sqlite3.connect(disk / "a.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(30) as pool:
            replies = [pool.submit(uploads.send, number) for number in range(30)]
            wait_until(lambda: service.collector.budget.waiting > 28 << 20)
            holder.execute("ROLLBACK")
            holder.close()
            assert {reply.result() for reply in replies} <= {200, 503}
        path = f"/v1/surveys/{uploads.stored.survey_id.hex()}"
        wait_until(lambda: service.ask("POST", f"{path}/close", owner=True).status == 200)
        wait_for_readiness(service, 200)
        assert others.send()
        uploads.must_be_whole()


def test_a_log_that_somebody_reads_leaves_room_for_itself(tmp_path: Path) -> None:
    """While a program reads for long, the log only grows: uploads are refused before it cannot be emptied any more."""
    disk = tmp_path / "disk"
    with small_disk(disk, "32m"), running(str(disk / "a.db"), fold_seconds=0.1) as service:
        uploads = Uploads(service)
        assert uploads.send()
        with somebody_reads(disk / "a.db"):
            uploads.until_refused()
            wait_for_readiness(service, 503)
            assert shutil.disk_usage(disk).free > 8 << 20, "as much as is in the log, less the reserve"
        wait_for_readiness(service, 200)
        assert (disk / "a.db-wal").stat().st_size < 2 << 20
        assert uploads.send()
        uploads.must_be_whole()


def test_a_fold_leaves_room_for_the_log(tmp_path: Path) -> None:
    """A fold writes to the log, too: it waits while the log could not be emptied after it."""
    disk = tmp_path / "disk"
    with small_disk(disk, "32m"), running(str(disk / "a.db"), fold_seconds=3600) as service:
        uploads = Uploads(service)
        assert uploads.send()
        with somebody_reads(disk / "a.db"):
            with open(disk / "a.db-wal", "ab") as log:
                log.write(bytes(shutil.disk_usage(disk).free - (4 << 20)))
            with pytest.raises(StoreFull, match="disk is full"):
                service.store.tally(uploads.stored.survey_id)
        uploads.must_be_whole()


def test_a_long_log_is_emptied_before_the_disk_counts_as_full(tmp_path: Path) -> None:
    """The log takes most of the disk, and nobody needs it any more: no upload is refused for it."""
    disk = tmp_path / "disk"
    with small_disk(disk, "32m"), running(str(disk / "a.db"), fold_seconds=3600) as service:
        uploads = Uploads(service)
        assert uploads.send()
        with open(disk / "a.db-wal", "ab") as log:
            log.write(bytes(20 << 20))
        assert uploads.send()
        assert (disk / "a.db-wal").stat().st_size < 4 << 20
        uploads.must_be_whole()


def test_more_room_is_asked_for_only_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk was full again and again, and so much room will never come: what is there is used after a while."""
    monkeypatch.setattr(disk_guard, "FULL_SECONDS", 2.0)
    disk = tmp_path / "disk"
    with small_disk(disk, "16m"), running(str(disk / "a.db"), fold_seconds=0.1) as service:
        uploads = Uploads(service)
        assert uploads.send()
        (disk / "ballast").write_bytes(bytes(9 << 20))
        for _ in range(6):
            service.store.guard.reserve.demand_more()
        service.collector.note_failure(StoreFull("the disk is full"))
        wait_for_readiness(service, 503)
        wait_for_readiness(service, 200)
        assert uploads.send()
        uploads.must_be_whole()


def test_an_owner_can_close_on_a_full_disk_that_nobody_noticed(tmp_path: Path) -> None:
    """Nothing came since another program filled the disk: the first try finds it full, and the next one has room."""
    disk = tmp_path / "disk"
    with small_disk(disk), running(str(disk / "a.db"), fold_seconds=3600) as service:
        uploads = Uploads(service)
        assert uploads.send()
        fill(disk / "ballast")
        path = f"/v1/surveys/{uploads.stored.survey_id.hex()}/close"
        wait_until(lambda: service.ask("POST", path, owner=True).status == 200)
        uploads.must_be_whole()


@pytest.mark.parametrize("table", ["hubbub_report_ids", "hubbub_tallies"])
def test_damaged_pages(tmp_path: Path, table: str) -> None:
    """Pages of the ids or of the tallies are overwritten: uploads get 503, and readiness says so, too."""
    database = tmp_path / "a.db"
    with running(str(database), fold_seconds=0.1) as service:
        uploads = Uploads(service)
        for _ in range(20):
            assert uploads.send()
        uploads.must_be_whole()
    with sqlite3.connect(database) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    connection.close()
    with open(database, "r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\x55" * 4096)
    with running(str(database), fold_seconds=0.1) as service:
        wait_until(lambda: service.upload(uploads.stored.survey_id, uploads.body()).status == 503)
        for _ in range(2):
            assert service.upload(uploads.stored.survey_id, uploads.body()).kind == "unavailable"
            wait_for_readiness(service, 503)
            assert service.ask("GET", "/healthz").status == 200


def test_a_database_that_is_deleted_while_it_is_served(tmp_path: Path) -> None:
    """What would be written to a file that nobody can find again is not acknowledged."""
    database = tmp_path / "a.db"
    with running(str(database), fold_seconds=0.1) as service:
        uploads = Uploads(service)
        assert uploads.send()
        uploads.must_be_whole()
        database.rename(tmp_path / "moved.db")
        assert not uploads.send()
        wait_for_readiness(service, 503)
        (tmp_path / "moved.db").rename(database)
        wait_for_readiness(service, 200)
        assert uploads.send()
        uploads.must_be_whole()


def test_a_database_that_may_not_be_written(tmp_path: Path) -> None:
    """SQLite says that the database is read-only."""
    read_only = False
    with running(str(tmp_path / "a.db"), fold_seconds=0.1) as service:

        @event.listens_for(service.store.engine, "checkout")
        def _apply(connection: object, _record: object, _proxy: object) -> None:
            connection.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")

        def switch(to: bool) -> None:
            nonlocal read_only
            read_only = to

        fail_and_recover(service, lambda: switch(True), lambda: switch(False))


def test_a_postgresql_that_may_not_be_written(postgresql: str) -> None:
    """PostgreSQL is switched to read-only, and every connection is cut, and back."""
    database = new_postgresql_database(postgresql)
    name = database.partition("?")[0].rpartition("/")[2]

    def switch(value: str) -> None:
        with psycopg.connect(postgresql, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

    with running(database, fold_seconds=0.1) as service:
        fail_and_recover(service, lambda: switch("on"), lambda: switch("off"))
