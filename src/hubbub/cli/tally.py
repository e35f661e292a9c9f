"""`hubbub tally`: adds up files of reports into a tally."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

import click

from hubbub.cli.common import plural, print_json, progress
from hubbub.cli.options import WholeNumber, json_option
from hubbub.cli.service import read_survey, survey_source_option
from hubbub.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hubbub.files.tallied import Tallied
    from hubbub.model.survey import Survey

_MOST_NAMED: Final = 20  # the most skipped parts that are named in text; --json names all


@click.command
@click.argument("files", nargs=-1, required=True, metavar="FILES…", help="Parquet files of reports, or directories.")
@survey_source_option
@click.option("--out", "-o", required=True, metavar="FILE", help="The file to write the tally to.")
@click.option("--day", metavar="DATE", help="A day of the slice of time that the reports are of; the tally names it.")
@click.option("--assume-unique", is_flag=True, help="Do not compare ids: no report is in the files twice.")
@click.option(
    "--skip-bad", is_flag=True, help="Skip damaged row groups and files, and name them, instead of refusing them."
)
@click.option(
    "--jobs",
    "-j",
    type=WholeNumber(min=1),
    help="Processes, which pay from 5·10⁷ reports on; on Spark, tasks.  [default: 1; all cores]",
)
@click.option("--work", metavar="FOLDER", help="For intermediate results; default: FILE.work next to the output.")
@click.option("--spark", metavar="MASTER", help="Count on Spark: local[4], spark://HOST:7077, yarn, sc://HOST…")
@json_option
def tally(
    files: tuple[str, ...],
    source: str,
    out: str,
    day: str | None,
    assume_unique: bool,
    skip_bad: bool,
    jobs: int | None,
    work: str | None,
    spark: str | None,
    as_json: bool,
) -> None:
    """Check the reports in files and add them up, each id once. Memory does not grow with the reports.

    A run that was killed continues where it stopped if you start it again with the same files and options.

    \b
    hubbub tally reports --survey survey.json -o monday.tally
    hubbub tally a.parquet b.parquet --survey survey.json -o monday.tally --jobs 4
    hubbub tally monday.parquet --survey survey.json -o monday.tally --day 2026-10-05
    hubbub tally /shared/reports --survey survey.json -o monday.tally --spark spark://master:7077
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.files.job import TallyJob
    from hubbub.files.listing import list_files
    from hubbub.model.tallies import to_slice_day
    from hubbub.wire.tally_file import check_tally_output, write_tally

    started, named = time.perf_counter(), None if day is None else to_slice_day("--day", day)

    def write(tallied: Tallied) -> None:
        """Write the tally, with its day."""
        write_tally(out, replace(tallied.tally, day=named))

    check_tally_output(out, [source, *list_files(files)])
    survey = read_survey(source)
    if spark is not None:
        if work is not None:
            raise ParameterError("--spark must come without --work, since Spark has its own directories, got both")
        tallied = _count_on_spark(spark, survey, files, jobs, assume_unique, skip_bad)
        write(tallied)
    else:
        job = TallyJob(
            survey, files, assume_unique=assume_unique, jobs=jobs or 1, skip_bad=skip_bad, work=work or f"{out}.work"
        )
        with progress("Counting", job.steps, "rows") as advance:
            tallied = job.run(advance, write)
    show_tallied(tallied, out, day, time.perf_counter() - started, as_json)


def _count_on_spark(
    master: str, survey: Survey, files: Sequence[str], tasks: int | None, assume_unique: bool, skip_bad: bool
) -> Tallied:
    """Count in the tasks of Spark, which must all find the files under their full paths."""
    from hubbub.spark import open_session, tally_files

    with open_session(master) as session:
        return tally_files(session, files, survey, assume_unique=assume_unique, skip_bad=skip_bad, tasks=tasks)


def show_tallied(tallied: Tallied, out: str, day: str | None, seconds: float, as_json: bool) -> None:
    """Print what was counted and what was left out."""
    counts = tallied.counts
    document: dict[str, Any] = {
        "survey_id": tallied.tally.survey_id.hex(),
        "out": out,
        "reports": tallied.tally.count,
        "day": day,
        **asdict(counts),
        **{name: getattr(counts, name) for name in ("skipped_rows", "skipped_groups", "skipped_files")},
        "seconds": seconds,
    }
    if as_json:
        print_json(document)
        return
    click.echo(f"{plural(tallied.tally.count, 'report')} of {plural(counts.rows, 'row')} in {out}. {seconds:.1f} s.")
    said = [
        (
            counts.invalid,
            f"{plural(counts.invalid, 'row is not a valid report', 'rows are not valid reports')}: left out.",
        ),
        (counts.duplicates, f"{plural(counts.duplicates, 'report')} came again: each id counts once."),
        (
            counts.conflicts,
            f"{plural(counts.conflicts, 'id')} came with different payloads: the smallest counts. "
            "No honest device sends these.",
        ),
        (
            counts.skipped_files,
            plural(
                counts.skipped_files,
                "file skipped: not a whole file of this survey.",
                "files skipped: not whole files of this survey.",
            ),
        ),
        (
            counts.skipped_groups,
            f"{plural(counts.skipped_groups, 'damaged row group')} skipped, with {plural(counts.skipped_rows, 'row')}.",
        ),
    ]
    for count, sentence in said:
        if count:
            click.echo(sentence)
    for each in counts.skipped[:_MOST_NAMED]:
        click.echo(f"  {each.reason}")
    if (more := len(counts.skipped) - _MOST_NAMED) > 0:
        click.echo(f"  and {more:,} more; --json names all.")
