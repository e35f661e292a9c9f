"""Runs of a benchmark that are kept in a file as they end, so that one that was stopped goes on where it was."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, state: Path) -> None:
    """Where runs are kept, how many at once, for how long, and where the page goes."""
    parser.add_argument("--state", type=Path, default=state, help="where runs are kept; goes on from it")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after about so long")
    parser.add_argument("--write", type=Path, help="write the page here")


def put(text: str, place: Path | None) -> None:
    """Write the page, or print it."""
    if place:
        place.write_text(text, "utf-8")
    else:
        print(text)


def run_all(
    todo: Sequence[Any],
    measure: Callable[[Any, int], Row],
    more: Callable[[list[Row]], int],
    state: Path,
    options: argparse.Namespace,
) -> list[Row]:
    """Every run that is missing: of each cell (a NamedTuple whose fields are in the rows) as many as `more` says."""
    known: dict[Any, list[Row]] = {cell: [] for cell in todo}
    for line in state.read_text("utf-8").splitlines() if state.exists() else []:
        row = json.loads(line)
        known.setdefault(type(todo[0])(*(row[name] for name in todo[0]._fields)), []).append(row)
    end = time.monotonic() + 60 * options.minutes
    with ProcessPoolExecutor(options.workers) as pool, state.open("a", encoding="utf-8") as file:
        while time.monotonic() < end:
            jobs = {}
            for cell in todo:
                done = sorted(known[cell], key=lambda row: row["run"])
                first = done[-1]["run"] + 1 if done else 0
                jobs |= {pool.submit(measure, cell, first + number): cell for number in range(more(done))}
            if not jobs:
                break
            for job in as_completed(jobs):
                if job.cancelled():
                    continue
                if job.exception():
                    pool.shutdown(cancel_futures=True)
                row = job.result()
                known[jobs[job]].append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
                if time.monotonic() > end:
                    for other in jobs:
                        other.cancel()
            print(f"{sum(map(len, known.values()))} runs", file=sys.stderr, flush=True)
    return [row for some in known.values() for row in some]


def by_cell(rows: list[Row], fields: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows gathered by the values of some fields."""
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in fields)].append(row)
    return found
