"""An answer for everybody: which of its values are shown, as numbers and as texts."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime
from typing import Any, Final

from hubbub.analysis.answer import Answer
from hubbub.analysis.wording import cells, finite, number, plural, possible, visible
from hubbub.model.domain_base import OTHER
from hubbub.model.survey import Survey
from hubbub.name_lists import is_spam

SHOWN: Final = 20
"""The most values that are shown."""

COSTS_NO_PRIVACY: Final = (
    "Showing this costs nobody privacy: every browser randomised its answer before it sent it, and what is computed "
    "from such answers tells no more about anybody than the answers themselves."
)
ELSE: Final = "something else"


def published_document(
    survey: Survey,
    answer: Answer,
    *,
    hidden: Collection[str],
    title: str,
    description: str,
    lang: str,
    until: date,
    made: int,
    final: bool,
    following: date | None,
) -> dict[str, Any]:
    """Return what everybody may read of an answer. Nothing else of it is in there.

    Values that do not stand out are left out, but for a short list, of which all are shown. Hosts known from spam and
    values that the owner hides are withheld; it is said how many. Values are text: whatever could turn or hide text in
    them is escaped.

    Parameters
    ----------
    survey : Survey
        The survey.
    answer : Answer
        The answer.
    hidden : collection of str
        The values that the owner hides.
    title, description, lang : str
        The owner's words about the question, and their language; "en" if it is the survey's name.
    until : date
        The last day that it is about.
    made : int
        When it was computed, in seconds since 1970.
    final : bool
        Whether the survey is over.
    following : date or None
        When the next answer comes.
    """
    rows = [row for row in answer.hitters if row.stands_out or answer.whole_list]
    allowed = [row for row in rows if str(row.value) not in hidden and not is_spam(row.value)]
    values = [
        {
            "value": ELSE if row.value == OTHER else visible(str(row.value)),
            "people": cells(row).people,
            "percent": cells(row).share,
            "between": cells(row).between,
            "count": round(row.count, 1),
            "low": round(row.low, 1),
            "high": round(row.high, 1),
            "shown": round(possible(row), 1),
        }
        for row in sorted(allowed, key=lambda row: -row.count)[:SHOWN]
    ]
    limit = finite(answer.detection_limit)
    return {
        "survey": survey.survey_id.hex(),
        "title": visible(title),
        "description": visible(description),
        "lang": lang or "en",
        "until": until.isoformat(),
        "made": datetime.fromtimestamp(made, UTC).isoformat(),
        "final": final,
        "next": None if following is None else following.isoformat(),
        "answers": answer.reports,
        "values": values,
        "withheld": len(rows) - len(allowed),
        "epsilon": format(survey.epsilon, "f"),
        "delta": format(survey.delta, "f"),
        "every": survey.every,
        "notes": _notes(answer, limit, len(rows) - len(allowed)),
    }


def _notes(answer: Answer, limit: float | None, withheld: int) -> list[str]:
    """Return what stands below the values: what the intervals are, what may be missing, and why this is private."""
    made_of = plural(answer.reports, "randomised answer")
    said = [f"Estimated from {made_of}. The chance that a value or a range is wrong is at most 5 %."]
    if answer.whole_list and len(answer.hitters) > SHOWN:
        said.append(f"The largest {SHOWN} of {len(answer.hitters):,} answers are shown.")
    elif answer.whole_list:
        pass  # all of the list are there
    elif limit is not None:
        said.append(f"A value given by fewer than about {number(limit)} may be missing.")
    else:
        said.append("These are too few answers to see any value.")
    if withheld:
        said.append(f"{plural(withheld, 'value is', 'values are')} not shown: spam, or the owner's choice.")
    return [*said, COSTS_NO_PRIVACY]
