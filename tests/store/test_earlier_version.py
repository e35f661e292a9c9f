"""A store with surveys of an earlier version opens: these are closed and kept as they were, and the others go on.

The store was made by the last version whose surveys of `tree` had depths. For each of these surveys, number 1 to 3:

    survey = create_survey(name, domain, 1, expected_reports=1000, public_seed=bytes([number]) * 32)
    mechanism, stored = mechanism_for(survey), store.add_survey(survey)
    words = SeededRandomWords(number).draw(40, mechanism.random_words_per_report)
    reports = mechanism.randomize(domain.encode(values), words)
    append(store.engine, [Upload(stored.key, reports[:30])])
    store.tally(survey.survey_id)
    append(store.engine, [Upload(stored.key, reports[30:])])

`hosts` is of Hostnames() with 40 times "example.org", `numbers` of Integers(32) with 40 times 7, and `colors` of
Categories(["red", "green", "blue"]) with 30 times "red" and 10 times "blue". Then the file was vacuumed and packed.
"""

from __future__ import annotations

import json
import logging
import lzma
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import select, update
from tests.collector.service import Service, running, wait_until
from tests.store.earlier import turn_back

from hubbub import SeededRandomWords, mechanism_for
from hubbub.cli.main import app
from hubbub.dashboard.app import create_app
from hubbub.store.keys import make_code
from hubbub.store.overview import list_surveys
from hubbub.store.restoring import restore
from hubbub.store.schema import meta, pending, reading, report_ids, surveys, tallies, writing
from hubbub.store.store import Store
from hubbub.store.upkeep import backup, check
from hubbub.wire.report_batch import encode_batch

PACKED = Path(__file__).parent.parent / "data" / "store_version_4.db.xz"
EARLIER = ("hosts", "numbers")
WHAT_TO_DO = "the survey is of an earlier version of hubbub: use that version to read its tally"


class Old:
    """What the store holds: documents and tallies by name, in the earlier version's own bytes."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(lzma.decompress(PACKED.read_bytes()))
        query = "SELECT document, survey_id, tally FROM hubbub_surveys JOIN hubbub_tallies ON survey = key"
        with closing(sqlite3.connect(file)) as connection:
            rows = connection.execute(query).fetchall()
        self.file = file
        self.documents = {json.loads(document)["name"]: document for document, _, _ in rows}
        self.ids = dict(zip(self.documents, [survey_id for _, survey_id, _ in rows], strict=True))
        self.tallies = dict(zip(self.documents, [tally for _, _, tally in rows], strict=True))

    def path(self, name: str) -> str:
        """The route of a survey."""
        return f"/v1/surveys/{self.ids[name].hex()}"


@pytest.fixture
def old(tmp_path: Path) -> Old:
    """The store of the earlier version, in a file."""
    return Old(tmp_path / "old.db")


@pytest.fixture
def service(database: str, old: Old) -> Iterator[Service]:
    """A collector of this version, with its dashboard, on a database as the earlier version left it."""
    if "://" in database:
        restore(old.file, database)
        with Store(database) as store, writing(store.engine) as connection:
            turn_back(connection, 5)
            connection.execute(update(surveys).values(state="open"))
            connection.execute(update(meta).where(meta.c.name == "schema_version").values(value="4"))
    else:
        Path(database).write_bytes(old.file.read_bytes())
    with running(database, build=create_app) as started:
        yield started


def kept(store: Store, old: Old) -> list[object]:
    """Everything that a store has of the surveys of the earlier version."""
    mine = [old.ids[name] for name in EARLIER]
    with reading(store.engine) as connection:
        keys = list(connection.scalars(select(surveys.c.key).where(surveys.c.survey_id.in_(mine))))
        return [
            connection.execute(select(table).where(column.in_(keys)).order_by(*table.primary_key)).all()
            for table, column in (
                (surveys, surveys.c.key),
                (tallies, tallies.c.survey),
                (pending, pending.c.survey),
                (report_ids, report_ids.c.survey),
            )
        ]


def dump(file: Path) -> list[str]:
    """All tables of a SQLite file, as SQL."""
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


def test_surveys_of_an_earlier_version_are_closed_and_kept(
    service: Service, old: Old, caplog: pytest.LogCaptureFixture
) -> None:
    """They are listed as such, their documents and tallies can be read, and all else is refused in one sentence."""
    listed = service.ask("GET", "/v1/surveys", owner=True).json["surveys"]
    states = [(each["name"], each["state"], each["reports"], each["damage"]) for each in listed]
    assert states == [
        ("hosts", "earlier version", 40, None),
        ("numbers", "earlier version", 40, None),
        ("colors", "open", 40, None),
    ]
    for name in EARLIER:
        path = old.path(name)
        assert service.ask("GET", path).body == old.documents[name]
        assert service.ask("GET", f"{path}/tally", owner=True).body == old.tallies[name]
        assert service.ask("GET", f"{path}/status", owner=True).json["state"] == "earlier version"
        refused = service.upload(old.ids[name], b"\1" + old.ids[name] + bytes(17))
        assert (refused.status, refused.kind) == (410, "closed")
        assert refused.json["detail"] == "the survey is closed and takes no more reports"
        for method, route, headers in (
            ("GET", "hitters", {}),
            ("POST", "close", {}),
            ("POST", "tallies", {"Idempotency_Key": "a"}),
        ):
            reply = service.ask(method, f"{path}/{route}", owner=True, **headers)
            assert (reply.status, reply.kind, reply.json["detail"]) == (410, "closed", WHAT_TO_DO), route
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_everything_else_goes_on(service: Service, old: Old) -> None:
    """Another survey folds, takes reports and answers; nothing fails or waits, and no damage is found."""
    path = old.path("colors")
    stored = service.store.survey(old.ids["colors"])
    words = SeededRandomWords(4).draw(1, mechanism_for(stored.survey).random_words_per_report)
    report = stored.mechanism.randomize(stored.survey.domain.encode(["green"]), words)
    assert service.upload(stored.survey_id, encode_batch(stored.survey_id, report)).json["accepted"] == 1
    assert service.ask("GET", f"{path}/hitters", owner=True).json["reports"] == 41
    wait_until(lambda: [each.pending for each in list_surveys(service.store.engine)] == [10, 10, 0])
    assert service.ask("GET", "/readyz").status == 200
    lines = service.ask("GET", "/metrics", owner=True).body.decode().splitlines()
    assert {"hubbub_fold_failures_total 0.0", "hubbub_damaged_surveys 0.0", "hubbub_pending_reports 20.0"} <= {*lines}
    found = check(service.store)
    assert (found.problems, found.reports, found.pending, found.ids) == ((), 30 + 30 + 41, 20, 40 + 40 + 41)


def test_copies_have_them_as_they_were(service: Service, old: Old, tmp_path: Path) -> None:
    """A backup and what is restored from it have every row; a copy of the earlier version is upgraded when restored."""
    rows = kept(service.store, old)
    backup(service.store, tmp_path / "copy.db")
    for copy in (tmp_path / "copy.db", old.file):
        again = tmp_path / f"again-{copy.name}"
        assert restore(copy, str(again)) == 3
        with Store(str(again)) as store:
            assert kept(store, old) == rows


def test_one_of_them_can_be_deleted(service: Service, old: Old) -> None:
    """Nothing of it is left."""
    assert service.ask("DELETE", old.path("hosts"), owner=True).status == 204
    wait_until(lambda: len(kept(service.store, old)[0]) == 1)
    assert [len(rows) for rows in kept(service.store, old)] == [1, 1, 1, 40]


def test_the_dashboard_names_them(service: Service, old: Old) -> None:
    """The list has a badge, the survey's page says what to do, and the page that deletes it is there."""
    body = json.dumps({"code": make_code(service.store.engine)}).encode()
    cookie = service.ask("POST", "/login", body, Origin=service.url).headers["set-cookie"].partition(";")[0]
    page = f"/surveys/{old.ids['hosts'].hex()}"
    statuses = {"/": 200, page: 200, f"{page}/delete": 200, f"{page}/state": 200, f"{page}/answer": 410}
    replies = {path: service.ask("GET", path, Accept="text/html", Cookie=cookie) for path in statuses}
    assert {path: reply.status for path, reply in replies.items()} == statuses
    assert replies["/"].body.decode().count('<span class="badge earlier-version">earlier version</span>') == 2
    assert "Made by an earlier version" in replies[page].body.decode()
    assert WHAT_TO_DO[1:] in service.ask("GET", f"/about/{old.ids['hosts'].hex()}", Accept="text/html").body.decode()


def test_the_command_line_says_what_to_do(service: Service, old: Old, tmp_path: Path) -> None:
    """`hubbub hitters` of an address and of files ends with one sentence; `survey show` says who made the survey."""
    (tmp_path / "survey.json").write_bytes(old.documents["numbers"])
    (tmp_path / "numbers.tally").write_bytes(old.tallies["numbers"])

    def run(*words: str) -> str:
        """Everything that the command line says, as one line."""
        result = CliRunner().invoke(app, list(words), env={"HUBBUB_TOKEN": service.token, "COLUMNS": "300"})
        return " ".join(result.output.split())

    url = service.url + old.path("numbers")
    assert run("hitters", "--survey", url) == f"hubbub: the collector refused (410): {WHAT_TO_DO}"
    files = ("--survey", str(tmp_path / "survey.json"), "--tally", str(tmp_path / "numbers.tally"))
    said = "hubbub: a survey must be of this version, got an earlier one: use that to read its tally"
    assert run("hitters", *files) == said
    assert "an earlier version of hubbub made it" in run("survey", "show", "--survey", url)


def test_the_store_as_it_was_is_kept(old: Old, caplog: pytest.LogCaptureFixture) -> None:
    """The earlier version can open the copy beside the file; the log says how many reports no tally has."""
    before = dump(old.file)
    Store(str(old.file)).close()
    assert dump(old.file.with_name("old.db.version-4")) == before
    said = [record.getMessage() for record in caplog.records if "earlier version" in record.getMessage()]
    assert said == [
        f"survey {old.ids[name].hex()[:8]} was made by an earlier version and is closed; "
        "10 of its reports are not in its tally"
        for name in EARLIER
    ]
