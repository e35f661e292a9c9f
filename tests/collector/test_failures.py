"""Disks that are full and databases that cannot be written: 503, nothing acknowledged, and all is well afterwards."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import event
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Service, running
from tests.databases import new_postgresql_database

from hubbub.store.store import StoredSurvey
from hubbub.store.upkeep import check
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

CELLS = 200_000
EACH = 500


class Uploads:
    """Batches one after the other, and what was acknowledged."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.stored: StoredSurvey = service.store.add_survey(own_cell_survey(CELLS))
        self.acknowledged = 0
        self.next = 0

    def body(self) -> bytes:
        """The batch that comes next."""
        cells = list(range(self.next * EACH, (self.next + 1) * EACH))
        return encode_batch(self.stored.survey_id, some_reports(cells, seed=self.next))

    def send(self) -> bool:
        """Whether the next batch was taken; all of it is new then, so no refusal before had left anything behind."""
        reply = self.service.upload(self.stored.survey_id, self.body())
        if reply.status == 503:
            assert reply.kind == "unavailable"
            assert int(reply.headers["retry-after"]) > 0
            assert reply.json["detail"] == "nothing can be stored now; send this again later"
            metrics = self.service.ask("GET", "/metrics").body.decode()
            assert re.search(r"^hubbub_commit_failures_total [1-9]\d*\.0$", metrics, re.MULTILINE)
            return False
        assert reply.json["accepted"] == EACH, reply
        self.acknowledged += EACH
        self.next += 1
        return True

    def until_refused(self) -> None:
        """Send until the disk is full."""
        for _ in range(CELLS // EACH - 10):
            if not self.send():
                return
        pytest.fail("the disk was never full")

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
    assert uploads.send(), "the batch that was refused is taken as new"
    assert uploads.send()
    wait_for_readiness(service, 200)
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
def small_disk(folder: Path) -> Iterator[None]:
    """A disk of two megabytes, where the system lets us have one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk needs rights that this user has not")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """A real disk with no room left."""
    disk = tmp_path / "disk"
    with small_disk(disk), running(str(disk / "a.db"), fold_seconds=0.1) as service:
        ballast = disk / "ballast"

        def fill() -> None:
            with open(ballast, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass

        # A fold may make a little room, so that some more is taken before the next refusal.
        fail_and_recover(service, fill, ballast.unlink, partly=True)


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
