"""What others offer for short lists, on the same crowds: pure-ldp and multi-freq-ldpy.

`answers` builds a virtual environment for them and runs this file there. Counts are raw and unbiased: (matches − n·q) /
(p − q) with the peer's own p and q, before anything is clipped. multi-freq-ldpy's aggregators clip, so the reports of
its clients are added up here. Its clients are compiled, and are called from a compiled loop: that changes no report.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

try:
    from benchmarks.own_environment import ask
    from benchmarks.timing import best
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    from own_environment import ask  # type: ignore[import-not-found,no-redef]
    from timing import best  # type: ignore[import-not-found,no-redef]

PACKAGES = ("pure-ldp==1.2.0", "multi-freq-ldpy==0.2.5", "numpy<2", "xxhash<4", "scikit-learn", "statsmodels")
DIRECT, UNARY = "pure-ldp direct encoding", "pure-ldp OUE"
GRR, OUE, SUBSET = "multi-freq-ldpy GRR", "multi-freq-ldpy OUE", "multi-freq-ldpy subset selection"
PEERS = (DIRECT, UNARY, GRR, OUE, SUBSET)

Row = dict[str, Any]
Counts = NDArray[np.float64]


def answers(jobs: Sequence[Row]) -> list[Row] | str:
    """For each job its answer, or why there is none. A job holds `task` ("errors" or "times") and its arguments."""
    return ask(__file__, PACKAGES, jobs, timeout=3600.0)


def mean_square(errors: Sequence[float]) -> Row:
    """The runs, at least two, and the mean and standard deviation of their mean square errors."""
    return {"runs": len(errors), "mean": float(np.mean(errors)), "sd": float(np.std(errors, ddof=1))}


# In the environment of the peers.


def subset_chances(size: int, epsilon: float) -> tuple[int, float, float]:
    """multi-freq-ldpy's size of subsets, and its p and q."""
    part = max(1, round(size / (math.exp(epsilon) + 1)))
    weight = part * math.exp(epsilon) + size - part
    p = part * math.exp(epsilon) / weight
    return part, p, ((part - 1) * part * math.exp(epsilon) + (size - part) * part) / ((size - 1) * weight)


def compiled() -> dict[str, Callable[..., Counts]]:
    """multi-freq-ldpy's clients, each in a loop over people that adds their reports up."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    @njit
    def grr(values, size, epsilon):  # type: ignore[no-untyped-def]
        matches = np.zeros(size)
        for value in values:
            matches[GRR_Client(value, size, epsilon)] += 1
        return matches

    @njit
    def unary(values, size, epsilon):  # type: ignore[no-untyped-def]
        matches = np.zeros(size)
        for value in values:
            matches += UE_Client(value, size, epsilon)
        return matches

    @njit
    def subset(values, size, epsilon):  # type: ignore[no-untyped-def]
        matches = np.zeros(size)
        for value in values:
            for each in SS_Client(value, size, epsilon):
                matches[each] += 1
        return matches

    return {GRR: grr, OUE: unary, SUBSET: subset}


def chances(name: str, size: int, epsilon: float) -> tuple[float, float]:
    """The p and q of a multi-freq-ldpy oracle, as its aggregators have them."""
    if name == GRR:
        p = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
        return p, (1 - p) / (size - 1)
    return (0.5, 1 / (math.exp(epsilon) + 1)) if name == OUE else subset_chances(size, epsilon)[1:]


def pure_pair(name: str, size: int, epsilon: float) -> tuple[Any, Any]:
    """A client and a server of pure-ldp, for values from 0."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    given = {"index_mapper": lambda value: value}
    if name == DIRECT:
        return DEClient(epsilon, size, **given), DEServer(epsilon, size, **given)
    return UEClient(epsilon, size, use_oue=True, **given), UEServer(epsilon, size, use_oue=True, **given)


def pure_counts(name: str, values: list[int], size: int, epsilon: float) -> Counts:
    """pure-ldp's counts of all values, which it does not clip."""
    client, server = pure_pair(name, size, epsilon)
    for value in values:
        server.aggregate(client.privatise(value))
    return np.array([server.estimate(value, suppress_warnings=True) for value in range(size)])


def errors(loops: dict[str, Callable[..., Counts]], counts: list[int], epsilon: float, runs: dict[str, int]) -> Row:
    """The mean square error of each peer over all values of a crowd."""
    true, size, people = np.array(counts), len(counts), sum(counts)
    values = np.repeat(np.arange(size), true)
    row: Row = {}
    for name, wanted in runs.items():
        found = []
        for _ in range(wanted):
            if name in loops:
                p, q = chances(name, size, epsilon)
                guess = (loops[name](values, size, epsilon) - people * q) / (p - q)
            else:
                guess = pure_counts(name, values.tolist(), size, epsilon)
            found.append(float(np.square(guess - true).mean()))
        row[name] = mean_square(found)
    return row


def times(size: int, epsilon: float, people: int) -> Row:
    """CPU time per report of each peer in ns, as it is called from Python: encode, and tally."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    values = [number % size for number in range(people)]
    row: Row = {}

    def measured(name: str, encode: Callable[[int], object], tally: Callable[[list[Any]], object]) -> None:
        reports = [encode(value) for value in values]
        spent = best(lambda: [encode(value) for value in values]), best(lambda: tally(reports))
        row[name] = {"encode_ns": 1e9 * spent[0] / people, "tally_ns": 1e9 * spent[1] / people}

    for name in (DIRECT, UNARY):
        client, server = pure_pair(name, size, epsilon)
        measured(name, client.privatise, lambda reports, server=server: [server.aggregate(each) for each in reports])
    clients = {GRR: GRR_Client, OUE: UE_Client, SUBSET: SS_Client}
    tallies: dict[str, Callable[[list[Any]], object]] = {
        GRR: lambda reports: GRR_Aggregator_MI(reports, size, epsilon),
        OUE: lambda reports: UE_Aggregator_MI(reports, epsilon),
        SUBSET: lambda reports: SS_Aggregator_MI(reports, size, epsilon),
    }
    for name, client in clients.items():
        measured(name, lambda value, client=client: client(value, size, epsilon), tallies[name])
    return row


@njit
def _seed_loops(seed):  # type: ignore[no-untyped-def]
    """Seed the generator of compiled code, which is another one than numpy's."""
    np.random.seed(seed)  # noqa: NPY002  # what multi-freq-ldpy draws from


def main() -> None:
    """Answer the jobs on standard input."""
    loops = compiled()
    done = []
    for job in json.load(sys.stdin):
        if job.pop("task") == "times":
            done.append(times(**job))
            continue
        seed = job.pop("seed")
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002  # pure-ldp draws from the global generators
        _seed_loops(seed)
        done.append(errors(loops, **job))
    print(json.dumps(done))


if __name__ == "__main__":
    main()
