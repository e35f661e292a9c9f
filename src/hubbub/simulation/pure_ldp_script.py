"""Run by the Python of an environment that has pure-ldp, as a script: reads a JSON list of jobs, prints their answers.

It imports nothing of hubbub, which need not be installed there, since pure-ldp needs old versions of other packages.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

HASHES, WIDTH = 64, 1024  # of its sketch


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """What pure-ldp finds among everybody's values: by counting a list, or by a search in 2^bits values."""
    random.seed(job["seed"])
    np.random.seed(job["seed"] % 2**32)  # noqa: NPY002  # pure-ldp draws from the global generator
    values, epsilon, top = job["values"], job["epsilon"], job["top"]
    if job.get("size"):
        return count_list(values, epsilon, top, job["size"])
    return search(values, epsilon, top, job.get("bits", 64), job["step"])


def count_list(values: list[int], epsilon: float, top: int, size: int) -> dict[str, Any]:
    """The largest counts by its optimised unary encoding, over a list of `size` values."""
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    client, server = (kind(epsilon, size, True, lambda index: index) for kind in (UEClient, UEServer))
    times = _everybody(client.privatise, server.aggregate, values)
    start = time.process_time()
    counts = np.array([server.estimate(value, suppress_warnings=True) for value in range(size)])
    found = np.argsort(-counts, kind="stable")[:top]
    return _answer("OUE", found.tolist(), counts[found].tolist(), -(-size // 8), 8 * size, times, start)


def search(values: list[int], epsilon: float, top: int, bits: int, step: int) -> dict[str, Any]:
    """Its PEM over a count mean sketch, since its local hashing goes through all 2^bits values for every report."""
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
    from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

    oracle = CMSServer(epsilon, HASHES, WIDTH)
    server = PEMServer(epsilon, step, bits, step, fo_server=oracle)
    for each in server.oracles:  # otherwise they draw their own hashes, which no client knows
        each.hash_funcs = oracle.hash_funcs
    client = PEMClient(epsilon, step, bits, step, fo_client=CMSClient(epsilon, oracle.hash_funcs, WIDTH))
    times = _everybody(client.privatise, server.aggregate, (format(value, f"0{bits}b") for value in values))
    start = time.process_time()
    found, counts = server.find_heavy_hitters(k=2 * top)
    numbers, cells = [int(each, 2) for each in found[:top]], HASHES * WIDTH * len(server.oracles)
    return _answer("PEM", numbers, [float(count) for count in counts[:top]], WIDTH // 8 + 1, 8 * cells, times, start)


def _everybody(
    privatise: Callable[[Any], Any], aggregate: Callable[[Any], None], values: Iterable[Any]
) -> tuple[float, float]:
    """Make and add up everybody's report; return the CPU seconds per report for each of the two steps."""
    encode = tally = 0.0
    people = 0
    for value in values:
        people += 1
        start = time.process_time()
        report = privatise(value)
        middle = time.process_time()
        aggregate(report)
        encode, tally = encode + middle - start, tally + time.process_time() - middle
    return encode / people, tally / people


def _answer(
    method: str,
    found: list[int],
    counts: list[float],
    report_bytes: int,
    tally_bytes: int,
    times: tuple[float, float],
    start: float,
) -> dict[str, Any]:
    decode = time.process_time() - start
    try:
        release = version("pure-ldp")
    except PackageNotFoundError:
        release = "unknown"
    return {
        "method": method,
        "version": release,
        "found": found,
        "counts": counts,
        "report_bytes": report_bytes,
        "tally_bytes": tally_bytes,
        "encode_us_per_person": 1e6 * times[0],
        "tally_us_per_report": 1e6 * times[1],
        "decode_s": decode,
    }


if __name__ == "__main__":
    json.dump([answer(job) for job in json.load(sys.stdin)], sys.stdout)
