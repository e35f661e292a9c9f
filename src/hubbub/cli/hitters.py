"""`hubbub hitters`: the values that stand out in the reports to a survey."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import click

from hubbub.cli.common import say_if_compiling
from hubbub.cli.options import all_of
from hubbub.cli.service import SurveyAddress, ask_json, need_token, parse_survey_url, read_survey, token_option
from hubbub.cli.showing import AnswerView, Wanted, answer_options
from hubbub.errors import ParameterError, ServiceError

if TYPE_CHECKING:
    from hubbub.analysis.answer import Answer
    from hubbub.analysis.question import Question
    from hubbub.analysis.reply import Heading
    from hubbub.analysis.trend import Trend
    from hubbub.model.survey import Survey

T = TypeVar("T", "Answer", "Trend")

_TIMES = all_of(
    click.option(
        "--last", metavar="TIME", help="Only these weeks or days up to now, such as 4w; 1w is this week so far."
    ),
    click.option("--from", "first", metavar="DATE", help="Only slices of time from this day on, such as 2026-10-05."),
    click.option("--to", "until", metavar="DATE", help="Only slices of time before this day."),
)


def time_options(function: Callable[..., None]) -> Callable[..., None]:
    """Options for a range of slices; the function gets those that are given as one argument, `times`."""

    @functools.wraps(function)
    def with_times(last: str | None, first: str | None, until: str | None, **given: Any) -> None:
        """Collect the options."""
        named = (("from", first), ("to", until), ("last", last))
        function(times={name: text for name, text in named if text is not None}, **given)

    return _TIMES(with_times)


@click.command
@click.option(
    "--survey",
    "source",
    required=True,
    metavar="URL",
    help="The survey's address, as `survey new` printed it; with --tally also a file.",
)
@click.option("--tally", metavar="FILE", help="Answer from this tally, here, instead of asking a collector.")
@time_options
@answer_options
@token_option
def hitters(source: str, tally: str | None, times: dict[str, str], token: str | None, wanted: Wanted) -> None:
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
    if tally is not None and times:
        raise ParameterError(f"--{next(iter(times))} must come without --tally, which is of one time, got both")
    if tally is None:
        parse_survey_url(source)  # a file alone does not say which collector to ask

    @functools.cache
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
    from hubbub.analysis.answer import Answer

    address = parse_survey_url(url)
    path = f"/v1/surveys/{address.survey_id}/hitters"
    knobs = question.knobs
    if question.candidates is None and isinstance(question.groups, str):
        spelled = {name: str(value).lower() for name, value in knobs.items() if name != "candidates"} | dict(times)
        document = ask_json(address.server, f"{path}?{urlencode(spelled)}", token)
    else:
        document = ask_json(address.server, f"{path}?{urlencode(times)}", token, "POST", knobs)
    return read_reply(address, document, Answer)


def read_reply(address: SurveyAddress, document: Any, kind: type[T]) -> tuple[Heading, T]:
    """The heading and the answer or trend that a collector sent. Raises ServiceError if it is something else."""
    from hubbub.analysis.reply import from_reply

    try:
        survey_id, heading, answer = from_reply(document, kind)
    except (KeyError, TypeError, AttributeError):
        raise ServiceError(f"the server at {address.server!r} sent something else than an answer") from None
    if survey_id != address.survey_id:
        raise ServiceError("the collector sent the answer of another survey than the one in the address")
    return heading, answer
