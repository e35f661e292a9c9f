"""More than a collector can take: many connections send the largest batches, again as soon as they are refused.

What must hold: a batch that was refused is not stored, so when it is sent again all of its reports are new; everything
that was acknowledged is counted, and nothing else; and the memory of the collector stays below what docs/operations.md
says, which is `most_memory` here.

The collector is a real process, `hubbub serve`, on SQLite or PostgreSQL. `make soak` runs this for longer.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hubbub import Integers, Survey, create_survey
from hubbub.collector.bodies import MAX_BATCH_BYTES, MAX_WAITING_BYTES
from hubbub.model.tally import Tally
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.store import Store
from hubbub.store.upkeep import check
from hubbub.wire.report_batch import HEADER_BYTES, encode_batch

MIB = 1 << 20
BASE_MIB = 400
CELL_BYTES = 48
CONNECTIONS = 150
REPORT = np.dtype([("id", "<u8", (2,)), ("symbol", "u1")])
LARGEST = (MAX_BATCH_BYTES - HEADER_BYTES) // REPORT.itemsize


def most_memory(cells: int) -> int:
    """The most MiB of a collector whose largest survey has so many cells: the formula of docs/operations.md."""
    return BASE_MIB + 2 * MAX_WAITING_BYTES // MIB + CELL_BYTES * cells // MIB


@dataclass
class Outcome:
    """What became of the batches, and how much memory the collector has had at most.

    `broken` connections are those from which no reply came: a collector closes them if this machine is too busy to send
    in time. Whether such a batch was stored is known when it is sent again.
    """

    acknowledged: int = 0
    refused: int = 0
    stored_though_refused: int = 0
    broken: int = 0
    peak_mib: float = 0.0


@contextmanager
def served(database: str, found: Outcome) -> Iterator[str]:
    """The address of a collector that runs as a process. It must end well; then its peak of memory is known."""
    command = [sys.executable, "-m", "hubbub", "serve", "--db", database, "--port", "0", "--json"]
    command += ["--report-limit", "0"]  # in a minute more reports come than any survey expects
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
            # Not from wait4, which counts this process too, from before the other program was loaded.
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            found.peak_mib = int(status.partition("VmHWM:")[2].split()[0]) / 1024
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()


async def _send(url: str, survey_id: bytes, batch: int, until: float, found: Outcome) -> None:
    """One connection: batch after batch, each until it is acknowledged."""
    host, _, port = url.removeprefix("http://").partition(":")
    reports = np.zeros(batch, REPORT)
    refused = lost = False
    data = b""
    while time.monotonic() < until or lost:
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            while time.monotonic() < until or lost:
                if not refused and not lost:
                    reports["id"] = np.frombuffer(os.urandom(16 * batch), "<u8").reshape(-1, 2)
                    body = encode_batch(survey_id, reports)
                    path = f"/v1/surveys/{survey_id.hex()}/reports"
                    data = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
                writer.write(data)
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
                reply = json.loads(await reader.readexactly(length))
                if head.startswith(b"http/1.1 503"):
                    refused = True
                    found.refused += 1
                    await asyncio.sleep(0.05)
                    if b"connection: close" in head:
                        break
                    continue
                assert head.startswith(b"http/1.1 200"), reply
                found.acknowledged += reply["accepted"] + (reply["duplicate"] if lost else 0)
                found.stored_though_refused += 0 if lost else reply["duplicate"]
                refused = lost = False
        except (ConnectionError, asyncio.IncompleteReadError):
            found.broken, lost = found.broken + 1, True
            assert found.broken < 10 * CONNECTIONS, "a collector that is overloaded replies"
        finally:
            writer.close()


def overload(
    database: str,
    seconds: float,
    connections: int = CONNECTIONS,
    batch: int = LARGEST,
    survey: Survey | None = None,
    before: int = 0,
) -> Outcome:
    """Overload a collector for about so long; return what became of the batches.

    `before` is what every cell of the tally has at the start: the larger the numbers, the more bytes a stored cell has.
    """
    survey = survey or create_survey("overload", Integers(64), 1)
    found = Outcome()
    with Store(database) as store:
        stored = store.add_survey(survey)
        if before:
            start = Tally(survey.survey_id, 0, np.full(stored.mechanism.cells_shape, before, np.int64))
            merge_tally(store, survey.survey_id, "start", bytes(32), start)
    with served(database, found) as url:

        async def everybody() -> None:
            until = time.monotonic() + seconds
            await asyncio.gather(*(_send(url, survey.survey_id, batch, until, found) for _ in range(connections)))

        asyncio.run(everybody())
    with Store(database) as store:
        tally = store.tally(survey.survey_id)
        assert check(store).problems == ()
    assert tally.count == found.acknowledged, "what was acknowledged is counted, and nothing else"
    assert found.stored_though_refused == 0, "what was refused is not stored"
    return found
