"""Row counts of a whole simulated crowd, drawn at a cost that does not grow with the number of people.

A report of a row matches each bucket with chance `true` if its sender's value lies there, and with chance `absent` if
not. So the matches of a bucket are, exactly, Binomial(holders, true) + Binomial(others, absent); and the masks of a
report are independent, so that the matches of two buckets are uncorrelated. Here the people of each row are drawn from
a multinomial law, and the matches of each bucket independently of the other buckets. Every bucket has its exact law,
and all second moments are exact; the joint law of three or more buckets is not. So the result is an approximation: it
is never made into a tally, only into the row counts that a decoder reads. tests/statistical/test_tree_sampling.py
compares it with real reports.
"""

from __future__ import annotations

import numpy as np

from hubbub.mechanisms.tree.code import PathCode
from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.model.mechanism import Histogram

APPROXIMATION = "every bucket of a row is drawn by itself: exact for each and for pairs, not for all together"

LEAST_BUCKET_BITS = 10
"""In smaller universes the total of all buckets' matches varies too little for them to be drawn independently."""


def sample_row_counts(code: PathCode, law: MatchLaw, crowd: Histogram, rng: np.random.Generator) -> RowCounts:
    """The row counts of a crowd, approximated as described above. Costs rows·buckets draws and items·rows.

    People whose value nobody else holds are spread evenly over the buckets of a row. Within one row this is their exact
    law for numbers, whose paths are hashed.
    """
    shape, shares = code.shape, code.shape.shares
    buckets, theirs = 1 << shape.bucket_bits, code.buckets(crowd.items)
    speaking = rng.multinomial(crowd.counts, shares)
    alone = rng.multinomial(crowd.singletons, shares)
    people = speaking.sum(axis=0) + alone
    estimates = np.empty((shape.rows, buckets), np.float32)
    for row in range(shape.rows):
        holders = np.bincount(theirs[:, row], speaking[:, row], buckets).astype(np.int64)
        if alone[row]:
            holders += rng.multinomial(alone[row], np.full(buckets, 1 / buckets))
        matches = rng.binomial(holders, law.true) + rng.binomial(people[row] - holders, law.absent)
        counts = (matches - people[row] * law.absent) / (law.true - law.absent)
        if shape.rows > 1:  # in excess of an even spread over hashed buckets, as in `Tree.row_counts`
            counts = (counts - people[row] / buckets) / (1 - 1 / buckets)
        estimates[row] = counts
    return RowCounts(estimates, people.astype(np.float64), law.noise)
