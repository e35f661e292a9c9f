"""Runs our mechanisms on inputs that others published, beside the results that they published.

    python benchmarks/published.py --data FOLDER --json published.json --write docs/published.md

An hour on one core. The inputs are not shipped: docs/published.md has their addresses and hashes. An input that
follows from its description is made here and must have the published hash; another one is left out if the folder lacks
it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub import Categories, Histogram, Integers, SeededRandomWords, Text, create_survey, find_hitters, mechanism_for
from hubbub.model.mechanism import tally_of

try:
    from benchmarks import list_peers, lists, peers, published_page
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    import list_peers  # type: ignore[import-not-found,no-redef]
    import lists  # type: ignore[import-not-found,no-redef]
    import peers  # type: ignore[import-not-found,no-redef]
    import published_page  # type: ignore[import-not-found,no-redef]

Row = dict[str, Any]
SEED = 40961  # never tune with this seed: the page reports what it gives
TRIALS = 300  # as many as the authors of Projective Geometry Response have
QUERY_RUNS = 20
QUERY_EPSILONS = (1.0, 2.0, 4.0)
QUERIES = "query_6bytes_sorted.txt.gz"
QUERIES_HASH = "b5750f6998acf3812bbba994954c981a77db510b7867f7cff82e02af13e662db"
BITS, TOP = 48, 32
GUESSED, TEXTS = "`tree` with guesses", "`tree` with guesses, texts"
STEPS = (1, 2, 4, 6, 8, 10, 12)  # of PEM; its authors advise the largest that one can afford
PEER_INPUTS = ("spike1", "zipf1.0")
PEER_RUNS = {list_peers.DIRECT: 3, list_peers.UNARY: 3, list_peers.GRR: 50, list_peers.OUE: 20, list_peers.SUBSET: 50}


class Input(NamedTuple):
    """A published input: its hash, how it is made if its description is exact, and the published mean square errors."""

    sha256: str
    values: int
    epsilon: float
    made: Callable[[], list[int]] | None
    quoted: Mapping[str, float]


INPUTS = {
    "zipf1.0": Input(
        "7b35671d5546ef0dab9d8af9568bed0eebd9a6debcef1428cde2a1e21d04362e",
        22_000,
        5.0,
        None,
        {"SS": 27.3129, "PG": 27.2542, "HPG": 34.8789, "RHR": 36.6790, "HR": 68.9333},
    ),
    "junta256": Input(
        "afdb45221e2bb5137abeabb834249cc821141afd4d572931700e4bc27d94d74b",
        22_000,
        5.0,
        lambda: [person % 256 for person in range(1_000)],
        {"SS": 27.3110, "PG": 27.2851, "HPG": 34.8232, "RHR": 36.2902, "HR": 68.6788},
    ),
    "spike1": Input(
        "3483258d9211812dc7e2430da02a4f04da80b709668e336e5934e9dd223d13ff",
        1_024,
        5.0,
        lambda: [0] * 1_000,
        {"SS": 26.1730, "PG": 27.7665, "PI-RAPPOR": 27.8953, "RAPPOR": 28.3611},
    ),
    "spike6": Input(
        "eb974353150548735182dc347a9b73bbde8ff8df792b3e24789948781c3779be",
        22_000,
        5.0,
        lambda: [0] * 50_000,
        {"PG": 1378.38, "HPG": 1743.75, "RHR": 10187.9, "HR": 3439.37},
    ),
    "spike8": Input(
        "aa7e035ac5f29775076628e6fddd71a9edaa62e970002d633900babd63ea358f",
        22_000,
        1.386,
        lambda: [0] * 10_000,
        {"SS": 18289.7, "PG": 17765.2, "RHR": 24223.9, "HR": 32928.8},
    ),
}


def content(folder: Path | None, name: str, sha256: str) -> bytes | None:
    """A file of the user's folder if it is there; it must be the published one."""
    if folder is None or not (folder / name).is_file():
        return None
    found = (folder / name).read_bytes()
    if hashlib.sha256(found).hexdigest() != sha256:
        raise SystemExit(f"{name} must have the SHA-256 {sha256}, got {hashlib.sha256(found).hexdigest()}")
    return found


def people_of(name: str, folder: Path | None = None) -> NDArray[np.int64] | None:
    """The value of each person, from the folder or made from the description; None if neither can be had."""
    given = INPUTS[name]
    raw = content(folder, f"{name}.in", given.sha256)
    if raw is None and given.made is not None:
        raw = "".join(f"{value}\n" for value in given.made()).encode()
        if hashlib.sha256(raw).hexdigest() != given.sha256:
            raise AssertionError(f"{name} must be the published input")
    return None if raw is None else np.array(raw.split(), np.int64)


def formula(counts: NDArray[np.int64], epsilon: float) -> float:
    """The mean square error of subset selection with the best size: the smallest of any unbiased count."""
    return lists.optimum(counts, epsilon) ** 2


def square_errors(people: NDArray[np.int64], given: Input, runs: int, seed: int) -> Iterator[float]:
    """The mean square error over all values of each run. A report is made for each person, with a fresh public seed."""
    rng = np.random.default_rng([seed, zlib.crc32(repr((given.sha256, given.epsilon)).encode())])
    domain = Categories([f"value {number}" for number in range(given.values)], other=False)
    counts = np.bincount(people, minlength=given.values)
    items = np.arange(given.values, dtype=np.uint64)[:, np.newaxis]
    random_words = SeededRandomWords(int(rng.integers(2**63)))
    for _ in range(runs):
        survey = create_survey(
            "published", domain, given.epsilon, mechanism=mechanism_of(given), public_seed=rng.bytes(32)
        )
        mechanism = mechanism_for(survey)
        draws = random_words.draw(len(people), mechanism.random_words_per_report)
        tally = tally_of(mechanism, items[people], draws)
        yield float(np.square(mechanism.estimate(tally, items).counts - counts).mean())


def mechanism_of(given: Input) -> str:
    """`subset` where it can be: it takes at most 4,096 values."""
    return "subset" if given.values <= 4096 else "tree"


def measure(name: str, folder: Path | None, runs: int, seed: int) -> Row | None:
    """Our mean square error on one input, its standard error, and what the formula and the authors have."""
    given, people = INPUTS[name], people_of(name, folder)
    if people is None:
        return None
    found = list_peers.mean_square(list(square_errors(people, given, runs, seed)))
    counts = np.bincount(people, minlength=given.values)
    return {
        "name": name,
        "people": len(people),
        "mechanism": mechanism_of(given),
        "made": content(folder, f"{name}.in", given.sha256) is None,
        "formula": formula(counts, given.epsilon),
        **found,
    }


# The queries of PEM's authors.


def read_queries(raw: bytes) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Each query as its authors number it, and how many people asked it, commonest first."""
    lines = [line.split(b"\t") for line in gzip.decompress(raw).splitlines()]
    kept = [(int.from_bytes(query, "little"), int(count)) for query, count in lines if len(query) == BITS // 8]
    return np.array([query for query, _ in kept], np.uint64), np.array([count for _, count in kept], np.int64)


def first_bit_first(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The numbers with their bits in reverse: PEM's authors extend from the lowest bit, our PEM from the highest."""
    reverse = np.zeros_like(numbers)
    for bit in range(BITS):
        reverse |= (numbers >> np.uint64(bit) & np.uint64(1)) << np.uint64(BITS - 1 - bit)
    return reverse


def scores(listed: NDArray[np.uint64], top: NDArray[np.uint64]) -> tuple[int, float, float]:
    """How many of the top values are listed, F1, and the normalised cumulative rank."""
    hits = np.isin(top, listed[:TOP])
    weights = np.arange(len(top), 0, -1)
    return (
        int(hits.sum()),
        2 * float(hits.sum()) / (min(len(listed), TOP) + len(top)),
        float(weights[hits].sum() / weights.sum()),
    )


def as_texts(numbers: NDArray[np.uint64]) -> list[str]:
    """Queries by their numbers, first bit first, as texts of six characters."""
    return [int(number).to_bytes(BITS // 8, "little").decode("latin-1") for number in first_bit_first(numbers)]


def as_numbers(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The numbers of texts, first bit first; one that is no query has the number 2^64 − 1."""
    sizes = [len(text) == BITS // 8 and all(ord(letter) < 256 for letter in text) for text in texts]
    plain = [text if fits else "" for text, fits in zip(texts, sizes, strict=True)]
    numbers = np.array([int.from_bytes(text.encode("latin-1"), "little") for text in plain], np.uint64)
    return np.where(sizes, first_bit_first(numbers), np.uint64(2**64 - 1))


def text_list(texts: Histogram, epsilon: float, rng: np.random.Generator) -> NDArray[np.uint64]:
    """What `tree` finds and guesses if queries are texts, whose code gives plausible ones fewer bits than 48."""
    survey = create_survey("queries", Text(), epsilon, mechanism="tree", public_seed=rng.bytes(32))
    answer = find_hitters(survey, mechanism_for(survey).sample_tally(texts, rng), top=TOP, guesses=TOP)
    return as_numbers([str(each.value) for each in (*answer.hitters, *answer.guesses)][:TOP])


def tree_lists(histogram: Histogram, epsilon: float, rng: np.random.Generator) -> tuple[NDArray[np.uint64], ...]:
    """What `tree` accepts at its usual level, commonest first; and the same, filled up to 32 with its best guesses."""
    survey = create_survey("queries", Integers(BITS), epsilon, mechanism="tree", public_seed=rng.bytes(32))
    answer = find_hitters(survey, mechanism_for(survey).sample_tally(histogram, rng), top=TOP, guesses=TOP)
    found, guessed = ([int(str(each.value)) for each in some] for some in (answer.hitters, answer.guesses))
    return np.array(found, np.uint64), np.array([*found, *guessed][:TOP], np.uint64)


def query_rows(raw: bytes, epsilons: tuple[float, ...], runs: int, seed: int) -> list[Row]:
    """`tree` and PEM with each step, over several runs."""
    numbers, counts = read_queries(raw)
    numbers = first_bit_first(numbers)
    histogram, top = Histogram(numbers[:, np.newaxis], counts), numbers[:TOP]
    everybody = np.repeat(numbers << np.uint64(64 - BITS), counts)
    items, places = np.unique(Text().encode(as_texts(numbers)), axis=0, return_inverse=True)
    texts = Histogram(items, np.bincount(places.ravel(), counts).astype(np.int64))
    rows = []
    for epsilon in epsilons:
        rng = np.random.default_rng([seed, int(1000 * epsilon)])
        ours = [tree_lists(histogram, epsilon, rng) for _ in range(runs)]
        lists_of = {"`tree`": [found for found, _ in ours], GUESSED: [guessed for _, guessed in ours]}
        lists_of[TEXTS] = [text_list(texts, epsilon, rng) for _ in range(runs)]
        for step in STEPS:
            plan = peers.usual_pem(step, TOP, BITS)
            lists_of[plan.name] = [peers.run_pem(everybody, epsilon, plan, rng).values for _ in range(runs)]
        print(f"ε = {epsilon:g} is done", file=sys.stderr, flush=True)
        for name, listed in lists_of.items():
            each = np.array([scores(one, top) for one in listed])
            error = each.std(axis=0, ddof=1) / np.sqrt(len(listed))
            rows.append(
                {
                    "method": name,
                    "epsilon": epsilon,
                    "runs": len(listed),
                    "mean": each.mean(axis=0).tolist(),
                    "stderr": error.tolist(),
                    "listed": float(np.mean([len(one) for one in listed])),
                }
            )
    return rows


def peer_answers(folder: Path | None, seed: int) -> list[Row] | str:
    """What pure-ldp and multi-freq-ldpy have on two of the inputs."""
    jobs, asked = [], []
    for name in PEER_INPUTS:
        people = people_of(name, folder)
        if people is not None:
            counts = np.bincount(people, minlength=INPUTS[name].values).tolist()
            jobs.append(
                {"task": "errors", "counts": counts, "epsilon": INPUTS[name].epsilon, "seed": seed, "runs": PEER_RUNS}
            )
            asked.append(name)
    found = list_peers.answers(jobs)
    if isinstance(found, str):
        return found
    return [{"name": name, "answers": answer} for name, answer in zip(asked, found, strict=True)]


def run(given: argparse.Namespace) -> Row:
    """All numbers of a run; parts that the JSON file has are kept."""
    results: Row = {"seed": given.seed}
    if given.json and given.json.is_file():
        results |= json.loads(given.json.read_text("utf-8"))
    raw = content(given.data, QUERIES, QUERIES_HASH)
    parts: dict[str, Callable[[], Any]] = {
        "errors": lambda: {name: measure(name, given.data, given.trials, given.seed) for name in INPUTS},
        "queries": lambda: None if raw is None else query_rows(raw, QUERY_EPSILONS, given.runs, given.seed),
        "peers": lambda: peer_answers(given.data, given.seed),
    }
    for part in given.only or parts:
        if part not in results:
            results[part] = parts[part]()
            if given.json:
                given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return results


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the published inputs are")
    parser.add_argument("--trials", type=int, default=TRIALS, help=f"trials of each input ({TRIALS})")
    parser.add_argument("--runs", type=int, default=QUERY_RUNS, help=f"runs over the queries ({QUERY_RUNS})")
    parser.add_argument("--only", nargs="+", choices=["errors", "queries", "peers"], help="run these parts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers, and go on where it was")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write the page instead of printing it")
    parser.add_argument("--seed", type=int, default=SEED, help=f"all reports follow from it ({SEED})")
    given = parser.parse_args()
    results = run(given)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    text = published_page.page(results, INPUTS)
    if given.write:
        given.write.write_text(text, "utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
