"""`hubbub encode`: makes reports of known values, in Parquet files."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from hubbub.cli.common import counted, plural, print_json, progress
from hubbub.cli.options import (
    column_option,
    delimiter_option,
    file_argument,
    format_option,
    json_option,
    named_input,
    person_option,
    seed_option,
)
from hubbub.cli.service import read_survey, survey_source_option
from hubbub.outputs import check_distinct


@click.command
@file_argument
@survey_source_option
@click.option("--out", "-o", required=True, metavar="FOLDER", help="A new directory for the reports.")
@column_option
@format_option
@delimiter_option
@person_option
@seed_option
@json_option
def encode(
    file: str,
    source: str,
    out: str,
    column: str | None,
    file_format: str | None,
    delimiter: str | None,
    person: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Make a report of each person's value and write them as Parquet. Each row is one person.

    For rehearsals, and for machines that are trusted with all values: the user of this command sees them.

    \b
    hubbub encode referrers.txt --survey survey.json -o reports
    hubbub encode visits.csv --column country --person visitor --survey survey.json -o reports
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.analysis.sentences import about_domain
    from hubbub.extras import require
    from hubbub.files.writing import write_reports
    from hubbub.finding import seen_from
    from hubbub.inputs.encoding import Encoder
    from hubbub.inputs.people import open_people
    from hubbub.mechanisms.registry import mechanism_for
    from hubbub.mechanisms.survey_mechanism import make_reports
    from hubbub.numeric.randomness import BulkRandomWords, SeededRandomWords

    require("A Parquet file", "pyarrow", "files")
    check_distinct([out], [named_input(file), source])
    started = time.perf_counter()
    survey = read_survey(source)
    opened = open_people(file, column=column, person=person, format=file_format, delimiter=delimiter, seed=seed)
    with opened as people:
        mechanism = mechanism_for(survey)
        encoder = Encoder(survey.domain, people.missing, over=people.over, seen_from=seen_from(mechanism, people.count))
        random_words = BulkRandomWords() if seed is None else SeededRandomWords(seed)
        with progress("Encoding", people.count, "people") as advance:
            items = map(encoder.encode, counted(people.chunks(), advance))
            rows = write_reports(out, survey, make_reports(mechanism, items, random_words))
    intake = encoder.intake
    document = {
        "survey_id": survey.survey_id.hex(),
        "out": out,
        "reports": sum(rows),
        "files": len(rows),
        **asdict(intake),
        "seconds": time.perf_counter() - started,
    }
    if as_json:
        print_json(document)
        return
    click.echo(f"{plural(sum(rows), 'report')} in {plural(len(rows), 'file')} in {out}.")
    fates = {
        "missing": "had no value",
        "cut": "were cut",
        "other": "are not in the domain",
        "over": "people have several values, of which one, drawn at random, was reported",
    }
    for name, said in fates.items():
        if document[name]:
            click.echo(f"{document[name]:,} {said}.")
    for sentence in about_domain(intake):
        click.echo(sentence)
