"""The tally: a count and integer cells, merged with `+`, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, SurveyMismatch

Cells: TypeAlias = NDArray[np.int64]
"""Sums of reports. A collector keeps nothing else of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Everything a collector keeps of its reports. A commutative monoid of integers.

    Attributes
    ----------
    survey_id : bytes
        The 32 bytes of the survey the reports answer.
    count : int
        How many valid reports were added.
    cells : Cells
        Their sums.
    day : date, optional
        A day of the slice of time that they are of, if that is known. A sum of several days has none.
    """

    survey_id: bytes
    count: int
    cells: Cells
    day: date | None = None

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.survey_id != other.survey_id:
            raise SurveyMismatch(
                f"tallies merge only within one survey, got surveys {self.survey_id.hex()[:8]} "
                f"and {other.survey_id.hex()[:8]}"
            )
        with np.errstate(over="ignore"):
            cells = self.cells + other.cells
        # If a sum overflows, both terms have one sign and the wrapped sum has the other.
        if self.count + other.count >= 1 << 63 or np.any(((self.cells ^ cells) & (other.cells ^ cells)) < 0):
            raise ParameterError("the sums of tallies must fit in 64 bits, got some that do not")
        return Tally(self.survey_id, self.count + other.count, cells, self.day if self.day == other.day else None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        mine, others = (self.survey_id, self.count, self.day), (other.survey_id, other.count, other.day)
        return mine == others and np.array_equal(self.cells, other.cells)

    __hash__ = None  # type: ignore[assignment]  # cells are a mutable array
