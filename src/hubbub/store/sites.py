"""Sites: one line of script for several questions, each a survey of its own.

A survey is a question of one site at most. What belongs to all questions of a site is with the site: whose pages may
report, when periods begin, and how long slices are.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from hubbub.analysis.question import NO_NAMES, SurveyNames
from hubbub.analysis.ready_made import KINDS, MOST_QUESTIONS, Asks, check_of, fits_script, title_of
from hubbub.errors import ParameterError, UnknownSite, shown
from hubbub.model.coded_domain import NORMALIZATIONS
from hubbub.model.numbers import parse_epsilon, parse_people
from hubbub.model.repeating import check_budget, check_days
from hubbub.model.survey import Survey
from hubbub.store.overview import ListedSurvey, parse_time
from hubbub.store.schema import questions, reading, sites, surveys, unknown_survey, writing
from hubbub.store.showing_tables import reader_sites
from hubbub.store.slices import open_now
from hubbub.store.store import Store, StoredSurvey, SurveyRow

_KEY_BYTES = 16
_MOST_NAME = 100
_MOST_OWN = 100


class SiteQuestion(NamedTuple):
    """A question of a site, and the survey that has its reports.

    Attributes
    ----------
    asks : str
        The kind of question.
    of : str
        The name of a goal or of an own question, or the parameter of a search; else empty.
    survey_id : bytes
        The survey.
    key : int
        The number of the survey in this database.
    """

    asks: Asks
    of: str
    survey_id: bytes
    key: int

    @property
    def title(self) -> str:
        """What the question is called."""
        return title_of(self.asks, self.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A site with its questions, in their order.

    `site` is its public key, which the line of script has. Pages of its `origins` may report. Links from its `own`
    hosts and their sub-domains are no referrers. `epsilon` is that of a new question unless it says another. So many
    `people` are expected in each period, for all questions together. All questions have the same periods: `every` days
    from `opens` on; both are None if each browser answers one question, once.
    """

    key: int
    site: str
    name: str
    origins: tuple[str, ...]
    own: tuple[str, ...]
    epsilon: Decimal
    people: int
    every: int | None
    opens: str | None
    slice_days: int
    created: datetime
    questions: tuple[SiteQuestion, ...]

    def period(self, now: datetime) -> str | None:
        """Return when the period that goes on began, as a survey's document has it; None without periods."""
        opens = parse_time(self.opens)
        if opens is None or self.every is None:
            return None
        passed = max(0, (now - opens).days // self.every)
        return f"{opens + timedelta(days=passed * self.every):%Y-%m-%dT%H:%M:%SZ}"

    def largest_epsilon(self, listed: Mapping[int, ListedSurvey]) -> Decimal:
        """Return what a browser spends in a period at most: the largest ε of the questions, or of one that would come.

        `listed` has their surveys by their keys.
        """
        stated = [Decimal(listed[each.key].epsilon) for each in self.questions if each.key in listed]
        return max(stated, default=self.epsilon)

    def asked_by(self, survey_id: bytes) -> str:
        """Return what the question with this survey asks, in words; empty if it is none of the site's."""
        kinds = [KINDS[each.asks].asked for each in self.questions if each.survey_id == survey_id]
        if not kinds or len(self.questions) == 1:
            return "".join(kinds)
        return f"{kinds[0]}, unless it draws another of the site's {len(self.questions)} questions"

    def share(self, more: int = 0) -> int:
        """Return how many people a question gets, if there were so many questions more."""
        return max(1, self.people // max(1, len(self.questions) + more))


def add_site(
    store: Store,
    name: str,
    origins: Sequence[str] = ("*",),
    own: Iterable[str] | None = None,
    epsilon: object = 1,
    people: int = 10_000,
    every: int | None = 28,
    slice_days: int = 7,
) -> Site:
    """Add a site without questions, and return it. Its periods begin with today's slice.

    `own` are by default the hosts of its origins.
    """
    stated = parse_epsilon(epsilon)
    parse_people("expected_reports", people)
    if every is not None:
        check_days(every)
        check_budget(stated, every)
        if every % slice_days:
            raise ParameterError(f"every must be whole slices of {slice_days} days, got every={every}")
    row = {
        "site": secrets.token_hex(_KEY_BYTES),
        **_facts(name, origins, _hosts(origins) if own is None else own),
        "epsilon": f"{stated:f}",
        "people": people,
        "every": every,
        "opens": None if every is None else open_now(every),
        "slice_days": slice_days,
        "created": int(time.time()),
    }
    with writing(store.engine) as connection:
        connection.execute(insert(sites).values(**row))
    return find_site(store.engine, str(row["site"]))


def list_sites(engine: Engine, site: str | None = None) -> list[Site]:
    """Return all sites, the oldest first, or that of a key. Costs two queries."""
    mine = [] if site is None else [sites.c.site == site]
    asked = select(questions, surveys.c.survey_id).join(surveys, surveys.c.key == questions.c.survey)
    asked = asked.join(sites, sites.c.key == questions.c.site).where(*mine, surveys.c.state != "deleting")
    with reading(engine) as connection:
        found = connection.execute(select(sites).where(*mine).order_by(sites.c.key)).all()
        rows = connection.execute(asked.order_by(questions.c.place, questions.c.survey)).all()
    of_site: dict[int, list[SiteQuestion]] = {}
    for row in rows:
        question = SiteQuestion(cast(Asks, row.asks), row.of, bytes(row.survey_id), row.survey)
        of_site.setdefault(row.site, []).append(question)
    return [
        Site(
            **{column: getattr(row, column) for column in ("key", "site", "name", "people", "every", "opens")},
            origins=tuple(json.loads(row.origins)),
            own=tuple(json.loads(row.own)),
            epsilon=Decimal(row.epsilon),
            slice_days=row.slice_days,
            created=datetime.fromtimestamp(row.created, UTC),
            questions=tuple(of_site.get(row.key, ())),
        )
        for row in found
    ]


def find_site(engine: Engine, site: str) -> Site:
    """Return the site of this key; UnknownSite if there is none."""
    found = list_sites(engine, site)
    if not found:
        raise _unknown()
    return found[0]


def site_asking(engine: Engine, key: int) -> Site | None:
    """Return the site that the survey with this number is a question of; None if it is a survey of its own."""
    asked = select(sites.c.site).join(questions, questions.c.site == sites.c.key).where(questions.c.survey == key)
    with reading(engine) as connection:
        site = connection.scalar(asked)
    return None if site is None else find_site(engine, site)


def change_site(store: Store, site: str, name: str, origins: Sequence[str], own: Iterable[str]) -> Site:
    """Replace the name, the origins and the own hosts of a site. The surveys of its questions get its origins."""
    facts = _facts(name, origins, own)
    with writing(store.engine) as connection:
        key = _lock(connection, site)
        connection.execute(update(sites).where(sites.c.key == key).values(**facts))
        mine = select(questions.c.survey).where(questions.c.site == key)
        connection.execute(update(surveys).where(surveys.c.key.in_(mine)).values(origins=facts["origins"]))
    return _forgotten(store, site)


def ask(store: Store, site: str, asks: Asks, of: str, survey: Survey, names: SurveyNames = NO_NAMES) -> StoredSurvey:
    """Add a question with a new survey, which has no periods or those of the site."""
    found = find_site(store.engine, site)
    _check_fits(found, survey, asks)
    also = _attach(site, asks, check_of(asks, of))
    return store.add_survey(survey, found.origins, found.slice_days, names, also)


def ask_existing(store: Store, site: str, asks: Asks, of: str, stored: StoredSurvey) -> None:
    """Make a stored survey a question of a site. From now on it has the site's origins."""
    found = find_site(store.engine, site)
    _check_fits(found, stored.survey, asks)
    with writing(store.engine) as connection:
        if connection.scalar(select(questions.c.site).where(questions.c.survey == stored.key)) is not None:
            raise ParameterError("a survey must be a question of one site at most, got one that is already")
        change = update(surveys).where(surveys.c.key == stored.key, surveys.c.state != "deleting")
        if not connection.execute(change.values(origins=json.dumps(found.origins))).rowcount:
            raise unknown_survey(stored.survey_id)
        _attach(site, asks, check_of(asks, of))(connection, stored.key)
    store.forget_state(stored.survey_id)


def in_place_of(old: StoredSurvey) -> Callable[[Connection, int], None]:
    """Return what puts a new survey at the place of another one, if that is a question of a site."""

    def replace(connection: Connection, key: int) -> None:
        """Take the place, in the caller's transaction."""
        connection.execute(update(questions).where(questions.c.survey == old.key).values(survey=key))

    return replace


def remove_question(store: Store, site: str, survey_id: bytes) -> None:
    """Ask a question no longer. Its survey stays as it is."""
    with writing(store.engine) as connection:
        key = _lock(connection, site)
        survey = select(surveys.c.key).where(surveys.c.survey_id == survey_id).scalar_subquery()
        mine = (questions.c.site == key, questions.c.survey == survey)
        if not connection.execute(delete(questions).where(*mine)).rowcount:
            raise unknown_survey(survey_id)


def order_questions(store: Store, site: str, survey_ids: Sequence[bytes]) -> Site:
    """Put the questions of a site in this order; all of them must be named once."""
    with writing(store.engine) as connection:
        key = _lock(connection, site)
        asked = select(surveys.c.survey_id, questions.c.survey).join(surveys, surveys.c.key == questions.c.survey)
        known = {bytes(row.survey_id): row.survey for row in connection.execute(asked.where(questions.c.site == key))}
        if sorted(survey_ids) != sorted(known):
            raise ParameterError(
                f"surveys must name each of the {len(known)} questions once, got {len(survey_ids)} names"
            )
        for place, survey_id in enumerate(survey_ids):
            mine = questions.c.survey == known[survey_id]
            connection.execute(update(questions).where(mine).values(place=place))
    return find_site(store.engine, site)


def delete_site(store: Store, site: str) -> tuple[bytes, ...]:
    """Delete a site; return the surveys of its questions, which stay as they are."""
    found = find_site(store.engine, site)
    with writing(store.engine) as connection:
        key = _lock(connection, site)
        connection.execute(delete(questions).where(questions.c.site == key))
        connection.execute(delete(reader_sites).where(reader_sites.c.site == key))
        connection.execute(delete(sites).where(sites.c.key == key))
    return tuple(each.survey_id for each in found.questions)


def manifest(engine: Engine, site: str, now: datetime) -> bytes | None:
    """Return what browsers read of a site: its questions that take reports now, as canonical JSON. Costs one query.

    None if there is no such site, or it asks nothing now.
    """
    facts = (surveys.c.survey_id, surveys.c.state, surveys.c.damage, surveys.c.summary)
    asked = select(questions.c.asks, questions.c.of, sites.c.own, *facts).join(sites, sites.c.key == questions.c.site)
    asked = asked.join(surveys, surveys.c.key == questions.c.survey).where(sites.c.site == site)
    with reading(engine) as connection:
        rows = connection.execute(asked.order_by(questions.c.place, questions.c.survey)).all()
    shown_now = []
    for row in rows:
        told = json.loads(row.summary)
        survey = SurveyRow(
            key=0,
            survey_id=bytes(row.survey_id),
            origins=(),
            opens=parse_time(told.get("opens")),
            closes=parse_time(told.get("closes")),
            closed=row.state != "open",
            damage=row.damage or ("" if told else "it could not be read"),
            earlier=row.state == "earlier",
            slice_days=0,
        )
        if survey.state(now) == "open":
            of = {"of": row.of} if row.of else {}
            shown_now.append({"asks": row.asks, **of, "survey": survey.survey_id.hex()})
    if not shown_now:
        return None
    document = {"own": json.loads(rows[0].own), "questions": shown_now, "site": site, "version": 1}
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _facts(name: str, origins: Sequence[str], own: Iterable[str]) -> dict[str, Any]:
    """Return the columns of what an owner may change."""
    if not isinstance(name, str) or not name.strip() or len(name) > _MOST_NAME:
        raise ParameterError(f"name must have 1 to {_MOST_NAME} characters, got name={shown(name)}")
    spelled = []
    for each in own:
        host = NORMALIZATIONS["hostnames-2"](each)
        if host is None:
            raise ParameterError(f"own must be host names such as example.org, got {shown(each)}")
        spelled.append(host)
    if len(spelled) > _MOST_OWN:
        raise ParameterError(f"own must be at most {_MOST_OWN} hosts, got {len(spelled)}")
    hosts = json.dumps(list(dict.fromkeys(spelled)), ensure_ascii=False)
    return {"name": name.strip(), "origins": json.dumps(list(dict.fromkeys(origins)) or ["*"]), "own": hosts}


def _hosts(origins: Iterable[str]) -> list[str]:
    """Return the hosts of origins."""
    return [each for each in origins if each != "*"]


def _check_fits(site: Site, survey: Survey, asks: Asks) -> None:
    """Raise ParameterError unless pages of the site can answer this survey in the periods of the site."""
    if not fits_script(survey.domain, survey.mechanism, float(survey.epsilon)):
        raise ParameterError(
            "a question of a site must be a list (with the mechanism subset) or coded text (with tree), with ε of at "
            f"most 4, got {survey.mechanism} with ε = {survey.epsilon:f}"
        )
    opens = parse_time(site.opens)
    if asks == "goal" and site.every is None:
        raise ParameterError("a goal must be asked by a site with periods: it is sent in the next one, got every=None")
    if survey.crowd is not None:
        raise ParameterError("a question of a site must take reports from browsers, got a survey through a relay")
    if survey.every != site.every:
        raise ParameterError(
            f"a question must have the periods of its site, every={site.every}, got every={survey.every}"
        )
    if opens is not None and survey.opens is not None and (survey.opens - opens).days % (site.every or 1):
        raise ParameterError(
            f"a question must have the periods of its site, which begin at {site.opens}, "
            f"got opens={survey.opens:%Y-%m-%d}"
        )


def _attach(site: str, asks: Asks, of: str) -> Callable[[Connection, int], None]:
    """Return what makes a survey the last question of a site."""

    def attach(connection: Connection, survey: int) -> None:
        """Add the row, in the caller's transaction."""
        key = _lock(connection, site)
        mine = questions.c.site == key
        if (count := connection.scalar(select(func.count()).where(mine)) or 0) >= MOST_QUESTIONS:
            raise ParameterError(f"a site must have at most {MOST_QUESTIONS} questions, got {count + 1}")
        same = select(questions.c.survey).where(mine, questions.c.asks == asks, questions.c.of == of)
        if connection.scalar(same) is not None:
            got = f"{asks} {shown(of)}" if of else asks
            raise ParameterError(f"a site must ask each question once, got {got} twice")
        place = connection.scalar(select(func.coalesce(func.max(questions.c.place), -1)).where(mine)) or 0
        connection.execute(insert(questions).values(survey=survey, site=key, place=place + 1, asks=asks, of=of))

    return attach


def _lock(connection: Connection, site: str) -> int:
    """Return the number of a site, and let others that change it wait."""
    key: int | None = connection.scalar(select(sites.c.key).where(sites.c.site == site).with_for_update())
    if key is None:
        raise _unknown()
    return key


def _forgotten(store: Store, site: str) -> Site:
    """Return the site, after its surveys were forgotten, so that they are read again."""
    found = find_site(store.engine, site)
    for each in found.questions:
        store.forget_state(each.survey_id)
    return found


def _unknown() -> UnknownSite:
    """Return the error to raise when there is no site of a key."""
    return UnknownSite("there is no site with this key")
