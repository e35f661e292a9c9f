"""The owner's forms: a new survey, its names, closing and deleting."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from hubbub.analysis.naming import groups_of_lines
from hubbub.analysis.question import SurveyNames
from hubbub.collector.bodies import read_body
from hubbub.collector.state import Collector
from hubbub.dashboard.access import for_owner
from hubbub.dashboard.new_survey import MAX_NAMES, PERIODS, forecast, parse_form, privacy_choices
from hubbub.dashboard.pages import find_survey, survey_facts
from hubbub.dashboard.rendering import HEADERS, render
from hubbub.dashboard.words import visible
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import create_survey
from hubbub.model.relayed import MOST_DAYS_OPEN
from hubbub.store.life_cycle import close_survey, delete_survey
from hubbub.store.names import change_names, names_of
from hubbub.store.sealing_keys import new_key
from hubbub.store.sites import in_place_of, site_asking
from hubbub.store.slices import open_now
from hubbub.store.store import StoredSurvey


async def show_form(request: Request) -> Response:
    """Show the form of a new survey."""
    return _form(request, {})


async def create(request: Request) -> Response:
    """Create a survey from the form, and go to its page. An error is shown next to the form."""
    collector: Collector = request.app.state.collector
    given = await read_form(request)

    def make() -> StoredSurvey:
        """Derive the survey and store it, in a thread."""
        wanted = parse_form(given)
        return collector.store.add_survey(wanted.survey(), wanted.origins, wanted.slice_days, wanted.names)

    try:
        stored = await asyncio.to_thread(make)
    except ParameterError as error:
        return _form(request, given, str(error), 422)
    return RedirectResponse(f"/surveys/{stored.survey_id.hex()}", 303, HEADERS)


async def preview(request: Request) -> Response:
    """Return the forecast for the survey of this form, as JSON. At most two run at once; abandoned ones are skipped."""
    given = await read_form(request)

    def work() -> dict[str, Any]:
        """Ask the planner, in a thread."""
        wanted = parse_form({**given, "name": given.get("name") or "a survey"})
        return forecast(wanted.domain, wanted.epsilon, wanted.mechanism, wanted.people, wanted.every)

    try:
        async with request.app.state.forecasting:
            if await request.is_disconnected():
                return Response(status_code=204, headers=HEADERS)  # nobody reads it
            return JSONResponse(await asyncio.to_thread(work), headers=HEADERS)
    except ParameterError as error:
        return JSONResponse({"complaint": str(error)}, headers=HEADERS)


async def keep_names(request: Request) -> Response:
    """Store the values that the owner looks for by name, and groups; return them and what became of the lines."""
    collector: Collector = request.app.state.collector
    stored = await find_survey(request)
    given = await read_form(request)
    lines = given["names"].splitlines() if "names" in given else None
    groups = groups_of_lines(given["together"].splitlines()) if "together" in given else None
    names, said = await asyncio.to_thread(change_names, collector.store.engine, stored, lines, groups)
    return JSONResponse({**names._asdict(), "sentences": said}, headers=HEADERS)


async def close(request: Request) -> Response:
    """Close a survey."""
    collector: Collector = request.app.state.collector
    stored = await find_survey(request)
    await collector.compute(lambda: close_survey(collector.store, stored.survey_id))
    collector.purge_soon()
    return RedirectResponse(f"/surveys/{stored.survey_id.hex()}", 303, HEADERS)


async def ask_again(request: Request) -> Response:
    """Make the next survey from one that is over: the same question with a new seed, and so a new id."""
    collector: Collector = request.app.state.collector
    stored = await find_survey(request)

    def make() -> StoredSurvey:
        """Derive the survey and store it, in a thread."""
        old, kept = stored.survey, names_of(collector.store.engine, stored)
        site = site_asking(collector.store.engine, stored.key)
        alone = None if old.every is None else open_now(old.every)
        opens = alone if site is None else site.period(collector.clock.now())
        asked = (old.name, old.domain, old.epsilon, old.delta, old.mechanism, old.options, old.expected_reports, opens)
        names = SurveyNames((*kept.fixed, *kept.later), groups=kept.groups)
        if old.crowd is None:
            made = create_survey(*asked, every=old.every)
            kept_facts = (stored.origins, stored.slice_days, names, in_place_of(stored))
            return collector.store.add_survey(made, *kept_facts)
        private, sealed = new_key(old.crowd)  # a new key, and as long as such a survey may be open
        closes = collector.clock.now() + timedelta(days=MOST_DAYS_OPEN)
        made = create_survey(*asked, closes, every=old.every, **sealed)
        return collector.store.add_survey(made, stored.origins, stored.slice_days, names, private=private)

    made = await asyncio.to_thread(make)
    return RedirectResponse(f"/surveys/{made.survey_id.hex()}", 303, HEADERS)


async def delete(request: Request) -> Response:
    """Delete a survey if its name was typed; else ask again."""
    collector: Collector = request.app.state.collector
    stored = await find_survey(request)
    typed = (await read_form(request)).get("name", "")
    if typed.strip() not in (stored.survey.name.strip(), visible(stored.survey.name).strip()):
        return await _ask(request, "delete.html", "That is not the survey's name.", 422)
    await collector.compute(lambda: delete_survey(collector.store, stored.survey_id))
    collector.purge_soon()
    return RedirectResponse("/", 303, HEADERS)


def _form(request: Request, given: dict[str, str], complaint: str = "", status: int = 200) -> Response:
    """Show the form, with its fields filled in and an error message."""
    facts = {"owner": True, "given": given, "complaint": complaint, "epsilons": privacy_choices(), "most": MAX_NAMES}
    facts["periods"] = PERIODS
    return render(request, "new.html", facts, status)


async def _ask(request: Request, template: str, complaint: str = "", status: int = 200) -> Response:
    """Show a page that asks the owner whether the survey is to be closed, or deleted: then its name must be typed."""
    stored = await find_survey(request)
    facts = await asyncio.to_thread(survey_facts, request, stored)
    return render(request, template, {"owner": True, "survey": facts, "complaint": complaint}, status)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that was sent; of a field that came twice, the last one."""
    return {name: values[-1] for name, values in (await read_fields(request)).items()}


async def read_fields(request: Request, most: int = 50) -> dict[str, list[str]]:
    """Return the fields of a form that was sent, each with all that came under its name."""
    collector: Collector = request.app.state.collector
    with collector.owner_budget.room() as reading:
        body = await read_body(request.scope, request.receive, collector.owner_budget, reading)
    try:
        return parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=most, errors="strict")
    except ValueError:
        raise ParameterError("a form must be URL-encoded, got something else") from None


_SURVEY: Final = "/surveys/{survey_id}"
ROUTES: Final = [
    Route(path, for_owner(page), methods=[method], include_in_schema=False)
    for method, path, page in (
        ("GET", "/new", show_form),
        ("POST", "/new", create),
        ("POST", "/new/preview", preview),
        ("POST", f"{_SURVEY}/names", keep_names),
        ("GET", f"{_SURVEY}/close", partial(_ask, template="close.html")),
        ("POST", f"{_SURVEY}/close", close),
        ("POST", f"{_SURVEY}/again", ask_again),
        ("GET", f"{_SURVEY}/delete", partial(_ask, template="delete.html")),
        ("POST", f"{_SURVEY}/delete", delete),
    )
]
