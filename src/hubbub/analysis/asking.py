"""The answer to a question: hitters with error bars, and the smallest count that could have been seen.

Candidates are values named in advance, in public. They are far fewer than the values of the universe, so a smaller
count is enough to find one: the search and the candidates each get a part of the level, and the candidates divide
theirs by their number.

All chances are computed from the law that the mechanism states for its counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from hubbub.analysis.answer import Answer
from hubbub.analysis.certified import Moved, stands_to, suppose
from hubbub.analysis.groups import count_groups, groups_of_nobody
from hubbub.analysis.guesses import Named, Prior, contained, guess_values
from hubbub.analysis.intervals import simultaneous_width
from hubbub.analysis.question import Asked, Knobs, Question
from hubbub.analysis.rows import hitters_of, in_people, limit_in_people
from hubbub.analysis.whole_list import answer_list
from hubbub.mechanisms.registry import mechanism_for
from hubbub.mechanisms.roles import SurveyDecoder
from hubbub.mechanisms.selection import FOUND_95
from hubbub.model.estimates import Estimates, Guess, Hitter, Query
from hubbub.model.mechanism import Items
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.bisection import bisect
from hubbub.numeric.count_law import UNDERSTATED, CountLaw
from hubbub.numeric.tails import normal_quantile_log

_ALL = 10_000  # a search is asked for so many, so that an answer can say how many values it does not show
_FOUND, _CLOSE = 0.95, 5e-4  # the chance of a value at its limit, and how near the limit of a name is computed
_LEAST_SURE = 0.05  # a found value with a larger doubt is not shown, unless the level allows more


def find_hitters(
    survey: Survey,
    tally: Tally,
    question: Question | None = None,
    *,
    decoder: SurveyDecoder | None = None,
    **knobs: Unpack[Knobs],
) -> Answer:
    """Answer from the tally of a survey: which values many people hold, with error bars.

    Parameters
    ----------
    survey : Survey
        The survey that the reports answered.
    tally : Tally
        The sums of its reports.
    question : Question, optional
        The question. Candidates that are not in the survey's domain are left out; at least one must be in it.
    decoder : SurveyDecoder, optional
        The survey's mechanism, if the caller has built it already.
    **knobs
        Instead of a question, its attributes by name: top, level, candidates, all_candidates, hitters_only,
        values_per_person, names, guesses, groups, mode and share, as in `Question`.
    """
    asked = Question.of(question, knobs).about(survey.domain)
    return answer_question(decoder or mechanism_for(survey), tally, asked)


def answer_question(decoder: SurveyDecoder, tally: Tally, asked: Asked) -> Answer:
    """The answer to a question that was checked against the domain of the mechanism's survey."""
    survey, question, named = decoder.survey, asked.question, asked.named
    slots = question.values_per_person
    if tally.count == 0:
        return _answer_nobody(decoder, asked)
    if named is None and survey.domain.is_list and not question.hitters_only:
        return answer_list(decoder, tally, asked)
    plain = decoder.count_law(tally.count)
    law = plain if slots == 1 else plain.with_slots(slots)
    moved = Moved(decoder.certifies)
    rows_of = _Rows(survey, law, decoder.influence, moved)
    query, of_names, of_late = asked.queries(question.top)
    late = None if asked.late is None or not len(asked.late) else asked.late
    reported, scored, counted = _search_and_score(decoder, plain, tally, asked, late)
    people = partial(in_people, plain, law)
    found = people(reported)
    rows, limit, names = rows_of.searched(query, found, named), None, None
    if scored is not None:
        own = asked.candidates if question.misses_nothing else asked.own if question.all_candidates else 0
        more, limit = rows_of.listed(of_names, people(scored), found, own)
        limit = max(limit, _named_limit(decoder, plain, of_names, asked.candidates, slots))
        rows += more
        names = rows_of.named(of_names, people(scored), found)
    if late is not None and counted is not None:
        if question.all_candidates or question.misses_nothing:
            rows += rows_of.late(of_late, people(counted), found, decoder.log_priors(late))
        after = set(survey.domain.decode(late))
        rows = [replace(row, late=row.value in after) for row in rows]
    large = found.items if names is None else np.concatenate([found.items, names.scored.items[names.standing]])
    groups = count_groups(decoder, tally, asked, large, rows)
    rows = sorted((row for row in rows if question.keeps(row, tally.count)), key=lambda hitter: -hitter.count)
    rows = moved.placed(rows, float(min(found.detection_limit, tally.count)))
    # A limit that is larger than the number of reports is out of reach.
    usual = math.inf if found.detection_limit > tally.count else found.detection_limit
    limit, long = (math.inf if each is not None and each > tally.count else each for each in (limit, found.long_limit))
    shown = rows if question.misses_nothing else rows[: question.top]
    if question.all_candidates and not question.misses_nothing:  # all of those, and the largest of the others
        beyond = {id(row) for row in [row for row in rows if not (row.listed or row.late)][question.top :]}
        shown = [row for row in rows if id(row) not in beyond]
    guesses: tuple[Guess, ...] = ()
    guessed_from = None
    if question.guesses:
        guesses, guessed_from = guess_values(decoder, tally, question, query, found, names)
    answer = Answer(
        tally.count,
        usual,
        tuple(shown),
        limit,
        long,
        partial(_limit_for, survey, decoder, tally, query, reported.detection_limit, slots),
        values_per_person=slots,
        not_shown=len(rows) - len(shown),
        foreign_candidates=asked.foreign,
        known_names=asked.known - asked.found,
        remembered_names=asked.found,
        own_names=asked.own if question.candidates is None else 0,
        guesses=guesses,
        guessed_from=guessed_from,
        groups=groups,
        mode=question.mode,
        share=float(question.share),
        suppose=partial(suppose, moved),
    )
    return answer.if_forged(question.forged)


def _answer_nobody(decoder: SurveyDecoder, asked: Asked) -> Answer:
    """The answer before anybody has reported: nothing can be seen, and every candidate that is to have a row has 0."""
    question = asked.question
    rows: tuple[Hitter, ...] = ()
    if asked.named is not None and question.all_candidates:
        values = decoder.survey.domain.decode(asked.named[: asked.own])
        nobody = Hitter("", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, listed=True, stands_out=False)
        rows = tuple(replace(nobody, value=value) for value in values if value is not None)
    return Answer(
        0,
        math.inf,
        rows,
        None if asked.named is None else math.inf,
        None if decoder.stated_bits[1] is None else math.inf,
        values_per_person=question.values_per_person,
        foreign_candidates=asked.foreign,
        known_names=asked.known - asked.found,
        remembered_names=asked.found,
        own_names=asked.own if question.candidates is None else 0,
        groups=groups_of_nobody(asked),
        mode=question.mode,
        share=float(question.share),
    )


def _search_and_score(
    decoder: SurveyDecoder, law: CountLaw, tally: Tally, asked: Asked, late: Items | None
) -> tuple[Estimates, Estimates | None, Estimates | None]:
    """The values that the search finds with its part of the level, and counts of named values next to them.

    The named ones are those of the question and those that were named after looking; None if there are none.
    """
    question, named = asked.question, asked.named
    search, of_names, _ = asked.queries(max(question.top, _ALL))
    found = decoder.discover(tally, search)
    if named is None and late is None:
        return found, None, None
    most = decoder.most_subtracted
    # Subtract as many values as the mechanism can, not only those that are shown.
    known = found.items[: max(question.top, most)]
    scored = None if named is None else decoder.estimate_beside(tally, named, known)
    if named is not None and scored is not None:
        # Subtract the candidates that stand out, too: they hide and fake one another in the same way.
        more = scored.items[stand_out(law, scored, of_names) & ~contained(scored.items, found.items)][:most]
        if len(more):
            known = np.concatenate([known, more])
            scored = decoder.estimate_beside(tally, named, known)
    return found, scored, None if late is None else decoder.estimate_beside(tally, late, known)


def _named_limit(decoder: SurveyDecoder, law: CountLaw, query: Query, names: int, slots: int) -> float:
    """How many people must hold a name for it to be found, if it must also stand out from what may share its buckets.

    For `tree` it is some per cent above the count that noise alone asks for. Costs up to 0.2 s of CPU.
    """
    log_chance = math.log(query.level / 2) - math.log(names)
    least = law.seen_from(law.threshold(log_chance, 0.0), 0.0, FOUND_95)
    if least <= law.people:
        _, least = bisect(
            lambda held: decoder.named_chance(law.people, held, log_chance) >= _FOUND,
            (1 - _CLOSE) * least,
            min(2 * least, law.people + 1.0),
            close=lambda low, high: high - low <= _CLOSE * high,
        )
    return limit_in_people(law, slots, least)


def _limit_for(
    survey: Survey, decoder: SurveyDecoder, tally: Tally, query: Query, usual: float, slots: int, value: object
) -> float:
    """How many people must hold a value for it to be found; infinite for a value that is not in the domain."""
    item = survey.domain.encode([value])
    if np.array_equal(item[0], survey.domain.outside) and survey.domain.decode(item)[0] != value:
        return math.inf
    limit = float(decoder.limits_for(tally, item, query, usual)[0])
    limit = limit if slots == 1 else limit_in_people(decoder.count_law(tally.count), slots, limit)
    return math.inf if limit > tally.count else limit


@dataclass(frozen=True)
class _Rows:
    """Turns estimates into rows of an answer; `influence` is the most and the least that one report adds to a count."""

    survey: Survey
    law: CountLaw
    influence: tuple[float, float]
    moved: Moved

    def searched(self, query: Query, found: Estimates, named: Items | None = None) -> list[Hitter]:
        """The rows of the search. Found values that are candidates are marked, and have a candidate's confidence.

        A found value whose count may be due to noise and to values that share its buckets is left out.
        """
        if not len(found.items):
            return []
        size, law = self.survey.domain.size, self.law
        extra = law.collisions(found.counts, found.stderrs)
        width = simultaneous_width(law, size, found.threshold, float(extra.max()), query.level / 2)
        # A union bound over all values searched: `choices` is the logarithm of their number.
        choices = np.full(len(found.items), math.log(size)) if found.log_priors is None else -found.log_priors
        listed = np.zeros(len(found.items), np.bool_)
        if named is not None:
            listed = contained(found.items, named)
            choices[listed] = math.log(len(named))
        stands = found.stands
        if stands is None and self.moved.certifies:
            stands = stands_to(law, found, self.influence, math.log(query.level / 2) - math.log(size))
        rows = hitters_of(self.survey, law, found, width, choices, listed, self.influence, None, self.moved, stands)
        return [row for row in rows if row.listed or row.confidence >= 1 - max(query.level, _LEAST_SURE)]

    def listed(self, query: Query, scored: Estimates, found: Estimates, own: int) -> tuple[list[Hitter], float]:
        """The rows of candidates that the search did not find, and the count from which a candidate is found.

        The first `own` have a row whether they stand out or not.
        """
        # A candidate that shares buckets needs a larger count; the smallest variance is that of the others.
        law = self.law
        threshold, extra = self._threshold(query, scored)
        limit = law.seen_from(threshold, extra, FOUND_95)
        standing = stand_out(law, scored, query)
        chosen = ~contained(scored.items, found.items) & (standing | (np.arange(len(scored)) < own))
        if not chosen.any():
            return [], limit
        # The least collisions give the largest width: with more, fewer values come near their larger threshold.
        width = simultaneous_width(law, len(scored), -math.inf if own else threshold, extra, query.level / 2)
        choices = np.full(int(chosen.sum()), math.log(len(scored)))
        listed = np.ones(len(choices), np.bool_)
        picked = _picked(scored, chosen)
        stands = np.zeros(len(choices))
        if self.moved.certifies:
            rare = math.log(query.level / 2) - math.log(len(scored))
            asked = np.flatnonzero(standing[chosen])
            stands[asked] = stands_to(law, _picked(picked, asked), self.influence, rare)
        facts = (self.influence, standing[chosen], self.moved, stands)
        return hitters_of(self.survey, law, picked, width, choices, listed, *facts), limit

    def late(self, query: Query, counted: Estimates, found: Estimates, log_priors: NDArray[np.float64]) -> list[Hitter]:
        """The rows of values named after looking that the search did not find: none of them stands out.

        Their intervals hold whichever values were named, since each value of the universe has its share of the level.
        """
        chosen = ~contained(counted.items, found.items)
        if not chosen.any():
            return []
        width = normal_quantile_log(math.log(query.level / (2 * UNDERSTATED)) + float(log_priors.min()))
        none = np.zeros(int(chosen.sum()), np.bool_)
        picked = replace(_picked(counted, chosen), doubts=np.ones(len(none)))
        facts = (self.influence, none, self.moved, np.zeros(len(none)))
        return hitters_of(self.survey, self.law, picked, width, -log_priors[chosen], none, *facts)

    def _threshold(self, query: Query, scored: Estimates) -> tuple[float, float]:
        """The count from which a candidate stands out that shares no bucket, and the variance of its collisions."""
        extra = float(self.law.collisions(scored.counts, scored.stderrs).min())
        return self.law.threshold(math.log(query.level / 2) - math.log(len(scored)), extra), extra

    def named(self, query: Query, scored: Estimates, found: Estimates) -> Named:
        """What guesses need to know of the candidates."""
        standing = stand_out(self.law, scored, query) | contained(scored.items, found.items)
        prior = Prior(int(standing.sum()), self._threshold(query, scored)[0], -math.log(len(scored)))
        return Named(scored, prior, standing)


def _picked(scored: Estimates, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Estimates:
    """Some of the values that were counted by name."""
    names = ("sharing_tails", "fakes", "moves", "weakest")
    more = {name: each[chosen] for name in names if (each := getattr(scored, name)) is not None}
    return Estimates(scored.items[chosen], scored.counts[chosen], scored.stderrs[chosen], **more)


def stand_out(law: CountLaw, scored: Estimates, query: Query) -> NDArray[np.bool_]:
    """Which candidates stand out. If nobody held any, one would stand out with a chance of level/2 at most."""
    tails = law.log_tail(scored.counts, law.collisions(scored.counts, scored.stderrs), scored.sharing_tails)
    return np.asarray(tails <= math.log(query.level / 2) - math.log(len(scored)))
