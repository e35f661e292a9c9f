"""A whole survey in one call, on values that are at hand: a rehearsal, which protects nobody from its caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from hubbub.analysis.answers import answer_question, encode_candidates
from hubbub.errors import InputError, ParameterError, shown
from hubbub.inputs.columns import read_column
from hubbub.inputs.encoding import Encoder, tidy_candidates
from hubbub.inputs.plain import Value, whole_number
from hubbub.mechanisms.registry import plan_survey
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.coded_domain import Text
from hubbub.model.domain import Domain, Integers
from hubbub.model.estimates import Answer
from hubbub.model.question import Question
from hubbub.model.survey import Survey
from hubbub.numeric.randomness import BulkWords, SeededWords, WordSource
from hubbub.simulation.rehearsal import check_draws, rehearse, seeded_public_seed

_AT_ONCE: Final = 65_536
_MOST_DIGITS: Final = 20  # of a number below 2^64


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
) -> Answer:
    """Find the values many people hold, each value randomised on its own before it is added up.

    Parameters
    ----------
    values : list, iterator, array or series
        One value of each person: a column of Python, numpy, pandas, polars or Arrow. Missing values (None, NaN, NaT,
        NA, the empty text) are skipped. Floats that are whole are whole numbers, dates are text in ISO form.
    epsilon, delta : number
        The privacy loss of each person; without delta, what the mechanism needs.
    domain : Domain, optional
        The values that can be held; without it, whole numbers below 2^64 if the first values are
        such numbers, and else texts in the shipped code, in lower case.
    mechanism, options
        As in `create_survey`.
    candidates, all_candidates, hitters_only, top, level
        As in `Question`.
    seed : int, optional
        Repeats a rehearsal exactly; whoever knows it can undo the noise.

    Returns
    -------
    Answer
        With an `Intake`: how many values were missing, cut, or not in the domain.

    Raises
    ------
    InputError
        If `values` is not a column with one value of each person: a table, a dict, a set, a text.
    ParameterError
        If any other argument cannot be used; before any report is made.

    Examples
    --------
    >>> from hubbub import find
    >>> [hitter.value for hitter in find(["tea"] * 9_000 + ["coffee"] * 1_000, seed=1).hitters]
    ['tea']
    """
    people, missing = read_column(values)
    if not people:
        nobody = f"none, and {missing:,} missing" if missing else "none"
        raise InputError(f"values must hold at least one person's value, got {nobody}")
    question = Question(top, level, candidates, all_candidates, hitters_only)
    domain = default_domain(people[:_AT_ONCE]) if domain is None else domain
    rehearsal = plan_rehearsal(domain, len(people), epsilon, delta, mechanism, options, seed)
    chunks = (people[start : start + _AT_ONCE] for start in range(0, len(people), _AT_ONCE))
    return rehearsal.ask(question, chunks, Encoder(domain, missing))


@dataclass(frozen=True)
class Rehearsal:
    """A survey about to be run on values that are at hand.

    Attributes
    ----------
    survey : Survey
        What everybody will answer.
    mechanism : SurveyMechanism
        The survey's.
    words : WordSource
        All the randomness of the reports.
    """

    survey: Survey
    mechanism: SurveyMechanism
    words: WordSource

    def ask(self, question: Question, chunks: Iterable[list[Value]], encoder: Encoder) -> Answer:
        """Make, send, check and add up everybody's report, and answer from the sums.

        The values come in parts that fit in memory; the encoder counts what it could not keep. A question that cannot
        be answered is a ParameterError before the first part is read.
        """
        survey, domain = self.survey, self.survey.domain
        check_draws(self.mechanism, survey.expected_reports)
        named = None
        if question.candidates is not None:
            question = replace(question, candidates=tidy_candidates(domain, question.candidates))
            named = encode_candidates(domain, question)
        tally = rehearse(self.mechanism, survey.survey_id, map(encoder.encode, chunks), self.words)
        answer = answer_question(survey, self.mechanism, tally, question, named)
        return replace(answer, intake=encoder.intake)


def default_domain(values: list[Value]) -> Domain:
    """The domain that is taken where none is named: `Integers(64)` for whole numbers, `Text()` for everything else.

    `values` are the first of the people's; "13" and "13.0" are whole numbers, too, but "013" is a text. A later value
    that is no whole number becomes "(other)".
    """
    numbers = Integers(64)
    for value in set(values):
        number = _read_number(value) if isinstance(value, str) else value
        if number is None or numbers.lacks(number):
            return Text()
    return numbers


def _read_number(text: str) -> int | None:
    """The whole number that a text spells, or None; with zeros before it, it may be a code, such as 00501."""
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
    """A rehearsal with so many people; with a seed, always the same one."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ParameterError(f"seed must be a whole number of at least 0, got seed={shown(seed)}")
    public_seed = None if seed is None else seeded_public_seed(seed)
    planned = plan_survey("find", domain, epsilon, delta, mechanism, options, people, public_seed=public_seed)
    return Rehearsal(*planned, words_for(seed))


def words_for(seed: int | None) -> WordSource:
    """The words of a rehearsal: secret, or with a seed always the same ones."""
    return BulkWords() if seed is None else SeededWords(seed)
