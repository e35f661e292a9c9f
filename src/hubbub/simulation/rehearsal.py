"""The real per-person path, for a whole crowd: randomise, send, validate, add up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hubbub.errors import ParameterError
from hubbub.mechanisms.channels import LaplaceChannel
from hubbub.model.mechanism import Items, Mechanism
from hubbub.model.survey import SEED_BYTES
from hubbub.model.tally import Tally
from hubbub.numeric.randomness import WordSource
from hubbub.wire.report_batch import encode_batch, parse_batch

MAX_DRAWS = 200_000_000
_WORDS_AT_ONCE = 1 << 22


def rehearse(mechanism: Mechanism, survey_id: bytes, items: Iterable[Items], words: WordSource) -> Tally:
    """The tally of everyone's reports, each made, sent as bytes, parsed, validated and added.

    Memory does not grow with the people: they are taken a few megabytes of words at a time.
    """
    cells = np.zeros(mechanism.cells_shape, np.int64)
    count = 0
    at_once = max(1, _WORDS_AT_ONCE // mechanism.words_per_report)
    for chunk in items:
        for start in range(0, len(chunk), at_once):
            part = chunk[start : start + at_once]
            reports = mechanism.randomize(part, words.draw(len(part), mechanism.words_per_report))
            received = parse_batch(encode_batch(survey_id, reports), survey_id, mechanism.report_dtype)
            valid = mechanism.validate(received)
            if not valid.all():
                received = received[valid]
            mechanism.accumulate(cells, received)
            count += len(received)
    return Tally(survey_id, count, cells)


def seeded_public_seed(seed: int) -> bytes:
    """A public seed for a rehearsal that must be repeatable."""
    return np.random.default_rng([seed, 1]).bytes(SEED_BYTES)


def noise_draws(mechanism: Mechanism, people: int) -> int:
    """How many draws of noise the per-person path makes: one per coordinate, or one per person for one bit."""
    channel = getattr(mechanism, "channel", None)
    return people * (channel.coordinates if isinstance(channel, LaplaceChannel) else 1)


def check_draws(mechanism: Mechanism, people: int, instead: str) -> None:
    """Refuse a job that would take longer than anyone wants to wait."""
    draws = noise_draws(mechanism, people)
    if draws > MAX_DRAWS:
        raise ParameterError(
            f"person by person a job must have at most {MAX_DRAWS:.0e} draws of noise, got {draws:.1e}; {instead}"
        )
