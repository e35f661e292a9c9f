"""An answer for a page: rows, a chart, and an explanation in sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from hubbub.analysis.answer import Answer
from hubbub.analysis.outlook import what_is_needed
from hubbub.analysis.question import Asked
from hubbub.analysis.sentences import BELOW, about_first, about_level, told
from hubbub.analysis.shuffle import about_sums
from hubbub.analysis.wording import cells, finite, number, possible, rounded, within
from hubbub.dashboard import words
from hubbub.store.store import StoredSurvey

_CHARTED: Final = 20


class Explained(NamedTuple):
    """An answer, and its explanation in sentences."""

    answer: Answer
    sentences: tuple[str, ...]

    def if_forged(self, forged: int) -> Explained:
        """The answer if so many reports are forged, with a sentence about that first."""
        answer = self.answer.if_forged(forged)
        return Explained(answer, (*told(answer, ["supposed"]), *self.sentences))


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
            "stands": (hitter.stands_to or 0) >= answer.forged,
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
                "stands": row["stands_out"] and row["stands"],
            }
            for row in rows[:_CHARTED]
        ],
        "limit": limit,
        "limit_text": "" if limit is None else f"below {number(limit)}, {_unseen(answer)} may be missing",
        "reports": answer.reports,
    }
    return {
        "rows": rows,
        "reports": answer.reports,
        "forged": answer.forged,
        "certified": any(hitter.first_to is not None for hitter in answer.hitters),
        "limit": limit,
        "unseen": _unseen(answer),
        "whole_list": answer.whole_list,
        "named": answer.candidate_limit is not None or any(hitter.late for hitter in answer.hitters),
        "first": about_first(_CHARTED, len(rows)),
        "chart": json.dumps(chart),
        "sentences": found.sentences,
        "guesses": [
            {
                "value": words.visible(guess.value),
                "chance": f"{rounded(100 * guess.chance, 0)} %",
                "people": number(max(guess.count, 0.0)),
                "between": f"{number(guess.low)} – {number(guess.high)}",
            }
            for guess in answer.guesses
        ],
        "guessed_from": answer.guessed_from,
        "groups": [
            {
                "name": words.visible(group.name),
                "members": group.members,
                "people": number(within(group)),
                "between": f"{number(group.low)} – {number(group.high)}",
            }
            for group in answer.groups
        ],
    }


def _unseen(answer: Answer) -> str:
    """Return which values the limit is about: named ones are found from a smaller count on."""
    return "a value" if answer.candidate_limit is None else "a value that nobody named"


def explain(stored: StoredSurvey, answer: Answer, slices: Sequence[int], asked: Asked) -> tuple[str, ...]:
    """Explain an answer: what was found, what may have been missed, how private the sums are, and what forgers can do.

    Takes up to two seconds if nothing stands out, since then the planner computes what it would have taken.

    Parameters
    ----------
    stored : StoredSurvey
        The survey.
    answer : Answer
        The answer to explain.
    slices : sequence of int
        The reports of each slice of time, if no more reports come; else none. Only then the privacy of the sums is
        stated.
    asked : Asked
        The question.
    """
    if not answer.reports:
        return ()
    said = told(answer, {"found", "unseen", *BELOW} - {"guesses", "groups"})  # which have places of their own
    if not any(hitter.stands_out for hitter in answer.hitters):
        said.append(what_is_needed(stored.survey, answer.reports, candidates=asked.candidates))
    said += [about_level(asked.question.level), *told(answer, ["forged", "certified"])]
    said.append(about_sums(stored.mechanism, slices) if slices else "")  # two views of sums would tell more
    return tuple(sentence for sentence in said if sentence)
