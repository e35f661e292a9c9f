"""`hubbub find`: the whole protocol on a file of values."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import click

from hubbub.cli.common import progress, say_if_compiling
from hubbub.cli.options import (
    column_option,
    delimiter_option,
    delta_option,
    epsilon_option,
    file_argument,
    format_option,
    guessed_domain_option,
    mechanism_option,
    named_input,
    options_option,
    person_option,
    seed_option,
)
from hubbub.cli.showing import AnswerView, Wanted, answer_options
from hubbub.errors import ParameterError

if TYPE_CHECKING:
    from hubbub.model.domain import Domain


@click.command
@file_argument
@column_option
@format_option
@delimiter_option
@epsilon_option
@mechanism_option
@options_option
@delta_option
@guessed_domain_option
@person_option
@seed_option
@click.option("--time", "times", metavar="COLUMN", help="Column of dates or times: ask again in every slice of time.")
@click.option("--slice", "length", default="week", metavar="LENGTH", help="With --time: week, from Monday on, or day.")
@click.option("--truth", is_flag=True, help="Also show the true counts.")
@answer_options
def find(
    file: str,
    column: str | None,
    file_format: str | None,
    delimiter: str | None,
    epsilon: str,
    mechanism: str | None,
    options: dict[str, str],
    delta: str | None,
    domain: str | None,
    person: str | None,
    seed: int | None,
    times: str | None,
    length: str,
    truth: bool,
    wanted: Wanted,
) -> None:
    """Find the values many people hold, as if nobody could be trusted with them.

    Each row is one person, unless --person names the column of the persons. Every value is encoded, randomised
    separately, sent, checked and added up; the answer is computed from the sums alone. Rows without a value are
    skipped.

    \b
    hubbub find referrers.txt --domain bytes:24 --epsilon 2 --truth
    hubbub find referrers.txt --candidates sites.txt --all-candidates
    hubbub find visits.csv --column country --domain categories:countries.txt --json
    hubbub find visits.jsonl --column country --domain words --plot words.png
    hubbub find visits.csv --column country --person visitor --values-per-person 3
    hubbub find visits.csv --column country --time day --slice week --epsilon 2
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.analysis.reply import Heading
    from hubbub.cli.domains import domain_file
    from hubbub.cli.trend import deliver
    from hubbub.finding import plan_rehearsal, rehearse_slices
    from hubbub.inputs.in_time import cut, slice_days
    from hubbub.inputs.people import open_people, open_rows

    wanted.check([named_input(file), domain_file(domain)])
    question = wanted.question()
    several = question.values_per_person > 1
    if several and person is None:
        raise ParameterError("--values-per-person must come with --person, got none")
    if times is not None:
        if truth or wanted.post != "none":
            raise ParameterError(f"--{'truth' if truth else 'post'} must come without --time, got both")
        days = slice_days(length)
        columns = open_rows(file, column, times, person, format=file_format, delimiter=delimiter)
        timed, values = cut(columns[0] or [], columns[1] or [], columns[2], days, seed), _domain(domain)
        with progress("Reporting", sum(map(len, timed.slices.values())), "people") as advance:
            made = rehearse_slices(timed, question, values, epsilon, delta, mechanism, options, seed, advance)
        deliver(*made, Heading.of(made[0]), wanted.csv, wanted.plot, wanted.as_json)
        return
    opened = open_people(
        file,
        column=column,
        person=person,
        format=file_format,
        delimiter=delimiter,
        seed=seed,
        all_values=several,
    )
    with opened as crowd:
        values = _domain(domain)
        started = time.perf_counter()
        rehearsal = plan_rehearsal(crowd, question, values, epsilon, delta, mechanism, options, seed, truth)
        say_if_compiling(rehearsal.mechanism)
        with progress("Reporting", crowd.count, "people") as advance:
            answer = rehearsal.run(advance)
    survey, seconds = rehearsal.mechanism.survey, time.perf_counter() - started
    view = AnswerView(Heading.of(survey), lambda: survey, answer, rehearsal.encoder.truth, seconds)
    wanted.deliver(view, question)


def _domain(text: str | None) -> Domain | Literal["auto"] | None:
    """The domain that an option names; None if there is none."""
    from hubbub.cli.domains import parse_domain

    if text is None or text == "auto":
        return "auto" if text else None
    return parse_domain(text)
