"""The JSON documents of the routes."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hubbub.mechanisms.registry import DEFAULT_EXPECTED_REPORTS
from hubbub.model.estimates import Answer, Hitter
from hubbub.store.store import StoredSurvey

MAX_TOP = 10_000
Number = Annotated[int | float | str, Field(examples=["1"])]
Origin = Annotated[str, Field(pattern=r"^(\*|https?://[A-Za-z0-9.:\[\]-]{1,260})$")]


class Strict(BaseModel):
    """Refuses unknown fields, and numbers that come as another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewSurvey(Strict):
    """What the owner says about a new survey. Everything else is derived from it."""

    name: str = Field(examples=["referrers"])
    domain: dict[str, Any] = Field(examples=[{"kind": "integers", "bits": 32}], description="As in a survey document.")
    epsilon: Number
    delta: Number | None = None
    mechanism: str | None = None
    options: dict[str, str] = {}
    expected_reports: int = DEFAULT_EXPECTED_REPORTS
    opens: str | None = Field(None, description="RFC 3339.")
    closes: str | None = Field(None, description="RFC 3339.")
    public_seed: str | None = Field(
        None, pattern=r"^[0-9a-f]{64}$", description="Drawn by the collector unless a rehearsal must be repeatable."
    )
    origins: list[Origin] = Field(["*"], max_length=100, description="Web origins whose pages may report.")


class Candidates(Strict):
    """A question about candidates: values that are named in advance."""

    candidates: list[str | int] = Field(min_length=1, max_length=100_000)
    all_candidates: bool = False
    top: int = Field(20, ge=1, le=MAX_TOP)
    level: float = 0.05


class SurveyStatus(BaseModel):
    """A survey as its owner sees it."""

    survey_id: str
    name: str
    state: str
    mechanism: str
    epsilon: str
    delta: str
    opens: str | None
    closes: str | None
    expected_reports: int
    reports: int
    origins: list[str]


class SurveyList(BaseModel):
    """All surveys of a collector."""

    surveys: list[SurveyStatus]


class AnswerDocument(BaseModel):
    """The values that stand out, or all values of a list. A limit is null if there are too few reports for any."""

    survey_id: str
    reports: int
    detection_limit: float | None
    long_limit: float | None
    candidate_limit: float | None
    whole_list: bool
    hitters: list[Hitter]


class UploadReply(BaseModel):
    """What became of an upload: numbers of reports, and a status for each report in order."""

    accepted: int = Field(ge=0)
    duplicate: int = Field(ge=0)
    invalid: int = Field(ge=0)
    statuses: list[Literal["accepted", "duplicate", "invalid"]]


def status_document(stored: StoredSurvey, reports: int) -> SurveyStatus:
    """Return a survey as its owner sees it now, with its number of reports."""
    survey = stored.survey
    return SurveyStatus(
        survey_id=stored.survey_id.hex(),
        name=survey.name,
        state=stored.state(datetime.now(UTC)),
        mechanism=survey.mechanism,
        epsilon=format(survey.epsilon, "f"),
        delta=format(survey.delta, "f"),
        opens=survey.opens.isoformat() if survey.opens else None,
        closes=survey.closes.isoformat() if survey.closes else None,
        expected_reports=survey.expected_reports,
        reports=reports,
        origins=list(stored.origins),
    )


def answer_document(stored: StoredSurvey, answer: Answer) -> AnswerDocument:
    """Return an answer as a JSON document. JSON has no infinity: an infinite limit becomes null."""

    def finite(limit: float | None) -> float | None:
        """Return the limit, or None if it is infinite."""
        return limit if limit is not None and math.isfinite(limit) else None

    return AnswerDocument(
        survey_id=stored.survey_id.hex(),
        reports=answer.reports,
        detection_limit=finite(answer.detection_limit),
        long_limit=finite(answer.long_limit),
        candidate_limit=finite(answer.candidate_limit),
        whole_list=answer.whole_list,
        hitters=list(answer.hitters),
    )
