"""The JSON documents of the routes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hubbub.analysis.answer import Answer
from hubbub.analysis.naming import MOST_NAMES
from hubbub.analysis.question import MAX_GUESSES, MAX_SLOTS, SurveyNames
from hubbub.analysis.relayed import ThroughRelay
from hubbub.analysis.reply import Heading, to_reply
from hubbub.analysis.trend import Period, Series, Trend
from hubbub.mechanisms.registry import DEFAULT_EXPECTED_REPORTS
from hubbub.model.estimates import Group, Guess, Hitter
from hubbub.sealing.request import LEAST_CROWD, MOST_CROWD
from hubbub.store.overview import ListedSurvey
from hubbub.store.pages import Page
from hubbub.store.store import StoredSurvey

MAX_TOP = 10_000
Number = Annotated[int | float | str, Field(examples=["1"])]
GivenGroups = dict[str, list[str | int]]
GroupWords = Literal["own", "auto", "none"]
GivenNames = Annotated[list[str | int], Field(max_length=MOST_NAMES)]
SliceLength = Literal["week", "day"]
Origin = Annotated[str, Field(pattern=r"^(\*|https?://[A-Za-z0-9.:\[\]-]{1,260})$")]


class Strict(BaseModel):
    """Refuses unknown fields, and numbers that come as another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewRelay(Strict):
    """The owner's choice for a survey whose reports come through a relay."""

    crowd: int = Field(ge=LEAST_CROWD, le=MOST_CROWD, description="The fewest reports that are passed on together.")


class NewSurvey(Strict):
    """The owner's choices for a new survey. Everything else is derived from them."""

    name: str = Field(examples=["referrers"])
    domain: dict[str, Any] = Field(examples=[{"kind": "integers", "bits": 32}], description="As in a survey document.")
    epsilon: Number
    delta: Number | None = None
    mechanism: str | None = None
    options: dict[str, str] = {}
    expected_reports: int = DEFAULT_EXPECTED_REPORTS
    opens: str | None = Field(None, description="RFC 3339.")
    closes: str | None = Field(None, description="RFC 3339.")
    every: int | None = Field(None, description="Ask again every so many days; it opens with today's slice by default.")
    public_seed: str | None = Field(
        None, pattern=r"^[0-9a-f]{64}$", description="Drawn by the collector unless a rehearsal must be repeatable."
    )
    origins: list[Origin] = Field(["*"], max_length=100, description="Web origins whose pages may report.")
    slice: SliceLength = Field("week", description="Sums are kept for each week (from Monday on, UTC) or each day.")
    names: GivenNames = Field([], description="Values that are looked for by name.")
    groups: GivenGroups = Field({}, description="Values that are counted together, by group.")
    relay: NewRelay | None = Field(
        None, description="Reports come sealed through a relay only; `closes` must be within 366 days."
    )


class Names(Strict):
    """The values that the owner of a survey looks for by name, or counts together; what is left out stays as it is."""

    names: GivenNames | None = None
    groups: GivenGroups | None = Field(None, description="Values by group, before the first report.")


class Candidates(Strict):
    """A question about values that are named in advance: candidates, or groups that are counted together."""

    candidates: list[str | int] | None = Field(None, min_length=1, max_length=100_000)
    all_candidates: bool = False
    top: int = Field(20, ge=1, le=MAX_TOP)
    level: float = 0.05
    values_per_person: int = Field(1, ge=1, le=MAX_SLOTS)
    guesses: int = Field(0, ge=0, le=MAX_GUESSES)
    groups: GroupWords | GivenGroups = Field("own", description="Values by group; own ones stay with the survey.")
    mode: Literal["no-false-positives", "no-false-negatives"] = "no-false-positives"
    share: float = Field(0.0, ge=0, le=1, description="The share of the people that the mode is about.")
    forged: int = Field(0, ge=0, lt=1 << 53, description="Suppose that so many of the reports are forged.")
    names: Literal["auto", "none"] = "auto"
    hitters_only: bool = False


class RelayFigures(BaseModel):
    """What is learned about one person who answers through a relay: by each of the two, and by both together."""

    crowd: int = Field(description="The fewest requests that the relay passes on together.")
    people: int = Field(description="The fewest new reports in a complete release; 0 until there is one.")
    collector: float = Field(description="ε to the collector alone.")
    delta: float = Field(description="The δ of that.")
    collector_year: float | None = Field(description="The sum over the answers of a year, if it repeats.")
    delta_year: float | None
    relay: str = Field(description="What the relay alone learns.")
    both: float = Field(description="ε to both together: that of one report.")
    words: list[str] = Field(description="All of this in sentences, with the condition.")


class SurveyStatus(BaseModel):
    """A survey as its owner sees it."""

    survey_id: str
    name: str
    state: str = Field(description="not yet open, open, closed, damaged or earlier version.")
    damage: str | None
    mechanism: str
    epsilon: str
    delta: str
    opens: str | None
    closes: str | None
    every: int | None = Field(description="The days of a period, if it repeats.")
    created: str | None
    expected_reports: int
    reports: int
    origins: list[str]
    slice: SliceLength
    relay: RelayFigures | None = Field(None, description="Of a survey through a relay; null for others, and in lists.")


class SliceStatus(BaseModel):
    """The reports of one slice of time."""

    start: date = Field(description="Its first day, in UTC.")
    end: date = Field(description="The first day after it.")
    reports: int
    open: bool = Field(description="Whether it goes on.")
    changed: bool = Field(description="Whether reports were added after it had ended.")


class SliceList(BaseModel):
    """The slices of a survey that have reports, in their order."""

    slices: list[SliceStatus]


class NewStatus(SurveyStatus):
    """A survey that was just made."""

    sentences: list[str] = Field(description="What became of names that were given in another form.")


class NamesOfSurvey(BaseModel):
    """The names and groups that stay with a survey: names fixed before its first report, and those that came later."""

    survey_id: str
    fixed: list[str]
    later: list[str]
    groups: dict[str, list[str]] = Field(description="Values that are counted together, by group.")
    sentences: list[str] = Field(description="What became of names that were given in another form.")


class SurveyList(BaseModel):
    """All surveys of a collector."""

    surveys: list[SurveyStatus]


class AnswerDocument(BaseModel):
    """The values that stand out, or all values of a list."""

    survey_id: str
    heading: Heading
    reports: int
    detection_limit: float | None
    long_limit: float | None
    candidate_limit: float | None
    out_of_reach: list[str] = Field(description="The limits that are null because there are too few reports for any.")
    whole_list: bool
    values_per_person: int
    not_shown: int = Field(description="Values that stand out and have no row, since there were more than `top`.")
    foreign_candidates: int = Field(description="Candidates that are not in the domain, and were left out.")
    known_names: int = Field(description="Names of a public list that were checked by name.")
    own_names: int = Field(description="Other names that stay with the survey, and were checked by name.")
    remembered_names: int = Field(description="Names found in earlier slices of time, and checked by name.")
    post_processing: str
    guessed_from: float | None = Field(description="The chances of guesses are about so many people or more.")
    mode: str = Field(description="no-false-positives or no-false-negatives.")
    share: float = Field(description="The share of the people that the mode is about.")
    forged: int = Field(description="How many of the reports are supposed to be forged.")
    sentences: list[str] = Field(description="What stands below the table for people.")
    hitters: list[Hitter]
    guesses: list[Guess] = Field(description="The next best values, which do not stand out.")
    groups: list[Group] = Field(description="Values that are counted together.")


class TrendDocument(AnswerDocument):
    """The answer from the reports of all periods together, and its values period by period."""

    level: float
    repeats: bool = Field(description="Each device answers in every period; otherwise nothing is compared.")
    periods: list[Period]
    series: list[Series] = Field(description="One for each row of `hitters`, in its order.")


class NewReadToken(Strict):
    """A read-only token that the owner wants. Without surveys and sites it is for all surveys, also later ones."""

    name: str = Field(description="Who gets it; a name of its own.", examples=["the editors"])
    surveys: list[str] | None = Field(None, max_length=10_000, description="Ids of surveys.")
    sites: list[str] | None = Field(None, max_length=10_000, description="Keys of sites, with later questions.")
    live: bool = Field(False, description="Whether it sees the slice of time that goes on.")


class ReadToken(BaseModel):
    """A read-only token, without its text."""

    id: str = Field(description="By which it is revoked.")
    name: str
    surveys: list[str] | None = Field(description="Ids of what it reads now; null for all, also later ones.")
    sites: list[str] = Field(description="Keys of the sites whose questions it reads.")
    live: bool = Field(description="Whether it sees the slice of time that goes on.")
    created: str


class ReadTokenMade(ReadToken):
    """A read-only token that was just made."""

    token: str = Field(description="Shown this once: its hash is stored.")


class ReadTokenList(BaseModel):
    """All read-only tokens of a collector."""

    tokens: list[ReadToken]


class ChangedPage(Strict):
    """What the owner changes about the public page of a survey. What is left out stays."""

    shown: bool | None = Field(None, description="Whether everybody sees the answer about slices that have ended.")
    hidden: list[str] | None = Field(None, max_length=1_000, description="Values that nobody is shown.")
    lang: str | None = Field(None, description="The language of the texts, as HTML names it; empty for English.")
    texts: dict[str, str] | None = Field(None, description="Your words, by name; an empty text brings hubbub's back.")
    webhook: str | None = Field(None, description="Where each answer is sent, too; empty for nowhere.")

    def changes(self, old: Page) -> dict[str, Any]:
        """Return the fields that change."""
        given: dict[str, Any] = {name: value for name, value in self if value is not None}
        if self.hidden is not None:
            given["hidden"] = tuple(self.hidden)
        if self.texts is not None:
            given["texts"] = {**old.texts, **self.texts}
        if self.webhook is not None:
            given["webhook"] = self.webhook or None
        return given


class PageStatus(BaseModel):
    """What the owner decided about the public page of a survey."""

    shown: bool
    hidden: list[str]
    lang: str
    texts: dict[str, str]
    webhook: str | None
    secret: str | None = Field(description="Signs what is sent to a new webhook; shown this once.")


class UploadReply(BaseModel):
    """The outcome of an upload: numbers of reports, and a status for each report in order."""

    accepted: int = Field(ge=0)
    duplicate: int = Field(ge=0)
    invalid: int = Field(ge=0)
    statuses: list[Literal["accepted", "duplicate", "invalid"]]


class Released(BaseModel):
    """The outcome of one part of a release."""

    accepted: int = Field(ge=0)
    duplicate: int = Field(ge=0)
    invalid: int = Field(ge=0)


class MergedTally(BaseModel):
    """The outcome of a merge: the number of reports in the tally, and whether it was added now or had been before."""

    survey_id: str
    reports: int = Field(ge=0)
    merged: bool


def status_document(listed: ListedSurvey, now: datetime, relay: ThroughRelay | None = None) -> SurveyStatus:
    """Return a survey as its owner sees it at this time."""
    times = {name: getattr(listed, name) for name in ("opens", "closes", "created")}
    return SurveyStatus(
        survey_id=listed.survey_id.hex(),
        name=listed.name,
        state=listed.state(now),
        damage=listed.damage or None,
        mechanism=listed.mechanism,
        epsilon=listed.epsilon,
        delta=listed.delta,
        expected_reports=listed.expected_reports,
        reports=listed.reports,
        origins=list(listed.origins),
        every=listed.every,
        slice="day" if listed.slice_days == 1 else "week",
        relay=None if relay is None else RelayFigures(**relay.to_json()),
        **{name: time.isoformat() if time else None for name, time in times.items()},
    )


def names_document(stored: StoredSurvey, names: SurveyNames, sentences: Iterable[str] = ()) -> NamesOfSurvey:
    """Return the names of a survey as a JSON document."""
    return NamesOfSurvey(
        survey_id=stored.survey_id.hex(),
        fixed=list(names.fixed),
        later=list(names.later),
        groups={name: [str(value) for value in values] for name, values in names.groups},
        sentences=list(sentences),
    )


def answer_document(stored: StoredSurvey, answer: Answer, period: str) -> AnswerDocument:
    """Return an answer about a period as a JSON document."""
    return AnswerDocument(**to_reply(stored.survey, answer, period))


def trend_document(stored: StoredSurvey, trend: Trend, period: str) -> TrendDocument:
    """Return a trend of a period as a JSON document."""
    return TrendDocument(**to_reply(stored.survey, trend, period))
