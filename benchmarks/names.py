"""What `tree` finds of names: host names and words under their public codes, and a list of a million candidates."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import hubbub
from hubbub import Hostnames, Integers, SeededRandomWords, Words, create_survey, mechanism_for
from hubbub.model.coded_domain import CodedText
from hubbub.model.mechanism import Items
from hubbub.numeric.tails import normal_quantile_log
from hubbub.simulation.rehearsal import rehearse

Row = dict[str, Any]
LEVEL, PEOPLE, EACH, OTHERS, CANDIDATES = 0.05, 1_000_000, 8, 50_000, 1 << 20
LIST_EPSILON = 1.0
WINDOW = (-1.5, 3.5)  # of z, around the limit of a name's own code length
DOMAINS: dict[str, Callable[[], CodedText]] = {"hosts": Hostnames, "words": Words}


class Names(NamedTuple):
    """Names of some code lengths in bits, from one to another, and an ε."""

    kind: str
    epsilon: float
    lengths: tuple[tuple[int, int], ...]

    @property
    def name(self) -> str:
        """For seeds and progress."""
        return f"{self.kind}, ε = {self.epsilon:g}"

    @property
    def sd(self) -> float:
        """The standard deviation of the best frequency oracle."""
        return math.sqrt(PEOPLE) * 2 * math.exp(self.epsilon / 2) / math.expm1(self.epsilon)


CELLS = [
    *(Names("hosts", epsilon, ((20, 35), (35, 43), (43, 52), (52, 64))) for epsilon in (1.0, 4.0)),
    Names("words", 1.0, ((12, 20), (20, 28), (28, 36))),
]


def limit(bits: float) -> float:
    """z95 of scoring every name by the best oracle, when one of so many bits may be wrong with chance 5 %·2^−bits."""
    return normal_quantile_log(math.log(LEVEL) - bits * math.log(2)) + 1.645


def draw_name(domain: CodedText, low: int, high: int, rng: np.random.Generator) -> tuple[str, int]:
    """A name drawn from the code's own law, given that its code has from low to high bits; and how many."""
    while True:
        bits = int(rng.integers(low, high))
        raw = domain.code.decode(int.from_bytes(rng.bytes(16), "little") >> (128 - bits), bits)
        if raw is not None:
            name = raw.decode("utf-8", "replace")
            if domain.code_length(name) == bits:
                return str(domain.decode(domain.encode([name]))[0]), bits  # in its normal form, as it will be found


@cache
def _others(kind: str) -> tuple[Items, frozenset[str]]:
    """Names of everybody else, twenty people each: rare, and most of them long."""
    names = [f"{k * 7919:x}-site.example" if kind == "hosts" else f"qu{k * 7919:x}ing" for k in range(OTHERS)]
    items = DOMAINS[kind]().encode(names)
    return items, frozenset([*names, *map(str, DOMAINS[kind]().decode(items))])


def measure(cell: Names, seed: int, run: int) -> Row:
    """One run: for each class of lengths which names were found, by how much z was above the limit of its length."""
    rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode()), run])
    domain = DOMAINS[cell.kind]()
    drawn: dict[str, tuple[int, float, int]] = {}
    for number, (low, high) in enumerate(cell.lengths):
        while sum(where == number for where, _, _ in drawn.values()) < EACH:
            name, bits = draw_name(domain, low, high, rng)
            above = float(rng.uniform(*WINDOW))
            drawn.setdefault(name, (number, above, round((limit(bits) + above) * cell.sd)))
    counts = [count for _, _, count in drawn.values()]
    others, known = _others(cell.kind)
    alone = others[np.arange(PEOPLE - sum(counts)) % len(others)]
    everybody = np.concatenate([np.repeat(domain.encode(list(drawn)), counts, axis=0), alone])
    survey = create_survey(cell.kind, domain, cell.epsilon, None, "tree", {}, PEOPLE, public_seed=rng.bytes(32))
    mechanism = mechanism_for(survey)
    tally = rehearse(mechanism, [everybody], SeededRandomWords(int(rng.integers(2**63))))
    start = time.process_time()
    answer = hubbub.find_hitters(survey, tally, top=1000, level=LEVEL, names="none", decoder=mechanism)
    spent = time.process_time() - start
    found = {str(hitter.value): hitter.count for hitter in answer.hitters}
    return {
        "classes": [
            {
                "z": [above for where, above, _ in drawn.values() if where == number],
                "found": [name in found for name, (where, _, _) in drawn.items() if where == number],
                "errors": [
                    (found[name] - count) / cell.sd
                    for name, (where, _, count) in drawn.items()
                    if where == number and name in found
                ],
            }
            for number in range(len(cell.lengths))
        ],
        "false": sum(name not in drawn and name not in known for name in found),
        "decode_s": spent,
    }


def measure_candidates(epsilon: float, seed: int, run: int, planted: int = 25) -> Row:
    """One run with 2^20 candidates of 64 bits, of which some are held by a number of people near the limit."""
    rng = np.random.default_rng([seed, zlib.crc32(b"candidates"), run])
    sd = Names("", epsilon, ()).sd
    z = rng.uniform(5.0, 10.5, planted)
    counts = np.rint(z * sd).astype(np.int64)
    names = rng.integers(0, 2**64, (CANDIDATES, 1), dtype=np.uint64)
    alone = rng.integers(0, 2**64, (PEOPLE - int(counts.sum()), 1), dtype=np.uint64)
    survey = create_survey("list", Integers(64), epsilon, None, "tree", {}, PEOPLE, public_seed=rng.bytes(32))
    mechanism = mechanism_for(survey)
    everybody = np.concatenate([np.repeat(names[:planted], counts, axis=0), alone])
    tally = rehearse(mechanism, [everybody], SeededRandomWords(int(rng.integers(2**63))))
    start = time.process_time()
    answer = hubbub.find_hitters(
        survey, tally, top=1000, level=LEVEL, candidates=names[:, 0].tolist(), decoder=mechanism
    )
    spent = time.process_time() - start
    found = {int(hitter.value): hitter.count for hitter in answer.hitters}
    truth = dict(zip(names[:planted, 0].tolist(), counts.tolist(), strict=True))
    return {
        "z": z.tolist(),
        "found": [name in found for name in truth],
        "errors": [(found[name] - count) / sd for name, count in truth.items() if name in found],
        "false": sum(name not in truth for name in found),
        "decode_s": spent,
    }


def summaries(
    cell: Names, runs: Sequence[Row], seed: int, fit: Callable[..., list[float | None]], wilson: Callable[..., Any]
) -> Iterable[Row]:
    """A row for each class of lengths."""
    false = sum(row["false"] > 0 for row in runs)
    for number, (low, high) in enumerate(cell.lengths):
        each = [row["classes"][number] for row in runs]
        errors = [error for row in each for error in row["errors"]]
        above, *interval = fit(each, WINDOW, "found", seed)
        yield {
            "kind": cell.kind,
            "epsilon": cell.epsilon,
            "lengths": (low, high),
            "limits": (limit(low), limit(high)),
            "runs": len(runs),
            "above": above,
            "above_interval": interval,
            "count_error": math.sqrt(np.mean(np.square(errors))) if errors else None,
            "false_runs": false,
            "false_interval": wilson(false, len(runs)),
            "decode_s": float(np.median([row["decode_s"] for row in runs])),
        }
