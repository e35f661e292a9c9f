"""The question that an analyst asks of a tally."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hubbub.errors import ParameterError, shown
from hubbub.model.estimates import Query
from hubbub.model.numbers import own_number

MAX_SLOTS: Final = 1_000
"""The most values of one person. The error grows with their number, so nobody needs more."""


@dataclass(frozen=True, slots=True)
class Question:
    """Which values do many people hold? It says how many to name, how sure to be, and which values to check by name.

    A question checks itself when it is made: an invalid one is a ParameterError before any work is done.

    Attributes
    ----------
    top : int
        At most this many values.
    level : float
        The chance, at most, that anything in the whole answer is wrong (see `Query`).
    candidates : tuple of values, or None
        Values named before anybody looks at the tally. They are found from a smaller count on, all others from a
        slightly larger one. Any iterable is accepted; it is stored as a tuple.
    all_candidates : bool
        Answer with a row for every candidate, whether it stands out or not.
    hitters_only : bool
        Return only the values that stand out, even if the domain is a list. Without it, and without candidates, the
        answer to a list has a row for each of its values.
    values_per_person : int
        The number of slots of each person, from 1 to 1,000; each person reported one slot. With several slots, the
        answer counts the people who have a value in any of their slots.
    query : Query
        The part of the question that a decoder takes.
    """

    top: int = 20
    level: float = 0.05
    candidates: Iterable[object] | None = None
    all_candidates: bool = False
    hitters_only: bool = False
    values_per_person: int = 1
    query: Query = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("top", "level", "values_per_person"):
            if not isinstance(given := getattr(self, name), int | float):
                object.__setattr__(self, name, own_number(given))
        object.__setattr__(self, "query", Query(self.top, self.level))  # which checks both
        slots = self.values_per_person
        if isinstance(slots, bool) or not isinstance(slots, int) or not 1 <= slots <= MAX_SLOTS:
            got = f"values_per_person={shown(slots)}"
            raise ParameterError(f"values_per_person must be a whole number from 1 to {MAX_SLOTS:,}, got {got}")
        for name in ("all_candidates", "hitters_only"):
            if not isinstance(value := getattr(self, name), bool):
                raise ParameterError(f"{name} must be True or False, got {name}={shown(value)}")
        if self.candidates is None:
            if self.all_candidates:
                raise ParameterError("all_candidates must come with candidates, got none")
            return
        kind, shape = type(self.candidates).__name__, getattr(self.candidates, "shape", (0,))
        if isinstance(self.candidates, str | bytes) or not isinstance(self.candidates, Iterable):
            raise ParameterError(f"candidates must be a list of values, got {kind}")
        # To go through a table gives the names of its columns, and through a dict its keys.
        if isinstance(self.candidates, Mapping) or (isinstance(shape, tuple) and len(shape) != 1):
            raise ParameterError(f"candidates must be a list of values, got {kind}: pass one of its columns")
        object.__setattr__(self, "candidates", tuple(self.candidates))
        if not self.candidates:
            raise ParameterError("candidates must name at least one value of the domain, got none")
