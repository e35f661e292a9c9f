"""Surveys that repeat: one answer in each period, with fresh noise, and never one more than the ledger knows of."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.client.peer import Peer, serving

from hubbub import Integers, ParameterError, Survey, create_survey
from hubbub.client import DEFAULT_CAP, BudgetError, Client, Ledger, Result, SurveyError
from hubbub.client.ledger import current
from hubbub.client.survey import DeviceSurvey, read_survey
from hubbub.model.repeating import BUDGET

FAST = {"first_retry": 0.01, "last_retry": 0.02, "spread": 0.01, "timeout": 5.0}
WAIT = 20.0


@pytest.fixture(scope="module")
def monthly() -> Survey:
    """Numbers at ε = 2, every four weeks from Monday, the last day of 2029, on."""
    return create_survey("months", Integers(8), 2, every=28, opens="2029-12-31T00:00:00Z", public_seed=bytes(32))


@pytest.fixture
def device(monthly: Survey) -> DeviceSurvey:
    """The survey as a device sees it."""
    return read_survey(monthly.to_json())


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.day = "2030-01-01"
        clock = self

        class Stopped(datetime):
            @classmethod
            def now(cls, _zone: object = None) -> datetime:  # type: ignore[override]
                """Noon of the day."""
                return datetime.fromisoformat(f"{clock.day}T12:00:00").replace(tzinfo=UTC)

        for module in ("ledger", "delivery", "budget"):
            monkeypatch.setattr(f"hubbub.client.{module}.datetime", Stopped)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the client."""
    return Clock(monkeypatch)


def test_the_budget_of_surveys_is_that_of_ledgers() -> None:
    """What is refused when a survey is made is what a ledger could not carry."""
    assert [most for _, most in BUDGET] == [DEFAULT_CAP.month, DEFAULT_CAP.year]


def test_periods_begin_with_the_survey(device: DeviceSurvey) -> None:
    """The key of an answer has the first day of the next period; before the first there is none."""
    ends = {
        "2029-12-31": "2030-01-28",
        "2030-01-27": "2030-01-28",
        "2030-01-28": "2030-02-25",
        "2031-01-01": "2031-01-27",
    }
    for today, until in ends.items():
        assert device.key(date.fromisoformat(today)) == f"{device.survey_id.hex()}/{until}"
    for wrong in ("2029-12-30", "9999-12-31"):
        with pytest.raises(SurveyError, match=r"opens on 2029-12-31|no next period"):
            device.key(date.fromisoformat(wrong))


def test_one_answer_in_each_period(monthly: Survey, ledger: Path, clock: Clock) -> None:
    """Again and again in a period nothing is made; in the next there is another report, and its cost."""
    with serving(Peer(monthly)) as peer:
        for day, first in (("2030-01-01", "waiting"), ("2030-01-27", "already"), ("2030-01-28", "waiting")):
            clock.day = day
            with Client(peer.url(monthly), ledger=ledger, **FAST) as client:
                assert client.report(7).status == first
                assert client.flush(WAIT) == Result("sent")
                assert client.report(8) == Result("already")
        assert len(peer.posted) == len(peer.counted) == 2
        assert peer.requests.count(f"GET /v1/surveys/{monthly.survey_id.hex()}/open") == 2
    entries = Ledger(ledger).read()
    assert [key[64:] for key in entries] == ["/2030-01-28", "/2030-02-25"]
    assert [entry["epsilon"] for entry in entries.values()] == ["2", "2"]
    assert Ledger.totals(entries)[0] == 4


def test_one_client_answers_period_after_period(monthly: Survey, ledger: Path, clock: Clock) -> None:
    """A process that lasts needs no new client; in each period it asks once whether the survey is open."""
    with serving(Peer(monthly)) as peer, Client(peer.url(monthly), ledger=ledger, **FAST) as client:
        for day in ("2030-01-01", "2030-01-30", "2030-03-01"):
            clock.day = day
            assert client.report(7).status in ("waiting", "queued")
            assert client.flush(WAIT) == Result("sent")
            assert client.report(7) == Result("already")
        assert len(peer.counted) == 3
        assert sum(request.endswith("/open") for request in peer.requests) == 3


def test_a_survey_that_was_closed_costs_a_lasting_client_nothing(monthly: Survey, ledger: Path, clock: Clock) -> None:
    """In the next period nothing is drawn or spent, and the value is not sent when the survey is gone."""
    with serving(Peer(monthly)) as peer, Client(peer.url(monthly), ledger=ledger, **FAST) as client:
        clock.day = "2030-01-01"
        client.report(7)
        assert client.flush(WAIT) == Result("sent")
        clock.day, peer.gone = "2030-01-30", True
        assert client.report(7).status == "waiting"
        assert client.flush(0.3).status == "waiting"
        assert len(Ledger(ledger).read()) == len(peer.posted) == 1


def test_a_survey_that_was_given_is_answered_offline(monthly: Survey, ledger: Path, clock: Clock) -> None:
    """In every period: nobody is asked before the report is made."""
    with serving(Peer(monthly)) as peer:
        address, peer.faults = peer.url(monthly), ["drop"] * 999
        with Client(monthly.to_json(), url=address, ledger=ledger, first_retry=1e5, last_retry=1e5) as client:
            for day in ("2030-01-01", "2030-01-30"):
                clock.day = day
                assert client.report(7).status == "queued"
        assert len(Ledger(ledger).read()) == 2


def test_a_report_is_given_up_when_the_next_period_begins(monthly: Survey, ledger: Path, clock: Clock) -> None:
    """It is not sent any more, nor a second time: the collector gets that of the new period. Both were paid for."""
    with serving(Peer(monthly)) as peer:
        clock.day = "2030-01-26"
        peer.faults = ["", "lost reply", *["drop"] * 99]
        with Client(peer.url(monthly), ledger=ledger, first_retry=1e5, last_retry=1e5) as client:
            client.report(7)
            assert client.flush(0.5).status == "queued"
        clock.day, peer.faults = "2030-01-28", []
        with Client(peer.url(monthly), ledger=ledger, **FAST) as client:
            assert client.flush(WAIT) == Result("none")
            client.report(7)
            assert client.flush(WAIT) == Result("sent")
            while (old := Ledger(ledger).read()[f"{client.survey_id}/2030-01-28"])["state"] == "pending":
                client.flush(0.01)
        assert (old["state"], old["report"], old["epsilon"]) == ("refused", "", "2")
        assert old["detail"] == "the next period began before the report was delivered"
        assert len(set(peer.posted)) == len(peer.counted) == 2
        assert peer.posted.count(peer.posted[-1]) == 1
        assert Ledger.totals(Ledger(ledger).read())[0] == 4


def test_any_report_is_given_up_after_seven_days(survey: Survey, ledger: Path, clock: Clock) -> None:
    """The collector forgets ids later than that, so nothing is counted twice."""
    with serving(Peer(survey)) as peer:
        address = peer.url(survey)
        for day, status in (("2030-01-01", "queued"), ("2030-01-08", "queued"), ("2030-01-09", "refused")):
            clock.day = day
            peer.faults = ["problem 503"] * 99
            with Client(survey.to_json(), url=address, ledger=ledger, first_retry=1e5, last_retry=1e5) as client:
                client.report("a.example")
                assert client.flush(0.5).status == status
        assert len(set(peer.posted)) == 1
        (entry,) = Ledger(ledger).read().values()
        assert entry["detail"] == "the report could not be delivered within 7 days"


def test_a_clock_that_is_set_back_frees_nothing(device: DeviceSurvey, ledger: Path, clock: Clock) -> None:
    """An answer of a later period counts as one of this period."""
    book, address = Ledger(ledger), f"http://h/v1/surveys/{device.survey_id.hex()}"
    clock.day = "2030-06-01"
    assert book.add(device, address, lambda: b"\1")
    for clock.day in ("2030-05-01", "2030-01-01", "2030-06-09"):
        assert not book.add(device, address, lambda: b"\2")
    clock.day = "2030-06-17"
    assert book.add(device, address, lambda: b"\3")


def test_a_year_stays_within_the_budget(device: DeviceSurvey, ledger: Path, clock: Clock) -> None:
    """Thirteen or fourteen answers of ε = 2 fit; whoever answers at the worst days is stopped by the ledger."""
    book, address = Ledger(ledger), f"http://h/v1/surveys/{device.survey_id.hex()}"
    first = date.fromisoformat("2029-12-31").toordinal()
    days = [first + 27, *(first + 28 * number for number in range(1, 15))]  # 15 periods touch 366 days
    for day in days[:14]:
        clock.day = date.fromordinal(day).isoformat()
        assert book.add(device, address, lambda: b"")
    assert book.totals(book.read())[0] == 28
    clock.day = date.fromordinal(days[14]).isoformat()
    with pytest.raises(BudgetError, match="365 days must be at most 28, got 28 and 2 more"):
        book.add(device, address, lambda: b"")
    clock.day = date.fromordinal(days[14] + 2).isoformat()
    assert book.add(device, address, lambda: b"")


def test_a_survey_that_is_over_costs_nothing(monthly: Survey, ledger: Path, clock: Clock) -> None:
    """The collector says so before anything is drawn: 204, and no document."""
    with serving(Peer()) as peer:
        peer.gone = True
        with Client(peer.url(monthly), ledger=ledger, **FAST) as client:
            client.report(7)
            state = client.flush(0.2)
        assert (state.status, state.detail[:30]) == ("waiting", "the collector takes no reports")
        assert peer.posted == []
    assert Ledger(ledger).read() == {}


@pytest.mark.parametrize("until", ["", "2030-02-30", "20300228", "2030-02-28/", "9", "2030-02-28T00:00:00Z"])
def test_a_key_that_is_none(until: str, device: DeviceSurvey, ledger: Path, clock: Clock) -> None:
    """A key without a day is damage, like any other."""
    book = Ledger(ledger)
    book.add(device, f"http://h/v1/surveys/{device.survey_id.hex()}", lambda: b"")
    text = ledger.read_text(encoding="utf-8")
    ledger.write_text(text.replace("/2030-01-28", f"/{until}"), encoding="utf-8")
    with pytest.raises(Exception, match="is damaged or another kind of file"):
        book.read()


def test_the_current_answer() -> None:
    """Of several answers, that of the period of today or later; one of a survey that does not repeat, always."""
    one, other = "a" * 64, "b" * 64
    keys = [one, f"{other}/2030-01-28", f"{other}/2030-02-25"]
    assert current(keys, one, date(2099, 1, 1)) == one
    assert current(keys, other, date(2030, 1, 27)) == f"{other}/2030-01-28"
    assert current(keys, other, date(2030, 1, 28)) == f"{other}/2030-02-25"
    assert current(keys, other, date(2030, 2, 25)) == ""


def test_the_budget_of_a_survey_that_repeats_is_exact() -> None:
    """An ε that is too large by a digit that doubles do not have is refused; one that is just small enough is not."""
    facts = {"every": 7, "opens": "2029-12-31T00:00:00Z"}
    fits = "0.528301886792452830188679245283018867924"
    assert read_survey(create_survey("weeks", Integers(8), fits, **facts).to_json()).epsilon == Decimal(fits)
    with pytest.raises(ParameterError, match=r"every 7 days must have at most ε = 0\.528"):
        create_survey("weeks", Integers(8), "0.528301886792452830188679245283018867925", **facts)
