"""A whole survey in one call, on known values: a rehearsal, in which the caller sees every value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Final, Literal, Unpack, overload

import numpy as np

from hubbub.analysis.answer import Answer
from hubbub.analysis.asking import answer_question
from hubbub.analysis.outlook import smallest_share
from hubbub.analysis.question import Asked, Knobs, Question
from hubbub.analysis.trend import Trend
from hubbub.analysis.trending import trend_of
from hubbub.errors import ParameterError, shown
from hubbub.inputs.better_domain import Sample, better_domain
from hubbub.inputs.columns import read_rows
from hubbub.inputs.crowd import Crowd, read_crowd
from hubbub.inputs.encoding import Encoder, mark
from hubbub.inputs.in_time import Timed, cut, slice_days
from hubbub.inputs.owners import Owners, draw_slots, first_of_each
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.coded_domain import Text
from hubbub.model.domain import Domain, Integers
from hubbub.model.mechanism import Items
from hubbub.model.numbers import own_number
from hubbub.model.plain import Value, whole_number
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.randomness import RandomWordSource
from hubbub.simulation.rehearsal import check_draws, randomness_of, rehearse

_PART: Final = 65_536  # people whose items are in memory at once
_MOST_DIGITS: Final = 20  # the most digits of a number below 2^64


@overload
def find(
    values: Iterable[object],
    epsilon: Decimal | float | str = 1,
    domain: Domain | Literal["auto"] | None = None,
    mechanism: str | None = None,
    delta: Decimal | float | str | None = None,
    options: Mapping[str, object] | None = None,
    question: Question | None = None,
    *,
    seed: int | None = None,
    persons: Iterable[object] | None = None,
    times: None = None,
    slice: str = "week",
    **knobs: Unpack[Knobs],
) -> Answer: ...


@overload
def find(
    values: Iterable[object],
    epsilon: Decimal | float | str = 1,
    domain: Domain | Literal["auto"] | None = None,
    mechanism: str | None = None,
    delta: Decimal | float | str | None = None,
    options: Mapping[str, object] | None = None,
    question: Question | None = None,
    *,
    seed: int | None = None,
    persons: Iterable[object] | None = None,
    times: Iterable[object],
    slice: str = "week",
    **knobs: Unpack[Knobs],
) -> Trend: ...


def find(
    values: Iterable[object],
    epsilon: Decimal | float | str = 1,
    domain: Domain | Literal["auto"] | None = None,
    mechanism: str | None = None,
    delta: Decimal | float | str | None = None,
    options: Mapping[str, object] | None = None,
    question: Question | None = None,
    *,
    seed: int | None = None,
    persons: Iterable[object] | None = None,
    times: Iterable[object] | None = None,
    slice: str = "week",  # noqa: A002
    **knobs: Unpack[Knobs],
) -> Answer | Trend:
    """Find the values that many people hold. Each value is randomised separately before it is added up.

    Parameters
    ----------
    values : list, iterator, array or series
        One value of each person: a column of Python, numpy, pandas, polars or Arrow. Missing values (None, NaN, NaT,
        NA, the empty text) are skipped. Whole floats count as whole numbers, and dates as text in ISO form.
    epsilon, delta : number
        The privacy loss of each person; by default delta is the mechanism's default.
    domain : Domain or "auto", optional
        The values that can be held. By default whole numbers below 2^64 if the first values are whole numbers, and
        otherwise texts in lower case. "auto" looks at the first values, and takes the domain that holds them in the
        fewest bits: a rehearsal may do so, but who makes a survey has not seen any value, and names a domain.
    mechanism, options
        As in `create_survey`.
    question : Question, optional
        Which values to look for, and how.
    seed : int, optional
        Makes the rehearsal repeatable. Anyone who knows the seed can undo the noise.
    persons : list, iterator, array or series, optional
        Who holds each value: one name for each entry of `values`. Each person makes one report, of one of her values,
        drawn at random; the answer counts these drawn values, and says how many people have others. By default every
        value belongs to a different person.
    times : list, iterator, array or series, optional
        When each value was held: dates or times, as objects or as text in ISO form, in UTC unless they name a zone.
        Then the survey is asked again in every slice of time, each person makes one report in each, and what is
        returned is a `Trend`. A slice at either end that the times do not cover is shown, and not compared.
    slice : str
        With `times`: "week", from Monday on, or "day".
    **knobs
        Instead of a question, its attributes by name: top, level, candidates, all_candidates, hitters_only,
        values_per_person, names, guesses, groups, mode and share, as in `Question`. `values_per_person` needs
        `persons`: it is the number of slots of each person. Each of her distinct values is in one slot; the others are
        empty. She reports one slot, drawn at random, empty or not. The answer counts the people who have a value in any
        slot.

    Returns
    -------
    Answer
        With an `Intake`: how many values were missing, cut, or not in the domain. With `times` a `Trend`, whose answer
        is of all slices together.

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
    question = Question.of(question, knobs)
    slots = question.values_per_person
    if persons is None and slots > 1:
        raise ParameterError(f"values_per_person must come with persons, got values_per_person={slots}")
    seed = seed if seed is None or isinstance(seed, int) else own_number(seed)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ParameterError(f"seed must be a whole number of at least 0, got seed={shown(seed)}")
    days = slice_days(slice)
    if times is not None:
        names = None if persons is None else read_rows(persons)
        timed = cut(read_rows(values), read_rows(times), names, days, seed)
        return rehearse_slices(timed, question, domain, epsilon, delta, mechanism, options, seed)[1]
    crowd = read_crowd(values, persons, seed, slots > 1)
    return plan_rehearsal(crowd, question, domain, epsilon, delta, mechanism, options, seed).run()


@dataclass(frozen=True)
class Rehearsal:
    """A survey about to be run on known values.

    `random_words` are all the randomness of the reports. The encoder counts values that are cut or outside the domain,
    and what people really hold if that was asked for.
    """

    crowd: Crowd
    asked: Asked
    mechanism: SurveyMechanism
    random_words: RandomWordSource
    encoder: Encoder

    def run(self, advance: Callable[[int], None] = lambda _: None) -> Answer:
        """Make, check and add up everybody's report, and answer from the sums.

        `advance` is told how many people have reported since the last call.
        """
        owners = self.crowd.owners
        items = self._items(advance) if owners is None else self._items_of_slots(owners)
        tally = rehearse(self.mechanism, items, self.random_words)
        return replace(answer_question(self.mechanism, tally, self.asked), intake=self.encoder.intake)

    def _items(self, advance: Callable[[int], None]) -> Iterator[Items]:
        """Yield everybody's item, in parts that fit in memory."""
        for chunk in self.crowd.chunks():
            yield self.encoder.encode(chunk)
            advance(len(chunk))

    def _items_of_slots(self, owners: Owners) -> Iterator[Items]:
        """Yield the items of people with several values each: everybody reports one of her slots.

        The items of all values are kept in memory. The encoder's truth and the answer both count the people who have a
        value.
        """
        domain, scratch = self.encoder.domain, Encoder(self.encoder.domain)
        everything = np.concatenate([scratch.encode(part) for part in self.crowd.chunks()])
        first, start = first_of_each(everything, owners.of_row), 0
        for part in self.crowd.chunks():  # count each distinct value of each person once
            marks = first[start : start + len(part)]
            self.encoder.encode([value for value, mark in zip(part, marks.tolist(), strict=True) if mark])
            start += len(part)
        slots, empty = self.asked.question.values_per_person, domain.outside[np.newaxis]
        reported, self.encoder.over = draw_slots(everything, owners, empty, slots, self.random_words)
        yield reported


def rehearse_slices(
    timed: Timed,
    question: Question,
    domain: Domain | Literal["auto"] | None = None,
    epsilon: Decimal | float | str = 1,
    delta: Decimal | float | str | None = None,
    mechanism: str | None = None,
    options: Mapping[str, object] | None = None,
    seed: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Survey, Trend]:
    """The survey of a rehearsal that is asked in every slice, and the trend of what it finds.

    `advance` is told how many people have reported since the last call.
    """
    if question.values_per_person > 1:
        raise ParameterError(f"values_per_person must be 1 with times, got {question.values_per_person}")
    planned = plan_rehearsal(timed.crowd(), question, domain, epsilon, delta, mechanism, options, seed)
    tallies = dict[date, Tally]()
    for start, held in timed.slices.items():
        parts = (held[k : k + _PART] for k in range(0, len(held), _PART))
        tallies[start] = rehearse(planned.mechanism, map(planned.encoder.encode, parts), planned.random_words)
        advance(len(held))
    found = trend_of(planned.mechanism, tallies, planned.asked, True, partial=timed.partial)
    answer = replace(found.answer, intake=planned.encoder.intake)
    return planned.mechanism.survey, replace(found, answer=answer)


def plan_rehearsal(
    crowd: Crowd,
    question: Question,
    domain: Domain | Literal["auto"] | None = None,
    epsilon: Decimal | float | str = 1,
    delta: Decimal | float | str | None = None,
    mechanism: str | None = None,
    options: Mapping[str, object] | None = None,
    seed: int | None = None,
    with_truth: bool = False,
) -> Rehearsal:
    """Create the survey of a rehearsal and check the question. The same seed gives the same rehearsal.

    The domain is that of the first values, by default or, if it is "auto", the best of several for these. Whatever is
    wrong is a ParameterError before any report is made.
    """
    if domain is None:
        domain = default_domain(next(crowd.chunks(), []))
    elif domain == "auto":
        domain = best_domain(next(crowd.chunks(), []))
    public_seed, random_words = randomness_of(seed)
    survey = create_survey("find", domain, epsilon, delta, mechanism, options, crowd.count, public_seed=public_seed)
    built = mechanism_for(survey)
    check_draws(built, crowd.count)
    asked = question.about(domain)
    limits = seen_from(built, crowd.count, question.level, question.values_per_person)
    encoder = Encoder(domain, crowd.missing, with_truth, crowd.over, limits)
    return Rehearsal(crowd, asked, built, random_words, encoder)


def seen_from(
    mechanism: SurveyMechanism, people: int, level: float = 0.05, slots: int = 1
) -> Callable[[Domain, float], float | None]:
    """A function: how many of the people must hold a value of so many bits of any domain for a search to find it.

    Other domains get the mechanism that is the default for them, with the ε of this survey. The function returns None
    if not even all people are enough, and takes up to a second.
    """

    def limit(domain: Domain, bits: float) -> float | None:
        built = mechanism
        if domain != mechanism.survey.domain:
            survey = create_survey("instead", domain, mechanism.survey.epsilon, expected_reports=people)
            built = mechanism_for(survey)
        share = smallest_share(built, people, level=level, bits=round(bits), slots=slots)
        return share * people if math.isfinite(share) else None

    return limit


def best_domain(values: Sequence[Value]) -> Domain:
    """The domain that holds a sample of the values in the fewest bits; texts in lower case if none holds any."""
    sample = Sample()
    sample.add(values)
    best = better_domain(sample.values, mark) if sample.values else None
    return Text() if best is None else best.domain


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
