"""`report_any`: one of several values, one report whatever there is, and nothing that tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.peer import Peer

from hubbub import Categories, Hostnames, Survey, create_survey
from hubbub.client import Client, ClientError
from hubbub.client.slots import Slots
from hubbub.client.survey import read_survey

LIST = create_survey("sites", Categories(["a", "b", "c"]), 1)
CLOSED = create_survey("vote", Categories(["yes", "no"], other=False), 1)


class Hostile:
    """Iterates for a while, then fails with a private value in its message."""

    def __iter__(self) -> Iterator[object]:
        """Yield a value, then fail."""
        yield "a"
        raise RuntimeError("secret")

    def __repr__(self) -> str:
        """Fail, too."""
        raise RuntimeError("secret")


def draws(values: object, k: int, monkeypatch: pytest.MonkeyPatch) -> Counter[object]:
    """What is drawn when each slot comes once, as the system's randomness has them with the same chance."""
    domain = read_survey(LIST.to_json()).domain
    asked: list[int] = []
    monkeypatch.setattr("hubbub.client.slots.secrets.randbelow", lambda below: asked.append(below) or 0)
    Slots(values, k).draw(domain)
    drawn: Counter[object] = Counter()
    for number in range(asked[0]):
        monkeypatch.setattr("hubbub.client.slots.secrets.randbelow", lambda _, number=number: number)
        drawn[Slots(values, k).draw(domain)] += 1
    return drawn


@pytest.mark.parametrize(
    ("values", "k", "expected"),
    [
        ([], 3, {None: 3}),
        (["a"], 3, {"a": 1, None: 2}),
        (["a", "b", "a"], 3, {"a": 1, "b": 1, None: 1}),
        (["a", "zzz", object()], 3, {"a": 1, None: 2}),
        (["a", "b", "c"], 2, {"a": 1, "b": 1, "c": 1}),
        (("b",), 1, {"b": 1}),
        (iter(["a", "c"]), 2, None),
    ],
)
def test_every_slot_has_the_same_chance(values, k: int, expected, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each different value has one slot, the others are empty; with more values than slots each has its chance."""
    if expected is None:  # an iterator is read once, when it is given
        domain = read_survey(LIST.to_json()).domain
        slots = Slots(values, k)
        monkeypatch.setattr("hubbub.client.slots.secrets.randbelow", lambda _: 1)
        assert [slots.draw(domain), slots.draw(domain)] == ["c", "c"]
    else:
        assert draws(values, k, monkeypatch) == expected


@pytest.mark.parametrize("values", [[], ["news.example"], ["a.example", "b.example", "c.example"], [None], Hostile()])
def test_exactly_one_report_is_made(values, peer: Peer, survey: Survey, ledger: Path) -> None:
    """Whatever she has, nothing included; and no second one, by whatever method."""
    with Client(peer.url(survey), ledger=ledger) as client:
        assert client.report_any(values, 3).status in ("queued", "waiting")
        assert client.flush(60).status == "sent"
        assert client.report_any(["other.example"], 3).status == "already"
        assert client.report("other.example").status == "already"
    (batch,) = peer.posted
    assert len(batch) == 1 + 32 + 17


def test_the_report_is_that_of_the_drawn_value(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes as `report` makes of it with the same words; of an empty slot, as of what is not in the domain."""
    survey = create_survey("referrers", Hostnames(), 1)
    address = f"http://127.0.0.1:9/v1/surveys/{survey.survey_id.hex()}"
    monkeypatch.setattr("hubbub.client.client.secrets.token_bytes", lambda size: bytes(range(size)))
    for slot, value in enumerate(["x.example", "y.example", None]):
        monkeypatch.setattr("hubbub.client.slots.secrets.randbelow", lambda _, slot=slot: slot)
        made = []
        for name in ("any", "one"):
            with Client(survey.to_json(), url=address, ledger=ledger.with_name(f"{name}{slot}")) as client:
                result = client.report(value) if name == "one" else client.report_any(["x.example", "y.example"], 3)
                assert result.status == "queued"
                made.append(client.ledger.read()[client.survey_id]["report"])
        assert made[0] == made[1]


def test_wrong_arguments_and_closed_lists_are_refused(ledger: Path) -> None:
    """By their type alone, never by their values; the sentence holds none of them."""
    for survey, values, k, reason in [
        (LIST, "secret", 3, "values must be a list of values, got str"),
        (LIST, {"secret": 1}, 3, "values must be a list of values, got dict"),
        (LIST, None, 3, "values must be a list of values, got NoneType"),
        (LIST, ["secret"], 0, "k must be a whole number from 1 to 1000, got k='0'"),
        (LIST, ["secret"], True, "k must be a whole number"),
        (CLOSED, ["secret"], 3, "got a closed list"),
        (CLOSED, [], 3, "got a closed list"),
    ]:
        address = f"http://127.0.0.1:9/v1/surveys/{survey.survey_id.hex()}"
        with Client(survey.to_json(), url=address, ledger=ledger) as client:
            result = client.report_any(values, k)
            assert result.status == "refused"
            assert reason in result.detail
            assert "secret" not in result.detail
            assert client.flush(0.1).status == "none"


def test_endless_values_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """An iterator without an end is cut; the values are in no repr."""

    def endless() -> Iterator[str]:
        while True:
            yield "secret"

    monkeypatch.setattr("hubbub.client.slots.secrets.randbelow", lambda _: 0)
    slots = Slots(endless(), 2)
    assert slots.draw(read_survey(LIST.to_json()).domain) is None
    assert "secret" not in repr(slots)
    with pytest.raises(ClientError):
        Slots(endless(), 1001)
