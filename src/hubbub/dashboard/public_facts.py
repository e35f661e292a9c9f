"""What the public page of a survey says: the owner's words or hubbub's, with the facts that they name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from hubbub.analysis.public_words import facts_of, right_of_100, say
from hubbub.collector.published import Shown
from hubbub.collector.published_document import document_of
from hubbub.dashboard import words
from hubbub.store.store import StoredSurvey

_NAMES_SHOWN: Final = 500  # of a list
_DRAWN: Final = 1_000  # the width of a bar


def public_facts(
    stored: StoredSurvey, state: str, shown: Shown, names: Sequence[str], question: str = ""
) -> dict[str, Any]:
    """Return the facts of the page for its template. Costs some milliseconds for a long list.

    `question` is what a site asks with this survey; else the values of the survey say it.
    """
    survey, texts = stored.survey, shown.page.texts
    answer = document_of(stored, shown.page, shown.answers[0]) if shown.answers else None
    facts = {
        **facts_of(survey),
        "who": "Sites that carry this survey ask" if stored.origins == ("*",) else f"{', '.join(stored.origins)} asks",
        "question": question or words.question(survey.domain),
        "bytes": str(stored.mechanism.report_dtype.itemsize),
        **({} if answer is None else _answer_words(answer)),
    }
    named = f"state_{state}" if state in ("open", "closed") else ""
    return {
        "names": list(names[:_NAMES_SHOWN]),
        "more_names": max(len(names) - _NAMES_SHOWN, 0),
        "title": texts.get("title") or survey.name,
        "lang": shown.page.lang or "en",
        "texts": texts,
        "say": partial(say, texts=texts, facts=facts),
        "state_words": say(named, texts, facts) if named else state,
        "of_100": right_of_100(float(survey.epsilon), float(survey.delta)),
        "answer": None if answer is None else {**answer, "values": _bars(answer["values"])},
    }


def _answer_words(answer: dict[str, Any]) -> dict[str, str]:
    """Return the facts that texts about an answer may name."""
    following = "" if answer["next"] is None else f" The next answer comes after {answer['next']}."
    return {
        "until": answer["until"],
        "answers": f"{answer['answers']:,}",
        "notes": " ".join(answer["notes"]) + following,
    }


def _bars(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the values with where their bars and ranges are."""
    most = max([1.0, *(max(each["high"], each["shown"]) for each in values)])
    places = {"width": "shown", "left": "low", "right": "high"}
    return [
        {**each, **{place: round(_DRAWN * max(0.0, each[name]) / most, 1) for place, name in places.items()}}
        for each in values
    ]
