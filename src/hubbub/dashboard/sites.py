"""The pages of sites: a form, the line to paste, the questions with their largest values, and their changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Any, Final

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from hubbub.analysis.ready_made import KINDS, MOST_QUESTIONS, MOST_VALUES
from hubbub.analysis.wording import number, plural
from hubbub.collector.scripts import shipped
from hubbub.collector.site_documents import NewQuestion, NewSite
from hubbub.collector.sites import add_question, end_site, make_site, survey_of
from hubbub.collector.state import Collector, parse_id
from hubbub.dashboard.access import base_url, for_owner
from hubbub.dashboard.forms import read_fields, read_form
from hubbub.dashboard.new_survey import EPSILONS, PERIODS, forecast, origins_of, people_of, privacy_choices
from hubbub.dashboard.rendering import HEADERS, render
from hubbub.dashboard.site_cards import SiteCards
from hubbub.dashboard.words import even_guess, visible
from hubbub.errors import ParameterError
from hubbub.model.repeating import days_words
from hubbub.store.daily import reports_by_day
from hubbub.store.overview import list_surveys
from hubbub.store.sites import Site, change_site, find_site, order_questions, remove_question
from hubbub.store.slices import date_of

FIRST: Final = ("referrer", "path", "device")
"""What a new site asks unless its owner chooses otherwise."""

SIMPLE: Final = ("referrer", "path", "device", "campaign", "language", "zone")
"""What a new site can ask without more details."""

_HERE: Final = ("http://localhost", "http://127.0.0.1", "http://[::1]")


async def show_form(request: Request) -> Response:
    """Show the form of a new site."""
    return _form(request, {"asks": list(FIRST)})


async def create(request: Request) -> Response:
    """Create a site from the form, and go to its page. An error is shown next to the form."""
    collector: Collector = request.app.state.collector
    given = await read_fields(request)

    def make() -> Site:
        """Derive the surveys and store them, in a thread."""
        return make_site(collector.store, parse_site(given), collector.clock.now())[0]

    try:
        site = await asyncio.to_thread(make)
    except ParameterError as error:
        return _form(request, given, str(error), 422)
    return RedirectResponse(f"/sites/{site.site}", 303, HEADERS)


async def show_site(
    request: Request, given: Mapping[str, str] | None = None, complaint: str = "", status: int = 200
) -> Response:
    """Show a site: its line, its questions, and a form for one more, with what was wrong with the last one."""
    collector: Collector = request.app.state.collector
    site = await _find(request)
    facts = await asyncio.to_thread(_facts, collector, site)
    shown = {
        "owner": True,
        "site": facts,
        "base": base_url(request),
        "script": shipped()["hubbub.js"],
        "kinds": KINDS,
        "epsilons": privacy_choices(),
        "most": MOST_VALUES,
        "given": given or {},
        "complaint": complaint,
    }
    return render(request, "site.html", shown, status)


async def show_tops(request: Request) -> Response:
    """Return the largest values of each question, as HTML that a script puts into a card."""
    cards: SiteCards = request.app.state.site_cards
    return render(request, "site_tops.html", {"tops": await cards.tops(await _find(request))})


async def show_state(request: Request) -> Response:
    """Return the number of reports, as JSON; a page asks for it every few seconds. Reads no tally."""
    collector: Collector = request.app.state.collector
    site = await _find(request)

    def count() -> int:
        """Add up the counters, in a thread."""
        return sum(sum(reports_by_day(collector.store.engine, each.key).values()) for each in site.questions)

    return JSONResponse({"reports": await asyncio.to_thread(count)}, headers=HEADERS)


async def add(request: Request) -> Response:
    """Add a question from the form of a site's page."""
    collector: Collector = request.app.state.collector
    site, given = await _find(request), await read_form(request)

    def make() -> None:
        """Derive the survey and store it, in a thread."""
        add_question(collector.store, site, parse_question(given), site.share(1), collector.clock.now())

    try:
        await asyncio.to_thread(make)
    except ParameterError as error:
        return await show_site(request, given, str(error), 422)
    return _back(site)


async def preview(request: Request) -> Response:
    """Return the forecast for the question of this form, as JSON, for its part of the visitors."""
    collector: Collector = request.app.state.collector
    site, given = await _find(request), await read_form(request)

    def work() -> dict[str, Any]:
        """Ask the planner, in a thread."""
        survey = survey_of(site, parse_question(given), site.share(1), collector.clock.now())
        facts = (survey.domain, f"{survey.epsilon:f}", survey.mechanism, site.share(1), site.every)
        return forecast(*facts) | {"before": share_words(site, 1)}

    try:
        async with request.app.state.forecasting:
            if await request.is_disconnected():
                return Response(status_code=204, headers=HEADERS)  # nobody reads it
            return JSONResponse(await asyncio.to_thread(work), headers=HEADERS)
    except ParameterError as error:
        return JSONResponse({"complaint": str(error)}, headers=HEADERS)


async def change(request: Request) -> Response:
    """Change the name, the pages and the own hosts of a site."""
    collector: Collector = request.app.state.collector
    site, given = await _find(request), await read_form(request)
    own = [part for part in given.get("own", "").replace(",", " ").split() if part]
    try:
        facts = (given.get("name", ""), origins_of(given.get("site", "")), own)
        await asyncio.to_thread(change_site, collector.store, site.site, *facts)
    except ParameterError as error:
        return await show_site(request, None, str(error), 422)
    return _back(site)


async def remove(request: Request) -> Response:
    """Ask a question no longer."""
    collector: Collector = request.app.state.collector
    site, given = await _find(request), await read_form(request)
    await asyncio.to_thread(remove_question, collector.store, site.site, parse_id(given.get("survey", "")))
    return _back(site)


async def move(request: Request) -> Response:
    """Move a question up by one place."""
    collector: Collector = request.app.state.collector
    site, given = await _find(request), await read_form(request)
    ids, moved = [each.survey_id for each in site.questions], parse_id(given.get("survey", ""))
    if moved in ids[1:]:
        place = ids.index(moved)
        ids[place - 1 : place + 1] = ids[place], ids[place - 1]
        await asyncio.to_thread(order_questions, collector.store, site.site, ids)
    return _back(site)


async def ask_to_delete(request: Request, complaint: str = "", status: int = 200) -> Response:
    """Ask whether the site is to be deleted, and what becomes of its surveys."""
    collector: Collector = request.app.state.collector
    facts = await asyncio.to_thread(_facts, collector, await _find(request))
    return render(request, "site_delete.html", {"owner": True, "site": facts, "complaint": complaint}, status)


async def delete(request: Request) -> Response:
    """Delete a site if its name was typed; else ask again."""
    collector: Collector = request.app.state.collector
    site, given = await _find(request), await read_form(request)
    if given.get("name", "").strip() not in (site.name, visible(site.name).strip()):
        return await ask_to_delete(request, "That is not the site's name.", 422)
    surveys = given.get("surveys", "keep")
    if surveys not in ("keep", "close", "delete"):
        return await ask_to_delete(request, "Say what becomes of the surveys.", 422)
    await collector.compute(partial(end_site, collector.store, site.site, surveys))
    collector.purge_soon()
    return RedirectResponse("/", 303, HEADERS)


def parse_site(given: Mapping[str, list[str]]) -> NewSite:
    """Return the checked fields of the form of a new site. Raises ParameterError with a sentence for the user."""
    one = {name: values[-1] for name, values in given.items()}
    epsilon, every = one.get("epsilon", "1"), one.get("every", "28")
    if epsilon not in EPSILONS or every not in PERIODS:
        raise ParameterError("Choose how private it is, and how often each browser is asked.")
    asks = given.get("asks", [])
    if not asks or not set(asks) <= set(SIMPLE):
        raise ParameterError("Choose at least one question; others can be added on the next page.")
    if not 1 <= len(name := one.get("name", "").strip()) <= 100:
        raise ParameterError("Give the site a name of at most 100 characters.")
    return NewSite(
        name=name,
        origins=list(origins_of(one.get("site", ""))),
        own=None,
        epsilon=epsilon,
        expected_reports=people_of(one.get("people", "")),
        every=int(every) or None,
        slice="week",
        questions=[NewQuestion.model_validate({"asks": each}) for each in dict.fromkeys(asks)],
    )


def parse_question(given: Mapping[str, str]) -> NewQuestion:
    """Return the checked fields of the form of a question. Values that begin like XML are a sitemap."""
    asks = given.get("asks", "")
    if asks not in KINDS:
        raise ParameterError("Choose a question.")
    text = given.get("values", "").strip() if asks in ("path", "own") else ""
    sitemap = text if asks == "path" and text.lstrip("\ufeff").startswith("<") else None
    epsilon = given.get("epsilon", "")
    if epsilon and epsilon not in EPSILONS:
        raise ParameterError(f"Choose how private it is: ε must be one of {', '.join(EPSILONS)}.")
    facts: dict[str, Any] = {
        "asks": asks,
        "of": given.get("of", "").strip() if KINDS[asks].of else "",
        "values": [] if sitemap else [line.strip() for line in text.splitlines() if line.strip()],
        "sitemap": sitemap,
        "epsilon": epsilon or None,
        "names": [line for line in given.get("named", "").splitlines() if line.strip()] if not text else [],
    }
    try:
        return NewQuestion.model_validate(facts)
    except ValidationError as error:
        first = error.errors()[0]
        raise ParameterError(f"{first['loc'][0]}: {first['msg']}.") from None


def share_words(site: Site, more: int = 0) -> str:
    """Return how many visitors each question gets, in a sentence.

    `more` are questions that the site does not have yet.
    """
    many = len(site.questions) + more
    often = "in all" if site.every is None else f"every {days_words(site.every)}"
    expected = f"You expect {number(site.people)} visitors {often}."
    if many == 1:
        return f"{expected} The one question gets all of them."
    return f"{expected} With {plural(many, 'question')} each gets about {number(site.share(more))}."


def _facts(collector: Collector, site: Site) -> dict[str, Any]:
    """Return what the page of a site shows, without answers."""
    engine = collector.store.engine
    listed = {each.key: each for each in list_surveys(engine)}
    now = collector.clock.now()
    days: dict[int, int] = {}
    questions = []
    for each in site.questions:
        if (survey := listed.get(each.key)) is None:
            continue
        for day, reports in reports_by_day(engine, each.key).items():
            days[day] = days.get(day, 0) + reports
        questions.append(
            {
                "id": each.survey_id.hex(),
                "asks": each.asks,
                "of": each.of,
                "title": each.title,
                "sent": KINDS[each.asks].sent,
                "state": survey.state(now),
                "reports": survey.reports,
                "epsilon": survey.epsilon,
            }
        )
    largest = site.largest_epsilon(listed)
    insecure = [each for each in site.origins if each.startswith("http://") and not each.startswith(_HERE)]
    return {
        "site": site.site,
        "name": site.name,
        "origins": list(site.origins),
        "own": list(site.own),
        "every": site.every,
        "often": "once" if site.every is None else f"once every {days_words(site.every)}",
        "questions": questions,
        "open": sum(each["state"] == "open" for each in questions),
        "reports": sum(each["reports"] for each in questions),
        "first": _first_day(days),
        "share": share_words(site) if questions else "",
        "largest": f"{largest:f}",
        "after": even_guess(float(largest)),
        "insecure": insecure,
        "full": len(questions) >= MOST_QUESTIONS,
    }


def _first_day(days: Mapping[int, int]) -> date | None:
    """Return the day of the first report; None if there is none."""
    return date_of(min(days)) if days else None


def _form(request: Request, given: Mapping[str, list[str]], complaint: str = "", status: int = 200) -> Response:
    """Show the form, with its fields filled in and an error message."""
    facts = {
        "owner": True,
        "given": {name: values[-1] for name, values in given.items() if values},
        "asked": given.get("asks", []),
        "complaint": complaint,
        "epsilons": privacy_choices(),
        "periods": PERIODS,
        "kinds": {kind: KINDS[kind] for kind in SIMPLE},
    }
    return render(request, "site_new.html", facts, status)


def _back(site: Site) -> Response:
    """Go to the page of a site."""
    return RedirectResponse(f"/sites/{site.site}", 303, HEADERS)


async def _find(request: Request) -> Site:
    """Return the site that the address names."""
    collector: Collector = request.app.state.collector
    return await asyncio.to_thread(find_site, collector.store.engine, request.path_params["site"])


_SITE: Final = "/sites/{site}"
_PAGES: Final[tuple[tuple[str, str, Callable[..., Any]], ...]] = (
    ("GET", "/sites/new", show_form),
    ("POST", "/sites/new", create),
    ("GET", _SITE, show_site),
    ("GET", f"{_SITE}/tops", show_tops),
    ("GET", f"{_SITE}/state", show_state),
    ("POST", f"{_SITE}/questions", add),
    ("POST", f"{_SITE}/preview", preview),
    ("POST", f"{_SITE}/change", change),
    ("POST", f"{_SITE}/remove", remove),
    ("POST", f"{_SITE}/move", move),
    ("GET", f"{_SITE}/delete", ask_to_delete),
    ("POST", f"{_SITE}/delete", delete),
)
ROUTES: Final = [
    Route(path, for_owner(page), methods=[method], include_in_schema=False) for method, path, page in _PAGES
]
