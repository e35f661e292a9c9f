"""The question that an analyst asks of a tally, checked once by itself and once against a domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np

from hubbub.analysis.named_values import (
    Groups,
    checked_groups,
    items_of,
    items_of_groups,
    items_of_public_groups,
    typed,
)
from hubbub.errors import ParameterError, shown
from hubbub.model.domain import Domain
from hubbub.model.estimates import Hitter, Query
from hubbub.model.mechanism import Items
from hubbub.model.numbers import own_number
from hubbub.name_lists import names

MAX_SLOTS: Final = 1_000
"""The most values of one person. The error grows with their number, so nobody needs more."""

MAX_GUESSES: Final = 1_000
"""The most guesses of one answer."""

MODES: Final = ("no-false-positives", "no-false-negatives")
"""What an answer promises of the values near a share, as Apache DataSketches names it."""


class SurveyNames(NamedTuple):
    """The names that stay with a survey: values that its owner looks for, and what was found in earlier slices of time.

    Attributes
    ----------
    fixed : tuple of str
        Those that were chosen before the first report, so that no report had a say in the choice.
    later : tuple of str
        Those that were chosen after it.
    found : tuple of str
        Those that were found in slices before all that are asked about, so that no report that counts had a say.
    groups : tuple of pairs
        Values that are counted together: the name of each group and its values, fixed before the first report.
    """

    fixed: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    groups: Groups = ()

    @property
    def has_names(self) -> bool:
        """Whether any value is looked for by name."""
        return any((self.fixed, self.later, self.found))


_OF_GROUPS: Final = 0.1  # of the level; the limit of a name grows by less than 1 %

NO_NAMES: Final = SurveyNames()


class Knobs(TypedDict, total=False):
    """The attributes of a `Question`, as `find` and `find_hitters` take them by name."""

    top: int
    level: float
    candidates: Iterable[object] | None
    all_candidates: bool
    hitters_only: bool
    values_per_person: int
    names: str | Iterable[object]
    guesses: int
    groups: str | Mapping[str, Iterable[object]]
    mode: str
    share: float
    forged: int


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
        Answer with a row for every candidate, and for every name that stays with the survey, whether it stands out or
        not.
    hitters_only : bool
        Return only the values that stand out, even if the domain is a list. Without it, and without candidates, the
        answer to a list has a row for each of its values.
    values_per_person : int
        The number of slots of each person, from 1 to 1,000; each person reported one slot. With several slots, the
        answer counts the people who have a value in any of their slots.
    names : str or iterable
        "auto" checks the names of the domain's public list (`hubbub.names`) and those that stay with the survey, too,
        if there are no candidates; "none" does not. A list of names is the same as candidates.
    guesses : int
        Below the values that stand out, this many of the next best ones, each with its chance; from 0 to 1,000. They
        change nothing else in the answer.
    groups : str or mapping
        Values to count together, fixed before anybody looks: their names, each with its values, such as
        {"Google": ["google.com", "google.de"]}. "own" takes those that stay with the survey; "auto" also takes the
        groups of the domain's public list, and shows of these the ones that somebody holds; "none" has none. Groups
        have a tenth of the level.
    mode : str
        With "no-false-positives" the answer has values that somebody surely holds or, given a share, that surely so
        large a share of the people hold. With "no-false-negatives" it has all named values, or values of a list,
        that may be held by this share; what nobody named must be found by the search.
    share : float
        A share of the people, from 0 to 1, as the mode says.
    forged : int
        Suppose that so many of the reports are forged: intervals hold whichever those are, as in `Answer.if_forged`.
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
    guesses: int = 0
    groups: str | Mapping[str, Iterable[object]] | Groups = "own"
    mode: str = MODES[0]
    share: float = 0.0
    forged: int = 0
    query: Query = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("top", "level", "values_per_person", "guesses", "share", "forged"):
            if not isinstance(given := getattr(self, name), int | float):
                object.__setattr__(self, name, own_number(given))
        object.__setattr__(self, "query", Query(self.top, self.level))  # which checks both
        for name, least, most in (("values_per_person", 1, MAX_SLOTS), ("guesses", 0, MAX_GUESSES)):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
                got = f"{name}={shown(given)}"
                raise ParameterError(f"{name} must be a whole number from {least} to {most:,}, got {got}")
        if isinstance(self.forged, bool) or not isinstance(self.forged, int) or self.forged < 0:
            raise ParameterError(f"forged must be a whole number of at least 0, got forged={shown(self.forged)}")
        for name in ("all_candidates", "hitters_only"):
            if not isinstance(value := getattr(self, name), bool):
                raise ParameterError(f"{name} must be True or False, got {name}={shown(value)}")
        if not isinstance(self.mode, str) or self.mode not in MODES:
            raise ParameterError(f"mode must be {' or '.join(MODES)}, got mode={shown(self.mode)}")
        is_share = isinstance(self.share, int | float) and not isinstance(self.share, bool) and 0 <= self.share <= 1
        if not is_share or (self.share == 0 and self.mode == MODES[1]):
            rule = "above 0 and at most 1" if self.mode == MODES[1] else "from 0 to 1"
            raise ParameterError(f"share must be {rule} for {self.mode}, got share={shown(self.share)}")
        object.__setattr__(self, "groups", checked_groups(self.groups))
        if self.forged and (self.guesses or self.groups not in ("own", "none") or self.mode == MODES[1] or self.share):
            rule = "come without guesses, groups, a share and no-false-negatives"
            raise ParameterError(f"forged must {rule}, got forged={self.forged} with some")
        if self.groups not in ("own", "none"):
            self._check_slots_of_groups()
        if not isinstance(self.names, str):
            if self.candidates is not None:
                raise ParameterError("names must be auto or none if there are candidates, got a list")
            object.__setattr__(self, "candidates", self.names)
            object.__setattr__(self, "names", "none")
        elif self.names not in ("auto", "none"):
            raise ParameterError(f"names must be auto, none or a list of values, got names={shown(self.names)}")
        if self.candidates is None:
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

    def _check_slots_of_groups(self) -> None:
        """Raise ParameterError if people have several values: then groups cannot be counted."""
        if self.values_per_person > 1:
            raise ParameterError('groups must be "none" if people have several values, got values_per_person above 1')

    @property
    def misses_nothing(self) -> bool:
        """Whether the mode is no-false-negatives."""
        return self.mode == MODES[1]

    def keeps(self, row: Hitter, people: int) -> bool:
        """Whether a row of an answer about so many people is within the mode and its share."""
        return row.high >= self.share * people if self.misses_nothing else row.low >= self.share * people

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
        named = None if self.candidates is None else list(self.candidates)
        groups = self._groups
        spelled = groups if isinstance(groups, str) else {name: list(each) for name, each in groups}
        return plain_facts | {"candidates": named, "groups": spelled}

    def about(self, domain: Domain, kept: SurveyNames = NO_NAMES) -> Asked:
        """The question about the values of a domain; `kept` are the names and groups that stay with the survey.

        A ParameterError if no candidate is in the domain, or if people have several slots and an empty one would count
        as a value. Missing candidates are dropped; 13.0 and "13.0" are the whole number 13 where values are numbers.
        """
        if self.all_candidates and self.candidates is None and not kept.has_names:
            raise ParameterError("all_candidates must come with candidates, got none")
        # Without an item for empty slots, an empty slot would count as a value.
        if (slots := self.values_per_person) > 1 and not domain.has_other:
            raise ParameterError(
                f'values_per_person must be 1 for a list without "(other)", got values_per_person={slots}'
            )
        groups = items_of_groups(domain, self._groups, kept.groups)
        if groups:
            self._check_slots_of_groups()
        public = items_of_public_groups(domain) if self.groups == "auto" else {}
        shown_if_held = frozenset(public).difference(groups)
        groups = {**public, **groups}
        if self.candidates is None:
            asked = self._about_names(domain, kept) if self.names == "auto" else Asked(self, None)
            return replace(asked, groups=groups, public_groups=shown_if_held)
        encoded = items_of(domain, typed(domain, self.candidates, "candidates"))
        if not len(encoded.items):
            raise ParameterError("candidates must name at least one value of the domain, got none")
        return Asked(self, encoded.items, encoded.foreign, groups=groups, public_groups=shown_if_held)

    @property
    def _groups(self) -> str | Groups:
        """The groups, which were checked when the question was made."""
        return checked_groups(self.groups)

    def _about_names(self, domain: Domain, kept: SurveyNames) -> Asked:
        """The question about the domain's public list and the names that stay with the survey."""
        public = () if domain.names_list is None else names(domain.names_list)
        if not public and not kept.has_names:
            return Asked(self, None)
        own, both = (len(items_of(domain, each).items) for each in (kept.fixed, [*kept.fixed, *public]))
        # What was found before and is not among the others comes last.
        named = items_of(domain, [*kept.fixed, *public, *kept.found]).items
        known = {item.tobytes() for item in named}
        late = items_of(domain, kept.later).items
        late = late[np.array([item.tobytes() not in known for item in late], np.bool_)]
        return Asked(self, named if len(named) else None, 0, len(named) - own, late, found=len(named) - both)


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
    known : int
        How many of them, the last ones, nobody named for this survey: they are on a public list, or were found before.
    late : Items or None
        The items of names that the owner of the survey chose after somebody could look at its reports.
    groups : mapping
        The items of the values of each group that are in the domain, each once.
    public_groups : frozenset of str
        The groups among them that nobody gave: an answer has those that somebody surely holds.
    found : int
        How many of the known ones, the last, were found in earlier slices of time alone.
    """

    question: Question
    named: Items | None
    foreign: int = 0
    known: int = 0
    late: Items | None = None
    groups: Mapping[str, Items] = field(default_factory=dict)
    found: int = 0
    public_groups: frozenset[str] = frozenset()

    @property
    def groups_level(self) -> float:
        """The part of the level that intervals of groups have together."""
        return _OF_GROUPS * self.question.level if self.groups else 0.0

    @property
    def level(self) -> float:
        """The part of the level that all else has."""
        return self.question.level - self.groups_level

    @property
    def candidates(self) -> int:
        """How many different values of the domain are named."""
        return 0 if self.named is None else len(self.named)

    @property
    def own(self) -> int:
        """How many values are named by the analyst or the owner; they come before all others."""
        return self.candidates - self.known

    def queries(self, top: int) -> tuple[Query, Query, Query]:
        """The queries of the search, of the names, and of names after looking: together they have the question's level.

        Candidates have half of it. If names of a public list, or found before, are among them, they have two thirds,
        since most values that a survey can see are among these. Of the rest, a tenth is for names after looking, if
        there are any: they take part in the search as if nobody had named them, and need a level only for their
        intervals.
        """
        query = replace(self.question.query, top=top).split(1 / (1 - _OF_GROUPS) if self.groups else 1)
        rest = 1 if self.named is None else 3 if self.known else 2
        named = query.split(1.5 if self.known else 2)
        late = 0.0 if self.late is None or not len(self.late) else 0.1
        return query.split(rest / (1 - late)), named, query.split(rest / 0.1)
