"""The ledger: durable, exact, for one process at a time, and never overwritten when it cannot be read."""

from __future__ import annotations

import json
import os
import secrets
import stat
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from hubbub import Categories, Survey, create_survey
from hubbub.client import (
    DEFAULT_CAP,
    BudgetError,
    Cap,
    Client,
    ClientError,
    Ledger,
    LedgerError,
    Result,
    default_ledger,
)
from hubbub.client.budget import spent
from hubbub.client.survey import DeviceSurvey, read_survey

CAP = Cap()


@pytest.fixture
def device(other_survey: Survey) -> DeviceSurvey:
    """A survey as a device sees it, ε = 2."""
    return read_survey(other_survey.to_json())


def url_of(survey: DeviceSurvey) -> str:
    """An address of the survey."""
    return f"https://collector.example/v1/surveys/{survey.survey_id.hex()}"


def numbered(survey: DeviceSurvey, number: int, **changes: object) -> DeviceSurvey:
    """The survey with another id."""
    return survey._replace(survey_id=number.to_bytes(32, "big"), **changes)


def test_an_entry_is_what_the_person_reads(device: DeviceSurvey, ledger: Path) -> None:
    """Name, address, ε, δ, when, and the bytes until they are delivered; the file is the person's alone."""
    book = Ledger(ledger)
    assert book.read() == {}
    assert book.add(device, url_of(device), lambda: b"\1\2\3", CAP)
    assert not book.add(device, url_of(device), lambda: b"\4\5\6", CAP)
    (entry,) = json.loads(ledger.read_text(encoding="utf-8"))["surveys"].values()
    answered = entry.pop("answered")
    assert abs((datetime.now(UTC).date() - date.fromisoformat(answered)).days) <= 1  # the day, and no time
    assert entry == {
        "name": "numbers",
        "url": url_of(device),
        "epsilon": "2",
        "delta": "0",
        "state": "pending",
        "report": "010203",
        "detail": "",
    }
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    book.settle(device.survey_id.hex(), "sent", "")
    settled = book.read()[device.survey_id.hex()]
    assert (settled["state"], settled["report"], settled["answered"]) == ("sent", "", answered)


def test_a_settled_entry_stays(device: DeviceSurvey, ledger: Path) -> None:
    """A slower process that is refused what another has delivered does not take the delivery back."""
    book = Ledger(ledger)
    book.add(device, url_of(device), lambda: b"\1", CAP)
    book.settle(device.survey_id.hex(), "sent", "")
    book.settle(device.survey_id.hex(), "refused", "closed")
    entry = book.read()[device.survey_id.hex()]
    assert (entry["state"], entry["detail"]) == ("sent", "")


def test_sums_are_exact(device: DeviceSurvey, ledger: Path) -> None:
    """Ten times 0.1 is 1 and not a bit more; one δ of 10⁻⁶⁰ is seen beside 0.1."""
    book = Ledger(ledger)
    book.set_cap(Cap(delta=Decimal(1)))
    for number in range(10):
        small = numbered(device, number, epsilon=Decimal("0.1"), delta=Decimal("0.1") if number else Decimal("1e-60"))
        assert book.add(small, url_of(small), lambda: b"", Cap(lifetime=Decimal(1)))
    assert book.totals(book.read()) == (Decimal(1), Decimal(f"0.9{'0' * 58}1"))
    more = numbered(device, 99, epsilon=Decimal("0.000000000000001"))
    with pytest.raises(BudgetError, match=r"together must be at most 1, got 1\.0 and 0\.000000000000001 more"):
        book.add(more, url_of(more), lambda: b"", Cap(lifetime=Decimal(1)))
    assert len(book.read()) == 10


def told(book: Ledger, survey: DeviceSurvey, number: int, days_ago: float) -> bool:
    """Answer a survey as if it had been so many days ago; whether the cap allowed it."""
    each = numbered(survey, number)
    try:
        assert book.add(each, url_of(each), lambda: b"")
    except BudgetError:
        return False
    with book.changing() as (_, entries):
        moment = datetime.now(UTC) - timedelta(days=days_ago)
        entries[each.survey_id.hex()]["answered"] = moment.strftime("%Y-%m-%d")
    return True


def test_the_budget_is_of_the_person_and_comes_back(device: DeviceSurvey, ledger: Path) -> None:
    """At most ε = 8 in 30 days and 28 in 365 (each of these costs 2); what is older no longer counts."""
    book = Ledger(ledger)
    assert book.cap() == DEFAULT_CAP == Cap(Decimal(8), Decimal(28), None, Decimal("0.000001"))
    assert [told(book, device, number, days) for number, days in enumerate([31, 31, 29, 28, 27, 26, 0])] == [
        *[True] * 6,
        False,
    ]
    assert book.cap().left(book.read().values()) == Cap(Decimal(0), Decimal(16), None, Decimal("0.000001"))
    book.set_cap(DEFAULT_CAP._replace(month=None))
    assert [told(book, device, number, 40) for number in range(10, 20)] == [True] * 8 + [False] * 2
    assert book.cap().left(book.read().values()) == Cap(None, Decimal(0), None, Decimal("0.000001"))
    book.set_cap(DEFAULT_CAP._replace(month=None, year=None, lifetime=Decimal(29)))
    assert not told(book, device, 20, 400)
    book.set_cap(DEFAULT_CAP._replace(month=None, year=None))
    assert told(book, device, 20, 400)
    book.set_cap(Cap(Decimal(1), Decimal(1), Decimal(31), Decimal(0)))
    assert book.cap().left(book.read().values()) == Cap(Decimal(0), Decimal(0), Decimal(1), Decimal(0))


def test_a_day_counts_until_it_is_outside_as_a_whole() -> None:
    """The ledger has the day alone, so that an answer counts for 30 days from the end of it, never for less."""
    entry = {"epsilon": "3", "delta": "0", "answered": "2030-01-01"}
    for now, month in (("2030-01-31T23:59:59+00:00", 3), ("2030-02-01T00:00:00+00:00", 0)):
        assert spent([entry], datetime.fromisoformat(now))["month"] == month
    for now, year in (("2031-01-01T23:59:59+00:00", 3), ("2031-01-02T00:00:00+00:00", 0)):
        assert spent([entry], datetime.fromisoformat(now))["year"] == year


def test_a_clock_that_was_ahead_does_not_free_the_budget(device: DeviceSurvey, ledger: Path) -> None:
    """Answers with times in the future count."""
    book = Ledger(ledger)
    assert [told(book, device, number, -100) for number in range(5)] == [True] * 4 + [False]


def test_a_program_can_only_ask_for_less(device: DeviceSurvey, ledger: Path) -> None:
    """Whatever a program says, the person's own cap holds; it may be stricter than that."""
    book = Ledger(ledger)
    first, second, third = (numbered(device, number, epsilon=Decimal(4)) for number in range(3))
    with pytest.raises(BudgetError, match="ε of all surveys in 30 days must be at most 1, got 0 and 4 more"):
        book.add(first, url_of(first), lambda: b"", Cap(month=Decimal(1)))
    assert book.add(
        first, url_of(first), lambda: b"", Cap(month=Decimal(1000), year=Decimal(1000), lifetime=Decimal(1000))
    )
    assert book.add(second, url_of(second), lambda: b"", Cap(month=Decimal(1000)))
    with pytest.raises(BudgetError, match="ε of all surveys in 30 days must be at most 8, got 8 and 4 more"):
        book.add(
            third, url_of(third), lambda: b"", Cap(month=Decimal(1000), year=Decimal(1000), lifetime=Decimal(1000))
        )


def test_ten_surveys_about_one_thing(ledger: Path) -> None:
    """Ten surveys of other names that ask the same at ε = 1: a person's ledger answers eight of them in a month."""
    results = []
    for number in range(10):
        survey = create_survey(f"question {number}", Categories(["yes", "no"], other=False), 1)
        url = f"http://127.0.0.1:1/v1/surveys/{survey.survey_id.hex()}"
        with Client(survey.to_json(), url=url, ledger=ledger, lifetime_epsilon=1000) as client:
            results.append(client.report("yes").status)
    assert results == ["queued"] * 8 + ["refused"] * 2


@pytest.mark.parametrize("limit", [-1, "-1", "NaN", "Infinity", "1000001", "1E-61", "x", "", True, [], 10**9])
def test_limits_that_could_not_be_read_again_are_not_written(limit: object, ledger: Path) -> None:
    """A limit that is not a number from 0 to 10^6 is refused, and the ledger stays as it was."""
    book = Ledger(ledger)
    book.set_cap(Cap(month=Decimal(3)))
    with pytest.raises(ClientError, match=r"month must be a number from 0 to 10\^6"):
        book.set_cap(Cap(month=limit))  # type: ignore[arg-type]
    assert book.cap() == Cap(month=Decimal(3))


@pytest.mark.parametrize("limit", [2, 0.5, "-0", Decimal("-0"), "1E-60", "1000000", Decimal("1E+6"), None])
def test_limits_of_all_types_can_be_read_again(limit: object, ledger: Path) -> None:
    """Numbers of any type, and both zeros."""
    Ledger(ledger).set_cap(Cap(year=limit))  # type: ignore[arg-type]
    assert Ledger(ledger).cap().year == (None if limit is None else Decimal(str(limit)))


def test_nobody_writes_through_a_link(device: DeviceSurvey, ledger: Path) -> None:
    """A link where the new file is to be written does not lead anywhere."""
    ledger.parent.mkdir()
    victim = ledger.parent / "victim"
    victim.write_text("precious")
    os.symlink(victim, f"{ledger}.new")
    assert Ledger(ledger).add(device, url_of(device), lambda: b"")
    assert victim.read_text() == "precious"
    assert not ledger.is_symlink()


def test_a_relative_state_directory_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As the standard of XDG_STATE_HOME says."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_ledger() == str(tmp_path / ".local" / "state" / "hubbub" / "ledger.json")


def test_delta_has_a_cap_too(device: DeviceSurvey, ledger: Path) -> None:
    """δ is summed against its own cap."""
    first, second = (numbered(device, number, delta=Decimal("6e-7")) for number in (1, 2))
    cap = Cap(delta=Decimal("1e-6"))
    assert Ledger(ledger).add(first, url_of(first), lambda: b"", cap)
    with pytest.raises(BudgetError, match="δ of all surveys"):
        Ledger(ledger).add(second, url_of(second), lambda: b"", cap)


GOOD_CAP = {"month": "8", "year": "28", "lifetime": "", "delta": "0.000001"}
GOOD_ENTRY = {
    "name": "n",
    "url": f"http://h/v1/surveys/{'0' * 64}",
    "epsilon": "1",
    "delta": "0",
    "answered": "2030-01-01",
    "state": "sent",
    "report": "",
    "detail": "",
}
CORRUPTED = {
    "empty": b"",
    "cut short": b'{"version": 1, "cap": {"month": "4"',
    "not text": b"\xff\xfe\x00",
    "a list": b"[]",
    "no version": b'{"surveys": {}}',
    "version true": b'{"version": true, "surveys": {}}',
    "no surveys": b'{"version": 1}',
    "surveys as a list": b'{"version": 1, "surveys": []}',
    "no cap": b'{"version": 1, "surveys": {}}',
    "a cap that is no number": json.dumps({"version": 1, "cap": {**GOOD_CAP, "year": "x"}, "surveys": {}}).encode(),
    "a cap that is missing": json.dumps({"version": 1, "cap": {"month": "4"}, "surveys": {}}).encode(),
    "an entry as a number": json.dumps({"version": 1, "cap": GOOD_CAP, "surveys": {"0" * 64: 7}}).encode(),
    **{
        f"{name} {value!r}": json.dumps(
            {"version": 1, "cap": GOOD_CAP, "surveys": {"0" * 64: {**GOOD_ENTRY, name: value}}}
        ).encode()
        for name, value in {
            "epsilon": "-1",
            "delta": "NaN",
            "state": "lost",
            "report": "xy",
            "url": "file:///etc/passwd",
            "answered": None,
            "extra": "1",
        }.items()
    },
    "no cost": json.dumps(
        {"version": 1, "cap": GOOD_CAP, "surveys": {"0" * 64: {**GOOD_ENTRY, "epsilon": "0"}}}
    ).encode(),
    "an impossible day": json.dumps(
        {"version": 1, "cap": GOOD_CAP, "surveys": {"0" * 64: {**GOOD_ENTRY, "answered": "0000-00-00"}}}
    ).encode(),
    "surveys twice": json.dumps({"version": 1, "cap": GOOD_CAP, "surveys": {"0" * 64: GOOD_ENTRY}}).encode()[:-1]
    + b', "surveys": {}}',
    "a newer version": b'{"version": 2, "surveys": {}}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("name", CORRUPTED)
def test_a_corrupted_ledger_stays_as_it_is(name: str, survey: Survey, ledger: Path) -> None:
    """It is refused in a sentence that names the file; no report is made, and not a byte of it changes."""
    ledger.parent.mkdir()
    ledger.write_bytes(CORRUPTED[name])
    with pytest.raises(LedgerError, match=r"the ledger '.*ledger\.json' (is damaged|is of version 2, which a newer)"):
        Ledger(ledger).read()
    url = f"http://127.0.0.1:1/v1/surveys/{survey.survey_id.hex()}"
    for options in ({}, {"url": url}):
        with Client(survey.to_json() if options else url, ledger=ledger, first_retry=0.01, **options) as client:
            result = client.report("a.example")
            assert result.status == "refused"
            assert f"the ledger {str(ledger)!r} is " in result.detail
            assert client.flush(0.01).status == "refused"
    assert ledger.read_bytes() == CORRUPTED[name]
    assert {path.name for path in ledger.parent.iterdir()} <= {"ledger.json", "ledger.json.lock"}


def test_nothing_left_is_zero() -> None:
    """A limit that is used up, or was passed, leaves 0 and not -0."""
    told = [{"epsilon": "1", "delta": "0", "answered": "2030-01-01"}]
    for most in (Decimal(1), Decimal("0.5")):
        left = Cap(most, most, most, Decimal(0)).left(told, datetime(2030, 1, 2, tzinfo=UTC))
        assert {str(each) for each in left} == {"0"}


def test_a_good_entry_is_good(ledger: Path) -> None:
    """What the corrupted ledgers above are made from can be read."""
    ledger.parent.mkdir()
    ledger.write_text(json.dumps({"version": 1, "cap": GOOD_CAP, "surveys": {"0" * 64: GOOD_ENTRY}}))
    assert Ledger(ledger).read() == {"0" * 64: GOOD_ENTRY}


def test_a_ledger_that_cannot_be_written(survey: Survey, tmp_path: Path) -> None:
    """A folder that is a file: a refusal with the reason, and no exception."""
    (tmp_path / "file").write_text("")
    url = f"http://127.0.0.1:1/v1/surveys/{survey.survey_id.hex()}"
    with Client(survey.to_json(), url=url, ledger=tmp_path / "file" / "ledger.json") as client:
        result = client.report("a.example")
    assert result.status == "refused"
    assert "ledger.json' cannot be written (" in result.detail


def test_a_full_disk_loses_nothing(device: DeviceSurvey, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new file cannot be written, the old one stays whole."""
    book = Ledger(ledger)
    book.add(numbered(device, 1), url_of(numbered(device, 1)), lambda: b"\1", CAP)
    before = ledger.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(LedgerError, match="No space left"):
        book.add(numbered(device, 2), url_of(numbered(device, 2)), lambda: b"\2", CAP)
    monkeypatch.undo()
    assert ledger.read_bytes() == before
    assert book.add(numbered(device, 2), url_of(numbered(device, 2)), lambda: b"\2", CAP)


INTERRUPTED = "the making of the report was interrupted; its cost counts, and nothing will be sent"


class Killed(BaseException):
    """What no handler of errors catches, like the end of a program."""


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, KeyboardInterrupt, Killed, OSError])
def test_the_cost_is_written_before_anything_is_drawn(
    error: type[BaseException], device: DeviceSurvey, ledger: Path
) -> None:
    """When a report is made, its entry is on the disk; whatever goes wrong then spends the ε, and there is no other."""
    book, drawn = Ledger(ledger), []

    def fail() -> bytes:
        (entry,) = json.loads(ledger.read_text(encoding="utf-8"))["surveys"].values()
        drawn.append((entry["state"], entry["report"], entry["epsilon"]))
        raise error

    with pytest.raises((error, LedgerError)):
        book.add(device, url_of(device), fail)
    assert drawn == [("begun", "", "2")]
    assert not book.add(device, url_of(device), fail)
    assert len(drawn) == 1
    entry = book.settled(device.survey_id.hex())
    assert entry is not None
    assert (entry["state"], entry["report"], entry["detail"]) == ("refused", "", INTERRUPTED)
    assert book.totals(book.read()) == (2, 0)


def test_a_budget_that_is_spent_draws_nothing(device: DeviceSurvey, ledger: Path) -> None:
    """A report that may not be made is not made: neither beyond the limits nor for the second time."""
    drawn: list[int] = []
    book = Ledger(ledger)
    with pytest.raises(BudgetError):
        book.add(device, url_of(device), lambda: drawn.append(1) or b"", Cap(month=Decimal(1)))
    assert drawn == []
    assert [book.add(device, url_of(device), lambda: drawn.append(1) or b"") for _ in range(3)] == [True, False, False]
    assert drawn == [1]


@pytest.mark.parametrize("write", [1, 2])
def test_a_disk_that_is_full_before_or_after_the_draw(
    write: int, survey: Survey, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, nothing was drawn and nothing is spent. After, the ε is spent, and no second report is made."""
    flush, calls, drawn = os.fsync, [], []

    def full(file: int) -> None:
        calls.append(stat.S_ISDIR(os.fstat(file).st_mode))
        if calls.count(False) == write:
            raise OSError(28, "No space left on device")
        flush(file)

    tokens = secrets.token_bytes
    monkeypatch.setattr("hubbub.client.client.secrets.token_bytes", lambda size: drawn.append(size) or tokens(size))
    monkeypatch.setattr("os.fsync", full)
    url = f"http://127.0.0.1:1/v1/surveys/{survey.survey_id.hex()}"
    with Client(survey.to_json(), url=url, ledger=ledger) as client:
        assert client.report("a.example") == Result(
            "refused", f"the ledger {str(ledger)!r} cannot be written (No space left on device)"
        )
        assert len(drawn) == write - 1
        assert client.report("a.example").status == ("queued" if write == 1 else "already")
        assert len(drawn) == 1
        if write == 2:
            assert client.flush(0) == Result("refused", INTERRUPTED)
    assert Ledger.totals(Ledger(ledger).read())[0] == 1


DRAWER = """
import os, sys
import hubbub.client.client
from hubbub.client import Client
survey, url, ledger, how = sys.argv[1:]
encode = hubbub.client.client.encode_report
def end(*given):
    encode(*given)
    if how == "kill":
        os.kill(os.getpid(), 9)
    os._exit(7)  # a child that ends while its parent waits, or a program that ends
hubbub.client.client.encode_report = end
client = Client(survey, url=url, ledger=ledger)
if how == "fork" and (child := os.fork()):
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
client.report("a.example")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [("kill", -9), ("exit", 7), ("fork", 7)])
def test_an_end_after_the_draw_spends_the_cost(how: str, code: int, survey: Survey, ledger: Path) -> None:
    """A process that ends between the draw and the ledger leaves the cost, and nobody draws for this survey again."""
    url = f"http://127.0.0.1:1/v1/surveys/{survey.survey_id.hex()}"
    words = [survey.to_json().decode(), url, str(ledger), how]
    assert subprocess.run([sys.executable, "-c", DRAWER, *words], check=False).returncode == code
    assert Ledger(ledger).read()[survey.survey_id.hex()]["state"] == "begun"
    with Client(survey.to_json(), url=url, ledger=ledger) as client:
        assert client.report("a.example") == Result("already")
        assert client.flush(0) == Result("refused", INTERRUPTED)
    assert Ledger.totals(Ledger(ledger).read())[0] == 1


def test_threads_draw_once(survey: Survey, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many threads that report at once, one draws; the others do not even begin."""
    drawn, tokens = [], secrets.token_bytes
    monkeypatch.setattr("hubbub.client.client.secrets.token_bytes", lambda size: drawn.append(size) or tokens(size))
    monkeypatch.setattr("hubbub.client.ledger.LOCK_SECONDS", 60.0)
    url = f"http://127.0.0.1:1/v1/surveys/{survey.survey_id.hex()}"
    clients = [Client(survey.to_json(), url=url, ledger=ledger) for _ in range(4)]
    threads = [threading.Thread(target=client.report, args=("a.example",)) for client in clients * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        client.close()
    assert len(drawn) == 1


def test_a_folder_that_cannot_be_flushed(device: DeviceSurvey, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the new file is in place the report is written, also where the system cannot flush a folder."""
    flush = os.fsync

    def only_files(file: int) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(22, "Invalid argument")
        flush(file)

    monkeypatch.setattr("os.fsync", only_files)
    assert Ledger(ledger).add(device, url_of(device), lambda: b"\1", CAP)
    assert len(Ledger(ledger).read()) == 1


WRITER = """
import sys
import hubbub.client.ledger
from hubbub.client.ledger import Ledger
from hubbub.client.survey import read_survey
hubbub.client.ledger.LOCK_SECONDS = 60
hubbub.client.ledger.DEFAULT_CAP = hubbub.client.ledger.Cap()
survey, book, first = read_survey(sys.argv[1]), Ledger(sys.argv[2]), int(sys.argv[3])
for number in range(first, first + int(sys.argv[4])):
    each = survey._replace(survey_id=number.to_bytes(32, "big"))
    assert book.add(each, "http://h/v1/surveys/" + each.survey_id.hex(), lambda: b"")
    print(number, flush=True)
    book.settle(each.survey_id.hex(), "sent", "")
"""


def test_processes_do_not_lose_each_others_entries(other_survey: Survey, ledger: Path) -> None:
    """Three processes write fifteen entries each at the same time: all are there in the end."""
    words = [other_survey.to_json().decode(), str(ledger)]
    command = [sys.executable, "-c", WRITER, *words]
    writers = [subprocess.Popen([*command, str(100 * n), "15"], stdout=subprocess.DEVNULL) for n in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    entries = Ledger(ledger).read()
    assert len(entries) == 45
    assert {entry["state"] for entry in entries.values()} == {"sent"}
    assert Ledger.totals(entries)[0] == 90


@pytest.mark.slow
def test_kills_lose_nothing(other_survey: Survey, ledger: Path) -> None:
    """A writer is killed (-9) again and again, wherever it is: what it had confirmed is there, and all can be read."""
    confirmed: set[int] = set()
    for kill in range(8):
        words = [other_survey.to_json().decode(), str(ledger), str(1000 * kill), "1000"]
        writer = subprocess.Popen([sys.executable, "-c", WRITER, *words], stdout=subprocess.PIPE, text=True)
        for _ in range(3 * kill + 1):
            confirmed.add(int(writer.stdout.readline()))
        writer.kill()
        confirmed |= {int(line) for line in writer.stdout if line.endswith("\n")}
        assert writer.wait() == -9
        writer.stdout.close()
        told = {int(survey_id, 16) for survey_id in Ledger(ledger).read()}
        assert confirmed <= told
        assert len(told - confirmed) <= kill + 1  # written when the kill came, not yet confirmed
    assert len(confirmed) >= 92


@pytest.mark.skipif(os.name != "posix", reason="locks are different there")
def test_a_lock_that_is_not_given_back(survey: Survey, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds the lock for good makes a refusal, not a host program that hangs."""
    import fcntl

    monkeypatch.setattr("hubbub.client.ledger.LOCK_SECONDS", 0.05)
    ledger.parent.mkdir()
    url = f"http://127.0.0.1:1/v1/surveys/{survey.survey_id.hex()}"
    with open(f"{ledger}.lock", "w") as held, Client(survey.to_json(), url=url, ledger=ledger) as client:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert client.report("a.example") == Result("refused", "timed out after 0.05 s waiting for the ledger's lock")
        fcntl.flock(held, fcntl.LOCK_UN)
        assert client.report("a.example").status == "queued"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_does_not_keep_the_lock(device: DeviceSurvey, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child forked while the ledger is being changed has the lock's file open; the lock is free all the same."""
    monkeypatch.setattr("hubbub.client.ledger.LOCK_SECONDS", 0.05)
    until, end = os.pipe()
    book = Ledger(ledger)
    with book.changing():
        child = os.fork()
        if not child:
            os.close(end)
            os.read(until, 1)  # until the parent closes its end
            os._exit(0)
    try:
        assert book.add(device, url_of(device), lambda: b"", CAP)
    finally:
        os.close(end)
        os.waitpid(child, 0)
        os.close(until)


def test_a_link_is_followed(device: DeviceSurvey, tmp_path: Path) -> None:
    """A ledger behind a symbolic link is written where the link points."""
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    Ledger(tmp_path / "link.json").add(device, url_of(device), lambda: b"", CAP)
    assert (tmp_path / "link.json").is_symlink()
    assert len(Ledger(tmp_path / "real.json").read()) == 1


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_STATE_HOME", "base/hubbub/ledger.json"),
        ("linux", "", "home/.local/state/hubbub/ledger.json"),
        ("darwin", "", "home/Library/Application Support/hubbub/ledger.json"),
        ("win32", "LOCALAPPDATA", "base/hubbub/ledger.json"),
    ],
)
def test_where_the_ledger_is(
    platform: str, variable: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where programs of each system keep a person's state."""
    monkeypatch.setattr("sys.platform", platform)
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "base"))
    assert default_ledger() == str(tmp_path / expected)
