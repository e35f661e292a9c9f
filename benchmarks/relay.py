"""How fast a relay takes sealed reports, beside reports that go to a collector directly, and how large its queue is.

`python benchmarks/relay.py --write docs/relay.md` rewrites the section between the markers there. Reports come one in a
request, on three connections, from this machine, as devices behind a proxy send them. Nothing is released meanwhile.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hubbub import Hostnames, OSRandomWords, create_survey, mechanism_for
from hubbub.sealing.hpke import PrivateKey
from hubbub.sealing.request import Opened
from hubbub.sealing.sealed import seal_request
from hubbub.store.sealing_keys import new_key
from hubbub.store.store import Store
from hubbub.wire.report_batch import encode_batch

CONNECTIONS = 3
BEGIN, END = "<!-- measured by benchmarks/relay.py -->", "<!-- end -->"


@contextmanager
def program(*words: str) -> Iterator[str]:
    """A command of hubbub that serves; yields its address."""
    command = [sys.executable, "-m", "hubbub", *words, "--port", "0", "--json"]
    environment = {**os.environ, "HUBBUB_RELAY_TOKEN": "nobody-takes-it"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield json.loads(process.stdout.readline() if process.stdout else "")["url"]
        finally:
            process.terminate()


def rate(url: str, path: str, bodies: Sequence[bytes], status: int) -> float:
    """Requests a second until all are acknowledged."""

    def send(mine: Sequence[bytes]) -> None:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        for body in mine:
            connection.request("POST", path, body)
            reply = connection.getresponse()
            reply.read()
            if reply.status != status:
                raise RuntimeError(f"a report was refused with status {reply.status}")
        connection.close()

    started = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(send, [bodies[start::CONNECTIONS] for start in range(CONNECTIONS)]))
    return len(bodies) / (time.perf_counter() - started)


def measure(reports: int) -> str:
    """The section of the page."""
    private, facts = new_key(10**6)
    public = PrivateKey(private).public
    direct = create_survey("direct", Hostnames(), 1)
    relayed = create_survey("relayed", Hostnames(), 1, closes=datetime.now(UTC) + timedelta(days=30), **facts)
    mechanism = mechanism_for(direct)
    drawn = OSRandomWords().draw(reports, mechanism.random_words_per_report)
    made = mechanism.randomize(direct.domain.encode(["news.example"] * reports), drawn)
    started = time.perf_counter()
    sealed = [seal_request(public, 10**6, Opened(relayed.survey_id, report.tobytes())) for report in made]
    sealing = (time.perf_counter() - started) / reports
    with tempfile.TemporaryDirectory() as folder:
        queue, database = Path(folder) / "relay.db", str(Path(folder) / "a.db")
        with program("relay", "--to", "http://127.0.0.1:9", "--queue", str(queue)) as relay:
            through = rate(relay, "/v1/sealed", sealed, 202)
        size = queue.stat().st_size / reports
        with Store(database) as store:
            store.add_survey(direct)
        bodies = [encode_batch(direct.survey_id, made[number : number + 1]) for number in range(reports)]
        with program("serve", "--db", database) as collector:
            straight = rate(collector, f"/v1/surveys/{direct.survey_id.hex()}/reports", bodies, 200)
    load, cores = os.getloadavg()[0], os.cpu_count()
    return (
        f"Of {reports:,} reports, one in a request on {CONNECTIONS} connections, a relay took {through:,.0f} a second, "
        f"and a collector {straight:,.0f} that came directly. The queue has {size:,.0f} bytes for each that waits, of "
        f"which 214 are the request; sealing one takes {1e3 * sealing:.1f} ms in Python. Measured on {cores} cores "
        f"that did other things at the same time (load {load:.0f})."
    )


def main() -> None:
    """Measure, print, and rewrite the page if it is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=5_000)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="rewrite the section of this page")
    arguments = parser.parse_args()
    section = measure(arguments.reports)
    print(section)
    if arguments.write is not None:
        before, begin, rest = arguments.write.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not (begin and end):
            raise RuntimeError(f"{arguments.write} has no section for this")
        arguments.write.write_text(f"{before}{begin}\n{section}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
