"""The tree: right answers on crowds that break weaker searches, text by name, and untrusted parameters."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest

from hubbub import (
    Histogram,
    Hostnames,
    Integers,
    ParameterError,
    PrivacyError,
    SeededRandomWords,
    Words,
    create_survey,
    load_survey,
    mechanism_for,
)
from hubbub.codes.shipped import load_code
from hubbub.mechanisms.tree.gates import InBeam, InList
from hubbub.mechanisms.tree.shape import plan_shape
from hubbub.mechanisms.tree.tuning import TUNING
from hubbub.model.coded_domain import CodedText
from hubbub.model.estimates import Query
from hubbub.simulation import population
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import public_seed

PEOPLE = 150_000
EPSILON = 4
SD = math.sqrt(PEOPLE) * 2 * math.exp(EPSILON / 2) / math.expm1(EPSILON)


def discover(domain, crowd: Histogram, seed: int = 1, epsilon: float = EPSILON, **options):
    """What the tree finds in a crowd, person by person; singletons hold random items.

    Numbers of hundreds of bits are searched with a narrow beam, which takes a hundredth of the time.
    """
    survey = create_survey(
        "t", domain, epsilon, None, "tree", options, max(crowd.people, 1), public_seed=public_seed(seed)
    )
    tree = mechanism_for(survey)
    if domain.bits >= 128 and not tree.coded:
        tree.in_beam = InBeam(1, tree.shape.bucket_bits)
    alone = population.random_items(crowd.singletons, domain.bits, np.random.default_rng(seed))
    items = np.concatenate([np.repeat(crowd.items, crowd.counts, axis=0), alone])
    tally = rehearse(tree, [items], SeededRandomWords(seed))
    return tree, tally, tree.discover(tally, Query(top=1000))


def numbers(values) -> np.ndarray:
    """Items of 64-bit numbers."""
    return np.array(list(values), np.uint64)[:, np.newaxis]


def check(crowd: Histogram, domain=None, seed: int = 1, **options) -> None:
    """Everything above 15 standard deviations is found, with its count, and nothing that nobody holds."""
    _, _, found = discover(domain or Integers(64), crowd, seed, **options)
    true = {item.tobytes(): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
    got = {
        item.tobytes(): (count, err) for item, count, err in zip(found.items, found.counts, found.stderrs, strict=True)
    }
    assert set(got) <= set(true)
    assert {item for item, count in true.items() if count > 15 * SD} <= set(got)
    for item, (count, stderr) in got.items():
        assert abs(count - true[item]) <= 6 * stderr


MANY = int(20 * SD)
# A smaller tree has shorter lists and a narrower beam. It is searched by the same code, in half of the time.
SMALL = {"size": "small"}
STANDARD: dict[str, str] = {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crowd", "size"),
    [
        (Histogram(numbers([7]), np.array([PEOPLE])), SMALL),
        (
            Histogram(numbers(range(1, 12)), np.array([90_000] + [MANY] * 10), singletons=PEOPLE - 90_000 - 10 * MANY),
            STANDARD,
        ),
        (Histogram(numbers(range(1000, 1020)), np.full(20, MANY), singletons=PEOPLE - 20 * MANY), SMALL),
        (Histogram(numbers(k << 40 for k in range(20)), np.full(20, MANY), singletons=PEOPLE - 20 * MANY), SMALL),
        (
            Histogram(
                numbers(x for y in range(2**40, 2**40 + 20, 2) for x in (y * 2**20, y * 2**20 + 1)),
                np.full(20, MANY),
                singletons=PEOPLE - 20 * MANY,
            ),
            STANDARD,
        ),
        (Histogram(np.empty((0, 1), np.uint64), np.empty(0, np.int64), singletons=PEOPLE), SMALL),
    ],
    ids=["everyone", "giant of 60 %", "sequential", "clustered", "pairs sharing 63 bits", "all distinct"],
)
def test_crowds_that_break_weaker_searches(crowd: Histogram, size: dict[str, str]) -> None:
    """One value of everyone's, giants, ids in sequence, in clusters and in pairs, and nothing at all."""
    check(crowd, **size)


@pytest.mark.slow
@pytest.mark.parametrize(("exponent", "size"), [(1.05, STANDARD), (1.5, SMALL)], ids=["1.05", "1.5"])
def test_zipf(exponent: float, size: dict[str, str]) -> None:
    """Power laws, with a long tail and with a short one."""
    check(population.zipf(PEOPLE, exponent, 5000, 64, np.random.default_rng(2)), **size)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [1, 8, 20, 21, 24, 40, 65, 130, 512])
def test_universes_of_any_width(bits: int) -> None:
    """From one bit, which is counted directly, to 512. At 64 bits the other tests have both sizes."""
    rng = np.random.default_rng(bits)
    count = min(4, 2**bits - 1)
    crowd = Histogram(population.random_items(count, bits, rng), np.full(count, PEOPLE // count))
    # Seed 1 has a false value at 8 bits, as one answer of 40 may.
    check(crowd, Integers(bits), seed=2, **(SMALL if bits in (65, 512) else STANDARD))


@pytest.mark.slow
@pytest.mark.parametrize("people", [0, 1, 10, 1000])
def test_few_people(people: int) -> None:
    """No crash and no ghost with nobody, one, ten; a thousand on one value are seen."""
    _, _, found = discover(Integers(64), Histogram(numbers([5]), np.array([people])))
    assert found.items[:, 0].tolist() == ([5] if people == 1000 else [])


@pytest.mark.slow
@pytest.mark.parametrize("expected", [PEOPLE // 10, PEOPLE * 100])
def test_another_crowd_than_expected(expected: int) -> None:
    """A tenth of the expected reports, or a hundred times as many, change nothing but the sizes."""
    survey = create_survey("t", Integers(64), EPSILON, expected_reports=expected, public_seed=public_seed(3))
    tree = mechanism_for(survey)
    items = np.repeat(numbers([1, 2, 3]), PEOPLE // 3, axis=0)
    tally = rehearse(tree, [items], SeededRandomWords(3))
    assert sorted(tree.discover(tally, Query()).items[:, 0].tolist()) == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 6])
def test_any_epsilon(epsilon: float) -> None:
    """One mask to eight: a value of everyone's is found at every epsilon."""
    crowd, size = Histogram(numbers([9]), np.array([20_000])), STANDARD if epsilon in (0.5, 6) else SMALL
    _, _, found = discover(Integers(64), crowd, epsilon=epsilon, **size)
    assert found.items[:, 0].tolist() == [9]


@pytest.mark.slow
def test_hosts_are_found_by_name() -> None:
    """Sibling hosts under many endings, which are told apart by their code lengths and a bijection alone."""
    domain = Hostnames()
    brands = ("google", "wikipedia", "nytimes", "amazon", "spiegel")
    hosts = [f"{brand}.{end}" for brand in brands for end in ("com", "org", "co.uk", "de")]
    items = domain.encode(hosts)
    crowd = Histogram(items, np.full(len(hosts), PEOPLE // len(hosts)))
    _, _, found = discover(domain, crowd)
    assert set(domain.decode(found.items)) == set(hosts)
    assert found.log_priors is not None
    lengths = [domain.code_length(value) for value in domain.decode(found.items)]
    assert np.allclose(found.log_priors, -math.log(2) * np.array(lengths))


@pytest.mark.slow
def test_words_are_found_by_name() -> None:
    """Another table, another width."""
    domain = Words()
    words = ["hello", "help", "private", "crowd"]
    crowd = Histogram(domain.encode(words), np.full(4, PEOPLE // 4))
    _, _, found = discover(domain, crowd, **SMALL)
    assert set(domain.decode(found.items)) == set(words)


@pytest.mark.slow
def test_a_text_whose_code_ends_in_zeros_is_found() -> None:
    """Its class is that of its code without them, shorter than its code; its prior is that of the whole code."""
    domain = Words()
    words = ["".join(some) for some in product("abcdefghijklmnopqrstuvwxyz", repeat=3)]
    items = domain.encode(words)
    digits = [format(int.from_bytes(item.tobytes(), "little"), f"0{domain.bits}b") for item in items]
    lengths = np.array([domain.code_length(word) for word in words])
    sizes = [each.bits for each in plan_shape(domain.bits, 44, False).classes]
    fewer = np.searchsorted(sizes, lengths) - np.searchsorted(sizes, [len(each.rstrip("0")) for each in digits])
    most = int(np.argmax(fewer))
    assert fewer[most] >= 3
    tree, _, found = discover(domain, Histogram(items[[most]], np.array([20_000])), **SMALL)
    ((number, _, _),) = tree.code.classes(items[[most]])
    assert tree.shape.classes[number + 2].bits < lengths[most]
    assert domain.decode(found.items) == [words[most]]
    assert found.log_priors == pytest.approx([-math.log(2) * lengths[most]])


@pytest.mark.parametrize("width", [16, 17, 18, 19, 20, 21, 40])
def test_items_of_few_bits_hold_short_words(width: int) -> None:
    """With one class, and with several: short words are found, and longer ones are "(other)"."""
    domain = CodedText(load_code("words"), "words-1", width)
    crowd = Histogram(domain.encode(["a", "of", "unforgettable"]), np.array([10_000, 8_000, 12_000]))
    tree, tally, found = discover(domain, crowd, **SMALL)
    assert domain.decode(found.items) == ["(other)", "a", "of"]
    assert np.all(np.abs(found.counts - [12_000, 10_000, 8_000]) < 6 * found.stderrs)
    beside = tree.estimate_beside(tally, domain.encode(["a", "if"]), found.items)
    assert np.all(np.abs(beside.counts - [10_000, 0]) < 6 * beside.stderrs)
    assert found.detection_limit < 8_000


@pytest.mark.slow
def test_other_is_found_and_hides_nobody() -> None:
    """Values without a code are one giant in every row: it is reported as such, and words beside it are found."""
    domain = Words()
    long = domain.encode(["unpronounceable " * 9])
    named = domain.encode(["privacy", "crowd"])
    crowd = Histogram(np.concatenate([long, named]), np.array([PEOPLE - 2 * MANY, MANY, MANY]))
    _, _, found = discover(domain, crowd, **SMALL)
    counts = dict(zip(domain.decode(found.items), found.counts.tolist(), strict=True))
    assert set(counts) == {"(other)", "privacy", "crowd"}
    assert abs(counts["(other)"] - (PEOPLE - 2 * MANY)) < 6 * SD


@pytest.mark.slow
def test_candidates_beside_what_was_found() -> None:
    """With the large values taken away, a small one is estimated without their collisions."""
    crowd = Histogram(numbers([1, 2]), np.array([100_000, int(6 * SD)]), singletons=40_000)
    tree, tally, found = discover(Integers(64), crowd, **SMALL)
    beside = tree.estimate_beside(tally, numbers([1, 2, 3]), found.items)
    assert np.all(np.abs(beside.counts - np.array([100_000, int(6 * SD), 0])) <= 6 * beside.stderrs)


def test_masks_minimise_the_variance() -> None:
    """They are 1, 2, 3 and 6 at ε = 0.5, 1, 2 and 4."""
    surveys = [create_survey("masks", Integers(64), epsilon) for epsilon in (0.5, 1, 2, 4)]
    assert [survey.parameters["masks"] for survey in surveys] == [1, 2, 3, 6]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bucket_bits", 21),
        ("bucket_bits", 0),
        ("bucket_bits", 15),
        ("steps", ["k"]),
        ("steps", "x"),
        ("ends", [5]),
        ("ends", [1 << 24]),
        ("masks", 9),
        ("masks", 0),
        ("beam_bits", 17),
        ("keep_threshold", "0"),
        ("more", 1),
    ],
)
def test_untrusted_parameters_are_refused(field: str, value: object) -> None:
    """Kernels index by these numbers, so a survey with others does not load."""
    document = json.loads(create_survey("t", Integers(64), 1).to_json())
    document["parameters"][field] = value
    with pytest.raises(ParameterError):
        load_survey(json.dumps(document, sort_keys=True, separators=(",", ":")))


@pytest.mark.parametrize(
    ("bucket_bits", "steps"), [(1, "1" * 24), (7, "7755"), (10, "a000077"), (16, "g8")], ids=["1", "7", "10", "16"]
)
@pytest.mark.parametrize("best_guess", [False, True])
def test_trees_made_by_hand_are_searched(bucket_bits: int, steps: str, best_guess: bool) -> None:
    """Fewer buckets than any plan has, steps of one bit and of none: what everybody holds is the first row."""
    document = json.loads(create_survey("t", Integers(24), EPSILON, public_seed=public_seed(1)).to_json())
    ends = [(1 << 24) * (row + 1) // len(steps) for row in range(len(steps))]
    document["parameters"] |= {"bucket_bits": bucket_bits, "steps": [steps], "ends": ends}
    tree = mechanism_for(load_survey(json.dumps(document, sort_keys=True, separators=(",", ":"))))
    tally = rehearse(tree, [np.full((3000, 1), 5, np.uint64)], SeededRandomWords(1))
    found = tree.discover(tally, Query(top=3, best_guess=best_guess))
    assert found.items[0].tolist() == [5]
    assert abs(found.counts[0] - 3000) < 6 * found.stderrs[0]
    assert (len(found.items) > 1) == best_guess


@pytest.mark.slow
@pytest.mark.parametrize("steps", ["gkk8", "1kkk3"])
def test_long_steps_made_by_hand_are_searched_in_bounded_memory(steps: str) -> None:
    """A beam or list of the usual width would have 2^37 and 2^30 children to score: fewer paths go on from there."""
    document = json.loads(create_survey("t", Integers(64), EPSILON, public_seed=public_seed(1)).to_json())
    ends = [(1 << 24) * (row + 1) // 6 for row in range(6)]
    document["parameters"] |= {"bucket_bits": 20, "steps": [steps], "ends": ends}
    tree = mechanism_for(load_survey(json.dumps(document, sort_keys=True, separators=(",", ":"))))
    kind = tree.shape.classes[0]
    for gate in (tree.in_beam, InList()):
        children = [width << step for width, step in zip(gate.widths(kind), kind.steps[1:], strict=False)]
        assert max(children) <= 1 << (TUNING.beam_bits + TUNING.longest_step)
    tally = rehearse(tree, [np.full((3000, 1), 5, np.uint64)], SeededRandomWords(1))
    assert tree.discover(tally, Query(top=3)).items[0].tolist() == [5]


def test_a_larger_threshold_is_refused() -> None:
    """One unit more than epsilon allows."""
    document = json.loads(create_survey("t", Integers(64), 1).to_json())
    document["parameters"]["keep_threshold"] = str(int(document["parameters"]["keep_threshold"]) + 1)
    with pytest.raises(PrivacyError):
        load_survey(json.dumps(document, sort_keys=True, separators=(",", ":")))


def test_epsilon_above_six_is_refused() -> None:
    """More masks than eight would be needed."""
    with pytest.raises(ParameterError, match="at most 6"):
        create_survey("t", Integers(64), 6.1)
