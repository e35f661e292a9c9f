"""What a server sees of a client, and what is kept on the device, is the same for every value and number of values."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from tests.client.peer import Peer, serving

from hubbub import Bytes, Categories, Hostnames, Integers, Survey, create_survey
from hubbub.client import Client, Result

pytestmark = pytest.mark.slow

FAST = {"first_retry": 0.005, "last_retry": 0.02, "timeout": 30.0, "spread": 0}
SURVEYS = [
    create_survey("hosts", Hostnames(), 1, public_seed=bytes(32)),
    create_survey("closed", Categories(["yes", "no"], other=False), 1, public_seed=bytes(32)),
    create_survey("open", Categories(["yes", "no"]), 1, public_seed=bytes(32)),
    create_survey("numbers", Integers(16), 1, mechanism="jl", public_seed=bytes(32)),
    create_survey("bytes", Bytes(4), 1, public_seed=bytes(32)),
]


class Hostile(str):
    """Fails when it is read."""

    def encode(self, *_: object) -> bytes:
        """Fail."""
        raise RuntimeError("secret")

    def __hash__(self) -> int:
        """Fail, too."""
        raise RuntimeError("secret")


class Unasked:
    """Fails even when it is asked for its class, as some stand-ins for other objects do."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """Fail."""
        raise RuntimeError("secret")


VALUES = ("yes", "maybe", "", "x" * 3000, None, 7, -1, 2.5, 10**5000, True, [], object(), b"\xff", "\ud800")
MORE = (Hostile("yes"), Unasked(), Decimal("sNaN"), np.float32(0.1), float("nan"), (1, 2))


def seen(survey: Survey, ledger: Path, faults: list[str], whole: bool, act: Callable[[Client], Result]) -> object:
    """All that a collector sees and a ledger keeps of one call, and what the call returned in the end."""
    with serving(Peer(survey, SURVEYS[-1])) as peer:
        peer.faults = list(faults)
        survey_or_url = survey.to_json() if whole else peer.url(survey)
        more = {"url": peer.url(survey)} if whole else {}
        with Client(survey_or_url, ledger=ledger, **more, **FAST) as client:
            act(client)
            result = client.flush(60)
        host = peer.base.partition("//")[2]
        trace = [tuple(str(part).replace(host, "HOST") for part in each) for each in peer.trace]
    text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", ledger.read_text(encoding="utf-8").replace(host, "HOST"))
    return trace, result, text, sorted(path.name.removeprefix(ledger.name) for path in ledger.parent.iterdir())


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.name)
@pytest.mark.parametrize("whole", [True, False], ids=["document", "address"])
def test_one_value(survey: Survey, whole: bool, tmp_path: Path) -> None:
    """Values in the domain and outside, of any type, length and behaviour."""
    found = []
    for number, value in enumerate((*VALUES, *MORE)):
        (tmp_path / str(number)).mkdir()
        place = tmp_path / str(number) / "ledger"
        found.append(seen(survey, place, [], whole, lambda client, value=value: client.report(value)))
    assert found[0][1] == Result("sent")
    assert [each[0].split()[0] for each in found[0][0]] == (["POST"] if whole else ["GET", "POST"])
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("survey", [SURVEYS[0], SURVEYS[2], SURVEYS[3]], ids=lambda survey: survey.name)
def test_several_values(survey: Survey, tmp_path: Path) -> None:
    """None, one, as many as there are slots, and many more; they look like one value, too."""
    given = [[], ["yes"], [1, 2, 3], [None], [f"{n}.example" for n in range(200)], [Hostile("yes"), "no"], list(MORE)]
    found = []
    for number, values in enumerate(given):
        (tmp_path / str(number)).mkdir()
        place = tmp_path / str(number) / "ledger"
        found.append(seen(survey, place, [], False, lambda client, values=values: client.report_any(values, 3)))
    (tmp_path / "one").mkdir()
    found.append(seen(survey, tmp_path / "one" / "ledger", [], False, lambda client: client.report("yes")))
    assert found[0][1] == Result("sent")
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize(
    "faults",
    [["drop", "other survey", "", "problem 503 0"], ["page 200", "", "lost reply"], ["", "problem 403"]],
    ids=" ".join,
)
def test_faults_change_nothing_by_the_value(faults: list[str], tmp_path: Path) -> None:
    """Retries and refusals follow the replies alone, on a closed list and with a server that shows another survey."""
    found = []
    for number, value in enumerate(("yes", "maybe", None)):
        (tmp_path / str(number)).mkdir()
        place = tmp_path / str(number) / "ledger"
        found.append(seen(SURVEYS[1], place, faults, False, lambda client, value=value: client.report(value)))
    assert all(each == found[0] for each in found)
