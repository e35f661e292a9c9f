"""The JSON documents of the routes about sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from hubbub.analysis.ready_made import KINDS, MOST_QUESTIONS, MOST_VALUES, Answers, Asks
from hubbub.collector.documents import GivenNames, Number, Origin, SliceLength, Strict, SurveyStatus, status_document
from hubbub.store.overview import ListedSurvey
from hubbub.store.sites import Site

Hosts = Annotated[list[Annotated[str, Field(max_length=260)]], Field(max_length=100)]
Values = Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=MOST_VALUES)]


class NewQuestion(Strict):
    """A question of a site. What is left out is as usual for its kind."""

    asks: Asks
    of: str = Field("", description="The parameter of a search, or the name of a goal or of an own question.")
    name: str | None = Field(None, min_length=1, description="A name for people to read.")
    epsilon: Number | None = Field(None, description="That of the site, unless it is given.")
    values: Values = Field([], description="The answers, for an own question; the paths, for entry pages.")
    sitemap: str | None = Field(None, description="The text of a sitemap.xml, for entry pages.")
    answers: Answers | None = Field(None, description="What an own question or a search may have without values.")
    names: GivenNames = Field([], description="Values that are looked for by name.")


class NewSite(Strict):
    """The owner's choices for a new site."""

    name: str = Field(examples=["example.org"])
    origins: list[Origin] = Field(["*"], max_length=100, description="Web origins whose pages may report.")
    own: Hosts | None = Field(None, description="Hosts that are no referrers; by default those of the origins.")
    epsilon: Number = 1
    expected_reports: int = Field(10_000, description="Visitors in each period, for all questions together.")
    every: int | None = Field(28, description="The days of a period; null asks each browser once.")
    slice: SliceLength = "week"
    questions: list[NewQuestion] = Field([], max_length=MOST_QUESTIONS)


class ChangedSite(Strict):
    """What changes; what is left out stays."""

    name: str | None = None
    origins: list[Origin] | None = Field(None, min_length=1, max_length=100)
    own: Hosts | None = None


class ExistingQuestion(Strict):
    """A survey of this collector that becomes a question of a site."""

    asks: Asks
    of: str = ""
    survey: str = Field(pattern="^[0-9a-f]{64}$")


class Order(Strict):
    """All questions of a site in a new order."""

    surveys: list[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] = Field(max_length=MOST_QUESTIONS)


class QuestionStatus(SurveyStatus):
    """A question of a site, and its survey as the owner sees it."""

    asks: str
    of: str = Field(description="The parameter of a search, or the name of a goal or of an own question; else empty.")
    title: str
    sent: str = Field(description="What becomes a report, in words.")


class SiteStatus(BaseModel):
    """A site as its owner sees it."""

    site: str = Field(description="Its key: the value of data-site.")
    name: str
    origins: list[str]
    own: list[str]
    epsilon: str
    largest_epsilon: str = Field(
        description="What a browser spends in a period at most: the largest ε of its questions."
    )
    every: int | None
    opens: str | None
    slice: SliceLength
    expected_reports: int
    each: int = Field(description="How many people each question gets, of those that are expected in a period.")
    created: str
    questions: list[QuestionStatus]


class ChangedSiteStatus(SiteStatus):
    """A site after a change."""

    sentences: list[str] = Field(description="What became of names that were given in another form.")


class SiteList(BaseModel):
    """All sites of a collector."""

    sites: list[SiteStatus]


class ManifestQuestion(BaseModel):
    """One question, as browsers read it."""

    asks: Asks
    of: str | None = None
    survey: str


class Manifest(BaseModel):
    """What browsers read of a site."""

    own: list[str]
    questions: list[ManifestQuestion]
    site: str
    version: Literal[1]


def site_document(
    site: Site, listed: Mapping[int, ListedSurvey], now: datetime, sentences: Iterable[str] = ()
) -> ChangedSiteStatus:
    """Return a site as its owner sees it. `listed` has its surveys by their keys."""
    asked = [each for each in site.questions if each.key in listed]
    questions = [
        QuestionStatus(
            **status_document(listed[each.key], now).model_dump(),
            asks=each.asks,
            of=each.of,
            title=each.title,
            sent=KINDS[each.asks].sent,
        )
        for each in asked
    ]
    return ChangedSiteStatus(
        site=site.site,
        name=site.name,
        origins=list(site.origins),
        own=list(site.own),
        epsilon=f"{site.epsilon:f}",
        largest_epsilon=f"{site.largest_epsilon(listed):f}",
        every=site.every,
        opens=site.opens,
        slice="day" if site.slice_days == 1 else "week",
        expected_reports=site.people,
        each=site.share(),
        created=site.created.isoformat(),
        questions=questions,
        sentences=list(sentences),
    )
