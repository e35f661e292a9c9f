"""`hubbub hitters`: the values that stand out in the reports to a survey."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from hubbub.cli.common import say_if_compiling
from hubbub.cli.service import ask_json, need_token, parse_survey_url, read_survey, token_option
from hubbub.cli.showing import AnswerView, Wanted, answer_options
from hubbub.errors import ParameterError, ServiceError

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
@click.option("--last", metavar="TIME", help="Only these weeks or days up to now, such as 4w; 1w is this week so far.")
@click.option("--from", "first", metavar="DATE", help="Only slices of time from this day on, such as 2026-10-05.")
@click.option("--to", "until", metavar="DATE", help="Only slices of time before this day.")
@answer_options
@token_option
def hitters(
    source: str,
    tally: str | None,
    last: str | None,
    first: str | None,
    until: str | None,
    token: str | None,
    wanted: Wanted,
) -> None:
    """Ask a collector which values many people hold. The answer uses all reports that it has acknowledged.

    With --last, --from or --to it uses the reports of these slices of time: weeks from Monday on, in UTC, or days.

    \b
    hubbub hitters --survey http://127.0.0.1:8000/v1/surveys/ID
    hubbub hitters --survey http://127.0.0.1:8000/v1/surveys/ID --candidates sites.txt
    hubbub hitters --survey http://127.0.0.1:8000/v1/surveys/ID --last 4w
    hubbub hitters --tally week.tally --survey survey.json
    """  # noqa: D301
    started = time.perf_counter()
    wanted.check([source, tally])
    times = {name: text for name, text in (("from", first), ("to", until), ("last", last)) if text is not None}
    if tally is not None and times:
        raise ParameterError(f"--{next(iter(times))} must come without --tally, which is of one time, got both")
    if tally is None:
        parse_survey_url(source)  # a file alone does not say which collector to ask

    @cache
    def survey() -> Survey:
        """Read the survey when it is first needed."""
        return read_survey(source, build=tally is not None)

    question = wanted.question()
    if tally is None:
        heading, answer = ask_hitters(source, question, need_token(token), times)
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


def ask_hitters(
    url: str, question: Question, token: str, times: Mapping[str, str] = MappingProxyType({})
) -> tuple[Heading, Answer]:
    """Ask the collector of a survey's address, and return what is in its JSON document.

    `times` has `from`, `to` or `last`, if only some slices of time are asked for.
    """
    from hubbub.analysis.reply import from_reply

    address = parse_survey_url(url)
    path = f"/v1/surveys/{address.survey_id}/hitters"
    knobs = question.knobs
    if question.candidates is None and isinstance(question.groups, str):
        spelled = {name: str(value).lower() for name, value in knobs.items() if name != "candidates"} | dict(times)
        document = ask_json(address.server, f"{path}?{urlencode(spelled)}", token)
    else:
        document = ask_json(address.server, f"{path}?{urlencode(times)}", token, "POST", knobs)
    try:
        survey_id, heading, answer = from_reply(document)
    except (KeyError, TypeError, AttributeError):
        raise ServiceError(f"the server at {address.server!r} sent something else than an answer") from None
    if survey_id != address.survey_id:
        raise ServiceError("the collector sent the answer of another survey than the one in the address")
    return heading, answer
