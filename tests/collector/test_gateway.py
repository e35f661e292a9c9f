"""The gateway: releases of a relay are opened and counted once, and nothing else is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.collector.service import Reply, Service, running

from hubbub import Integers, SeededRandomWords, Survey, create_survey, mechanism_for
from hubbub.sealing.hpke import PrivateKey
from hubbub.sealing.release import MOST_REQUESTS, Part, pack_part, parts_of, requests_of
from hubbub.sealing.request import Opened
from hubbub.sealing.sealed import seal_request
from hubbub.store.life_cycle import close_survey
from hubbub.store.releases import released
from hubbub.store.reports import Upload, append
from hubbub.store.sealing_keys import new_key
from hubbub.store.store import StoredSurvey
from hubbub.store.tokens import replace_token


class Sealed(NamedTuple):
    """A stored survey through a relay, and the public half of its key."""

    stored: StoredSurvey
    public: bytes

    def reports(self, number: int, seed: int = 1) -> list[bytes]:
        """Reports of so many people, made with this seed."""
        mechanism = mechanism_for(self.stored.survey)
        words = SeededRandomWords(seed).draw(number, mechanism.random_words_per_report)
        made = mechanism.randomize(self.stored.survey.domain.encode([7] * number), words)
        return [report.tobytes() for report in made]

    def seal(self, report: bytes, crowd: int | None = None, survey_id: bytes | None = None) -> bytes:
        """A sealed request with this report."""
        opened = Opened(survey_id or self.stored.survey_id, report)
        return seal_request(self.public, crowd or self.stored.survey.crowd or 0, opened)

    def requests(self, number: int, seed: int = 1) -> list[bytes]:
        """Sealed requests of so many people."""
        return [self.seal(report) for report in self.reports(number, seed)]


def relayed(service: Service, crowd: int = 3) -> Sealed:
    """A survey through a relay."""
    private, facts = new_key(crowd)
    closes = datetime.now(UTC) + timedelta(days=30)
    survey: Survey = create_survey(f"ids {os.urandom(8).hex()}", Integers(8), 4, closes=closes, **facts)
    return Sealed(service.store.add_survey(survey, private=private), PrivateKey(private).public)


def whole(requests: list[bytes], release: bytes | None = None) -> bytes:
    """A release of one part."""
    return pack_part(Part(release or os.urandom(16), 0, 1, len(requests), requests))


class Relay:
    """A collector with a relay's token."""

    def __init__(self, service: Service) -> None:
        self.service, self.token = service, replace_token(service.store.engine, "relay")

    def send(self, data: bytes, token: str | None = None) -> Reply:
        """Send a part."""
        return self.service.ask("POST", "/v1/releases", data, Authorization=f"Bearer {token or self.token}")

    def counts(self, data: bytes) -> tuple[int, int, int]:
        """Send a part that is taken; return how many were accepted, duplicate and invalid."""
        reply = self.send(data)
        assert reply.status == 200, reply.body
        return reply.json["accepted"], reply.json["duplicate"], reply.json["invalid"]


@pytest.fixture
def relay(database: str) -> Iterator[Relay]:
    """A collector of one's own."""
    with running(database) as started:
        yield Relay(started)


def count(relay: Relay, survey: Sealed) -> int:
    """The reports in the sums of a survey."""
    return relay.service.store.tally(survey.stored.survey_id).count


def known(relay: Relay, survey: Sealed) -> tuple[int, int]:
    """How many releases there are, and the smallest."""
    return tuple(released(relay.service.store.engine, survey.stored.key))


def test_a_release_counts_once_however_often_it_is_sent(relay: Relay) -> None:
    """The first time all reports are new; the same release, and its reports in another release, change nothing."""
    survey = relayed(relay.service)
    requests = survey.requests(5)
    data = whole(requests)
    assert known(relay, survey) == (0, 0)
    assert relay.counts(data) == (5, 0, 0)
    assert relay.counts(data) == (0, 5, 0)
    assert known(relay, survey) == (1, 5)
    assert relay.counts(whole(requests[:4])) == (0, 4, 0)  # over two releases: it hides nobody
    assert known(relay, survey) == (1, 5)
    again = [survey.seal(report) for report in survey.reports(5)]  # sealed anew
    assert relay.counts(whole(again)) == (0, 5, 0)
    assert count(relay, survey) == 5


def test_a_report_twice_in_a_release_counts_once(relay: Relay) -> None:
    """Ids make it exactly once, whether the bytes are the same or sealed anew; it hides nobody twice."""
    survey = relayed(relay.service)
    first, second = survey.reports(2)
    requests = [survey.seal(first), survey.seal(first), survey.seal(second)]
    assert relay.counts(whole([*requests, requests[2]])) == (2, 2, 0)
    assert (count(relay, survey), known(relay, survey)) == (2, (1, 2))


def test_what_does_not_belong_is_counted_as_invalid(relay: Relay) -> None:
    """Another survey, crowd, key or size, and garbage, bring nothing; the rest of the release counts."""
    survey, other = relayed(relay.service), relayed(relay.service)
    (good, *_), report = survey.requests(2), survey.reports(1, seed=2)[0]
    broken = bytearray(survey.seal(report))
    broken[-1] ^= 1
    bad = [
        survey.seal(report, survey_id=other.stored.survey_id),
        survey.seal(report, crowd=2),
        survey.seal(report + b"\0"),
        survey.seal(report[:-1]),
        survey.seal(b"\xff" * len(report)),  # no device would send it
        other.requests(1)[0],
        bytes(broken),
        bytes(214),
    ]
    assert relay.counts(whole([good, *bad])) == (1, 0, len(bad))
    assert known(relay, survey) == (1, 1)
    assert known(relay, other) == (0, 0)


def test_releases_for_nobody_bring_nothing(relay: Relay) -> None:
    """An unknown key, another crowd than the survey's, a closed and a deleted survey: all requests are invalid."""
    survey = relayed(relay.service)
    nobody = Sealed(survey.stored, PrivateKey(bytes(31) + b"\1").public)
    assert relay.counts(whole(nobody.requests(3))) == (0, 0, 3)
    lowered = [survey.seal(report, crowd=2) for report in survey.reports(3)]
    assert relay.counts(whole(lowered)) == (0, 0, 3)
    close_survey(relay.service.store, survey.stored.survey_id)
    assert relay.counts(whole(survey.requests(3))) == (0, 0, 3)
    assert count(relay, survey) == 0


def test_a_release_below_the_crowd_is_refused(relay: Relay) -> None:
    """Nothing of it is stored: two people are no crowd of three."""
    survey = relayed(relay.service, crowd=3)
    reply = relay.send(whole(survey.requests(2)))
    assert (reply.status, reply.kind) == (422, "small-release")
    assert (count(relay, survey), known(relay, survey)) == (0, (0, 0))


def test_only_the_relay_may_send(relay: Relay) -> None:
    """No token, a wrong one, the owner's, and a former one are refused before the body is read."""
    survey = relayed(relay.service)
    data = whole(survey.requests(3))
    former = relay.token
    relay.token = replace_token(relay.service.store.engine, "relay")
    for token in ("x", relay.service.token, former, f"{relay.token}x"):
        reply = relay.send(data, token)
        assert (reply.status, reply.kind) == (401, "no-relay")
    assert relay.service.ask("POST", "/v1/releases", data).status == 401
    assert relay.service.ask("GET", "/v1/surveys", Authorization=f"Bearer {relay.token}").status == 401
    assert count(relay, survey) == 0
    assert relay.counts(data) == (3, 0, 0)


def test_a_release_is_complete_when_all_of_its_parts_are_there(relay: Relay) -> None:
    """Until then nothing is known of it. Parts may come in any order, and again; the smallest release counts."""
    survey = relayed(relay.service)
    size = MOST_REQUESTS + 5
    made, release = survey.requests(8), os.urandom(16)
    garbage = [made[0][:38] + bytes(176)] * size
    for place, part in ((0, 1), (1, 0)):
        start = part * MOST_REQUESTS
        requests = garbage[start : start + requests_of(part, size)]
        requests[0] = made[place]
        requests[1:3] = made[2 + 2 * place : 4 + 2 * place]
        data = pack_part(Part(release, part, parts_of(size), size, requests))
        assert relay.counts(data) == (3, 0, len(requests) - 3)
        assert relay.counts(data)[:2] == (0, 3)
        assert known(relay, survey) == ((0, 0) if place == 0 else (1, 6))
    assert relay.counts(whole([*survey.requests(4, seed=3)])) == (4, 0, 0)
    assert known(relay, survey) == (2, 4)


def test_a_part_whose_reports_were_all_known_does_not_count_again(relay: Relay) -> None:
    """A crash after the commit and before the reply: the part is sent again, and its first count stays."""
    survey = relayed(relay.service)
    mechanism = mechanism_for(survey.stored.survey)
    import numpy as np

    reports = np.frombuffer(b"".join(survey.reports(3)), mechanism.report_dtype)
    upload = Upload(survey.stored.key, reports, part=(b"r" * 16, 0, 1))
    for _ in range(2):
        append(relay.service.store.engine, [upload])
        assert known(relay, survey) == (1, 3)
    assert relay.counts(whole(survey.requests(3), b"r" * 16)) == (0, 3, 0)
    assert known(relay, survey) == (1, 3)


@pytest.mark.slow
def test_whatever_comes_is_answered(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Bytes made up, and releases changed here and there, are taken or refused with a problem; no 5xx."""
    with running(str(tmp_path_factory.mktemp("fuzz") / "a.db")) as service:
        relay = Relay(service)
        survey = relayed(service)
        good = whole(survey.requests(4))

        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        @given(data=st.binary(max_size=300), place=st.integers(0, len(good)), replace=st.booleans())
        def attempt(data: bytes, place: int, replace: bool) -> None:
            for body in (data, good[:place] + data + good[place + replace * len(data) :]):
                reply = relay.send(body)
                assert reply.status in (200, 400, 422), reply.body
                assert reply.status == 200 or reply.kind

        attempt()
        assert count(relay, survey) <= 4


def test_the_status_has_three_figures(relay: Relay) -> None:
    """The local ε until a release is complete; then the collector's figure is that of the smallest release."""
    survey = relayed(relay.service, crowd=40)
    path = f"/v1/surveys/{survey.stored.survey_id.hex()}/status"
    before = relay.service.ask("GET", path, owner=True).json["relay"]
    assert (before["crowd"], before["people"], before["collector"], before["both"]) == (40, 0, 4, 4)
    assert relay.counts(whole(survey.requests(60))) == (60, 0, 0)
    after = relay.service.ask("GET", path, owner=True).json["relay"]
    assert (after["people"], after["both"]) == (60, 4)
    assert after["collector"] < 4
    assert relay.service.ask("GET", "/v1/surveys", owner=True).json["surveys"][0]["relay"] is None
