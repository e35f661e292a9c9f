"""The client and relays: what it seals the collector opens, and it answers a survey only as that asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collector.service import Service, running, wait_until
from tests.collector.test_gateway import Sealed, relayed
from tests.relay.running import relay_process

from hubbub import Integers, create_survey
from hubbub.client import Client, ClientError, Ledger
from hubbub.client.sealing import is_key_of, seal
from hubbub.client.survey import read_survey
from hubbub.errors import WireError
from hubbub.sealing.hpke import PrivateKey, make_private
from hubbub.sealing.request import REQUEST_BYTES, Opened
from hubbub.sealing.sealed import open_request
from hubbub.store.sealing_keys import sealing_key
from hubbub.store.tokens import replace_token

CLOSES = "2030-01-31T00:00:00Z"


def document(private: bytes, epsilon: str = "6", **changes: object) -> bytes:
    """The document of a survey whose reports are sealed for a key."""
    import hashlib

    key = hashlib.sha256(PrivateKey(private).public).hexdigest()
    facts = {"closes": CLOSES, "through": "relay", "crowd": 3, "key": key}
    survey = create_survey("sealed", Integers(8), epsilon, **facts)
    if not changes:
        return survey.to_json()
    data = {**json.loads(survey.to_json()), **changes}
    data = {name: value for name, value in data.items() if value is not ...}
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def test_what_the_client_seals_the_collector_opens() -> None:
    """The two implementations agree, whatever the length of the report; each request has one size and is new."""
    private = make_private()
    survey, key = read_survey(document(private)), PrivateKey(private)
    assert is_key_of(survey, key.public)
    assert not is_key_of(survey, PrivateKey(make_private()).public)
    for length in (1, 17, 63):
        made = {seal(survey, key.public, b"r" * length) for _ in range(3)}
        assert len(made) == 3
        for request in made:
            assert len(request) == REQUEST_BYTES
            assert open_request(key, request) == Opened(survey.survey_id, b"r" * length)
    with pytest.raises(WireError):
        open_request(PrivateKey(make_private()), next(iter(made)))
    with pytest.raises(ClientError, match="no point"):
        seal(survey, b"\4" + bytes(64), b"r")


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"through": "post"}, "through must be"),
        ({"crowd": 1}, "crowd must be"),
        ({"crowd": 10**6 + 1}, "crowd must be"),
        ({"crowd": True}, "crowd must be"),
        ({"key": "AB" * 32}, "key must be"),
        ({"key": 7}, "key must be"),
        ({"crowd": ...}, "must have the fields"),
        ({"through": ...}, "must have the fields"),
        ({"closes": None}, "must say when it closes"),
        ({"opens": "2028-01-01T00:00:00Z"}, "must close in 366 days"),
    ],
)
def test_documents_that_do_not_fit_are_refused(changes: dict, rule: str) -> None:
    """The client checks the fields by itself: a survey comes from a stranger."""
    with pytest.raises(ClientError, match=rule):
        read_survey(document(make_private(), **changes))


def test_a_survey_is_answered_in_its_own_way_or_not_at_all(tmp_path: Path) -> None:
    """A plain client refuses a survey through a relay, and one with a relay all others; the limits are 4 and 6."""
    through, url = document(make_private()), "https://collector.example/v1/surveys/"
    plain = create_survey("plain", Integers(8), 4, closes=CLOSES).to_json()
    above = document(make_private(), epsilon="6.01")

    def make(text: bytes, relay: str | None) -> Client:
        """Make a client of this document."""
        address = url + read_survey(text).survey_id.hex()
        return Client(text, url=address, ledger=tmp_path / "ledger.json", relay=relay)

    for text, relay, rule in (
        (through, None, "through a relay only"),
        (plain, "https://relay.example", "no reports through a relay"),
        (above, "https://relay.example", "at most ε = 6,"),
    ):
        with pytest.raises(ClientError, match=rule):
            make(text, relay)
    for relay in ("http://relay.example", "relay.example", "https://a@b", "https://x/?y", "file:///x", "https://x y"):
        with pytest.raises(ClientError, match="a relay's address must be"):
            make(through, relay)
    make(through, "https://relay.example").close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A collector."""
    with running(str(tmp_path / "collector.db")) as started:
        yield started


def address(service: Service, survey: Sealed) -> str:
    """The address of a survey."""
    return f"{service.url}/v1/surveys/{survey.stored.survey_id.hex()}"


@pytest.mark.slow
def test_three_people_answer_through_a_relay(service: Service, tmp_path: Path) -> None:
    """Each has the local ε in her ledger; the report is queued while no relay is there, and arrives when one is."""
    survey, token = relayed(service, crowd=3), replace_token(service.store.engine, "relay")
    url = address(service, survey)
    with Client(url, relay="http://127.0.0.1:9", ledger=tmp_path / "0.json", first_retry=0.01) as first:
        first.report(7)
        wait_until(lambda: first.ledger.read() != {} and first.flush(0.1).status == "queued")
    (entry,) = Ledger(tmp_path / "0.json").read().values()
    assert (entry["epsilon"], entry["relay"]) == ("4", "http://127.0.0.1:9/v1/sealed")
    key = sealing_key(service.store.engine, bytes.fromhex(survey.stored.survey.key or ""))
    assert key is not None
    assert open_request(key.private, bytes.fromhex(entry["report"])).survey_id == survey.stored.survey_id
    with relay_process(tmp_path, service.url, token) as relay:
        for number in (1, 2, 3):
            ledger = tmp_path / f"{number}.json"
            with Client(url, relay=relay.url, ledger=ledger, first_retry=0.05) as client:
                assert client.report(7).status in ("waiting", "queued")
                assert client.flush(60).status == "sent"
                assert client.report(7).status == "already"
            (entry,) = Ledger(ledger).read().values()
            assert (entry["state"], entry["report"]) == ("sent", "")
        wait_until(lambda: service.store.tally(survey.stored.survey_id).count == 3)


@pytest.mark.slow
def test_a_key_of_ones_own_is_not_used(service: Service, tmp_path: Path) -> None:
    """A collector that gives somebody another key than the survey names gets no report."""
    import sqlalchemy

    from hubbub.store.schema import sealing_keys, writing

    survey = relayed(service, crowd=3)
    with writing(service.store.engine) as connection:
        other = PrivateKey(make_private()).public
        connection.execute(sqlalchemy.update(sealing_keys).values(public=other))
    with Client(address(service, survey), relay="http://127.0.0.1:9", ledger=tmp_path / "a.json") as client:
        client.report(7)
        wait_until(lambda: "not the key" in client.flush(0.1).detail)
        assert client.ledger.read() == {}
