"""`hubbub hitters`: the values that stand out in the reports to a survey."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from hubbub.cli.common import say_if_compiling
from hubbub.cli.service import ask_json, need_token, parse_survey_url, read_survey, token_option
from hubbub.cli.showing import AnswerView, Wanted, answer_options
from hubbub.errors import ServiceError

if TYPE_CHECKING:
    from hubbub.analysis.answer import Answer
    from hubbub.analysis.question import Question
    from hubbub.analysis.reply import Heading
    from hubbub.model.survey import Survey


@click.command
@click.option(
    "--survey",
    "source",
    required=True,
    metavar="URL",
    help="The survey's address, as `survey new` printed it; with --tally also a file.",
)
@click.option("--tally", metavar="FILE", help="Answer from this tally, here, instead of asking a collector.")
@answer_options
@token_option
def hitters(source: str, tally: str | None, token: str | None, wanted: Wanted) -> None:
    """Ask a collector which values many people hold. The answer uses all reports that it has acknowledged.

    \b
    hubbub hitters --survey http://127.0.0.1:8000/v1/surveys/ID
    hubbub hitters --survey http://127.0.0.1:8000/v1/surveys/ID --candidates sites.txt
    hubbub hitters --tally week.tally --survey survey.json
    """  # noqa: D301
    started = time.perf_counter()
    wanted.check([source, tally])
    if tally is None:
        parse_survey_url(source)  # a file alone does not say which collector to ask

    @cache
    def survey() -> Survey:
        """Read the survey when it is first needed."""
        return read_survey(source, build=tally is not None)

    question = wanted.question()
    if tally is None:
        heading, answer = ask_hitters(source, question, need_token(token))
    else:
        heading, answer = _answer(survey(), tally, question)
    if not answer.reports and not answer.hitters and not wanted.as_json:
        click.echo("No reports yet.")
    else:
        wanted.deliver(AnswerView(heading, survey, answer, None, time.perf_counter() - started), question)


def _answer(survey: Survey, file: str, question: Question) -> tuple[Heading, Answer]:
    """Answer from a tally, in this process."""
    from hubbub.analysis.asking import answer_question
    from hubbub.analysis.reply import Heading
    from hubbub.mechanisms.registry import mechanism_for
    from hubbub.wire.tally_file import read_tally

    asked, sums = question.about(survey.domain), read_tally(file, survey)
    mechanism = mechanism_for(survey)
    say_if_compiling(mechanism)
    return Heading.of(survey), answer_question(mechanism, sums, asked)


def ask_hitters(url: str, question: Question, token: str) -> tuple[Heading, Answer]:
    """Ask the collector of a survey's address, and return what is in its JSON document."""
    from hubbub.analysis.reply import from_reply

    address = parse_survey_url(url)
    path = f"/v1/surveys/{address.survey_id}/hitters"
    knobs = question.knobs
    if question.candidates is None:
        spelled = {name: str(value).lower() for name, value in knobs.items() if "candidates" not in name}
        document = ask_json(address.server, f"{path}?{urlencode(spelled)}", token)
    else:
        del knobs["hitters_only"], knobs["names"]
        document = ask_json(address.server, path, token, "POST", knobs)
    try:
        survey_id, heading, answer = from_reply(document)
    except (KeyError, TypeError, AttributeError):
        raise ServiceError(f"the server at {address.server!r} sent something else than an answer") from None
    if survey_id != address.survey_id:
        raise ServiceError("the collector sent the answer of another survey than the one in the address")
    return heading, answer
