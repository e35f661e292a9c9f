"""The routes about sites: what browsers read, and how the owner makes and changes them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hubbub.analysis.naming import spell_names
from hubbub.analysis.question import SurveyNames
from hubbub.analysis.ready_made import check_of, domain_of, pages_of_sitemap, title_of, usual_names
from hubbub.collector.owner_route import Owner, OwnerRoute, owner_router
from hubbub.collector.problems import EVERY_PAGE, refusals
from hubbub.collector.site_documents import (
    ChangedSite,
    ChangedSiteStatus,
    ExistingQuestion,
    Manifest,
    NewQuestion,
    NewSite,
    Order,
    SiteList,
    SiteStatus,
    site_document,
)
from hubbub.collector.state import Collector
from hubbub.collector.uploads import PlainRoute
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import create_survey
from hubbub.model.domain import Categories
from hubbub.model.survey import Survey
from hubbub.store.life_cycle import close_survey, delete_survey
from hubbub.store.overview import ListedSurvey, list_surveys
from hubbub.store.sites import (
    Site,
    add_site,
    ask,
    ask_existing,
    change_site,
    delete_site,
    find_site,
    list_sites,
    manifest,
    order_questions,
    remove_question,
)
from hubbub.store.slices import SLICE_DAYS
from hubbub.store.store import Store

_HOUR: Final = "public, max-age=3600"
_SOON: Final = "public, max-age=300"
_LONGEST_NAME: Final = 100
_UNKNOWN: Final = refusals({404: "There is no such site, or no such question."})


async def get_manifest(request: Request) -> Response:
    """Return the questions of a site that take reports now: the same bytes for everybody.

    Without any, the reply is empty, with 204: a status of 4xx would be an error in a visitor's console.
    """
    collector: Collector = request.app.state.collector
    engine, site = collector.store.engine, request.path_params["site"]
    document = await asyncio.to_thread(manifest, engine, site, collector.clock.now())
    headers = {**EVERY_PAGE, "Cross-Origin-Resource-Policy": "cross-origin", "X-Content-Type-Options": "nosniff"}
    if document is None:
        return Response(status_code=204, headers={**headers, "Cache-Control": _SOON})
    tag = f'"{hashlib.sha256(document).hexdigest()[:32]}"'
    headers |= {"Cache-Control": _HOUR, "ETag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(document, media_type="application/json", headers=headers)


router = owner_router(OwnerRoute, "/v1/sites")


@router.post("", status_code=201)
def create(new: NewSite, owner: Owner, response: Response) -> ChangedSiteStatus:
    """Create a site, with questions if some are given. Each gets its part of the people that are expected."""
    site, said = make_site(owner.store, new, owner.clock.now())
    response.headers["Location"] = f"/v1/sites/{site.site}"
    return _document(owner, site, said)


@router.get("")
def list_all(owner: Owner) -> SiteList:
    """List all sites with their questions, the oldest first."""
    listed, now = _listed(owner), owner.clock.now()
    return SiteList(sites=[site_document(each, listed, now) for each in list_sites(owner.store.engine)])


@router.get("/{site}/status", responses=_UNKNOWN)
def show(site: str, owner: Owner) -> SiteStatus:
    """Show one site with its questions, and how many reports each has."""
    return _document(owner, find_site(owner.store.engine, site))


@router.patch("/{site}", responses=_UNKNOWN)
def change(site: str, changed: ChangedSite, owner: Owner) -> SiteStatus:
    """Change the name, the origins or the own hosts of a site. Its line of script stays the same."""
    old = find_site(owner.store.engine, site)
    given = (changed.name, changed.origins, changed.own)
    facts = [now if then is None else then for then, now in zip(given, (old.name, old.origins, old.own), strict=True)]
    return _document(owner, change_site(owner.store, site, *facts))  # type: ignore[arg-type]  # of three types


@router.delete("/{site}", status_code=204, responses=_UNKNOWN)
async def delete(
    site: str,
    owner: Owner,
    surveys: Annotated[
        Literal["keep", "close", "delete"], Query(description="What becomes of the surveys of its questions.")
    ] = "keep",
) -> None:
    """Delete a site. Its surveys stay as they are, unless they are to be closed or deleted, too."""
    await owner.compute(lambda: end_site(owner.store, site, surveys))
    owner.purge_soon()


@router.post("/{site}/questions", status_code=201, responses=_UNKNOWN)
def add(site: str, new: NewQuestion, owner: Owner) -> ChangedSiteStatus:
    """Add a question: a survey with the values that fit its kind, and with the periods of the site."""
    found = find_site(owner.store.engine, site)
    said = add_question(owner.store, found, new, found.share(1), owner.clock.now())
    return _document(owner, find_site(owner.store.engine, site), said)


@router.put("/{site}/questions", responses=_UNKNOWN)
def order(site: str, wanted: Order, owner: Owner) -> SiteStatus:
    """Put the questions of a site in another order, for lists and pages; browsers draw each with the same chance."""
    return _document(owner, order_questions(owner.store, site, [bytes.fromhex(each) for each in wanted.surveys]))


@router.post("/{site}/surveys", status_code=201, responses=_UNKNOWN)
async def adopt(site: str, given: ExistingQuestion, owner: Owner) -> SiteStatus:
    """Make a survey a question of a site. It must have the site's periods, and gets the site's origins."""
    stored = await owner.find(given.survey)

    def work() -> SiteStatus:
        """Store it, in a thread."""
        ask_existing(owner.store, site, given.asks, given.of, stored)
        return _document(owner, find_site(owner.store.engine, site))

    return await asyncio.to_thread(work)


@router.delete("/{site}/questions/{survey_id}", status_code=204, responses=_UNKNOWN)
async def remove(site: str, survey_id: str, owner: Owner) -> None:
    """Ask a question no longer. Its survey stays as it is, with its answer."""
    stored = await owner.find(survey_id)
    await asyncio.to_thread(remove_question, owner.store, site, stored.survey_id)


def make_site(store: Store, new: NewSite, now: datetime) -> tuple[Site, list[str]]:
    """Create a site with its questions, or nothing at all; return it, and sentences about names."""
    said: list[str] = []
    facts = (new.name, new.origins, new.own, new.epsilon, new.expected_reports, new.every, SLICE_DAYS[new.slice])
    site = add_site(store, *facts)
    try:
        for question in new.questions:
            said += add_question(store, site, question, site.share(len(new.questions)), now)
    except BaseException:
        end_site(store, site.site, "delete")
        raise
    return find_site(store.engine, site.site), said


def add_question(store: Store, site: Site, new: NewQuestion, people: int, now: datetime) -> tuple[str, ...]:
    """Add a question that gets so many people; return sentences about its names."""
    survey = survey_of(site, new, people, now)
    listed = survey.domain.is_list or isinstance(survey.domain, Categories)
    given = new.names if listed else [*new.names, *usual_names(new.asks)]
    names, said = spell_names(survey.domain, given)
    ask(store, site.site, new.asks, new.of, survey, SurveyNames(names))
    return said


def survey_of(site: Site, new: NewQuestion, people: int, now: datetime) -> Survey:
    """Return the survey of a question. Its list is the only one that the public list of names does not extend."""
    of = check_of(new.asks, new.of)
    values = list(new.values)
    if new.sitemap is not None:
        if new.asks != "path":
            raise ParameterError(f"sitemap must be for entry pages, got one for {new.asks}")
        values += pages_of_sitemap(new.sitemap)
    domain = domain_of(new.asks, values, new.answers)
    name = new.name or f"{site.name}: {title_of(new.asks, of).lower()}"[:_LONGEST_NAME]
    epsilon = site.epsilon if new.epsilon is None else new.epsilon
    mechanism = "subset" if isinstance(domain, Categories) else "tree"
    opens = site.period(now)
    return create_survey(name, domain, epsilon, None, mechanism, None, people, opens, every=site.every)


def end_site(store: Store, site: str, surveys: str) -> None:
    """Delete a site, and keep, close or delete its surveys."""
    kept: Sequence[bytes] = delete_site(store, site)
    for survey_id in () if surveys == "keep" else kept:
        if surveys == "delete":
            delete_survey(store, survey_id)
        else:
            close_survey(store, survey_id)


def _listed(owner: Collector) -> dict[int, ListedSurvey]:
    """Return all surveys by their keys."""
    return {each.key: each for each in list_surveys(owner.store.engine)}


def _document(owner: Collector, site: Site, sentences: Sequence[str] = ()) -> ChangedSiteStatus:
    """Return a site as its owner sees it now."""
    return site_document(site, _listed(owner), owner.clock.now(), sentences)


ROUTES: Final = [
    PlainRoute(
        "/v1/sites/{site}",
        get_manifest,
        methods=["GET"],
        tags=["everybody"],
        summary="Read the questions of a site that take reports now",
        response_model=Manifest,
        response_description="Canonical JSON, the same for everybody.",
        responses={
            204: {"description": "There is no such site, or it asks nothing now."},
            **refusals({503: "The store cannot be reached."}),
        },
        openapi_extra={"parameters": [{"name": "site", "in": "path", "required": True, "schema": {"type": "string"}}]},
    ),
]
