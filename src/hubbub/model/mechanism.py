"""The three roles of a mechanism, and the whole protocol in a few lines.

Two laws hold everywhere. A report is a pure function of (survey, item, random words). A tally is a commutative monoid
of integers. Everything else in the library follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.model.estimates import Estimates, Query
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.tally import Cells, Tally

Items: TypeAlias = NDArray[np.uint64]
"""Encoded values, shape (n, item_limbs): the packed bits of each, least significant limb first."""

RandomWords: TypeAlias = NDArray[np.uint64]
"""All the randomness of n reports, shape (n, random_words_per_report)."""

Reports: TypeAlias = NDArray[np.void]
"""Structured, of the mechanism's report_dtype; the field "id" is always first and 16 bytes."""


def tally_of(mechanism: Mechanism, items: Items, random_words: RandomWords) -> Tally:
    """The tally of everybody's reports, as the collector gets it."""
    sent = mechanism.randomize(items, random_words).tobytes()  # on each device; nothing else leaves it
    received = np.frombuffer(sent, mechanism.report_dtype)
    return add_up(mechanism, [received])


def add_up(accumulator: Accumulator, parts: Iterable[Reports]) -> Tally:
    """The tally of all valid reports in the parts; invalid reports are left out.

    Takes the memory of one array of cells and of one part, however many parts there are.
    """
    cells = np.zeros(accumulator.cells_shape, np.int64)
    count = 0
    for reports in parts:
        valid = accumulator.validate(reports)
        kept = reports if valid.all() else reports[valid]
        accumulator.accumulate(cells, kept)
        count += len(kept)
    return Tally(accumulator.survey_id, count, cells)


class Randomizer(Protocol):
    """The client's role: turns an item and random words into a report."""

    @property
    def report_dtype(self) -> np.dtype[np.void]:
        """The fixed binary layout of one report, little-endian."""

    @property
    def random_words_per_report(self) -> int:
        """How many random 64-bit words one report uses, the same for every item."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The privacy loss of the executed integer thresholds, never more than the survey states."""

    def randomize(self, items: Items, random_words: RandomWords) -> Reports:
        """One report per item: a pure function of the two arguments."""


class Accumulator(Protocol):
    """The collector's role: never sees an item, cannot decode."""

    @property
    def survey_id(self) -> bytes:
        """The id of its survey, which every tally has."""

    @property
    def report_dtype(self) -> np.dtype[np.void]:
        """The fixed binary layout of one report, little-endian."""

    @property
    def cells_shape(self) -> tuple[int, ...]:
        """The shape of the tally's cells."""

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports could have been sent by an honest client."""

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add valid reports to `cells`, in place, exactly and in any order."""


class Decoder(Protocol):
    """The analyst's role: reads tallies, never reports."""

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts of the given items, with standard errors of noise and collisions together."""

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """The items that stand out, largest first, with their counts and the smallest count that could be seen."""


class Mechanism(Randomizer, Accumulator, Decoder, Protocol):
    """One parameter object in all three roles; callers take the narrow role they need."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A crowd, as the simulation sees it: distinct items and how many people hold each.

    Attributes
    ----------
    items : Items
        Distinct items, shape (k, item_limbs).
    counts : NDArray[np.int64]
        People holding each.
    singletons : int
        Further people who each hold an item nobody else holds. A sampler may pool them as fair coins on every
        row, which is exact for one row and an approximation for all rows together.
    """

    items: Items
    counts: NDArray[np.int64]
    singletons: int = 0

    def __post_init__(self) -> None:
        for name, array, dtype, axes in (("items", self.items, np.uint64, 2), ("counts", self.counts, np.int64, 1)):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != axes:
                got = f"{array.ndim} axes of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
                raise ParameterError(f"{name} must be an array of {axes} axes of {dtype.__name__}, got {got}")
        if len(self.items) != len(self.counts):
            raise ParameterError(f"counts must be as many as items, got {len(self.counts)} for {len(self.items)}")

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.counts.sum()) + self.singletons

    def dense_counts(self, size: int) -> NDArray[np.float64]:
        """The count of every value of a universe of this size whose items have one limb; all items must be listed."""
        counts = np.zeros(size)
        np.add.at(counts, self.items[:, 0].astype(np.int64), self.counts)
        return counts

    @property
    def norm(self) -> float:
        """‖v‖₂: the root of the sum of the squared counts of all values."""
        return math.sqrt(float(np.sum(np.square(self.counts.astype(np.float64)))) + self.singletons)
