"""The real per-person path, for a whole crowd: randomise, send, validate, add up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hubbub.errors import ParameterError
from hubbub.mechanisms.survey_mechanism import SurveyMechanism, add_up
from hubbub.model.mechanism import Items, Mechanism, Reports
from hubbub.model.survey import SEED_BYTES
from hubbub.model.tally import Tally
from hubbub.numeric.randomness import WordSource
from hubbub.wire.report_batch import encode_batch, parse_batch

MAX_DRAWS = 200_000_000


def rehearse(mechanism: Mechanism, survey_id: bytes, items: Iterable[Items], words: WordSource) -> Tally:
    """The tally of everyone's reports, each made, sent as bytes, parsed, validated and added.

    Memory does not grow with the people: they are taken a few megabytes of words at a time.
    """

    def send(reports: Reports) -> Reports:
        return parse_batch(encode_batch(survey_id, reports), survey_id, mechanism.report_dtype)

    return add_up(mechanism, survey_id, items, words, send)


def seeded_public_seed(seed: int) -> bytes:
    """A public seed for a rehearsal that must be repeatable."""
    return np.random.default_rng([seed, 1]).bytes(SEED_BYTES)


def check_draws(mechanism: SurveyMechanism, people: int, instead: str) -> None:
    """Refuse a job that would take longer than anyone wants to wait."""
    draws = people * mechanism.noise_draws
    if draws > MAX_DRAWS:
        raise ParameterError(
            f"person by person a job must have at most {MAX_DRAWS:.0e} draws of noise, got {draws:.1e}; {instead}"
        )
