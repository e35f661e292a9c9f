"""The client over real HTTP: one answer, delivered once, whatever the network does, and nothing told of the value."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.client.peer import Peer, serving

from hubbub import Survey, create_survey
from hubbub.client import Client, ClientError, Ledger, Result, SurveyError
from hubbub.client.survey import encode_report, read_survey
from hubbub.model.domain import Integers

SECRET = "my-very-secret-place.example"  # noqa: S105  # a value
FAST = {"first_retry": 0.005, "last_retry": 0.02, "timeout": 30.0, "spread": 0}
WAIT = 60.0


def test_a_report_arrives(peer: Peer, survey: Survey, ledger: Path) -> None:
    """By address: the survey is fetched, answered, written down, sent and settled."""
    with Client(peer.url(survey), ledger=ledger, **FAST) as client:
        assert client.report(SECRET).status in ("waiting", "queued")
        assert client.flush(WAIT) == Result("sent")
        assert client.survey_id == survey.survey_id.hex()
    (report,) = peer.counted.values()
    assert peer.posted == [b"\1" + survey.survey_id + report]
    assert peer.requests == [f"GET /v1/surveys/{client.survey_id}/open", f"POST /v1/surveys/{client.survey_id}/reports"]
    entry = Ledger(ledger).read()[client.survey_id]
    assert (entry["state"], entry["report"], entry["name"], entry["epsilon"]) == ("sent", "", "referrers", "1")


def test_a_survey_is_answered_once(peer: Peer, survey: Survey, ledger: Path) -> None:
    """A second report of any value, by this client or another, makes and sends nothing and says so."""
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as client:
        assert client.report("one.example") == Result("queued")
        assert client.report("two.example") == Result("already")
        assert client.flush(WAIT) == Result("sent")
        assert client.report("two.example") == Result("already")
    with Client(peer.url(survey), ledger=ledger, **FAST) as again:
        assert again.report("three.example") == Result("already")
        assert again.flush(WAIT) == Result("sent")
    assert len(peer.posted) == 1


def test_a_second_value_does_not_replace_the_first(survey: Survey, ledger: Path) -> None:
    """While the survey is not here yet, the first value is the one that waits for it."""
    with Client("http://127.0.0.1:1/v1/surveys/" + survey.survey_id.hex(), ledger=ledger, **FAST) as client:
        assert client.report("one.example") == Result("waiting")
        assert client.report("two.example") == Result("already")
        while not (state := client.flush(0.01)).detail:
            pass
    assert state.status == "waiting"
    assert "could not be reached" in state.detail
    assert not ledger.exists()


@pytest.mark.parametrize(
    "faults",
    [
        ["drop", "drop"],
        ["lost reply"],
        ["half a reply", "lost reply", "problem 503"],
        ["problem 503 0", "problem 500", "problem 429"],
        ["problem 403 0"],
        ["page 200", "page 404", "page 403", "page 511"],
        ["redirect http://127.0.0.1:1/elsewhere", "redirect /v1"],
        ["endless"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_faults_are_outlived(faults: list[str], peer: Peer, survey: Survey, ledger: Path) -> None:
    """After any of these the same bytes are sent again, until they are confirmed; they count once."""
    peer.faults = list(faults)
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as client:
        client.report(SECRET)
        assert client.flush(WAIT) == Result("sent")
    assert len(peer.posted) == len(faults) + 1
    assert len(set(peer.posted)) == 1
    assert len(peer.counted) == 1
    assert all(request.endswith("/reports") for request in peer.requests)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308])
def test_no_redirect_carries_anything_elsewhere(status: int, peer: Peer, survey: Survey, ledger: Path) -> None:
    """Neither the question for a survey nor a report follows a redirect, to a server that would take both."""
    with serving(Peer(survey)) as elsewhere:
        peer.faults = [
            f"redirect {elsewhere.url(survey)} {status}",
            "",
            f"redirect {elsewhere.url(survey)}/reports {status}",
        ]
        with Client(peer.url(survey), ledger=ledger, **FAST) as client:
            client.report(SECRET)
            assert client.flush(WAIT) == Result("sent")
        assert [request.split()[0] for request in peer.requests] == ["GET", "GET", "POST", "POST"]
        assert elsewhere.requests == []
    assert len(set(peer.posted)) == 1


def test_a_slow_collector_is_given_up_and_tried_again(peer: Peer, survey: Survey, ledger: Path) -> None:
    """A reply that does not come within the timeout is a fault like another."""
    peer.faults = ["slow"]
    options = {**FAST, "timeout": 0.2}
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **options) as client:
        client.report(SECRET)
        assert client.flush(WAIT) == Result("sent")
    assert len(peer.counted) == 1
    assert len(set(peer.posted)) == 1


@pytest.mark.parametrize("fault", ["problem 413", "problem 403"])
def test_a_refusal_is_final(fault: str, peer: Peer, survey: Survey, ledger: Path) -> None:
    """What the collector will never take: the report is given up, the reason is told, the entry and its cost stay."""
    peer.faults = [fault]
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as client:
        client.report(SECRET)
        result = client.flush(WAIT)
        assert client.report(SECRET) == Result("already")
    assert result == Result("refused", f"the collector refused the request: No[31m thanks ({fault.split()[1]})")
    assert len(peer.posted) == 1
    entry = Ledger(ledger).read()[survey.survey_id.hex()]
    assert (entry["state"], entry["report"], entry["epsilon"]) == ("refused", "", "1")


def test_faults_while_the_survey_is_fetched(peer: Peer, survey: Survey, ledger: Path) -> None:
    """The value waits in memory until the survey is here."""
    peer.faults = ["drop", "problem 503", "page 200", "half a reply", "endless", "other survey"]
    with Client(peer.url(survey), ledger=ledger, **FAST) as client:
        client.report(SECRET)
        assert client.flush(WAIT).status == "sent"
    assert [request.split()[0] for request in peer.requests] == ["GET"] * 7 + ["POST"]


@pytest.mark.parametrize("fault", ["problem 410", "problem 404"])
def test_a_survey_that_seems_gone_is_asked_for_a_week(fault: str, peer: Peer, survey: Survey, ledger: Path) -> None:
    """An operator's mistake looks like this, and is mended: then the report arrives."""
    peer.faults = [fault] * 3
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as client:
        client.report(SECRET)
        assert client.flush(WAIT) == Result("sent")
    assert len(peer.posted) == 4


def test_a_survey_that_is_not_there_yet(peer: Peer, survey: Survey, ledger: Path) -> None:
    """A value waits in memory while the collector knows no such survey, and is reported when it does."""
    surveys, peer.surveys = peer.surveys, {}
    with Client(peer.url(survey), ledger=ledger, **FAST) as client:
        client.report(SECRET)
        while len(peer.requests) < 3:
            client.flush(0.01)
        state = client.flush(0)
        assert state.status == "waiting"
        assert state.detail.endswith("No such survey (404)")
        peer.surveys = surveys
        assert client.flush(WAIT) == Result("sent")


def test_reports_that_were_left_behind_have_moments_of_their_own(
    peer: Peer, survey: Survey, other_survey: Survey, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process left behind is not sent back to back with a new report, which would link the two."""
    monkeypatch.setattr("hubbub.client.delivery.secrets.randbelow", lambda below: below // 2)  # its moment is far away
    device = read_survey(other_survey.to_json())
    Ledger(ledger).add(device, peer.url(other_survey), lambda: b"left behind")
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **{**FAST, "spread": 1e5}) as client:
        client.report(SECRET)
        assert client.flush(WAIT) == Result("sent")
        client.flush(0.3)
    assert [request for request in peer.requests if other_survey.survey_id.hex() in request] == []
    assert Ledger(ledger).read()[other_survey.survey_id.hex()]["state"] == "pending"


def test_another_survey_under_the_address_is_not_answered(peer: Peer, survey: Survey, ledger: Path) -> None:
    """The id in the address is a pin: a document with another hash is no answer, however often it comes."""
    peer.faults = ["other survey"] * 1000
    with Client(peer.url(survey), ledger=ledger, **FAST) as client:
        client.report(SECRET)
        while len(peer.requests) < 5:
            client.flush(0.01)
        state = client.flush(0)
    assert state == Result("waiting", "the reply was not the survey that the address names")
    assert not peer.posted
    with pytest.raises(SurveyError, match=r"the survey must be 00000000… as its address says, got "):
        Client(survey.to_json(), url="http://127.0.0.1:1/v1/surveys/" + "0" * 64, ledger=ledger)


def test_another_spelling_of_a_survey_is_refused(peer: Peer, survey: Survey, ledger: Path) -> None:
    """A survey under the hash of a spelling that is not canonical could be answered twice: it is not answered."""

    class Respelled:
        def to_json(self) -> bytes:
            return survey.to_json().replace(b",", b", ", 1)

    respelled = hashlib.sha256(Respelled().to_json()).hexdigest()
    peer.surveys[respelled] = Respelled()
    with Client(f"{peer.base}/v1/surveys/{respelled}", ledger=ledger, **FAST) as client:
        client.report(SECRET)
        result = client.flush(WAIT)
    assert result.status == "refused"
    assert "as its address says" in result.detail
    assert not peer.posted
    assert not ledger.exists()


def test_a_survey_of_epsilon_4_is_answered(peer: Peer, ledger: Path) -> None:
    """Without a limit of one's own a client answers ε = 4 and refuses more."""
    for epsilon, status in (("4", "sent"), ("4.1", "refused")):
        survey = create_survey("numbers", Integers(16), epsilon)
        peer.surveys[survey.survey_id.hex()] = survey
        with Client(peer.url(survey), ledger=ledger, **FAST) as client:
            client.report(7)
            assert client.flush(WAIT).status == status


def test_a_fetched_survey_above_the_limit_is_refused(peer: Peer, other_survey: Survey, ledger: Path) -> None:
    """A survey that states more than max_epsilon is not answered, and nothing is written."""
    with Client(peer.url(other_survey), max_epsilon="1.9", ledger=ledger, **FAST) as client:
        client.report(7)
        said = "a survey must state at most ε = 1.9, got ε = 2; max_epsilon sets this limit, "
        assert client.flush(WAIT) == Result("refused", said + "--max-epsilon on the command line")
    assert not peer.posted
    assert not ledger.exists()


def test_the_lifetime_cap_holds_over_surveys(peer: Peer, survey: Survey, other_survey: Survey, ledger: Path) -> None:
    """1 + 2 is above 2.5: the second survey is refused, also in a new client, and a higher cap lets it through."""
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as first:
        first.report(SECRET)
        assert first.flush(WAIT).status == "sent"
    for _ in range(2):
        with Client(peer.url(other_survey), lifetime_epsilon="2.5", ledger=ledger, **FAST) as second:
            second.report(7)
            result = second.flush(WAIT)
        assert result == Result("refused", "ε of all surveys together must be at most 2.5, got 1 and 2 more")
    with Client(peer.url(other_survey), lifetime_epsilon=3, ledger=ledger, **FAST) as third:
        third.report(7)
        assert third.flush(WAIT).status == "sent"
    assert len(peer.counted) == 2


def test_reports_of_an_earlier_client_are_sent_at_the_next_start(
    peer: Peer, survey: Survey, other_survey: Survey, ledger: Path
) -> None:
    """What was queued while nobody answered is delivered by any later client of the same ledger, same bytes."""
    peer.faults = ["drop"] * 100_000
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as offline:
        assert offline.report(SECRET) == Result("queued")
        assert offline.flush(0.05).status == "queued"
    batch = bytes.fromhex(Ledger(ledger).read()[survey.survey_id.hex()]["report"])
    peer.faults.clear()
    with Client(peer.url(other_survey), ledger=ledger, **FAST):  # a survey of its own, which it does not answer
        while not peer.counted:
            time.sleep(0.01)
    assert list(peer.counted.values()) == [batch[33:]]
    assert set(peer.posted) == {batch}


@pytest.mark.parametrize("answered", [True, False], ids=["a report", "a survey"])
def test_patience_is_for_one_address(
    answered: bool, peer: Peer, survey: Survey, other_survey: Survey, ledger: Path
) -> None:
    """An hour's Retry-After for one report, or for the survey, is kept, and another report is retried meanwhile."""
    for each, value in [(survey, SECRET), (other_survey, 7)][0 if answered else 1 :]:
        device = read_survey(each.to_json())
        batch = device.batch_header + encode_report(device, value, [1 << 63] * device.randomizer.random_words)
        Ledger(ledger).add(device, peer.url(each), lambda made=batch: made)
    peer.faults = ["problem 503 3600", "drop", "drop"]
    with Client(peer.url(survey), ledger=ledger, **FAST) as client:
        client.report(SECRET)
        deadline = time.monotonic() + WAIT
        while Ledger(ledger).read()[other_survey.survey_id.hex()]["state"] == "pending" and time.monotonic() < deadline:
            time.sleep(0.01)
        state = client.flush(0)
    assert Ledger(ledger).read()[other_survey.survey_id.hex()]["state"] == "sent"
    assert len([request for request in peer.requests if survey.survey_id.hex() in request]) == 1
    assert len(peer.requests) == 4
    assert state.status == ("queued" if answered else "waiting")
    assert state.detail.endswith("(503)")


def test_a_new_report_is_retried_soon(
    peer: Peer, survey: Survey, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waits grow while the survey cannot be fetched; when a value is reported they begin anew."""
    waits: list[float] = []

    class Recording(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            return super().wait(0 if len(waits) < 8 else WAIT)

    names = SimpleNamespace(Condition=Recording, Thread=threading.Thread)
    monkeypatch.setattr("hubbub.client.background.threading", names)
    peer.faults = ["drop"] * 100
    with Client(peer.url(survey), ledger=ledger) as client:
        while len(waits) < 8:
            time.sleep(0.01)
        assert client.report(SECRET) == Result("waiting")
        while len(waits) < 9:
            time.sleep(0.01)
    assert [0.5 <= wait / 2**turn <= 1.5 for turn, wait in enumerate(waits[:8])] == [True] * 8
    assert 0.5 <= waits[8] <= 1.5


CHILD = """
import os, sys, time
import hubbub.client.delivery
from hubbub.client import Client
survey, url, ledger, value, when = sys.argv[1:]
if when == "before sending":
    hubbub.client.delivery.exchange = lambda *_: os.kill(os.getpid(), 9)
client = Client(survey, url=url, ledger=ledger, timeout=60)
client.report(value)
time.sleep(60)
"""


@pytest.mark.parametrize("when", ["before sending", "before the reply"])
def test_a_killed_process_answers_once(when: str, peer: Peer, survey: Survey, ledger: Path) -> None:
    """A process killed (-9) while its report is on the way leaves it in the ledger; the same bytes are sent again."""
    peer.faults = ["slow"] if when == "before the reply" else []
    words = [survey.to_json().decode(), peer.url(survey), str(ledger), SECRET, when]
    child = subprocess.Popen([sys.executable, "-c", CHILD, *words])
    try:
        while child.poll() is None and not peer.posted:
            time.sleep(0.01)
    finally:
        child.kill()
    assert child.wait() == -9
    entry = Ledger(ledger).read()[survey.survey_id.hex()]
    assert entry["state"] == "pending"
    with Client(peer.url(survey), ledger=ledger, **FAST) as client:
        assert client.report("another.example") == Result("already")
        assert client.flush(WAIT) == Result("sent")
    assert peer.posted == [bytes.fromhex(entry["report"])] * (1 if when == "before sending" else 2)
    assert list(peer.counted.values()) == [peer.posted[0][33:]]


def test_clients_that_race_answer_once(
    peer: Peer, survey: Survey, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of eight clients that answer one survey at once, with one ledger, one makes the report."""
    monkeypatch.setattr("hubbub.client.ledger.LOCK_SECONDS", WAIT)
    start, statuses = threading.Barrier(8), []

    def race(number: int) -> None:
        with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as client:
            start.wait()
            statuses.append(client.report(f"{number}.example").status)
            client.flush(WAIT)

    threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == ["already"] * 7 + ["queued"]
    assert len(peer.counted) == 1
    assert len(set(peer.posted)) == 1


def test_nothing_tells_the_value(
    peer: Peer, survey: Survey, ledger: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ledger, log, output, repr and wire hold nothing of the value, whatever happens on the way."""

    class Hostile(str):
        def encode(self, *_: object) -> bytes:
            raise ValueError(SECRET)

        def __repr__(self) -> str:
            raise ValueError(SECRET)

    caplog.set_level(logging.DEBUG)
    peer.faults = ["drop", "problem 503", "lost reply"]
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as client:
        told = [repr(client), repr(client.report(Hostile(SECRET))), repr(client.flush(WAIT)), ledger.read_text()]
    with Client("http://127.0.0.1:1/v1/surveys/" + "0" * 64, ledger=ledger, **FAST) as waiting:
        told += [repr(waiting.report(SECRET)), repr(waiting), repr(waiting.flush(0.02)), ledger.read_text()]
    told += [caplog.text, *capfd.readouterr(), repr(peer.posted)]
    assert not any("secret" in text for text in told)
    assert len(peer.counted) == 1


def test_a_defect_of_ours_stays_inside(
    peer: Peer, survey: Survey, ledger: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever fails in the client, in the call or in the background, the host sees a result without the value."""

    def fail(_: object, value: object, __: object) -> bytes:
        raise RuntimeError(value)

    monkeypatch.setattr("hubbub.client.client.encode_report", fail)
    with Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST) as client:
        assert client.report(SECRET) == Result("refused", "the client failed (RuntimeError)")
    with Client(peer.url(survey), ledger=ledger.with_name("another"), **FAST) as client:
        client.report(SECRET)
        result = client.flush(WAIT)
    said = "the making of the report was interrupted; its cost counts, and nothing will be sent"
    assert result == Result("refused", said)
    assert capfd.readouterr() == ("", "")


def test_a_closed_client_refuses(peer: Peer, survey: Survey, ledger: Path) -> None:
    """After close nothing is made; what waited in memory is forgotten."""
    client = Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST)
    client.close()
    assert client.report(SECRET) == Result("refused", "the client is closed")
    assert client.flush(WAIT) == Result("none")
    assert not ledger.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_sends(peer: Peer, survey: Survey, ledger: Path) -> None:
    """A client made before a fork works in the child, where its thread is not."""
    client = Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST)
    child = os.fork()
    if not child:
        status = "failed"
        try:
            client.report(SECRET)
            status = client.flush(WAIT).status
        finally:
            os._exit(0 if status == "sent" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.flush(WAIT) == Result("sent")
    assert len(peer.counted) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_closes(peer: Peer, survey: Survey, ledger: Path) -> None:
    """A child forked while another thread had the client's lock can close the client: nobody there gives it back."""
    client = Client(survey.to_json(), url=peer.url(survey), ledger=ledger, **FAST)
    taken, done = threading.Event(), threading.Event()

    class Slow(str):
        def encode(self, *_: object) -> bytes:  # is called while the client has its lock
            taken.set()
            done.wait()
            return b""

    holder = threading.Thread(target=client.report, args=(Slow(SECRET),))
    holder.start()
    taken.wait()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(WAIT))  # ends a child that hangs
        client.close()
        os._exit(0)
    done.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    client.close()


@pytest.mark.parametrize(
    "survey_url",
    [
        "",
        "news.example",
        "http://h/v1/surveys/123",
        f"ftp://h/v1/surveys/{'0' * 64}",
        f"http://user@h/v1/surveys/{'0' * 64}",
        f"http://h/v1/surveys/{'0' * 64}?x",
        f"http:///v1/surveys/{'0' * 64}",
        f"http://h/v1/surveys/{'0' * 64}\n",
        f"http://h\x00/v1/surveys/{'0' * 64}",
        f"http://bücher.example/v1/surveys/{'0' * 64}",
    ],
)
def test_bad_addresses(survey_url: str, ledger: Path) -> None:
    """An address is http or https, names a survey and nothing else; the error does not repeat it."""
    with pytest.raises(ClientError, match="must be http") as caught:
        Client(survey_url, ledger=ledger)
    assert not survey_url or survey_url not in str(caught.value)


@pytest.mark.parametrize("name", ["max_epsilon", "lifetime_epsilon", "lifetime_delta"])
@pytest.mark.parametrize("value", ["", "one", "NaN", "Infinity", -1])
def test_bad_limits(name: str, value: object, survey: Survey, ledger: Path) -> None:
    """A limit is a number from 0 up."""
    with pytest.raises(ClientError, match=f"{name} must be a number"):
        Client("http://127.0.0.1:1/v1/surveys/" + "0" * 64, ledger=ledger, **{name: value})


@pytest.mark.parametrize("name", ["timeout", "first_retry", "last_retry"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 1e7, "1", None])
def test_bad_seconds(name: str, value: object, ledger: Path) -> None:
    """A time is above 0, or retries would not pause, and not longer than a system can wait."""
    with pytest.raises(ClientError, match=f"{name} must be above 0 and at most 1e.06 seconds, got {name}='"):
        Client("http://127.0.0.1:1/v1/surveys/" + "0" * 64, ledger=ledger, **{name: value})


def test_words_come_from_the_system(peer: Peer, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is the pure function of value and words, with the words that the operating system gave."""
    survey = create_survey("fixed", Integers(64), 1, public_seed=bytes(32))
    given = bytes(range(1, 33))
    monkeypatch.setattr("secrets.token_bytes", lambda size: given[:size])
    with Client(
        survey.to_json(), url="http://127.0.0.1:1/v1/surveys/" + survey.survey_id.hex(), ledger=ledger
    ) as client:
        client.report(7)
    batch = bytes.fromhex(json.loads(ledger.read_text())["surveys"][survey.survey_id.hex()]["report"])
    assert batch[33:49] == given[:16]
    assert read_survey(survey.to_json()).randomizer.random_words == 4
