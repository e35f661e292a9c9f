"""`hubbub trend`: the values that stand out, period by period, and which of them change."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from hubbub.cli.common import print_json, print_table, say_if_compiling
from hubbub.cli.hitters import read_reply, time_options
from hubbub.cli.options import WholeNumber, json_option, level_option
from hubbub.cli.service import ask_json, need_token, parse_survey_url, read_survey, token_option
from hubbub.errors import ParameterError, system_reason

if TYPE_CHECKING:
    from hubbub.analysis.question import Question
    from hubbub.analysis.reply import Heading
    from hubbub.analysis.trend import Trend
    from hubbub.model.survey import Survey

_DAY = re.compile(r"\d+-\d+-\d+")


@click.command
@click.option(
    "--survey",
    "source",
    required=True,
    metavar="URL",
    help="The survey's address, as `survey new` printed it; with --tally also a file.",
)
@click.option(
    "--tally",
    "tallies",
    multiple=True,
    metavar="[DATE=]FILE",
    help="The tally of the period that begins on this day, or of the slice that it names; repeatable. Computes here.",
)
@click.option("--repeats", is_flag=True, help="With --tally: each device answers in every period, so compare them.")
@click.option("--unfinished", is_flag=True, help="With --tally: the last period goes on, so do not compare it.")
@time_options
@click.option("--candidates", metavar="FILE", help="With --tally: values named in advance, one per line.")
@click.option("--names", default="auto", metavar="LIST", help="Names to check by name: auto or none.")
@click.option("--all-candidates", is_flag=True, help="A row for every candidate or name of the survey.")
@click.option("--hitters-only", is_flag=True, help="For a list: only the values that stand out.")
@click.option("--top", type=WholeNumber(min=1), default=20, help="At most this many values.")
@level_option
@click.option("--plot", metavar="FILE", help="Draw a small chart for each value: FILE.png, FILE.svg or FILE.pdf.")
@click.option("--csv", metavar="FILE", help="Also write a row for each value and period as CSV.")
@json_option
@token_option
def trend(
    source: str,
    tallies: tuple[str, ...],
    repeats: bool,
    unfinished: bool,
    times: dict[str, str],
    candidates: str | None,
    names: str,
    all_candidates: bool,
    hitters_only: bool,
    top: int,
    level: float,
    plot: str | None,
    csv: str | None,
    as_json: bool,
    token: str | None,
) -> None:
    """Show the values of a time, slice by slice, and which of them are rising, falling, new or gone.

    All intervals and statements hold together at the level. In a survey that each device answers once, later weeks hold
    only new devices: then there are counts, and no statements.

    \b
    hubbub trend --survey http://127.0.0.1:8000/v1/surveys/ID
    hubbub trend --survey http://127.0.0.1:8000/v1/surveys/ID --last 12w --csv trend.csv
    hubbub trend --survey survey.json --tally 2026-10-05=a.tally --tally 2026-10-12=b.tally --repeats
    hubbub trend --survey survey.json --tally week1.tally --tally week2.tally --from 2026-10-05
    """  # noqa: D301
    from hubbub.analysis.question import Question
    from hubbub.cli.domains import read_candidates

    files = [_dated(text) for text in tallies]
    if "last" in times and files:
        raise ParameterError("--last must come without --tally, got both")
    if given := "" if files else "repeats" * repeats or "unfinished" * unfinished or "candidates" * bool(candidates):
        raise ParameterError(f"--{given} must come with --tally: a collector knows its own, got none")
    _check_outputs(plot, csv, [source, candidates, *(file for _, file in files)])
    question = Question(top, level, read_candidates(candidates), all_candidates, hitters_only, names=names)
    if files:
        heading, found = _compute(source, files, times, question, repeats or None, unfinished or None)
    else:
        heading, found = _ask(source, question, need_token(token), times)
    deliver(read_survey(source, build=False) if as_json else None, found, heading, csv, plot, as_json)


def deliver(
    survey: Survey | None, found: Trend, heading: Heading, csv: str | None, plot: str | None, as_json: bool
) -> None:
    """Write the files that were asked for, and print the trend. The survey is needed for JSON only."""
    if csv is not None:
        try:  # in place, since it may be a pipe
            Path(csv).write_text(found.to_csv(), encoding="utf-8", newline="")
        except OSError as error:
            raise ParameterError(f"cannot write {csv!r}: {system_reason(error)}") from None
    if plot is not None:
        from hubbub.analysis.trend_plots import save_plot

        save_plot(found, plot)
    if as_json and survey is not None:
        document = {"survey": json.loads(survey.to_json()), "survey_id": survey.survey_id.hex()}
        print_json(document | found.to_document())
    else:
        _show(heading, found)


def _dated(text: str) -> tuple[str, str]:
    """A day and a file, of DATE=FILE; the day is empty if there is none."""
    day, _, file = text.partition("=")
    if not _DAY.fullmatch(day):
        day, file = "", text
    if not file:
        raise ParameterError(f"--tally must be a file such as week.tally or 2026-10-05=week.tally, got {text!r}")
    return day, file


def _check_outputs(plot: str | None, csv: str | None, inputs: Sequence[str | None]) -> None:
    """Refuse an impossible output before anything is read."""
    if plot is not None:
        from hubbub.analysis.plots import check_plot_file

        check_plot_file(plot)
    if plot is not None or csv is not None:
        from hubbub.outputs import check_outputs

        check_outputs([plot, csv], inputs)


def _compute(
    source: str,
    files: list[tuple[str, str]],
    times: dict[str, str],
    question: Question,
    repeats: bool | None,
    unfinished: bool | None,
) -> tuple[Heading, Trend]:
    """The trend of tallies in files, in this process."""
    from hubbub.analysis.reply import Heading
    from hubbub.analysis.trending import trend as find_trend
    from hubbub.mechanisms.registry import mechanism_for
    from hubbub.model.tallies import Tallies, to_day
    from hubbub.wire.tally_file import read_tally

    survey, named = read_survey(source), []
    for day, file in files:
        tally = read_tally(file, survey)
        if not day and tally.day is None:
            raise ParameterError(f"--tally must have a day, such as 2026-10-05={file}, got a file that names none")
        named.append(replace(tally, day=to_day("--tally", day)) if day else tally)
    if len({tally.day for tally in named}) < len(named):
        raise ParameterError("--tally must name each day once, got a day twice")
    sums = Tallies(named).between(times.get("from"), times.get("to"))
    mechanism = mechanism_for(survey)
    say_if_compiling(mechanism)
    found = find_trend(survey, sums, question, repeats=repeats, unfinished=unfinished, decoder=mechanism)
    return Heading.of(survey), found


def _ask(source: str, question: Question, token: str, times: dict[str, str]) -> tuple[Heading, Trend]:
    """The trend that a collector computes."""
    from hubbub.analysis.trend import Trend

    address = parse_survey_url(source)
    knobs = ("top", "level", "all_candidates", "hitters_only", "names")
    spelled = {name: str(getattr(question, name)).lower() for name in knobs}
    path = f"/v1/surveys/{address.survey_id}/trend?{urlencode(spelled | times)}"
    return read_reply(address, ask_json(address.server, path, token), Trend)


def _show(heading: Heading, found: Trend) -> None:
    """Print the domain, and a table with sentences below it."""
    from hubbub.analysis.trend_tables import notes, table
    from hubbub.analysis.trend_words import heading as about

    click.echo(f"Domain: {heading.domain}.")
    headings, rows = table(found)
    columns = [(each, "left" if each in ("value", "change") else "right") for each in headings]
    print_table(f"{heading.mechanism}: {about(found)}, {heading.privacy}", columns, rows, notes(found))
