"""A whole survey in one call, on values that are at hand: a rehearsal, which protects nobody from its caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

import numpy as np

from hubbub.analysis.decode import find_hitters
from hubbub.codes.shipped import load_code
from hubbub.errors import InputError, ParameterError
from hubbub.inputs.columns import read_column
from hubbub.inputs.encoding import Encoder, tidy_candidates
from hubbub.mechanisms.registry import DEFAULT_MECHANISM, create_survey, mechanism_for
from hubbub.model.coded_domain import WIDTHS, CodedText
from hubbub.model.domain import Domain
from hubbub.model.estimates import Answer, Query
from hubbub.model.mechanism import Items, TallySampler
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.randomness import BulkWords, SeededWords, WordSource
from hubbub.simulation.rehearsal import MAX_DRAWS, check_draws, noise_draws, rehearse, seeded_public_seed

DEFAULT_DOMAIN: Final = CodedText(load_code("text"), "text-1", WIDTHS["text-1"])
_AT_ONCE = 65_536


def find(
    values: Iterable[object],
    epsilon: Decimal | float | str = 1,
    domain: Domain | None = None,
    mechanism: str = DEFAULT_MECHANISM,
    delta: Decimal | float | str | None = None,
    options: Mapping[str, object] | None = None,
    candidates: Iterable[object] | None = None,
    all_candidates: bool = False,
    top: int = 20,
    level: float = 0.05,
    seed: int | None = None,
) -> Answer:
    """Find the values many people hold, each value randomised on its own before it is added up.

    Parameters
    ----------
    values : list, iterator, array or series
        One value of each person: a column of Python, numpy, pandas, polars or Arrow. What is missing (None, NaN, NaT,
        NA, the empty text) is nobody. Floats that are whole are whole numbers, dates are text in ISO form.
    epsilon, delta : number
        The privacy loss of each person; without delta, what the mechanism needs.
    domain : Domain, optional
        The values that can be held; without it, texts in the shipped code, in lower case.
    mechanism, options
        As in `create_survey`.
    candidates, all_candidates
        As in `find_hitters`.
    top, level
        As in `Query`.
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
    query = Query(top=top, level=level)
    domain = DEFAULT_DOMAIN if domain is None else domain
    survey = rehearsal_survey(domain, len(people), epsilon, delta, mechanism, options, seed)
    encoder = Encoder(domain, missing)
    chunks = (encoder.encode(people[start : start + _AT_ONCE]) for start in range(0, len(people), _AT_ONCE))
    answer = run_survey(survey, chunks, words_for(seed), query, candidates, all_candidates)
    return replace(answer, intake=encoder.intake)


def rehearsal_survey(
    domain: Domain,
    people: int,
    epsilon: Decimal | float | str,
    delta: Decimal | float | str | None = None,
    mechanism: str = DEFAULT_MECHANISM,
    options: Mapping[str, object] | None = None,
    seed: int | None = None,
) -> Survey:
    """The survey of a rehearsal with so many people; with a seed always the same one."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ParameterError(f"seed must be a whole number of at least 0, got seed={seed!r}")
    public_seed = None if seed is None else seeded_public_seed(seed)
    return create_survey("find", domain, epsilon, delta, mechanism, options, people, public_seed=public_seed)


def words_for(seed: int | None) -> WordSource:
    """The words of a rehearsal: secret, or with a seed always the same ones."""
    return BulkWords() if seed is None else SeededWords(seed)


def run_survey(
    survey: Survey,
    items: Iterable[Items],
    words: WordSource,
    query: Query | None = None,
    candidates: Iterable[object] | None = None,
    all_candidates: bool = False,
) -> Answer:
    """Everybody's report made, sent, checked and added up, and what the sums say.

    Parameters
    ----------
    survey : Survey
        The question.
    items : iterable of Items
        Everybody's items, in parts that fit in memory.
    words : WordSource
        All the randomness of the reports.
    query, candidates, all_candidates
        As in `find_hitters`.
    """
    mechanism = mechanism_for(survey)
    instead = "hubbub simulate draws the sums of any crowd at once"
    if not isinstance(mechanism, TallySampler):
        instead = f"take a random sample of at most {MAX_DRAWS // noise_draws(mechanism, 1):,} people"
    check_draws(mechanism, survey.expected_reports, instead)
    named = candidates
    if candidates is not None and not isinstance(candidates, Iterable):
        raise InputError(f"candidates must be a list of values, got {type(candidates).__name__}")
    if candidates is not None and not isinstance(candidates, str | bytes):
        named = tidy_candidates(survey.domain, candidates)

    def answer(tally: Tally) -> Answer:
        return find_hitters(survey, tally, query, mechanism, named, all_candidates)

    answer(
        Tally(survey.survey_id, 0, np.zeros(mechanism.cells_shape, np.int64))
    )  # refuses what is wrong before the work
    return answer(rehearse(mechanism, survey.survey_id, items, words))
