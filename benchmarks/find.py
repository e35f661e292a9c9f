"""What `hubbub find` takes on a file of lines: CPU seconds after start-up, and memory; see benchmarks/README.md."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

SEED, DISTINCT = 1, 200_000
ENDINGS = (".com", ".org", ".net", ".de", ".co.uk", ".io", ".fr", ".jp")
CASES = (
    ("hosts", ["--domain", "hostnames"]),
    ("hosts", ["--domain", "hostnames", "--truth"]),
    ("hosts", ["--domain", "hostnames", "--candidates", "LIST"]),
    ("URLs", ["--domain", "hostnames"]),
    ("words", ["--domain", "words"]),
    ("hosts", ["--domain", "text"]),
    ("hosts", ["--domain", "bytes:32"]),
    ("numbers", ["--domain", "integers:64"]),
)


class Spent(NamedTuple):
    """What a process took."""

    cpu: float
    wall: float
    peak_mib: float


def make_names(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct pronounceable words of two to five syllables, some with a number."""
    syllables = [consonant + vowel for consonant in "bcdfghjklmnprstvwz" for vowel in "aeiou"]
    names: dict[str, None] = {}
    while len(names) < count:
        word = "".join(rng.choice(syllables, int(rng.integers(2, 6))))
        names[word if rng.random() < 0.8 else f"{word}{rng.integers(1000)}"] = None
    return list(names)


def write_lines(folder: Path, people: int, distinct: int) -> None:
    """A file of each kind: every value at least once, the rest by a power law."""
    rng = np.random.default_rng(SEED)
    words = make_names(distinct, rng)
    hosts = [word + ENDINGS[int(rng.integers(len(ENDINGS)))] for word in words]
    kinds = {
        "hosts": hosts,
        "URLs": [f"https://www.{host}/a?b={index}" for index, host in enumerate(hosts)],
        "words": words,
        "numbers": [str(number) for number in rng.integers(0, 2**63, distinct)],
    }
    chances = np.arange(1, distinct + 1) ** -0.6
    drawn = rng.choice(distinct, people - distinct, p=chances / chances.sum())
    held = rng.permutation(np.concatenate([np.arange(distinct), drawn]))
    for kind, values in kinds.items():
        (folder / kind).write_text("".join(f"{values[index]}\n" for index in held), "utf-8")
    (folder / "LIST").write_text("".join(f"{host}\n" for host in hosts[:1000]), "utf-8")
    (folder / "one").write_text("1\n", "utf-8")


def write_elsewhere(*arguments: object) -> None:
    """The same in a process of its own: the peak memory of a process begins with that of the one that started it."""
    writer = multiprocessing.get_context("spawn").Process(target=write_lines, args=arguments)
    writer.start()
    writer.join()


def run(file: Path, arguments: Sequence[str]) -> Spent:
    """One `hubbub find` in a process of its own."""
    given = [str(file.parent / each) if each == "LIST" else each for each in arguments]
    command = [sys.executable, "-m", "hubbub", "find", str(file), *given]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"hubbub find failed with exit code {process.returncode}")
    return Spent(usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss / 1024)


def measure(folder: Path, kind: str, arguments: Sequence[str], people: int) -> str:
    """A row of the table: what everybody takes, less what one person takes."""
    run(folder / "one", arguments)  # compiles
    alone, everybody = (min(run(folder / name, arguments) for _ in range(2)) for name in ("one", kind))
    after = f"{everybody.cpu - alone.cpu:.2f} | {everybody.wall - alone.wall:.2f} | {everybody.peak_mib:.0f}"
    return f"| {kind}, `{' '.join(arguments)}` | {people:,} | {alone.cpu:.2f} | {after} |"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000, help="lines of each file (1000000)")
    parser.add_argument("--distinct", type=int, default=DISTINCT, help=f"values among them ({DISTINCT})")
    given = parser.parse_args()
    print("| lines | people | start-up CPU s | CPU s after it | wall s after it | peak MiB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="hubbub-find-") as name:
        folder = Path(name)
        write_elsewhere(folder, given.people, given.distinct)
        for kind, arguments in CASES:
            print(measure(folder, kind, arguments, given.people), flush=True)
        write_elsewhere(folder, 4 * given.people, given.distinct)
        print(measure(folder, *CASES[0], 4 * given.people), flush=True)


if __name__ == "__main__":
    main()
