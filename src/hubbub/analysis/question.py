"""The question that an analyst asks of a tally, checked once by itself and once against a domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypedDict

import numpy as np

from hubbub.errors import ParameterError, shown
from hubbub.model.domain import Domain, Integers
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Items
from hubbub.model.numbers import own_number
from hubbub.model.plain import plain, whole_number
from hubbub.name_lists import names

MAX_SLOTS: Final = 1_000
"""The most values of one person. The error grows with their number, so nobody needs more."""


class Knobs(TypedDict, total=False):
    """The attributes of a `Question`, as `find` and `find_hitters` take them by name."""

    top: int
    level: float
    candidates: Iterable[object] | None
    all_candidates: bool
    hitters_only: bool
    values_per_person: int
    names: str | Iterable[object]


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
        slightly larger one. Any iterable is accepted; it is stored as a tuple. Missing ones are dropped, those outside
        the domain are left out, and a text with a lone surrogate is refused.
    all_candidates : bool
        Answer with a row for every candidate, whether it stands out or not.
    hitters_only : bool
        Return only the values that stand out, even if the domain is a list. Without it, and without candidates, the
        answer to a list has a row for each of its values.
    values_per_person : int
        The number of slots of each person, from 1 to 1,000; each person reported one slot. With several slots, the
        answer counts the people who have a value in any of their slots.
    names : str or iterable
        "auto" checks the names of the domain's public list (`hubbub.names`), too, if it has one and there are no
        candidates; "none" does not. A list of names is the same as candidates.
    query : Query
        The part of the question that a decoder takes.
    """

    top: int = 20
    level: float = 0.05
    candidates: Iterable[object] | None = None
    all_candidates: bool = False
    hitters_only: bool = False
    values_per_person: int = 1
    names: str | Iterable[object] = "auto"
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
        if not isinstance(self.names, str):
            if self.candidates is not None:
                raise ParameterError("names must be auto or none if there are candidates, got a list")
            object.__setattr__(self, "candidates", self.names)
            object.__setattr__(self, "names", "none")
        elif self.names not in ("auto", "none"):
            raise ParameterError(f"names must be auto, none or a list of values, got names={shown(self.names)}")
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

    @classmethod
    def of(cls, question: Question | None, knobs: Knobs) -> Question:
        """The question itself, or the one with these attributes; not both."""
        if question is not None and knobs:
            raise ParameterError(f"question must come without {', '.join(knobs)}, got both")
        return cls(**knobs) if question is None else question

    @property
    def knobs(self) -> dict[str, Any]:
        """What `Question` takes, as plain data for JSON if the candidates are."""
        plain_facts = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return plain_facts | {"candidates": None if self.candidates is None else list(self.candidates)}

    def about(self, domain: Domain) -> Asked:
        """The question about the values of a domain.

        A ParameterError if no candidate is in the domain, or if people have several slots and an empty one would count
        as a value. Missing candidates are dropped; 13.0 and "13.0" are the whole number 13 where values are numbers.
        """
        # Without an item for empty slots, an empty slot would count as a value.
        if (slots := self.values_per_person) > 1 and not domain.has_other:
            raise ParameterError(
                f'values_per_person must be 1 for a list without "(other)", got values_per_person={slots}'
            )
        public = domain.names_list if self.names == "auto" else None
        if self.candidates is None and public is None:
            return Asked(self, None)
        from hubbub.numeric.bulk_items import encode_marked  # it loads a compiler, which takes a while

        if self.candidates is None and public is not None:
            known = encode_marked(domain, names(public))
            return Asked(self, known.items[~known.other], public=True)
        assert self.candidates is not None  # noqa: S101 - for the type checker

        named = [value if isinstance(value, str) else plain(value) for value in self.candidates]
        named = [value for value in named if value is not None]
        if broken := [value for value in named if isinstance(value, str) and _is_broken(value)]:
            raise ParameterError(f"candidates must be texts that UTF-8 can write, got {shown(broken[0])}")
        if isinstance(domain, Integers):
            numbers = (whole_number(value) if isinstance(value, str) else None for value in named)
            named = [value if number is None else number for value, number in zip(named, numbers, strict=True)]
        marked = encode_marked(domain, named)
        encoded = marked.items[~marked.other]
        if not len(encoded):
            raise ParameterError("candidates must name at least one value of the domain, got none")
        _, first = np.unique(encoded, axis=0, return_index=True)
        return Asked(self, encoded[np.sort(first)], int(marked.other.sum()), len(encoded) - len(first))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was checked against a domain.

    Attributes
    ----------
    question : Question
        The question.
    named : Items or None
        The items of the candidates in the domain, without duplicates, in order; None if no candidates are named.
    foreign : int
        How many candidates are not in the domain; they are left out.
    repeated : int
        How many candidates repeat another one.
    public : bool
        The names are those of a public list instead of candidates.
    """

    question: Question
    named: Items | None
    foreign: int = 0
    repeated: int = 0
    public: bool = False

    @property
    def candidates(self) -> int:
        """How many different values of the domain are named."""
        return 0 if self.named is None else len(self.named)

    def queries(self, top: int) -> tuple[Query, Query]:
        """The query of the search and that of the names: together they have the level of the question.

        Candidates have half of it. The names of a public list have two thirds, since most sites that a survey can see
        are among them.
        """
        query = replace(self.question.query, top=top)
        return (query.split(3), query.split(1.5)) if self.public else (query.split(2), query.split(2))


def _is_broken(text: str) -> bool:
    """Whether a text has half of a surrogate pair, which a domain replaces: it would ask about another value."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
