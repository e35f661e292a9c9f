"""Guesses: the next best values, each with the chance that many people hold it."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from hubbub import (
    Answer,
    Hostnames,
    Integers,
    ParameterError,
    Question,
    create_survey,
    find,
    find_hitters,
    mechanism_for,
)
from hubbub.analysis.guesses import Prior, chances
from hubbub.analysis.sentences import told
from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.model.estimates import Estimates
from hubbub.model.mechanism import Histogram

SITES = [f"site{rank}.example" for rank in range(1, 120) for _ in range(1_500 // rank)]
LAW = MatchLaw(3 << 62, 3, 10, 1).count_law(2_000)


def ids(counts: list[float], doubts: list[float] | None = None) -> Estimates:
    """Estimates of values that share no bucket."""
    items = np.arange(len(counts), dtype=np.uint64)[:, np.newaxis]
    held = np.array(counts, float)
    some = None if doubts is None else np.array(doubts)
    return Estimates(items, held, np.sqrt(LAW.variance(held)), doubts=some)


def test_chances_are_those_of_bayes_rule() -> None:
    """Of values that are drawn by the prior, as many are right as their chances say; a mutant is far too sure.

    The number of values from the threshold on is drawn by its law given that two were found. Given that number, those
    that were found say nothing of the others, so values above the threshold are left out.
    """
    rng, size, prior, least = np.random.default_rng(1), 1_000, Prior(2, 150.0, -math.log(1_000)), 75.0
    law, stated, right = MatchLaw(3 << 62, 3, 10, 1), [], []
    edges = np.geomspace(0.25 * math.sqrt(float(LAW.variance(np.zeros(1))[0])), 2_000, 200)
    for _ in range(120):
        some = rng.poisson(rng.gamma(2.5) * prior.numbers(edges))
        held = np.zeros(size, np.int64)
        held[: some.sum()] = np.repeat(np.sqrt(edges[1:] * edges[:-1]), some).round()
        matches = rng.binomial(held, law.true) + rng.binomial(2_000 - held, law.absent)
        counts = (matches - 2_000 * law.absent) * law.per_match
        best = [place for place in np.argsort(-counts) if counts[place] < prior.threshold][:40]
        stated.append(chances(LAW, prior, ids(counts[best].tolist()), np.full(40, prior.log_share), least))
        right.append(held[best] >= least)
    chance, was = np.concatenate(stated), np.concatenate(right)
    middle = (chance > 0.1) & (chance < 0.9)
    spread = math.sqrt(float((chance[middle] * (1 - chance[middle])).sum()))
    assert middle.sum() > 100
    assert abs(was[middle].sum() - chance[middle].sum()) < 6.2 * spread
    assert abs(was[middle].sum() - np.sqrt(chance[middle]).sum()) > 6.2 * spread


def test_a_doubt_lowers_the_chance_and_a_larger_count_raises_it() -> None:
    """With neighbours as likely as the value the chance is at most one half; it never falls with the count."""
    shares = np.full(60, -math.log(1_000))
    alone = chances(LAW, Prior(1, 150.0, -math.log(1_000)), ids(list(range(0, 300, 5))), shares, 75.0)
    shared = chances(LAW, Prior(1, 150.0, -math.log(1_000)), ids(list(range(0, 300, 5)), [1.0] * 60), shares, 75.0)
    assert np.all(np.diff(alone) >= -1e-9)
    assert alone[-1] > 0.999
    assert shared.max() <= 0.5
    assert np.all((alone >= 0) & (alone <= 1))
    assert np.all(shared <= alone)
    assert len(chances(LAW, Prior(1, 150.0, -math.log(1_000)), ids([]), np.empty(0), 75.0)) == 0


@pytest.mark.slow
def test_the_answer_is_the_same_with_guesses() -> None:
    """Everything but the guesses is equal bit for bit; no guess stands out; names just below are the best guesses."""
    names = [f"site{rank}.example" for rank in range(1, 300)]
    plain = find(SITES, 2, Hostnames(), seed=4, names=names)
    more = find(SITES, 2, Hostnames(), seed=4, names=names, guesses=8)
    assert replace(more, guesses=(), guessed_from=None) == plain
    assert not {guess.value for guess in more.guesses} & {hitter.value for hitter in more.hitters}
    sure = [guess.chance for guess in more.guesses]
    assert sure == sorted(sure, reverse=True)
    assert 1 <= len(sure) <= 8
    assert more.guesses[0].listed
    assert more.guesses[0].chance > 0.3
    assert more.guessed_from is not None
    said = told(more, ["guesses"])
    assert f"{more.guesses[0].value}, perhaps: " in said[0]
    assert Answer.from_document(more.to_document()) == more
    rows = list(csv.DictReader(io.StringIO(more.to_csv())))
    assert [row["value"] for row in rows if row["chance"]] == [guess.value for guess in more.guesses]
    assert all(row["stands_out"] == "False" and not row["confidence"] for row in rows if row["chance"])
    assert "chance" not in plain.to_csv()


@pytest.mark.slow
@pytest.mark.parametrize("domain", [Integers(64), Integers(10)])
def test_where_nobody_shares_a_value_guesses_are_worth_little(domain: Integers) -> None:
    """Everybody holds an id of their own: the chances of ten guesses add up to less than one half, on average."""
    rng, sums = np.random.default_rng(7), []
    for _ in range(3):
        survey = create_survey("own", domain, 4, expected_reports=1_000, public_seed=rng.bytes(32))
        mechanism = mechanism_for(survey)
        own = rng.permutation(1_000).astype(np.uint64)[:, np.newaxis]
        tally = mechanism.sample_tally(Histogram(own, np.ones(1_000, np.int64)), rng)
        answer = find_hitters(survey, tally, guesses=10, hitters_only=True, decoder=mechanism)
        sums.append(sum(guess.chance for guess in answer.guesses))
    assert sum(sums) / len(sums) <= 0.5


def test_how_many_guesses() -> None:
    """From 0 to 1,000."""
    for wrong in (-1, 1_001, True, 2.5):
        with pytest.raises(ParameterError, match="guesses must be a whole number from 0 to 1,000"):
            Question(guesses=wrong)  # type: ignore[arg-type]
