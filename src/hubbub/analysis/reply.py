"""What a collector sends: an answer or a trend with its survey and its heading, which says who was asked what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from hubbub.analysis.answer import Answer
from hubbub.analysis.documents import read
from hubbub.analysis.trend import Trend
from hubbub.model.survey import Survey

T = TypeVar("T", Answer, Trend)


@dataclass(frozen=True, slots=True)
class Heading:
    """What people need to know of a survey to read its answer, in words.

    Attributes
    ----------
    domain : str
        The values that could be held.
    mechanism : str
        The mechanism with its options.
    privacy : str
        The guarantee that was stated to every person.
    long_example : str
        A value of the domain that counts as long; empty if all values are alike.
    period : str or None
        The time that was asked for; empty if it is all the time, None if the reports have no time.
    """

    domain: str
    mechanism: str
    privacy: str
    long_example: str
    period: str | None = None

    @classmethod
    def of(cls, survey: Survey, period: str | None = None) -> Heading:
        """Return the heading of a survey's answers."""
        options = [f"{name}={value}" for name, value in sorted(survey.options.items())]
        domain = survey.domain
        mechanism = " ".join([survey.mechanism, *options])
        return cls(domain.described, mechanism, str(survey.stated), domain.long_example or "", period)


def to_reply(survey: Survey, answer: Answer | Trend, period: str = "") -> dict[str, Any]:
    """What a collector sends: the document of an answer or a trend with its survey and heading."""
    return {"survey_id": survey.survey_id.hex(), "heading": asdict(Heading.of(survey, period)), **answer.to_document()}


def from_reply(document: Mapping[str, Any], kind: type[T]) -> tuple[str, Heading, T]:
    """The id of the survey, the heading and the answer in what a collector sent; raises as `from_document` does."""
    if not isinstance(survey_id := document["survey_id"], str):
        raise TypeError("survey_id")
    return survey_id, read(Heading, document["heading"]), kind.from_document(document)
