"""An answer for a page: rows, a chart, and an explanation in sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from hubbub.analysis.needed import what_is_needed
from hubbub.analysis.results import Answer
from hubbub.analysis.shuffle import ASSUMPTION, NOT_LIVE, seen_from_outside
from hubbub.analysis.tables import sentences
from hubbub.analysis.wording import interval, number, people_of, plural, possible, share_of, sure
from hubbub.dashboard import words
from hubbub.numeric.bulk_items import encode_marked
from hubbub.store.store import StoredSurvey

_CHARTED: Final = 20


class Explained(NamedTuple):
    """An answer, and its explanation in sentences."""

    answer: Answer
    sentences: tuple[str, ...]


def answer_facts(found: Explained) -> dict[str, Any]:
    """Return the rows of an answer, its chart as JSON, and sentences about it."""
    answer = found.answer
    limit = answer.detection_limit if math.isfinite(answer.detection_limit) else None
    rows = [
        {
            **asdict(hitter),
            "value": words.visible(hitter.value),
            # What people read is possible: an unbiased count may be below 0 or above all reports.
            "count": possible(hitter),
            "people": people_of(hitter),
            "share_text": share_of(hitter),
            "between": interval(hitter),
            "sure": sure(hitter),
        }
        for hitter in answer.hitters
    ]
    chart = {
        "rows": [
            {
                "value": row["value"],
                "count": row["count"],
                "text": row["people"],  # not rounded again in the browser
                "low": row["low"],
                "high": row["high"],
                "stands": row["stands_out"],
            }
            for row in rows[:_CHARTED]
        ],
        "limit": limit,
        "limit_text": None if limit is None else number(limit),
        "reports": answer.reports,
    }
    return {
        "rows": rows,
        "reports": answer.reports,
        "limit": limit,
        "whole_list": answer.whole_list,
        "named": answer.candidate_limit is not None,
        "charted": min(_CHARTED, len(rows)),
        "chart": json.dumps(chart),
        "sentences": found.sentences,
    }


def explain(
    stored: StoredSurvey, answer: Answer, closed: bool, candidates: int = 0, named: Sequence[str] = ()
) -> tuple[str, ...]:
    """Explain an answer: what was found, what may have been missed, how private the sums are, and what forgers can do.

    Takes up to two seconds if nothing stands out, since then the planner computes what it would have taken.

    Parameters
    ----------
    stored : StoredSurvey
        The survey.
    answer : Answer
        The answer to explain.
    closed : bool
        Whether no more reports come. Only then the privacy of the sums is stated.
    candidates : int
        How many distinct values of the domain were named.
    named : sequence of str
        The values as the owner wrote them.
    """
    if not answer.reports:
        return ()
    standing = [hitter for hitter in answer.hitters if hitter.stands_out]
    said = []
    if standing and not answer.whole_list:
        many = len(standing) + answer.not_shown
        found = "One value stands out" if many == 1 else f"{many:,} values stand out"
        said.append(f"{found} from the noise that protects each visitor.")
    said += sentences(replace(answer, foreign_candidates=0))  # of these `_about_named` speaks
    if named:
        said.append(_about_named(stored, answer, named, candidates))
    if not standing:
        said.append(what_is_needed(stored.survey, answer.reports, candidates=candidates))
    said.append(
        "The chance that anything in this answer is wrong, a value or an interval, is at most 5 %. It is about the "
        "visitors who answered: what others would have answered, it cannot know."
    )
    if standing:
        last = min(reversed(standing), key=lambda hitter: hitter.fake_reports)
        said.append(
            "Reports are anonymous, so they can be forged: "
            f"{plural(last.fake_reports, 'crafted report')} could have put {words.visible(last.value)} where it is, "
            "or put another value in its place."
        )
    said.append(_about_sums(stored, answer.reports, closed))
    return tuple(sentence for sentence in said if sentence)


def _about_named(stored: StoredSurvey, answer: Answer, named: Sequence[str], candidates: int) -> str:
    """Return a sentence about the named values: how many are repeated, outside the domain, or not above the noise."""
    outside = int(encode_marked(stored.survey.domain, named).other.sum())
    again = len(named) - outside - candidates
    unseen = sum(hitter.listed and not hitter.stands_out for hitter in answer.hitters)
    parts = [f"{again:,} repeated another line"] if again else []
    parts += [f"{outside:,} cannot be an answer to this survey"] if outside else []
    parts += [f"{unseen:,} cannot be told from the noise"] if unseen else []
    if not parts:
        return ""
    most = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return f"Of the {plural(len(named), 'line')} that you wrote, {most}."


def _about_sums(stored: StoredSurvey, reports: int, closed: bool) -> str:
    """Return how private the sums of a closed survey are to an observer who sees nothing else, with the assumption."""
    if not closed:
        return NOT_LIVE
    outside = seen_from_outside(stored.mechanism, reports)
    return "" if outside is None else f"{outside.words} {ASSUMPTION}"
