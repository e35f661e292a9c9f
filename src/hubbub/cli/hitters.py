"""`hubbub hitters`: the values that stand out in the reports to a survey."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.answers import Found, show, to_json
from hubbub.cli.common import AllCandidates, AsJSON, HittersOnly, Level, command, print_json
from hubbub.cli.service import SurveyURL, Token, ask, ask_json, need_token, parse_survey_url
from hubbub.errors import ServiceError

if TYPE_CHECKING:
    from hubbub.model.estimates import Answer


@command
def hitters(
    url: SurveyURL,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Values named in advance, one a line: they stand out from a smaller count on."
        ),
    ] = None,
    all_candidates: AllCandidates = False,
    hitters_only: HittersOnly = False,
    top: Annotated[int, typer.Option(help="At most this many values.", min=1, max=10_000)] = 20,
    level: Level = 0.05,
    token: Token = None,
    as_json: AsJSON = False,
) -> None:
    """Ask a collector which values many people hold. The answer is from all reports that it has acknowledged.

    \b
    hubbub hitters --survey http://127.0.0.1:8000/v1/surveys/ID
    hubbub hitters --survey http://127.0.0.1:8000/v1/surveys/ID --candidates sites.txt
    """  # noqa: D301
    from hubbub.cli.domains import read_candidates
    from hubbub.mechanisms.registry import load_survey

    started = time.perf_counter()
    named = read_candidates(candidates, all_candidates)
    address = parse_survey_url(url)
    survey = load_survey(ask(address.server, f"/v1/surveys/{address.survey_id}"))
    if survey.survey_id.hex() != address.survey_id:
        raise ServiceError("the collector sent another survey than the one in the address")
    path = f"/v1/surveys/{address.survey_id}/hitters"
    if named is None:
        form = "&hitters_only=true" if hitters_only else ""
        document = ask_json(address.server, f"{path}?top={top}&level={level}{form}", need_token(token))
    else:
        asked = {"candidates": named, "all_candidates": all_candidates, "top": top, "level": level}
        document = ask_json(address.server, path, need_token(token), "POST", asked)
    found = Found(survey, read_answer(document), None, time.perf_counter() - started)
    if as_json:
        print_json(to_json(found))
    elif not found.answer.reports:
        typer.echo("No reports yet.")
    else:
        show(found, top)


def read_answer(document: Mapping[str, Any]) -> Answer:
    """Return the answer that is in a collector's JSON document."""
    from hubbub.model.estimates import Answer, Hitter

    limit = document["detection_limit"]
    return Answer(
        document["reports"],
        math.inf if limit is None else limit,
        tuple(Hitter(**hitter) for hitter in document["hitters"]),
        document["candidate_limit"],
        document["long_limit"],
        whole_list=document["whole_list"],
    )
