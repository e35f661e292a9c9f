"""Several values of one person: each person has a few slots, and reports what is in one of them.

A person with up to K values puts each into a slot of its own; the other slots are empty. One slot, drawn uniformly, is
reported, empty or not: exactly one report, with the same ε (padding and sampling; Qin et al. 2016, Wang et al. 2018).
Everybody who has a value reports it with a chance of 1/K, so K times a count estimates how many people have the value.
The error is K times that of a count, and slightly more, since it is random which slot a person reports.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hubbub.errors import ParameterError
from hubbub.mechanisms.selection import FOUND_95
from hubbub.model.domain import Domain
from hubbub.model.estimates import Estimates
from hubbub.numeric.count_law import CountLaw

_ROUNDS = 20  # of a fixed-point iteration that converges in a few


def check_slots(domain: Domain, slots: int) -> None:
    """Refuse several slots for a closed list: without an item for empty slots, an empty slot would count as a value."""
    if slots > 1 and not domain.has_other:
        raise ParameterError(f'values_per_person must be 1 for a list without "(other)", got values_per_person={slots}')


def in_people(plain: CountLaw, law: CountLaw, found: Estimates) -> Estimates:
    """Convert counts of reports to counts of people who have the value; `law` is `plain.with_slots(…)`.

    The cost is negligible.
    """
    slots = law.slots
    counts = slots * found.counts
    collisions = slots**2 * plain.collisions(found.counts, found.stderrs)
    return replace(
        found,
        counts=counts,
        stderrs=np.sqrt(law.variance(np.clip(counts, 0.0, law.people)) + collisions),
        threshold=slots * found.threshold,
        detection_limit=limit_in_people(plain, slots, found.detection_limit),
        long_limit=None if found.long_limit is None else limit_in_people(plain, slots, found.long_limit),
    )


def limit_in_people(plain: CountLaw, slots: int, limit: float) -> float:
    """How many people must have a value for the search to find it with a chance of about 95 %.

    `limit` is how many must hold it if everybody has one value.
    """
    if slots == 1 or not math.isfinite(limit):
        return limit
    noise = slots * math.sqrt(float(plain.variance(np.array([min(limit, plain.people)]))[0]))
    needed = slots * limit
    for _ in range(_ROUNDS):  # how many of them report it is random: a variance of slots − 1 for each
        needed = slots * limit + FOUND_95 * (math.hypot(noise, math.sqrt((slots - 1) * needed)) - noise)
    return needed
