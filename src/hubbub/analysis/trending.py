"""Trends from tallies: counts period by period, and which changes are beyond noise.

Why the intervals hold. The values of a trend are found by searching the sum of all periods, so they are chosen by
looking. In the answer from that sum each end of an interval has a chance α to miss, and α is so small that the sum of
min(α, chance to be reported) over all values that any crowd could hold is at most a quarter of the level
(`simultaneous_width`; for names it is a union bound over all of them). Here the 2·m ends of a value's intervals in m
periods share this α: each has α/(2·m). The chance that a value is reported *and* any of them misses is at most the
smaller of α and its chance to be reported. So the same sum bounds the chance that any interval of any value and period
misses, however periods and values depend on one another.

Why the statements hold. A statement compares the share of a value in the last whole period with its share in an earlier
one. If both are equal, every report adds the same variance to its period's count. So the difference of the two
estimated shares is uncorrelated with the sum of all periods, by which the value was chosen: to be chosen makes no
difference larger. Names are chosen without looking at these reports. So it is enough to divide the last quarter of the
level by the number of values, of earlier periods and of directions. The visitors of a period are taken for a random
sample of those who might have come, so that a value whose share only varies with who came is not called rising.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from hubbub.analysis.answer import Answer
from hubbub.analysis.asking import answer_question
from hubbub.analysis.question import Asked, Knobs, Question
from hubbub.analysis.rows import in_people
from hubbub.analysis.trend import Change, Period, Point, Series, Trend
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import mechanism_for
from hubbub.mechanisms.roles import SurveyDecoder
from hubbub.model.mechanism import Items
from hubbub.model.survey import Survey
from hubbub.model.tallies import Tallies
from hubbub.model.tally import Tally
from hubbub.numeric.count_law import UNDERSTATED, CountLaw, Floats, gap_law
from hubbub.numeric.tails import normal_quantile_log

FEWEST: Final = 10
"""A period with fewer reports is not compared: the law of counts is computed for ten people or more."""


def trend(
    survey: Survey,
    tallies: Mapping[date, Tally] | Mapping[str, Tally],
    question: Question | None = None,
    *,
    repeats: bool | None = None,
    unfinished: bool | None = None,
    decoder: SurveyDecoder | None = None,
    **knobs: Unpack[Knobs],
) -> Trend:
    """Which values many people hold, period by period, and which of them surely change.

    Parameters
    ----------
    survey : Survey
        The survey that the reports answered.
    tallies : mapping of days to Tally
        The tally of each period by its first day, a date or a text such as "2026-10-05"; `Tallies` are such a mapping.
        They are read one at a time, twice, so a mapping may load them when it is asked.
    question : Question, optional
        The question; it is asked of all periods together. Its level is for the whole trend. It must ask for no guesses.
    repeats : bool, optional
        Whether each device answers in every period. Otherwise later periods hold only new devices: then counts are
        shown, and nothing is called rising or falling. By default it is so if the survey repeats; then tallies are
        added up to its periods, whatever slices they are of.
    unfinished : bool, optional
        Whether the last period goes on. Regular visitors answer first, so it is not compared with whole ones. By
        default, if the survey repeats, the date of today tells.
    decoder : SurveyDecoder, optional
        The survey's mechanism, if the caller has built it already.
    **knobs
        Instead of a question, its attributes by name, as in `find_hitters`.

    Examples
    --------
    >>> from hubbub import Categories, create_survey, mechanism_for, trend
    >>> from hubbub.simulation.rehearsal import randomness_of, rehearse
    >>> survey = create_survey("drinks", Categories(["tea", "coffee"]), 2, public_seed=bytes(32))
    >>> words, drinks = randomness_of(1)[1], {"2026-10-05": [0.5, 0.4], "2026-10-12": [0.2, 0.7]}
    >>> def week(tea, coffee):
    ...     people = ["tea"] * int(2_000 * tea) + ["coffee"] * int(2_000 * coffee)
    ...     return rehearse(mechanism_for(survey), [survey.domain.encode(people)], words)
    >>> found = trend(survey, {day: week(*shares) for day, shares in drinks.items()}, repeats=True)
    >>> {each.value: each.change for each in found.series}
    {'coffee': 'rising', 'tea': 'falling', '(other)': ''}
    """
    asked = Question.of(question, knobs).about(survey.domain)
    sums: Mapping[date, Tally] = Tallies(tallies)
    if repeats is None and survey.every is not None and sums:
        sums = Tallies(sums).by_period(survey)
        repeats, over = True, max(sums) + timedelta(days=survey.every)
        unfinished = over > datetime.now(UTC).date() if unfinished is None else unfinished
    return trend_of(decoder or mechanism_for(survey), sums, asked, bool(repeats), bool(unfinished))


def trend_of(
    decoder: SurveyDecoder,
    tallies: Mapping[Any, Tally],
    asked: Asked,
    repeats: bool,
    unfinished: bool = False,
    partial: Collection[date] = (),
) -> Trend:
    """The trend of a question that was checked against the domain of the mechanism's survey.

    Periods that are `partial`, by their first days, are not compared either.
    """
    if asked.question.guesses:
        raise ParameterError(f"guesses must be 0 in a trend, got guesses={asked.question.guesses}")
    if asked.question.forged:
        raise ParameterError(f"forged must be 0 in a trend, got forged={asked.question.forged}")
    sums = Tallies(tallies)
    if not sums:
        raise ParameterError("tallies must be at least one, got none")
    days, level = [*sums], asked.question.level
    halved = replace(asked, question=replace(asked.question, level=level / 2))
    total = sums.total
    decoder.check_tally(total)
    answer = answer_question(decoder, total, halved)
    values = [row.value for row in answer.hitters]
    items = decoder.survey.domain.encode(values)
    columns = [_count(decoder, sums[day], items, answer.values_per_person) for day in days]
    periods = tuple(
        Period(day, column.people, not (unfinished and day == days[-1]) and day not in partial)
        for day, column in zip(days, columns, strict=True)
    )
    points = _points(answer, columns, decoder.count_law(answer.reports))
    compared = [place for place, each in enumerate(periods) if each.whole and each.reports >= FEWEST]
    said: list[tuple[Change, date | None]] = [("", None)] * len(values)
    if repeats and len(compared) > 1 and values:
        starts = [periods[place].start for place in compared]
        ahead = _compare([columns[place] for place in compared], math.log(level / 4))
        seen = [[row[place].low > 0 for place in compared] for row in points]
        said = [_judge(starts, *each) for each in zip(ahead.tolist(), seen, strict=True)]
    series = tuple(Series(*each[:2], *each[2]) for each in zip(values, points, said, strict=True))
    return Trend(level, repeats, periods, answer, series)


@dataclass(frozen=True)
class _Column:
    """The counts of all values in one period, and the law of a count."""

    people: int
    law: CountLaw
    counts: Floats
    stderrs: Floats

    @property
    def collisions(self) -> Floats:
        return self.law.collisions(self.counts, self.stderrs)


def _count(decoder: SurveyDecoder, tally: Tally, items: Items, slots: int) -> _Column:
    """Count values in one period, next to one another: what is known of one is not taken for another."""
    plain = decoder.count_law(tally.count)
    law = plain.with_slots(slots)
    if not tally.count or not len(items):
        return _Column(tally.count, law, np.zeros(len(items)), np.zeros(len(items)))
    found = in_people(plain, law, decoder.estimate_beside(tally, items, items[: decoder.most_subtracted]))
    return _Column(tally.count, law, found.counts, found.stderrs)


def _points(answer: Answer, columns: Sequence[_Column], plain: CountLaw) -> list[tuple[Point, ...]]:
    """The counts and intervals of each row of the answer. All intervals hold together: see above."""
    rows, law = answer.hitters, plain.with_slots(answer.values_per_person)
    facts = np.array([(row.count, row.stderr, row.low, row.high) for row in rows]).reshape(-1, 4).T
    misses = _log_misses(law, *facts) - math.log(2 * len(columns))
    # A value named after looking has the share of the level of a value that is searched for, which is far smaller.
    late = np.array([row.late and not row.stands_out for row in rows], np.bool_)
    points: list[list[Point]] = [[] for _ in rows]
    for column in columns:
        low, high = np.zeros(len(rows)), np.full(len(rows), float(column.people))
        for group in (late, ~late):
            known = group & np.isfinite(misses)
            if column.people and known.any():
                width = normal_quantile_log(float(misses[known].min()))
                low[known], high[known] = column.law.limits(column.counts[known], column.collisions[known], width)
        for k, row in enumerate(points):
            count, share = float(column.counts[k]), float(column.counts[k]) / max(column.people, 1)
            row.append(Point(count, share, float(column.stderrs[k]), float(low[k]), float(high[k])))
    return [tuple(row) for row in points]


def _log_misses(law: CountLaw, counts: Floats, stderrs: Floats, low: Floats, high: Floats) -> Floats:
    """The logarithm of the chance that one end of each given interval misses, computed back from the interval.

    -inf if the interval is everything, which says nothing.
    """
    extra, half = law.collisions(counts, stderrs), law.step / 2
    above = law.log_chances(counts - half, low, extra)[0]
    below = law.log_chances(counts + half, high, extra)[1]
    return np.where(low > 0, above, np.where(high < law.people, below, -np.inf))


def _compare(columns: Sequence[_Column], log_level: float) -> NDArray[np.int64]:
    """Whether the share of each value in the last period is surely above (1) or below (−1) that in each earlier one.

    Shape (values, earlier periods). The chance that any of these claims is wrong is at most e^log_level.
    """
    *earlier, last = columns
    values = len(last.counts)
    enough = log_level - math.log(2 * UNDERSTATED * values * len(earlier))
    claims = np.zeros((values, len(earlier)), np.int64)
    for place, column in enumerate(earlier):
        gaps = last.counts / last.people - column.counts / column.people
        everybody = last.people + column.people
        shares = (last.counts + column.counts) / everybody
        # With a larger share a report adds more variance, so the share is taken a standard error above its estimate.
        above = shares + np.hypot(last.stderrs, column.stderrs) / everybody
        shares = np.clip(above, 0.0, np.clip(shares, 0.5, 1.0))
        law = gap_law(last.law, column.law, shares)
        extra = last.collisions / last.people**2 + column.collisions / column.people**2
        half = last.law.step / (2 * max(last.people, column.people))
        chances = law.log_chances(gaps - np.sign(gaps) * half, float(last.people), extra)
        tails = np.where(gaps > 0, *chances)
        claims[:, place] = np.where(tails <= enough, np.sign(gaps), 0)
    return claims


def _judge(starts: Sequence[date], ahead: Sequence[int], seen: Sequence[bool]) -> tuple[Change, date | None]:
    """What is said of a value, and the first day of the period that it is compared with.

    `ahead` has a claim for each earlier period; `seen` whether the interval of each period, the last included, is
    above 0.
    """
    *before, now = seen
    if now and not any(before) and all(claim > 0 for claim in ahead):
        return "new", starts[0]
    last_seen = max((place for place, each in enumerate(before) if each), default=-1)
    if not now and last_seen >= 0 and ahead[last_seen] < 0:
        return "gone", starts[last_seen]
    run = 0
    while run < len(ahead) and ahead[-1 - run] > 0:
        run += 1
    if run > 1:
        return "highest", starts[len(ahead) - run]
    changed = max((place for place, claim in enumerate(ahead) if claim), default=-1)
    if changed < 0:
        return "", None
    return "rising" if ahead[changed] > 0 else "falling", starts[changed]
