"""Values that are counted together: how many people hold any of them, with intervals from their joint law.

A group is fixed in advance, so its interval needs no search. All groups of a question have a tenth of its level, each
the same part. Adding up the ends of the members' intervals would give a valid one, too, that is far too wide: it allows
for all members to be off in the same direction at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from hubbub.analysis.question import Asked
from hubbub.mechanisms.roles import SurveyDecoder
from hubbub.model.estimates import Group, Hitter
from hubbub.model.mechanism import Items
from hubbub.model.tally import Tally
from hubbub.numeric.count_law import UNDERSTATED
from hubbub.numeric.tails import normal_quantile_log


def count_groups(
    decoder: SurveyDecoder, tally: Tally, asked: Asked, found: Items, rows: Iterable[Hitter]
) -> tuple[Group, ...]:
    """The groups that a question asks about, largest first. Of a public list only those that somebody surely holds.

    `found` are the items of large values, and `rows` the values of the answer: where the intervals of members' rows
    prove that more people hold a member than the joint law does, that is the lower end.
    """
    if not asked.groups:
        return ()
    people, names = tally.count, list(asked.groups)
    totals = decoder.count_groups(tally, list(asked.groups.values()), found)
    proved = _proved(decoder, asked.groups, rows)
    width = normal_quantile_log(math.log(asked.groups_level / 2) - math.log(UNDERSTATED * len(names)))
    sizes = np.array([len(each) for each in asked.groups.values()])
    counted = []
    for size in np.unique(sizes).tolist():  # groups of one size have one law
        places = np.flatnonzero(sizes == size)
        law, counts, extras = decoder.sum_law(people, size), totals.counts[places], totals.extras[places]
        ends = law.limits(counts, extras, width)
        stderrs = np.sqrt(law.variance(np.clip(counts, 0.0, people)) + extras)
        for place, count, stderr, low, high in zip(
            places.tolist(), counts.tolist(), stderrs.tolist(), *(each.tolist() for each in ends), strict=True
        ):
            low = min(max(low, proved[names[place]]), high)
            counted.append(Group(names[place], size, count, count / people, stderr, low, high))
    counted = [group for group in counted if group.low > 0 or group.name not in asked.public_groups]
    return tuple(sorted(counted, key=lambda group: -max(group.count, group.low)))


def groups_of_nobody(asked: Asked) -> tuple[Group, ...]:
    """The groups of a question before anybody has reported: nobody holds them. None of a public list."""
    given = {name: each for name, each in asked.groups.items() if name not in asked.public_groups}
    return tuple(Group(name, len(each), 0.0, 0.0, 0.0, 0.0, 0.0) for name, each in given.items())


def _proved(decoder: SurveyDecoder, groups: Mapping[str, Items], rows: Iterable[Hitter]) -> dict[str, float]:
    """For each group, how many people its members' rows prove: nobody holds two values."""
    lows = [(row.value, row.low) for row in rows if row.low > 0 and row.rival is None]
    if not lows:
        return dict.fromkeys(groups, 0.0)
    items = decoder.survey.domain.encode([value for value, _ in lows])
    of_item = {item.tobytes(): low for item, (_, low) in zip(items, lows, strict=True)}
    return {name: sum(of_item.get(item.tobytes(), 0.0) for item in each) for name, each in groups.items()}
