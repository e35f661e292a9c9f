"""How many durable reports a second a collector takes, beside an endpoint of the same server that does nothing.

The collector is a process of its own with one worker and SQLite; the load comes from this process, over real HTTP on
connections that stay open. `collector_setups` measures other set-ups. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BATCHES, CONNECTIONS = (1, 100, 1000), (1, 64)
MILLION = 1_000_000
TARGET = 50_000
WARM_UP = 0.2  # share of a run that is not measured
ROUNDS = 3  # both endpoints take turns, so that a slow minute of the machine is one of both; the medians are shown
SINGLE = (1, 64)  # one report in a request over 64 connections: what devices do. Its ratio is measured more often
PAIRS = 9
QUICK_REPORTS = 100_000
CROWDS = (8, 32, 150)  # connections that send the largest batches; the last is more than a collector can take
PAUSE_SECONDS = 1.0  # after a refusal; a device waits for as long as Retry-After says, 2 s at least
LARGEST = 61_000  # reports of a batch of nearly 1 MiB


class Row(NamedTuple):
    """One measurement."""

    endpoint: str
    batch: int
    connections: int
    requests_per_second: float
    reports_per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float  # of the server, for a request


def serve(database: str) -> None:
    """The server's side: a collector, and a route that reads its body and does nothing with it."""
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from hubbub import Integers, create_survey
    from hubbub.collector.listening import address_of, bind
    from hubbub.collector.rates import Rates
    from hubbub.collector.serving import serve as run
    from hubbub.collector.state import Collector
    from hubbub.dashboard.app import create_app
    from hubbub.store.store import Store

    async def nothing(request: Request) -> Response:
        await request.body()
        return Response(b"{}", media_type="application/json")

    def build(collector: Collector) -> FastAPI:
        app = create_app(collector)
        app.router.routes.insert(0, Route("/nothing", nothing, methods=["POST"]))
        return app

    with Store(database) as store:
        survey_id = store.add_survey(create_survey("benchmark", Integers(64), 1)).survey_id.hex()
    with bind("127.0.0.1", 0) as listener:
        said = json.dumps({"url": address_of(listener), "survey_id": survey_id})
        run(database, listener, lambda: print(said, flush=True), build, Rates(times=0))


class Server(NamedTuple):
    """A running server."""

    pid: int
    host: str
    port: int
    survey_id: str

    def memory_mib(self) -> float:
        """What is resident now."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return float("nan")

    def peak_mib(self) -> float:
        """The most that ever was resident."""
        return int(Path(f"/proc/{self.pid}/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024

    def cpu_seconds(self) -> float:
        """CPU time so far, of user and system together."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(folder: str) -> Iterator[Server]:
    """A server on a new database."""
    command = [sys.executable, __file__, "--serve", str(Path(folder) / "collector.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = json.loads(process.stdout.readline())  # type: ignore[union-attr]  # it is a pipe
        host, _, port = said["url"].removeprefix("http://").partition(":")
        try:
            yield Server(process.pid, host, int(port), said["survey_id"])
        finally:
            process.terminate()
            process.wait()


def request(path: str, survey_id: str, batch: int, rng: np.random.Generator) -> bytes:
    """A whole HTTP request with reports that nobody has sent before."""
    reports = np.zeros(batch, np.dtype([("id", "<u8", (2,)), ("symbol", "u1")]))
    reports["id"] = rng.integers(0, 2**64, (batch, 2), np.uint64)
    reports["symbol"] = rng.integers(0, 4, batch)
    body = b"\x01" + bytes.fromhex(survey_id) + reports.tobytes()
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def load(target: Server, path: str, batch: int, connections: int, requests: int) -> list[tuple[float, float]]:
    """Send so many requests over so many connections; when each began and ended."""
    rng = np.random.default_rng()
    waiting = [request(path, target.survey_id, batch, rng) for _ in range(requests)]
    return await send(target, waiting, connections, b'{"accepted":%d,' % batch if "reports" in path else b"{}")


async def send(target: Server, waiting: list[bytes], connections: int, expected: bytes) -> list[tuple[float, float]]:
    """Send requests over so many connections, whose replies must begin like this; when each began and ended."""
    times: list[tuple[float, float]] = []

    async def connection() -> None:
        reader, writer = await asyncio.open_connection(target.host, target.port)
        while waiting:
            data = waiting.pop()
            began = time.perf_counter()
            writer.write(data)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(length)
            times.append((began, time.perf_counter()))
            if not body.startswith(expected):
                raise SystemExit(f"not every report was accepted: {body[:200]!r}")
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(connection() for _ in range(connections)))
    return times


def measure(target: Server, endpoint: str, batch: int, connections: int, seconds: float) -> Row:
    """One row of the table: as many requests as take about so long."""
    path = f"/v1/surveys/{target.survey_id}/reports" if endpoint == "reports" else "/nothing"
    trial = asyncio.run(load(target, path, batch, connections, 2 * connections + 20))
    per_request = (trial[-1][1] - trial[0][0]) / len(trial)
    requests = int(min(max(seconds / per_request, 4 * connections), 2 * MILLION / batch))
    spent = target.cpu_seconds()
    times = asyncio.run(load(target, path, batch, connections, requests))
    cpu = 1e6 * (target.cpu_seconds() - spent) / requests
    rate, p50, p99 = figures_of(times)
    return Row(endpoint, batch, connections, rate, rate * batch, p50, p99, cpu)


def figures_of(times: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Requests a second, and the median and the 99th percentile of their times in ms, without the warm-up."""
    start = times[0][0] + WARM_UP * (times[-1][1] - times[0][0])
    kept = [(began, ended) for began, ended in times if ended > start]
    latencies = sorted(1000 * (ended - began) for began, ended in kept)
    p50, p99 = (latencies[int(share * (len(latencies) - 1))] for share in (0.5, 0.99))
    return len(kept) / (kept[-1][1] - start), p50, p99


def measure_in_turn(target: Server, batch: int, connections: int, seconds: float) -> tuple[list[Row], list[float]]:
    """Two rows: of the rounds of each endpoint, the one with the median rate; and the ratio of rates of each round."""
    count = PAIRS if (batch, connections) == SINGLE else ROUNDS
    rounds = [
        [measure(target, endpoint, batch, connections, seconds / ROUNDS) for endpoint in ("reports", "nothing")]
        for _ in range(count)
    ]
    ratios = [idle.requests_per_second / ours.requests_per_second for ours, idle in rounds]
    found = []
    for rows in zip(*rounds, strict=True):
        middle = sorted(rows, key=lambda row: row.requests_per_second)[count // 2]
        found.append(middle._replace(cpu_us=statistics.median(row.cpu_us for row in rows)))
    return found, ratios


def warm_up(target: Server) -> None:
    """Send some reports, and wait until the first fold has loaded what it needs."""
    asyncio.run(load(target, f"/v1/surveys/{target.survey_id}/reports", 1000, 8, 50))
    time.sleep(8)


def measure_memory(target: Server, reports: int) -> list[tuple[int, float]]:
    """Resident memory of the server after every fifth of so many reports."""
    path = f"/v1/surveys/{target.survey_id}/reports"
    warm_up(target)
    points = [(0, target.memory_mib())]
    for step in range(5):
        asyncio.run(load(target, path, 1000, 8, reports // 1000 // 5))
        points.append(((step + 1) * reports // 5, target.memory_mib()))
    return points


async def crowd(target: Server, connections: int, seconds: float) -> tuple[float, int]:
    """Send the largest batches for so long, again after a pause if refused; acknowledged reports a second, refusals.

    The last batches are waited for, and this time counts, too.
    """
    path, rng = f"/v1/surveys/{target.survey_id}/reports", np.random.default_rng()
    first = [request(path, target.survey_id, LARGEST, rng) for _ in range(connections)]
    began = time.perf_counter()
    until = began + seconds
    taken = refused = 0

    async def connection(data: bytes) -> None:
        nonlocal taken, refused
        reader, writer = await asyncio.open_connection(target.host, target.port)
        while time.perf_counter() < until:
            data = data or request(path, target.survey_id, LARGEST, rng)
            writer.write(data)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            body = await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            if head.startswith(b"http/1.1 200"):
                if not body.startswith(b'{"accepted":%d,' % LARGEST):
                    raise SystemExit("a refused batch was stored")
                taken += LARGEST
                data = b""
                continue
            refused += 1
            if b"connection: close" in head:
                writer.close()
                reader, writer = await asyncio.open_connection(target.host, target.port)
            await asyncio.sleep(PAUSE_SECONDS)
        writer.close()

    await asyncio.gather(*map(connection, first))
    return taken / (time.perf_counter() - began), refused


def measure_overload(folder: str, seconds: float) -> dict[str, Any]:
    """Goodput by number of connections, up and down in turns.

    A larger database is slower, so the most connections are compared with the best of the same round.
    """
    rates: dict[int, list[float]] = {connections: [] for connections in CROWDS}
    refusals = 0
    with server(folder) as target:
        warm_up(target)
        for number in range(2 * ROUNDS):
            for connections in CROWDS if number % 2 == 0 else CROWDS[::-1]:
                rate, refused = asyncio.run(crowd(target, connections, seconds))
                rates[connections].append(rate)
                refusals += refused
                print(f"overload {connections}: {rate:,.0f} reports/s, {refused} refused", file=sys.stderr, flush=True)
        memory = target.peak_mib()
    goodput = {connections: statistics.median(found) for connections, found in rates.items()}
    last = rates[CROWDS[-1]]
    kept = [rate / max(others) for rate, others in zip(last, zip(*rates.values(), strict=True), strict=True)]
    return {"goodput": goodput, "kept": kept, "refused": refusals, "peak_mib": memory}


def overload_section(found: dict[str, Any]) -> list[str]:
    """The part of the page about overload."""
    goodput = {int(connections): rate for connections, rate in found["goodput"].items()}
    shown = " · ".join(f"{connections}: {rate:,.0f}" for connections, rate in goodput.items())
    return [
        "## Overload",
        "",
        f"Acknowledged reports a second by number of connections, each of which sends batches of {LARGEST:,} reports "
        f"(nearly 1 MiB, the largest that are taken), again a second after they were refused: {shown}. The counts were "
        f"measured in turns, {2 * ROUNDS} times each; the figures are medians. With {CROWDS[-1]} connections goodput "
        f"is {statistics.median(found['kept']):.0%} of the best of the same round (the median; "
        f"{min(found['kept']):.0%} to {max(found['kept']):.0%}). The first round begins with an empty database, which "
        f"is several times as fast. "
        f"{found['refused']:,} times a batch was refused; none of these was stored, "
        f"since all its reports were new when it was sent again. The most memory was {found['peak_mib']:.0f} MiB.",
        "",
    ]


def fsync_ms(folder: str) -> float:
    """What the disk takes to make one page durable: the median of many."""
    spent = []
    with open(Path(folder) / "fsync", "wb", buffering=0) as file:
        for _ in range(200):
            began = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            spent.append(1000 * (time.perf_counter() - began))
    return statistics.median(spent)


def priority() -> str:
    """Whether this ran ahead of the other programs of a machine that is in use, in words."""
    first = hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)
    said = "the collector and the load had real-time priority over other programs, to which Linux leaves 50 ms of each "
    return f"; {said}second, and this shows in p99" if first else ""


def run(seconds: float, reports: int, most_surveys: int) -> dict[str, Any]:
    """All measurements: about so many seconds for a row, so many reports for memory, and at most so many surveys."""
    from benchmarks.collector_setups import MANY, measure_many, measure_setups

    with tempfile.TemporaryDirectory(prefix="hubbub-benchmark-") as folder:
        before = os.getloadavg()[0]
        disk = fsync_ms(folder)
        rows: list[Row] = []
        ratios: list[float] = []
        with server(folder) as target:
            warm_up(target)
            for batch in BATCHES:
                for connections in CONNECTIONS:
                    pair, found = measure_in_turn(target, batch, connections, seconds)
                    rows += pair
                    ratios = found if (batch, connections) == SINGLE else ratios
                    print(*pair, f"ratios {found}", sep="\n", file=sys.stderr, flush=True)
        (Path(folder) / "collector.db").unlink()
        with server(folder) as target:
            spent = target.cpu_seconds()
            memory = measure_memory(target, reports)
            cpu = (target.cpu_seconds() - spent) / (reports + 50_000) * 1e6
        size = (Path(folder) / "collector.db").stat().st_size / (reports + 50_000)
        (Path(folder) / "collector.db").unlink()
        overload = measure_overload(folder, seconds / 2)
    return {
        "setups": measure_setups(seconds),
        "many": measure_many(seconds, [(min(count, most_surveys), bits) for count, bits in MANY]),
        "rows": [row._asdict() for row in rows],
        "single_ratios": ratios,
        "memory": memory,
        "cpu_us_per_report": cpu,
        "bytes_per_report": size,
        "overload": overload,
        "fsync_ms": disk,
        "load_before": before,
        "priority": priority(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("hubbub", "fastapi", "uvicorn", "uvloop", "sqlalchemy")},
        "python": platform.python_version(),
    }


def page(result: dict[str, Any]) -> str:
    """The documentation page."""
    from benchmarks.collector_setups import many_section, setups_section

    rows = [Row(**row) for row in result["rows"]]
    by = {(row.endpoint, row.batch, row.connections): row for row in rows}
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    lines = [
        "# Collector benchmarks",
        "",
        "Made by `python benchmarks/collector.py --write docs/collector-benchmarks.md` with "
        f"python {result['python']}, {versions} on {result['cores']} cores, which also sent the requests. The load "
        f"average before the run was {result['load_before']:.1f}{result['priority']}. Writing one page (4 KiB) to the "
        f"disk and waiting until it is there took {result['fsync_ms']:.2f} ms.",
        "",
        "## Durable reports a second",
        "",
        "The collector has one worker, SQLite, a survey of `tree`, and has done its first fold (adding stored reports "
        "to the tally). A report counts when its acknowledgement has arrived, which is sent after the report is on the "
        "disk. **p50** and **p99** are the median and the 99th percentile of the time that a request takes. "
        "**Nothing** is an endpoint of the same server that reads the same bytes and replies. **Ratio** is its "
        "requests per second divided by those of the collector. The two were measured in turns, "
        f"{ROUNDS} times each, and {PAIRS} times with single reports over 64 connections; the figures are medians.",
        "",
        "| reports in a request | connections | reports/s | requests/s | p50 ms | p99 ms "
        "| nothing: requests/s | ratio |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for batch in BATCHES:
        for connections in CONNECTIONS:
            ours, idle = by["reports", batch, connections], by["nothing", batch, connections]
            lines.append(
                f"| {batch:,} | {connections} | {ours.reports_per_second:,.0f} | {ours.requests_per_second:,.0f} | "
                f"{ours.p50_ms:.1f} | {ours.p99_ms:.1f} | {idle.requests_per_second:,.0f} | "
                f"{idle.requests_per_second / ours.requests_per_second:.1f} |"
            )
    best = max(by["reports", 1000, connections].reports_per_second for connections in CONNECTIONS)
    verdict = "met" if best >= TARGET else "not met here"
    ours, idle = by["reports", *SINGLE], by["nothing", *SINGLE]
    single = sorted(result["single_ratios"])
    memory = " · ".join(f"{count:,}: {size:.0f} MiB" for count, size in result["memory"])
    lines += [
        "",
        f"The target of {TARGET:,} durable reports a second in batches of 1,000 is {verdict}: {best:,.0f}. "
        f"With 64 connections, a request with a single report costs {statistics.median(single):.2f} times as much as "
        f"one that does nothing. This is the median of {len(single)} pairs of measurements, one right after the other, "
        f"whose ratios were {single[0]:.2f} to {single[-1]:.2f}. The server's CPU time was {ours.cpu_us:.0f} µs for "
        f"the one and {idle.cpu_us:.0f} µs for the other. With one connection, every request waits for the disk.",
        "",
        "## A million reports" if result["memory"][-1][0] == MILLION else "## Many reports",
        "",
        f"Resident memory of the collector by number of reports, in batches of 1,000, after the first fold: "
        f"{memory}. The collector takes {result['cpu_us_per_report']:.1f} µs of CPU time per report. The database "
        f"takes {result['bytes_per_report']:.0f} bytes per report while the survey is open, for the id in an index. "
        "When the survey closes, only the tally stays.",
        "",
        *overload_section(result["overload"]),
        *setups_section(result["setups"]),
        *many_section(result["many"]),
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=12.0, help="about how long each row is measured")
    parser.add_argument("--quick", action="store_true", help="a second for each row and fewer reports, printed only")
    parser.add_argument("--write", metavar="FILE", help="write the page there")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there")
    parser.add_argument(
        "--overload", action="store_true", help="measure only what happens under overload, and print it"
    )
    parser.add_argument("--serve", metavar="DATABASE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    if arguments.overload:
        with tempfile.TemporaryDirectory(prefix="hubbub-benchmark-") as folder:
            print("\n".join(overload_section(measure_overload(folder, arguments.seconds / 2))))
        return
    if arguments.quick and arguments.write:
        parser.error("--quick is printed only: it is too short for a page")
    result = run(1.0, QUICK_REPORTS, 20) if arguments.quick else run(arguments.seconds, MILLION, 1000)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if arguments.write:
        Path(arguments.write).write_text(page(result), encoding="utf-8")
    print(page(result))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the other part, in `collector_setups`
    main()
