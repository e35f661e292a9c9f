"""The status of a survey as a collector sends it: checked, with its address, and shown."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from hubbub.analysis.documents import fits
from hubbub.cli.common import number, print_json, print_table
from hubbub.cli.service import ask_json, need_token, parse_survey_url
from hubbub.errors import ServiceError
from hubbub.model.repeating import days_words

_STATUS: Final = {
    **dict.fromkeys(("survey_id", "name", "state", "mechanism", "epsilon", "delta", "slice"), str),
    **dict.fromkeys(("damage", "opens", "closes", "created"), str | None),
    **dict.fromkeys(("reports", "expected_reports"), int),
    "every": int | None,
    "origins": list,
}


def all_surveys(server: str, token: str | None) -> list[dict[str, Any]]:
    """Return the status of all surveys of a collector."""
    found = ask_json(server, "/v1/surveys", need_token(token))
    listed = found.get("surveys") if isinstance(found, dict) else None
    return [checked(server, status) for status in (listed if isinstance(listed, list) else [None])]


def checked(server: str, status: Any) -> dict[str, Any]:
    """Return the status of a survey as a server sent it. Raises ServiceError if it is something else."""
    try:
        is_status = all(fits(status[field], kind) for field, kind in _STATUS.items())
        is_status = is_status and 0 <= Decimal(status["epsilon"]) < 10**6
        ", ".join(status["origins"])
        for field in ("opens", "closes", "created"):
            if status[field] is not None and datetime.fromisoformat(status[field]).tzinfo is None:
                is_status = False
    except (KeyError, TypeError, ValueError, ArithmeticError):
        is_status = False
    if not is_status:
        raise ServiceError(f"the server at {server!r} sent something else than a survey")
    return dict(status)


def with_url(server: str, status: dict[str, Any]) -> dict[str, Any]:
    """Return the status of a survey with its address."""
    return {"url": f"{server.rstrip('/')}/v1/surveys/{status['survey_id']}", **status}


def show_status(url: str, route: str, token: str | None, method: str, as_json: bool) -> None:
    """Ask a route of a survey for its status, and print that as a table or as JSON."""
    server, survey_id = parse_survey_url(url)
    status = ask_json(server, f"/v1/surveys/{survey_id}/{route}", need_token(token), method)
    document = with_url(server, checked(server, status))
    if as_json:
        print_json(document)
        return
    texts = {
        "address": document["url"],
        "state": document["state"] + (f": {document['damage']}" if document["damage"] else ""),
        "reports": f"{number(document['reports'])} of {number(document['expected_reports'])} expected",
        "mechanism": document["mechanism"],
        "privacy": f"ε = {document['epsilon']}" + (f", δ = {document['delta']}" if document["delta"] != "0" else ""),
        "opens": document["opens"] or "at once",
        "closes": _closes(document["state"], document["closes"]),
        "repeats": f"every {days_words(document['every'])}" if document["every"] else "no",
        "origins": ", ".join(document["origins"]),
        "slices": f"each {document['slice']}",
    }
    print_table(
        document["name"],
        [("what", "left"), ("value", "left")],
        [list(pair) for pair in texts.items()],
        _figures(document),
    )


def _figures(document: dict[str, Any]) -> list[str]:
    """Return the sentences of the three figures of a survey through a relay; none for others."""
    relay = document.get("relay")
    words = relay.get("words") if isinstance(relay, dict) else None
    return [each for each in words if isinstance(each, str)] if isinstance(words, list) else []


def _closes(state: str, closes: str | None) -> str:
    """When a survey closes, or that its owner has closed it."""
    if state == "earlier version":
        return "an earlier version of hubbub made it"
    if state != "closed":
        return closes or "when you close it"
    if closes is None or datetime.fromisoformat(closes) > datetime.now(UTC):
        return "you closed it" + (f" before {closes}" if closes else "")
    return closes
