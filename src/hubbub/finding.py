"""A whole survey in one call, on known values: a rehearsal, in which the caller sees every value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

import numpy as np

from hubbub.analysis.answer import Answer
from hubbub.analysis.answers import answer_question, encode_candidates
from hubbub.analysis.slots import check_slots
from hubbub.errors import InputError, ParameterError, shown
from hubbub.inputs.columns import read_column, read_rows
from hubbub.inputs.encoding import Encoder, tidy_candidates
from hubbub.inputs.people import choose_rows
from hubbub.inputs.plain import Value, whole_number
from hubbub.inputs.slots import Owners, draw_slots, first_of_each, number_owners
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.coded_domain import Text
from hubbub.model.domain import Domain, Integers
from hubbub.model.mechanism import Items
from hubbub.model.numbers import own_number
from hubbub.model.question import Question
from hubbub.model.survey import Survey
from hubbub.numeric.randomness import RandomWordSource
from hubbub.simulation.rehearsal import check_draws, randomness_of, rehearse

_AT_ONCE: Final = 65_536
_MOST_DIGITS: Final = 20  # the most digits of a number below 2^64


def find(
    values: Iterable[object],
    epsilon: Decimal | float | str = 1,
    domain: Domain | None = None,
    mechanism: str | None = None,
    delta: Decimal | float | str | None = None,
    options: Mapping[str, object] | None = None,
    candidates: Iterable[object] | None = None,
    all_candidates: bool = False,
    hitters_only: bool = False,
    top: int = 20,
    level: float = 0.05,
    seed: int | None = None,
    persons: Iterable[object] | None = None,
    values_per_person: int = 1,
) -> Answer:
    """Find the values that many people hold. Each value is randomised separately before it is added up.

    Parameters
    ----------
    values : list, iterator, array or series
        One value of each person: a column of Python, numpy, pandas, polars or Arrow. Missing values (None, NaN, NaT,
        NA, the empty text) are skipped. Whole floats count as whole numbers, and dates as text in ISO form.
    epsilon, delta : number
        The privacy loss of each person; by default delta is the mechanism's default.
    domain : Domain, optional
        The values that can be held. By default whole numbers below 2^64 if the first values are whole numbers, and
        otherwise texts in lower case.
    mechanism, options
        As in `create_survey`.
    candidates, all_candidates, hitters_only, top, level
        As in `Question`.
    seed : int, optional
        Makes the rehearsal repeatable. Anyone who knows the seed can undo the noise.
    persons : list, iterator, array or series, optional
        Who holds each value: one name for each entry of `values`. Each person makes one report, of one of her values,
        drawn at random; the answer counts these drawn values, and says how many people have others. By default every
        value belongs to a different person.
    values_per_person : int
        With `persons`: the number of slots of each person. Each of her distinct values is in one slot; the others are
        empty. She reports one slot, drawn at random, empty or not. The answer counts the people who have a value in any
        slot.

    Returns
    -------
    Answer
        With an `Intake`: how many values were missing, cut, or not in the domain.

    Raises
    ------
    InputError
        If `values` is not a column with one value of each person: a table, a dict, a set, a text.
    ParameterError
        If any other argument is invalid. It is raised before any report is made.

    Examples
    --------
    >>> from hubbub import find
    >>> [hitter.value for hitter in find(["tea"] * 9_000 + ["coffee"] * 1_000, seed=1).hitters]
    ['tea']
    """
    question = Question(top, level, candidates, all_candidates, hitters_only, values_per_person)
    if persons is None and values_per_person > 1:
        raise ParameterError(f"values_per_person must come with persons, got values_per_person={values_per_person}")
    seed = seed if seed is None or isinstance(seed, int) else own_number(seed)
    people, missing, owners, over = (
        (*read_column(values), None, 0)
        if persons is None
        else _read_owned(values, persons, values_per_person > 1, seed)
    )
    if not people:
        nobody = f"none, and {missing:,} missing" if missing else "none"
        raise InputError(f"values must hold at least one person's value, got {nobody}")
    domain = default_domain(people[:_AT_ONCE]) if domain is None else domain
    count = len(people) if owners is None else owners.people
    rehearsal = plan_rehearsal(domain, count, epsilon, delta, mechanism, options, seed)
    encoder, starts = Encoder(domain, missing, over=over), range(0, len(people), _AT_ONCE)
    if owners is not None:
        return rehearsal.ask_slots(
            question, lambda: (people[start : start + _AT_ONCE] for start in starts), owners, encoder
        )
    return rehearsal.ask(question, (encoder.encode(people[start : start + _AT_ONCE]) for start in starts), encoder)


def _read_owned(
    values: Iterable[object], persons: Iterable[object], several: bool, seed: int | None
) -> tuple[Sequence[Value], int, Owners | None, int]:
    """The values that count, how many are missing, and their owners if everybody may have several values.

    Otherwise the last is the number of people with several values, of which one was chosen.
    """
    rows, names = read_rows(values), read_rows(persons)
    if len(rows) != len(names):
        raise InputError(f"persons must be as many as values, got {len(names):,} and {len(rows):,}")
    if several:
        owners = number_owners(zip(names, rows, strict=True))
        return [value for value in map(rows.__getitem__, owners.rows) if value is not None], owners.missing, owners, 0
    chosen = choose_rows(zip(names, rows, strict=True), seed)
    held = [value for value in map(rows.__getitem__, chosen.rows) if value is not None]
    return held, chosen.missing, None, chosen.over


@dataclass(frozen=True)
class Rehearsal:
    """A survey about to be run on known values.

    Attributes
    ----------
    survey : Survey
        The survey that everybody will answer.
    mechanism : SurveyMechanism
        Its mechanism.
    random_words : RandomWordSource
        All the randomness of the reports.
    """

    survey: Survey
    mechanism: SurveyMechanism
    random_words: RandomWordSource

    def ask(self, question: Question, items: Iterable[Items], encoder: Encoder) -> Answer:
        """Make, check and add up everybody's report, and answer from the sums.

        The items come from the encoder, in parts that fit in memory; it counts values that were cut or are outside the
        domain. An invalid question is a ParameterError before the first part is read.
        """
        survey, domain = self.survey, self.survey.domain
        check_draws(self.mechanism, survey.expected_reports)
        if question.values_per_person > 1:
            check_slots(domain, question.values_per_person)
        named = None
        if question.candidates is not None:
            question = replace(question, candidates=tidy_candidates(domain, question.candidates))
            named = encode_candidates(domain, question)
        tally = rehearse(self.mechanism, survey.survey_id, items, self.random_words)
        answer = answer_question(survey, self.mechanism, tally, question, named)
        return replace(answer, intake=encoder.intake)

    def ask_slots(
        self, question: Question, chunks: Callable[[], Iterable[Sequence[Value]]], owners: Owners, encoder: Encoder
    ) -> Answer:
        """Like `ask`, for the values of people with several each: everybody reports one of `values_per_person` slots.

        `chunks` returns the same values at every call; `owners` has the owner of each. The items of all values are kept
        in memory. The encoder's truth and the answer both count the people who have a value.
        """
        domain = self.survey.domain

        def items() -> Iterator[Items]:
            """Yield the items that are reported. Nothing is read before the question has been checked."""
            scratch = Encoder(domain)
            everything = np.concatenate([scratch.encode(part) for part in chunks()])
            first, start = first_of_each(everything, owners.of_row), 0
            for part in chunks():  # count each distinct value of each person once
                marks = first[start : start + len(part)]
                encoder.encode([value for value, mark in zip(part, marks.tolist(), strict=True) if mark])
                start += len(part)
            empty = domain.outside[np.newaxis]
            reported, encoder.over = draw_slots(
                everything, owners, empty, question.values_per_person, self.random_words
            )
            yield reported

        return self.ask(question, items(), encoder)


def default_domain(values: Sequence[Value]) -> Domain:
    """The default domain: `Integers(64)` if all given values are whole numbers, otherwise `Text()`.

    `values` are the first people's values. "13" and "13.0" count as whole numbers, but "013" is a text. A later value
    that is not a whole number becomes "(other)".
    """
    numbers = Integers(64)
    for value in set(values):
        number = _read_number(value) if isinstance(value, str) else value
        if number is None or numbers.lacks(number):
            return Text()
    return numbers


def _read_number(text: str) -> int | None:
    """The whole number in a text, or None; a number with leading zeros may be a code, such as 00501."""
    digits = text.strip()
    if digits.isascii() and digits.isdecimal():
        return int(digits) if len(digits) <= _MOST_DIGITS and str(int(digits)) == digits else None
    return whole_number(digits)


def plan_rehearsal(
    domain: Domain,
    people: int,
    epsilon: Decimal | float | str,
    delta: Decimal | float | str | None = None,
    mechanism: str | None = None,
    options: Mapping[str, object] | None = None,
    seed: int | None = None,
) -> Rehearsal:
    """Create the survey of a rehearsal with this many people. The same seed gives the same rehearsal."""
    seed = seed if seed is None or isinstance(seed, int) else own_number(seed)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ParameterError(f"seed must be a whole number of at least 0, got seed={shown(seed)}")
    public_seed, random_words = randomness_of(seed)
    survey = create_survey("find", domain, epsilon, delta, mechanism, options, people, public_seed=public_seed)
    return Rehearsal(survey, mechanism_for(survey), random_words)
