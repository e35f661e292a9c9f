"""An answer for a page: rows, a chart, and an explanation in sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from hubbub.analysis.answer import Answer
from hubbub.analysis.outlook import what_is_needed
from hubbub.analysis.sentences import BELOW, about_level, told
from hubbub.analysis.shuffle import ASSUMPTION, NOT_LIVE, seen_from_outside
from hubbub.analysis.wording import cells, finite, number, plural, possible
from hubbub.dashboard import words
from hubbub.numeric.bulk_items import encode_marked
from hubbub.store.store import StoredSurvey

LEVEL: Final = 0.05
_CHARTED: Final = 20


class Explained(NamedTuple):
    """An answer, and its explanation in sentences."""

    answer: Answer
    sentences: tuple[str, ...]


def answer_facts(found: Explained) -> dict[str, Any]:
    """Return the rows of an answer, its chart as JSON, and sentences about it."""
    answer = found.answer
    limit = finite(answer.detection_limit)
    rows = [
        {
            **asdict(hitter),
            "value": words.visible(hitter.value),
            # What people read is possible: an unbiased count may be below 0 or above all reports.
            "count": possible(hitter),
            **cells(hitter)._asdict(),
            "share": hitter.share,
            "share_text": cells(hitter).share,
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
    said = told(answer, {"found", *BELOW} - {"foreign"})  # of those `_about_named` speaks
    if named:
        said.append(_about_named(stored, answer, named, candidates))
    if not any(hitter.stands_out for hitter in answer.hitters):
        said.append(what_is_needed(stored.survey, answer.reports, candidates=candidates))
    said += [about_level(LEVEL), *told(answer, ["forged"]), _about_sums(stored, answer.reports, closed)]
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
