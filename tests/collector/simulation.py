"""Exactly once, under fire: clients that retry, networks that lose, collectors that are killed.

What may happen to a batch: it is never sent; half of it is sent; it is sent and nobody reads the reply; it is sent
twice, also to two collectors at once; some of its reports are sent again in another batch; its client gives up. What
may happen to a collector: kill -9 at any moment, while it starts, commits, folds or replies. It is started again. With
`troubles`, its disk is full now and then, its clock jumps by weeks, and peers connect that say nothing. With `weeks`,
a day passes at every kill, the clock is wrong now and then, and ids are purged; clients send reports of earlier days
again, and give up what is 7 days old.

What must hold whatever happens: each report that was acknowledged (accepted or duplicate) is counted once; each
that was sent but not acknowledged is counted once or not at all; each that was never sent is not counted.

Each client writes a cell of its own, so a cell tells how often its report was counted. The clients' decisions follow
from the seed. When a kill strikes does not, and need not: the rule has to hold at any moment.

`python -m tests.collector.simulation --kills 1000` is `make soak`. In the end it also overloads a collector on each
database, and purges a large survey on a PostgreSQL whose statistics are old.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import select
from tests.collector.own_cell import OwnCell, build, own_cell_survey
from tests.collector.troubles import Troubles, Weeks, small_disk

from hubbub import merge
from hubbub.store.schema import reading, surveys
from hubbub.store.slices import Range, day_of
from hubbub.store.store import Store
from hubbub.store.upkeep import check
from hubbub.wire.report_batch import encode_batch

CELLS = 1 << 17
CLIENTS = 4
MOST_DAYS = 7  # a report is given up then
ROOT = Path(__file__).resolve().parents[2]


class Zygote:
    """The process that forks collectors."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.collector.zygote"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def ask(self, **command: object) -> dict[str, int]:
        """One command, one answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it, and with it every collector it has."""
        self._process.communicate(timeout=60)


@contextmanager
def zygote() -> Iterator[Zygote]:
    """A zygote, and no process left behind."""
    made = Zygote()
    try:
        yield made
    finally:
        made.close()


@dataclass
class Ledger:
    """What the clients know of their reports."""

    sent: set[int] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)
    replies: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _next: int = 0

    def take(self, count: int) -> list[int]:
        """The next cells that nobody has used."""
        with self._lock:
            first, self._next = self._next, self._next + count
        return list(range(first, first + count))

    def note(self, cells: list[int], statuses: list[str]) -> None:
        """A reply came."""
        assert len(statuses) == len(cells)
        assert set(statuses) <= {"accepted", "duplicate"}
        with self._lock:
            self.acknowledged.update(cells)
            self.replies += 1


class Client(threading.Thread):
    """Sends reports to collectors that die, over a network that loses, until it is told to stop."""

    def __init__(self, seed: str, ports: list[int], survey_id: bytes, ledger: Ledger, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.random = random.Random(seed)
        self.ports, self.survey_id, self.ledger, self.stop = ports, survey_id, ledger, stop
        self.clock_jumps = False
        self.today: Callable[[], int] = lambda: 0
        self.kept: list[tuple[int, np.ndarray]] = []  # reports to send once more on another day
        self.failure: BaseException | None = None

    def run(self) -> None:
        """One batch after the other."""
        try:
            while not self.stop.is_set():
                cells = self.ledger.take(self.random.choice([1, 1, 2, 5, 20]))
                if cells[-1] >= CELLS:
                    return
                self._deliver(self._reports(cells))
        except BaseException as error:
            self.failure = error

    def _reports(self, cells: list[int]) -> np.ndarray:
        reports = np.zeros(len(cells), OwnCell.report_dtype)
        reports["id"] = [[self.random.getrandbits(64), self.random.getrandbits(64)] for _ in cells]
        reports["cell"] = cells
        return reports

    def _deliver(self, reports: np.ndarray) -> None:
        """Send until it is acknowledged, unless the client gives up before."""
        self.kept = [(day, old) for day, old in self.kept if self.today() - day < MOST_DAYS]
        if self.kept and self.random.random() < 0.3:
            self._retry(*reversed(self.kept.pop(self.random.randrange(len(self.kept)))))
        if self.random.random() < 0.3:
            self.kept.append((self.today(), reports))
        fate = self.random.random()
        if fate < 0.05:
            return  # never sent
        if fate < 0.15:
            self._send(reports, cut=True)  # the connection breaks half-way
        if 0.15 <= fate < 0.30:
            self._send(reports, read=False)  # the reply is lost, if there is one
        if fate > 0.95:
            self._send(reports, read=False)
            return  # and the client gives up
        if 0.30 <= fate < 0.40:
            other = threading.Thread(target=self._send, args=(reports,))  # twice at the same time
            other.start()
            self._retry(reports, self.today())
            other.join()
            return
        made = self.today()
        self._retry(reports, made)
        if 0.40 <= fate < 0.60:  # some of them once more, among new ones
            again = np.concatenate([reports[self.random.randrange(len(reports)) :], self._reports(self.ledger.take(1))])
            if int(again["cell"].max()) < CELLS:
                self._retry(self._shuffled(again), made)

    def _shuffled(self, reports: np.ndarray) -> np.ndarray:
        order = list(range(len(reports)))
        self.random.shuffle(order)
        return reports[order]

    def _retry(self, reports: np.ndarray, made: int) -> None:
        while self.today() - made < MOST_DAYS and not self._send(reports):
            time.sleep(0.002)

    def _send(self, reports: np.ndarray, read: bool = True, cut: bool = False) -> bool:
        """Whether every report of the batch was acknowledged."""
        cells = [int(cell) for cell in reports["cell"]]
        body = encode_batch(self.survey_id, reports)
        path = f"/v1/surveys/{self.survey_id.hex()}/reports"
        self.ledger.sent.update(cells)
        connection = http.client.HTTPConnection("127.0.0.1", self.random.choice(self.ports), timeout=20)
        try:
            if cut:
                connection.putrequest("POST", path)
                connection.putheader("Content-Length", str(len(body)))
                connection.endheaders(body[: len(body) // 2])
                return False
            connection.request("POST", path, body)
            if not read:
                connection.sock.shutdown(socket.SHUT_RD)
                return False
            reply = connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        if reply.status == 503 or (reply.status == 410 and self.clock_jumps):
            return False
        assert reply.status == 200, (reply.status, text)
        self.ledger.note(cells, json.loads(text)["statuses"])
        return True


def simulate(
    zygote: Zygote,
    database: str,
    seed: int | str,
    kills: int,
    collectors: int = 1,
    mutant: str | None = None,
    replies: int = 0,
    troubles: Path | None = None,
    fills_disk: bool = False,
    weeks: Path | None = None,
) -> dict[str, int]:
    """Kill collectors so many times while clients report, then hold the tally to the rule above.

    `replies` is how many must have come, at least, before the clients stop. `troubles` is the folder of the database,
    if there is to be trouble; `fills_disk` says whether it is a small disk of its own. `weeks` is a file for the clock,
    if days are to pass.
    """
    closes = None if troubles is None else datetime.now(UTC) + timedelta(days=30)
    survey = own_cell_survey(CELLS, closes=closes)
    with Store(database, build) as store:
        store.add_survey(survey)
    rng = random.Random(f"{seed} kills")
    bound = [zygote.ask(do="bind") for _ in range(collectors)]
    ports, numbers = [each["port"] for each in bound], [each["listener"] for each in bound]

    maker = None if troubles is None else Troubles(f"{seed} troubles", ports, troubles, fills_disk)
    calendar = None if weeks is None else Weeks(f"{seed} weeks", weeks)
    clock = str(weeks) if maker is None and weeks else None if maker is None else str(maker.clock)

    def start(listener: int) -> int:
        more = {"mutant": mutant, "clock": clock, "weeks": calendar is not None}
        return zygote.ask(do="start", database=database, listener=listener, **more)["pid"]

    running = [start(listener) for listener in numbers]
    ledger, stop = Ledger(), threading.Event()
    clients = [Client(f"{seed} {k}", ports, survey.survey_id, ledger, stop) for k in range(CLIENTS)]
    for client in clients:
        client.clock_jumps = maker is not None
        if calendar is not None:
            client.today = lambda: calendar.day
        client.start()
    if calendar is not None:
        calendar.start()
    if maker is not None:
        maker.start()
    for kill in range(kills):
        victim = rng.randrange(collectors)
        if rng.random() < 0.85:  # let it get to work first; otherwise it dies while it starts
            before, patience = ledger.replies, time.monotonic() + 20
            while ledger.replies <= before and time.monotonic() < patience and any(c.is_alive() for c in clients):
                time.sleep(0.001)
        time.sleep(rng.random() * 0.04 if calendar is None or kill % 4 else 0.2 + rng.random() * 0.2)
        if calendar is not None and kill % collectors == 0:
            calendar.pass_day()
        zygote.ask(do="kill", pid=running[victim])
        running[victim] = start(numbers[victim])
    while ledger.replies < replies and any(client.is_alive() for client in clients):
        time.sleep(0.001)
    if maker is not None:
        maker.stop()
    if calendar is not None:
        calendar.stop()
    stop.set()
    for client in clients:
        client.join(60)
        assert not client.is_alive(), "a client waits for ever"
        if client.failure is not None:
            raise client.failure
    for pid in running:
        zygote.ask(do="kill", pid=pid)
    found = judge(database, survey.survey_id, ledger, kills) | (maker.counts if maker else {})
    return found | (judge_weeks(database, survey.survey_id, calendar) if calendar else {})


def judge(database: str, survey_id: bytes, ledger: Ledger, kills: int) -> dict[str, int]:
    """Every acknowledged report once, none twice, none that was not sent; and the store is whole."""
    with Store(database, build) as store:
        before = check(store).problems
        tally = store.tally(survey_id)
        after = check(store).problems
    counted = {int(cell) for cell in np.flatnonzero(tally.cells)}
    assert int(tally.cells.max(initial=0)) <= 1, "a report was counted twice"
    assert ledger.acknowledged <= counted, "an acknowledged report was lost"
    assert counted <= ledger.sent, "a report was counted that nobody sent"
    assert tally.count == len(counted)
    assert before == after == (), "the store is damaged"
    assert len(ledger.acknowledged) > kills / 2, "hardly anything happened"
    return {"kills": kills, "sent": len(ledger.sent), "acknowledged": len(ledger.acknowledged), "counted": len(counted)}


def judge_weeks(database: str, survey_id: bytes, calendar: Weeks) -> dict[str, int]:
    """The slices have each report once, too; and the ids of reports that nobody sends again are gone."""
    with Store(database, build) as store:
        listed, total = store.slices(survey_id), store.tally(survey_id)
        each = [store.tally(survey_id, Range(day_of(one.start), day_of(one.end))) for one in listed]
        with reading(store.engine) as connection:
            purged = connection.scalar(select(surveys.c.ids_purged)) or 0
    assert [one.reports for one in listed] == [part.count for part in each]
    assert merge(each) == total
    assert len(listed) > calendar.day // 7, "hardly any week went by"
    return {"days": calendar.day, "clock jumps": calendar.jumps, "slices": len(listed), "purged ids": purged}


def main() -> None:
    """The long run: `make soak`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how often a collector is killed, in all")
    parser.add_argument("--weeks", action="store_true", help="only runs in which days pass, at the ends of slices")
    parser.add_argument("--overload", type=float, default=60.0, help="for how many seconds each database is overloaded")
    parser.add_argument("--ids", type=int, default=500_000, help="ids of a survey that is purged with old statistics")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="repeats the clients' decisions; printed")
    arguments = parser.parse_args()
    from tests.collector.old_statistics import purge_with_old_statistics
    from tests.collector.overload import most_memory, overload
    from tests.databases import new_postgresql_database, postgresql_server

    print(f"seed {arguments.seed}", flush=True)  # noqa: T201
    done, each = 0, 100
    with ExitStack() as stack:
        forks = stack.enter_context(zygote())
        server = stack.enter_context(postgresql_server())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hubbub-soak-"))
        for number in range(-(-arguments.kills // each)):
            seed = f"{arguments.seed} {number}"
            disk = Path(folder) / f"disk-{number}"
            if arguments.weeks or number % 4 == 3:
                clock = Path(folder) / f"clock-{number}"
                on_disk = number % 8 in (0, 2, 3, 4, 6)
                database = str(Path(folder) / f"{number}.db") if on_disk else new_postgresql_database(server)
                report = simulate(forks, database, seed, each, collectors=1 if on_disk else 2, weeks=clock)
            elif number % 4 == 2:
                with small_disk(disk) as mounted:
                    report = simulate(forks, str(disk / "a.db"), seed, each, troubles=disk, fills_disk=mounted)
                if not mounted:
                    print("no full disks: mounting one needs rights that this user has not")  # noqa: T201
            elif number % 2:
                report = simulate(forks, new_postgresql_database(server), seed, each, collectors=2)
            else:
                report = simulate(forks, str(Path(folder) / f"{number}.db"), seed, each)
            done += report["kills"]
            print(f"{done} kills, {report}", flush=True)  # noqa: T201
        for database in (
            (str(Path(folder) / "overload.db"), new_postgresql_database(server)) if arguments.overload else ()
        ):
            found = overload(database, arguments.overload)
            print(f"overload: {found}", flush=True)  # noqa: T201
            assert found.peak_mib < most_memory(1 << 20), "it takes more memory than is stated"
        if arguments.ids:
            times = purge_with_old_statistics(new_postgresql_database(server), arguments.ids)
            print(f"purge: each of {arguments.ids} ids was read {times:.1f} times", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
