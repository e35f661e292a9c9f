"""One exchange with a collector: what is final, what is for later, and how much later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.client.peer import Peer

from hubbub import Survey
from hubbub.client.transport import Refused, TryLater, exchange, seconds_of


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        ("problem 503 7", 7),
        ("problem 403 60", 60),
        ("problem 503 999999", 3600),
        ("problem 503 soon", 0),
        ("page 404", 0),
    ],
)
def test_what_is_for_later(fault: str, seconds: float, peer: Peer, survey: Survey) -> None:
    """Retry-After is respected, up to an hour, on any error; what no collector wrote is not believed."""
    peer.faults = [fault]
    with pytest.raises(TryLater) as caught:
        exchange(peer.url(survey) + "/reports", b"", 5)
    assert caught.value.seconds == seconds


@pytest.mark.parametrize("code", [400, 403, 404, 409, 410, 413, 422])
def test_what_is_final(code: int, peer: Peer, survey: Survey) -> None:
    """A problem document with 4xx and without Retry-After."""
    peer.faults = [f"problem {code}"]
    with pytest.raises(Refused, match=str(code)):
        exchange(peer.url(survey) + "/reports", b"", 5)


def test_redirects_are_not_followed(peer: Peer, survey: Survey) -> None:
    """Neither to another host nor to this one: one request arrives."""
    for fault in (f"redirect {peer.url(survey)}", "redirect http://127.0.0.1:1/"):
        peer.faults = [fault]
        with pytest.raises(TryLater, match="307"):
            exchange(peer.url(survey), None, 5)
    assert len(peer.requests) == 2


def test_nothing_identifying_is_sent(peer: Peer, survey: Survey) -> None:
    """The headers are the same for everybody: no version of Python, no language, no cookie."""
    exchange(peer.url(survey), None, 5)
    assert peer.headers == {
        "Accept-Encoding": "identity",
        "Host": peer.base.removeprefix("http://"),
        "User-Agent": "hubbub-client",
        "Accept": "application/json",
        "Connection": "close",
    }


def test_retry_after_is_a_number_or_a_date() -> None:
    """Seconds with blanks, more digits than a clock has, dates to come and gone; at most an hour."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1000), usegmt=True)
    late = format_datetime(datetime.now(UTC) + timedelta(days=9), usegmt=True)
    assert 900 < seconds_of(soon) <= 1000
    assert [seconds_of(text) for text in (late, " 30 ", "9" * 50, "1.5", "-3", "soon", "", None)] == [
        *(3600.0, 30.0, 3600.0),
        *[0.0] * 5,
    ]
