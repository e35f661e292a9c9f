"""What it takes to read and encode a column of Arrow, beside a list of the same values; see benchmarks/README.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from benchmarks.find import ENDINGS, make_names

from hubbub import Categories, Domain, Hostnames, Integers, Text
from hubbub.inputs.columns import read_column
from hubbub.inputs.encoding import Encoder

SEED, AT_ONCE = 1, 65_536


def encode(values: object, domain: Domain) -> None:
    """What `find` does with a column before any report is made."""
    people, missing = read_column(values)
    encoder = Encoder(domain, missing)
    for start in range(0, len(people), AT_ONCE):
        encoder.encode(people[start : start + AT_ONCE])


def cpu_seconds(work: Callable[[], None], runs: int) -> float:
    """The least CPU time of some runs, after one that compiles."""
    spent = []
    for _ in range(runs + 1):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent[1:])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--distinct", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    rng = np.random.default_rng(SEED)
    hosts = [word + ENDINGS[int(rng.integers(len(ENDINGS)))] for word in make_names(given.distinct, rng)]
    held = rng.integers(0, given.distinct, given.people)
    texts = [hosts[place] for place in held]
    numbers = held.tolist()
    cases: list[tuple[str, list[object], Domain]] = [
        ("hosts", texts, Hostnames()),
        ("hosts", texts, Text()),
        ("hosts on a list of 1,000", texts, Categories(hosts[:1000])),
        ("whole numbers", numbers, Integers(64)),
    ]
    print("| column | domain | list, s | Arrow, s | list / Arrow |")
    print("| --- | --- | ---: | ---: | ---: |")
    for label, values, domain in cases:
        column = pa.array(values)
        # From Arrow as it was read before: a list of Python objects first.
        listed = cpu_seconds(lambda column=column, domain=domain: encode(column.to_pylist(), domain), given.runs)
        packed = cpu_seconds(lambda column=column, domain=domain: encode(column, domain), given.runs)
        print(f"| {label} | {domain!r} | {listed:.3f} | {packed:.3f} | {listed / packed:.1f} |", flush=True)


if __name__ == "__main__":
    main()
