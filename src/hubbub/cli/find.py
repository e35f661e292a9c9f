"""`hubbub find`: the whole protocol on a file of values."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from hubbub.cli.answers import Found, show, to_json
from hubbub.cli.common import (
    DOMAINS,
    AllCandidates,
    AsJSON,
    HittersOnly,
    Level,
    command,
    counted,
    parse_options,
    print_json,
    progress,
    say_if_compiling,
)


@command
def find(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Lines, CSV, JSON lines or Parquet; - is stdin.")],
    column: Annotated[str | None, typer.Option(help="Column of the values, where there are several.")] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="lines, csv, jsonl or parquet; default: by name and first bytes.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="Between the fields of CSV; default: as in its first rows.")
    ] = None,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy loss of each person.")] = "1",
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", "-m", help="A name of `hubbub mechanisms`; default: the best for the domain."),
    ] = None,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Repeatable.")] = None,
    delta: Annotated[str | None, typer.Option(help="Default: what the mechanism needs, 0 where pure.")] = None,
    domain: Annotated[
        str | None, typer.Option(help=f"{DOMAINS} Default: integers:64 for whole numbers, else text.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="Column that names the person: one random row of each is used.")
    ] = None,
    candidates: Annotated[
        str | None, typer.Option(metavar="FILE", help="Values named in advance, one a line: seen from a smaller count.")
    ] = None,
    all_candidates: AllCandidates = False,
    hitters_only: HittersOnly = False,
    top: Annotated[int, typer.Option(help="At most this many values.", min=1)] = 20,
    level: Level = 0.05,
    seed: Annotated[int | None, typer.Option(help="Repeat a rehearsal exactly; undoes its privacy.", min=0)] = None,
    truth: Annotated[bool, typer.Option("--truth", help="Show the true counts beside the found ones.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Find the values many people hold, as if nobody could be trusted with them.

    Each row is one person (with --person: each person is). Every value is encoded, randomised on its own, sent,
    checked and added up; the answer is computed from the sums alone. Rows without a value are skipped.

    \b
    hubbub find referrers.txt --domain bytes:24 --epsilon 2 --truth
    hubbub find referrers.txt --candidates sites.txt --all-candidates
    hubbub find visits.csv --column country --domain categories:countries.txt --json
    hubbub find visits.jsonl --column country --domain words
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.cli.domains import parse_domain, read_candidates
    from hubbub.finding import default_domain, plan_rehearsal
    from hubbub.inputs.encoding import Encoder
    from hubbub.inputs.people import open_people
    from hubbub.model.question import Question

    question = Question(top, level, read_candidates(candidates, all_candidates), all_candidates, hitters_only)
    opened = open_people(file, column=column, person=person, format=file_format, delimiter=delimiter, seed=seed)
    with opened as people:
        values = default_domain(next(people.chunks(), [])) if domain is None else parse_domain(domain)
        options = parse_options(option or [])
        started = time.perf_counter()
        rehearsal = plan_rehearsal(values, people.count, epsilon, delta, mechanism, options, seed)
        encoder = Encoder(values, people.missing, truth)
        say_if_compiling(rehearsal.survey.mechanism)
        with progress("Reporting", people.count, "people") as advance:
            answer = rehearsal.ask(question, counted(people.chunks(), advance), encoder)
        found = Found(rehearsal.survey, answer, encoder.truth, time.perf_counter() - started)
    if as_json:
        print_json(to_json(found))
    else:
        show(found, top)
