"""The rows of an answer: estimates with their intervals, and how sure it is that somebody holds the value.

Several values of one person: each person has a few slots, and reports what is in one of them. A person with up to K
values puts each into a slot of its own; the other slots are empty. One slot, drawn uniformly, is reported, empty or
not: exactly one report, with the same ε (padding and sampling; Qin et al. 2016, Wang et al. 2018). Everybody who has a
value reports it with a chance of 1/K, so K times a count estimates how many people have the value. The error is K
times that of a count, and slightly more, since it is random which slot a person reports.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hubbub.analysis.certified import Moved, moves_of
from hubbub.mechanisms.selection import FOUND_95
from hubbub.model.estimates import Estimates, Hitter
from hubbub.model.survey import Survey
from hubbub.numeric.count_law import CountLaw

_ROUNDS = 20  # of a fixed-point iteration that converges in a few


def hitters_of(
    survey: Survey,
    law: CountLaw,
    estimates: Estimates,
    width: float,
    log_choices: NDArray[np.float64],
    listed: NDArray[np.bool_],
    influence: tuple[float, float],
    stands_out: NDArray[np.bool_] | None = None,
    moved: Moved | None = None,
    stands: NDArray[np.float64] | None = None,
) -> list[Hitter]:
    """Estimates as hitters.

    `log_choices` is, for each value, the logarithm of how many values it had to stand out among. `influence` is the
    most and the least that one report adds to a count, unless the estimates say more. `stands_out` marks rows; by
    default all stand out. If people have several slots there is no row for the item that empty slots report. `moved`
    is told what forged reports can do to the rows, and `stands` has their `stands_to`.
    """
    counts, stderrs = estimates.counts, estimates.stderrs
    extra = law.collisions(counts, stderrs)
    low, high = law.limits(counts, extra, width)
    doubts = np.exp(np.minimum(0.0, log_choices + law.log_tail(counts, extra, estimates.sharing_tails)))
    if estimates.doubts is not None:
        doubts = np.minimum(1.0, doubts + estimates.doubts)
    moves = moves_of(estimates, law, influence)
    lifted = np.ceil(np.maximum(counts, 0.0) / moves[:, 0] - 1e-9)
    fakes = lifted if estimates.fakes is None else estimates.fakes
    rivals: list[str | None] = [None] * len(counts)
    if estimates.rivals is not None:
        has_rival = (estimates.rivals != estimates.items).any(axis=1)
        for index in np.flatnonzero(has_rival).tolist():
            rivals[index] = str(survey.domain.decode(estimates.rivals[[index]])[0])
    empty = survey.domain.outside if law.slots > 1 else None
    if moved is not None:
        moved.add(survey.domain.decode(estimates.items), counts, extra, moves, law, width)
    return [
        Hitter(
            value=value,
            count=float(counts[index]),
            share=float(counts[index]) / law.people,
            stderr=float(stderrs[index]),
            low=float(low[index]),
            high=float(high[index]),
            confidence=1.0 - float(doubts[index]),
            listed=bool(listed[index]),
            uneven=estimates.uneven is not None and bool(estimates.uneven[index]),
            stands_out=stands_out is None or bool(stands_out[index]),
            fake_reports=int(fakes[index]),
            rival=rivals[index],
            stands_to=None if stands is None or moved is None or not moved.certifies else int(stands[index]),
        )
        for index, value in enumerate(survey.domain.decode(estimates.items))
        if (empty is None or not np.array_equal(estimates.items[index], empty))
        and value is not None  # an item that encodes no value is an artefact that nobody can hold
    ]


def in_people(plain: CountLaw, law: CountLaw, found: Estimates) -> Estimates:
    """Convert counts of reports to counts of people who have the value; `law` is `plain.with_slots(…)`.

    The cost is negligible.
    """
    if (slots := law.slots) == 1:
        return found
    counts = slots * found.counts
    collisions = slots**2 * plain.collisions(found.counts, found.stderrs)
    return replace(
        found,
        moves=None if found.moves is None else slots * found.moves,
        weakest=None if found.weakest is None else slots * found.weakest,
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
