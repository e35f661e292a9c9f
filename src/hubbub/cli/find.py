"""`hubbub find`: the whole protocol on a file of values."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from hubbub.cli.answers import AnswerView, check_asked, show, to_json, write_files
from hubbub.cli.common import (
    DOMAINS,
    AllCandidates,
    AsJSON,
    CsvFile,
    HittersOnly,
    Level,
    PlotFile,
    Post,
    command,
    parse_options,
    print_json,
    progress,
    say_if_compiling,
)
from hubbub.cli.people_options import Delimiter, File, FileFormat, PersonColumn, RehearsalSeed, ValueColumn, named_input
from hubbub.errors import ParameterError


@command
def find(
    file: File,
    column: ValueColumn = None,
    file_format: FileFormat = None,
    delimiter: Delimiter = None,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy loss of each person.")] = "1",
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", "-m", help="A name of `hubbub mechanisms`; default: the best for the domain."),
    ] = None,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Repeatable.")] = None,
    delta: Annotated[str | None, typer.Option(help="Default: 0 if the mechanism is pure, else its default.")] = None,
    domain: Annotated[
        str | None, typer.Option(help=f"{DOMAINS} Default: integers:64 for whole numbers, else text.")
    ] = None,
    person: PersonColumn = None,
    values_per_person: Annotated[
        int,
        typer.Option(
            metavar="K", min=1, max=1000, help="With --person: each person has K slots for values, and reports one."
        ),
    ] = 1,
    candidates: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Values named in advance, one per line: a smaller count is enough."),
    ] = None,
    all_candidates: AllCandidates = False,
    hitters_only: HittersOnly = False,
    top: Annotated[int, typer.Option(help="At most this many values.", min=1)] = 20,
    level: Level = 0.05,
    seed: RehearsalSeed = None,
    truth: Annotated[bool, typer.Option("--truth", help="Also show the true counts.")] = False,
    post: Post = "none",
    plot: PlotFile = None,
    csv: CsvFile = None,
    as_json: AsJSON = False,
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
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.analysis.question import Question
    from hubbub.analysis.reply import Heading
    from hubbub.cli.domains import domain_file, parse_domain, read_candidates
    from hubbub.finding import plan_rehearsal
    from hubbub.inputs.people import open_people

    if (post, plot, csv) != ("none", None, None):
        check_asked(post, plot, csv, [named_input(file), candidates, domain_file(domain)])
    named = read_candidates(candidates, all_candidates)
    question = Question(top, level, named, all_candidates, hitters_only, values_per_person)
    several = values_per_person > 1
    if several and person is None:
        raise ParameterError("--values-per-person must come with --person, got none")
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
        values = None if domain is None else parse_domain(domain)
        options = parse_options(option or [])
        started = time.perf_counter()
        rehearsal = plan_rehearsal(crowd, question, values, epsilon, delta, mechanism, options, seed, truth)
        say_if_compiling(rehearsal.mechanism)
        with progress("Reporting", crowd.count, "people") as advance:
            answer = rehearsal.run(advance)
        answer = answer if post == "none" else answer.post_processed(post)
        survey, seconds = rehearsal.mechanism.survey, time.perf_counter() - started
        view = AnswerView(Heading.of(survey), lambda: survey, answer, rehearsal.encoder.truth, seconds)
    if plot is not None or csv is not None:
        write_files(answer, plot, csv)
    if as_json:
        print_json(to_json(view))
    else:
        show(view, question)
