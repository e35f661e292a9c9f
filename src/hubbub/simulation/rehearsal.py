"""The real per-person path, for a whole crowd: randomise, validate, add up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hubbub.errors import ParameterError
from hubbub.mechanisms.survey_mechanism import SurveyMechanism, make_reports
from hubbub.model.mechanism import Items, Mechanism, add_up
from hubbub.model.survey import SEED_BYTES
from hubbub.model.tally import Tally
from hubbub.numeric.randomness import BulkRandomWords, RandomWordSource, SeededRandomWords

MAX_DRAWS = 200_000_000


def rehearse(mechanism: Mechanism, items: Iterable[Items], random_words: RandomWordSource) -> Tally:
    """The tally of everybody's reports: made from items, checked and added up, as those of devices are.

    Memory does not grow with the number of people: reports are made from a few megabytes of random words at a time.
    """
    return add_up(mechanism, make_reports(mechanism, items, random_words))


def randomness_of(seed: int | None) -> tuple[bytes | None, RandomWordSource]:
    """The public seed and the random words of a rehearsal: repeatable with a seed.

    Without one the public seed is None, so that it will be drawn, and the random words are secret.
    """
    if seed is None:
        return None, BulkRandomWords()
    return np.random.default_rng([seed, 1]).bytes(SEED_BYTES), SeededRandomWords(seed)


def check_draws(mechanism: SurveyMechanism, people: int) -> None:
    """Refuse a job that would take too long, and say what to do instead."""
    draws = people * mechanism.noise_draws
    if draws <= MAX_DRAWS:
        return
    instead = "hubbub simulate draws the sums of any crowd at once"
    if not mechanism.samples_any_crowd:
        instead = f"take a random sample of at most {MAX_DRAWS // mechanism.noise_draws:,} people"
    raise ParameterError(
        f"a job that makes every report must have at most {MAX_DRAWS:.0e} draws of noise, got {draws:.1e}; {instead}"
    )
