"""The exact audit: every implementation is within its claim, to the last digit, and every mutant is caught by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from hubbub import Categories, Hostnames, Integers, ParameterError, create_survey, mechanism_for
from hubbub.audit.certificate import audit, certify, some_values
from hubbub.audit.exact import Run
from hubbub.audit.implementations import client, find_node, implementations, library
from hubbub.mechanisms.registry import REGISTRY
from hubbub.testing import public_seed

KEEP = 5543047035272007536  # the threshold of `tree` at ε = 1 over Integers(16)
FEW = Categories(["red", "green", "blue"], other=False)


def survey_of(name: str, epsilon: object = 1, domain: object = None):
    """A small survey."""
    return create_survey(
        "audit", domain or Integers(6), epsilon, mechanism=name, expected_reports=500, public_seed=public_seed(1)
    )


@pytest.mark.parametrize("epsilon", ["0.1", "1", "6"])
@pytest.mark.parametrize("name", [name for name in sorted(REGISTRY) if name != "naive-laplace"])
def test_the_library_is_within_its_claim(name: str, epsilon: str) -> None:
    """On a grid of ε, the loss of the code that runs is at most that of its thresholds, and attained to 15 digits."""
    survey = survey_of(name, epsilon)
    mechanism = mechanism_for(survey)
    values = some_values(survey)
    found = audit(replace(library(survey, values), most_runs=30_000), mechanism, len(values), survey.epsilon)
    assert not found.check, found.sentence
    assert found.worst is not None
    loss, stated = Fraction(found.worst.loss), Fraction(mechanism.guarantee.epsilon)
    assert loss <= Fraction(survey.epsilon)
    assert stated * (1 - Fraction(1, 10**15)) < loss <= stated * (1 + Fraction(1, 10**30))


def test_one_bit_has_the_ratio_of_its_threshold() -> None:
    """The ratio is exact: t to 2^64 − t."""
    survey = survey_of("jl")
    values = some_values(survey)
    found = audit(library(survey, values), mechanism_for(survey), len(values), survey.epsilon)
    threshold = int(survey.parameters["truth_threshold"])
    assert found.worst is not None
    assert found.worst.ratio == Fraction(threshold, 2**64 - threshold)
    assert found.rows == 64  # every row of the projection


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "domain"), [("tree", Integers(32)), ("tree", Hostnames()), ("subset", FEW), ("jl", None)]
)
def test_all_implementations_have_the_same_loss(name: str, domain: object) -> None:
    """Library, client and, where there is node, the browser attain the same ratio."""
    certificate = certify(survey_of(name, 1, domain))
    assert not certificate.failed
    assert len(certificate.findings) == (2 if find_node() is None else 3)
    ratios = {each.worst.ratio for each in certificate.findings if each.worst is not None}
    assert len(ratios) == 1
    document = certificate.to_document()
    assert document["within"]
    assert len({each["sources"] for each in document["implementations"]}) == len(certificate.findings)
    json.dumps(document, allow_nan=False)


def test_a_smaller_claim_is_refuted() -> None:
    """A claim that is smaller by one part in 10^15 is not kept, and the sentence says so."""
    survey = survey_of("subset", 1, FEW)
    values = some_values(survey)
    found = audit(client(survey, values), mechanism_for(survey), len(values), Decimal("0.999999999999999"))
    assert found.check == "loss"
    assert found.sentence.startswith("the loss must be at most ε = 0.999999999999999, got ")


def test_what_cannot_be_enumerated_is_refused() -> None:
    """Laplace noise has too many classes, and a survey that devices do not answer has no client to run."""
    with pytest.raises(ParameterError, match="an exact audit must be of pure ε"):
        certify(survey_of("naive-laplace"))
    _, missing = implementations(survey_of("glps"), ["1", "2"])
    assert set(missing) == {"client", "browser"}


# Mutants: each makes a wrong randomiser of a right one, and is caught by the check of this name.

Mutant = Callable[[Run], Run]


def with_words(change: Callable[[np.ndarray], None]) -> Mutant:
    """Change the random words before the randomiser sees them; the id stays."""

    def mutant(run: Run) -> Run:
        def wrong(places, random_words):
            words = random_words.copy()
            change(words)
            return run(places, words)

        return wrong

    return mutant


def with_reports(change: Callable[[int, bytes], bytes]) -> Mutant:
    """Change the reports, knowing the values."""

    def mutant(run: Run) -> Run:
        return lambda places, words: [change(*each) for each in zip(places, run(places, words), strict=True)]

    return mutant


def unflipped(words: np.ndarray) -> None:
    """The truth, always."""
    words[:, 2] = 0


def more_truth(words: np.ndarray) -> None:
    """The truth also for the 2^40 words from the threshold on."""
    words[:, 2] -= np.minimum(words[:, 2], np.uint64(1 << 40))


def swapped(words: np.ndarray) -> None:
    """The truth where a lie belongs, and a lie where the truth does."""
    words[:, 2] = np.where(words[:, 2] < np.uint64(KEEP), np.uint64(2**64 - 1), np.uint64(0))


def noise_of_the_id(words: np.ndarray) -> None:
    """Noise that everybody knows: it is the id, once more."""
    words[:, 2] = words[:, 0]


def one_choice(words: np.ndarray) -> None:
    """A lie that is always the same."""
    words[:, 3] = 7


def drawn_again(run: Run) -> Run:
    """Noise of its own instead of the random words."""
    draws = count()

    def wrong(places, random_words):
        words = random_words.copy()
        words[:, 2] = np.random.default_rng(next(draws)).integers(0, 2**64, len(words), np.uint64)
        return run(places, words)

    return wrong


MUTANTS: dict[str, tuple[str, Mutant]] = {
    "an unflipped bit": ("loss", with_words(unflipped)),
    "threshold + 2^40": ("loss", with_words(more_truth)),
    "swapped branch": ("loss", with_words(swapped)),
    "noise reused as the id": ("loss", with_words(noise_of_the_id)),
    "a lie of one kind": ("loss", with_words(one_choice)),
    "noise of its own": ("repeat", drawn_again),
    "an id that depends on the value": (
        "id",
        with_reports(lambda place, report: bytes([report[0] & 254 | place & 1]) + report[1:]),
    ),
    "a length that depends on the value": ("length", with_reports(lambda place, report: report + b"\0" * (place == 1))),
    "silence for one value": ("silence", with_reports(lambda place, report: b"" if place == 1 else report)),
    "a response that has the value": ("loss", with_reports(lambda place, report: report[:16] + bytes([place]))),
    "noise from one bit of a word": (
        "classes",
        with_words(lambda words: words.__setitem__((slice(None), 2), words[:, 2] << np.uint64(63))),
    ),
}


@pytest.mark.parametrize(
    ("make", "name"),
    [(library, name) for name in MUTANTS] + [(client, name) for name in MUTANTS if MUTANTS[name][0] != "classes"],
)
def test_mutants_are_caught(name: str, make) -> None:
    """Every wrong randomiser fails the check that is named for it. The client is too slow for thousands of classes."""
    check, mutant = MUTANTS[name]
    assert caught(make, mutant) == check


@pytest.mark.parametrize("make", [library, client])
def test_the_right_one_is_not_caught(make) -> None:
    """What the mutants are made of passes."""
    assert not caught(make, lambda run: run)


def caught(make, mutant: Mutant) -> str:
    """The check that a mutant of an implementation fails."""
    survey = survey_of("tree", 1, Integers(16))
    assert int(survey.parameters["keep_threshold"]) == KEEP
    values = some_values(survey)[:4]
    right = replace(make(survey, values), most_runs=2_000)
    return audit(replace(right, run=mutant(right.run)), mechanism_for(survey), len(values), survey.epsilon).check
