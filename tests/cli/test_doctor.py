"""`hubbub doctor`: each trouble is seen and told, with what to do."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.client.peer import Peer, serving
from tests.collector.service import running

from hubbub import Integers, create_survey
from hubbub.store.store import Store

pytestmark = pytest.mark.slow

Findings = dict[str, tuple[str, str]]


@pytest.fixture
def ask(hubbub_cli: Callable) -> Callable[..., Findings]:
    """Run the doctor; what it found, by what it is about. The exit code is 2 if something is wrong."""

    def run(*args: object) -> Findings:
        done = hubbub_cli("doctor", *args, "--json")
        document = json.loads(done.stdout)
        assert (done.returncode == 2) == (document["wrong"] > 0)
        return {each["about"]: (each["verdict"], each["sentence"]) for each in document["findings"]}

    return run


def test_a_collector_that_is_well(tmp_path: Path, ask: Callable[..., Findings], hubbub_cli: Callable) -> None:
    """The database, the disk, the clock, and the survey as a device sees it."""
    database = str(tmp_path / "a.db")
    with running(database) as service:
        survey = service.store.add_survey(create_survey("x", Integers(8), 1)).survey
        url = f"{service.url}/v1/surveys/{survey.survey_id.hex()}"
        found = ask("--db", database, "--survey", url)
        table = hubbub_cli("doctor", "--db", database).stdout
    assert {about for about, (level, _) in found.items() if level == "wrong"} == set()
    assert found["survey"][0] == found["uploads"][0] == found["pages"][0] == found["permissions"][0] == "ok"
    assert found["TLS"][0] == found["metrics"][0] == "look"
    assert len(table.splitlines()) < 16
    assert service.store.tally(survey.survey_id).count == 0


def test_a_survey_for_one_site_is_well(tmp_path: Path, ask: Callable[..., Findings]) -> None:
    """Pages of other sites are refused, as they should be; devices and pages of the site are not."""
    database = str(tmp_path / "a.db")
    with running(database) as service:
        survey = service.store.add_survey(create_survey("x", Integers(8), 1), ["https://shop.example"]).survey
        found = ask("--db", database, "--survey", f"{service.url}/v1/surveys/{survey.survey_id.hex()}")
    assert found["survey"][0] == found["uploads"][0] == "ok"
    assert found["web pages"] == (
        "ok",
        "the headers that browsers need arrive; only pages of its own sites may report",
    )
    assert found["surveys"] == ("ok", "1 survey, none known to be damaged")


def test_what_is_wrong_with_a_database(tmp_path: Path, ask: Callable[..., Findings]) -> None:
    """No file, an empty one, other readers, damage and an older version are told."""
    path = tmp_path / "a.db"
    assert ask("--db", path)["database"][0] == "wrong"
    path.touch()
    assert "store restore" in ask("--db", path)["database"][1]
    path.unlink()
    with Store(str(path)) as store:
        store.add_survey(create_survey("x", Integers(8), 1))
    path.chmod(0o644)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE hubbub_surveys SET damage = 'a tally must match its checksum'")
    connection.close()
    found = ask("--db", path)
    assert found["permissions"][0] == "look"
    assert found["surveys"] == ("wrong", "1 of 1 are damaged: `hubbub store check` names them")
    before = path.read_bytes()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE hubbub_meta SET value = '99' WHERE name = 'schema_version'")
    connection.close()
    assert "install a newer hubbub" in ask("--db", path)["version"][1]
    assert path.read_bytes() != before


@pytest.mark.parametrize("fault", ["problem 404", "page 200", "redirect /x", "drop"])
def test_what_devices_meet(tmp_path: Path, ask: Callable[..., Findings], fault: str) -> None:
    """A survey that is not there, a sign-in page, a redirect and a connection that breaks are not taken for health."""
    survey = create_survey("x", Integers(8), 1)
    Store(str(tmp_path / "a.db")).close()
    with serving(Peer(survey)) as peer:
        peer.faults = [fault]
        assert ask("--db", tmp_path / "a.db", "--survey", peer.url(survey))["survey"][0] == "wrong"
