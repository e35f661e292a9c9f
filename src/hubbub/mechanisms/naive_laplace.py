"""The paper's naive baseline (end of section 3.1): a noisy histogram from every person.

The paper adds Lap(1/ε) because "exactly one entry" changes; replacing a value changes two entries, so the scale is
2/ε (erratum E8).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import Entry, Request
from hubbub.mechanisms.calibration import noise_from_json, noise_to_json
from hubbub.mechanisms.channels import LaplaceChannel
from hubbub.mechanisms.checks import check_fields, size_text
from hubbub.mechanisms.row_sketch import ChannelMechanism
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.sampling import DiscreteLaplace

MAX_SIZE = 2**16


class NaiveLaplace(ChannelMechanism):
    """One noisy count per value from each person."""

    certifies = True

    def __init__(self, survey: Survey) -> None:
        check_fields(survey.parameters, {"noise_rate", "digit_thresholds"})
        size = survey.domain.size
        if size > MAX_SIZE:
            raise ParameterError(f"naive-laplace must have a universe of at most 2^16 values, got {size_text(size)}")
        # Replacing a value changes two entries of the histogram, by 1 each.
        self.noise = noise_from_json(survey.parameters)
        super().__init__(survey, LaplaceChannel(size, changed=2, step=1, noise=self.noise))

    @property
    def parts(self) -> int:
        """A count is one cell."""
        return 1

    def responses(self, items: Items) -> NDArray[np.int8]:
        """The indicator vector of each item."""
        indicators = np.zeros((len(items), self.size), np.int8)
        indicators[np.arange(len(items)), items[:, 0].astype(np.int64)] = 1
        return indicators

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts: the cells themselves, with noise and no collisions."""
        self.check_tally(tally)
        items = self.check_items(items)
        counts = tally.cells[items[:, 0].astype(np.int64)].astype(np.float64)
        return Estimates(items, counts, np.full(len(items), self.noise_stderr(tally.count)))

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """The largest cells that stand out from the noise."""
        self.check_tally(tally)
        stderr = self.noise_stderr(tally.count)
        counts = tally.cells.astype(np.float64)
        law = self.count_law(tally.count)
        stands_out = law.threshold(math.log(query.level / 2) - math.log(self.size))
        chosen, threshold = selection.select(counts, stands_out, query)
        items = chosen.astype(np.uint64)[:, np.newaxis]
        limit = law.seen_from(stands_out, 0.0, selection.FOUND_95)
        return Estimates(items, counts[chosen], np.full(len(chosen), stderr), threshold, limit)

    @property
    def bounds_every_count(self) -> bool:
        """Every value has a cell of its own."""
        return True

    def error_bound(self, people: int, norm: float, beta: float) -> float:
        """`largest_error` at the ε of the executed noise; nothing collides."""
        del norm
        return largest_error(people, self.size, 2 * float(self.noise.rate), beta)

    def sample_sums(self, histogram: Histogram, rng: np.random.Generator) -> NDArray[np.int64]:
        """The true counts, without noise."""
        del rng
        counts = np.zeros(self.size, np.int64)
        np.add.at(counts, histogram.items[:, 0].astype(np.int64), histogram.counts)
        return counts


def largest_error(people: int, size: int, epsilon: float, beta: float) -> float:
    """(4/ε)·√(n·ln(2N/β)) people: for noise of scale 2/ε, no count is off by more, with a chance of 1 − β."""
    return 4 / epsilon * math.sqrt(people * math.log(2 * size / beta))


def default_delta(options: Mapping[str, str]) -> Decimal:
    """10⁻¹⁵: above the cost of 64-bit thresholds, and far too small to matter."""
    del options
    return Decimal("1e-15")


def derive(request: Request) -> dict[str, Any]:
    """Noise of scale 2/ε: a loss of ε/2 for each of the two entries that change."""
    if request.domain.size > MAX_SIZE:
        size = size_text(request.domain.size)
        raise ParameterError(f"naive-laplace must have a universe of at most 2^16 values, got {size}")
    noise = DiscreteLaplace.with_rate(request.epsilon / 2)
    executed = LaplaceChannel(request.domain.size, 2, 1, noise).guarantee(request.epsilon).delta
    if executed > request.delta:
        raise ParameterError(
            f"delta must be at least {executed:.2g} for naive-laplace, whose noise has 64-bit thresholds, "
            f"got delta={request.delta}"
        )
    return noise_to_json(noise)


ENTRY = Entry(facts.NAIVE_LAPLACE, derive, NaiveLaplace, default_delta)
