"""Tallies of DataFrames and of files, on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Any, Final, Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import (
    col,
    date_add,
    date_sub,
    floor,
    lit,
    spark_partition_id,
    to_date,
    unix_seconds,
    weekday,
)
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

from hubbub.analysis.answer import Answer
from hubbub.analysis.asking import find_hitters
from hubbub.errors import InputError, ParameterError
from hubbub.files.job import BLOCK_BYTES
from hubbub.files.listing import check_unchanged, list_files, stamps_of
from hubbub.files.tallied import Tallied
from hubbub.files.units import partition_bits, plan_units
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.survey import Survey
from hubbub.model.tallies import Tallies
from hubbub.model.tally import Tally
from hubbub.numeric.distinct import draw_key
from hubbub.spark.failures import own_errors
from hubbub.spark.surveys import report_rows
from hubbub.spark.tasks import PARTIAL, SPREAD, Count, CountPlaces, Merge, ReadRows, ReadUnits, Spread, sum_partials

SLICE: Final = "hubbub_slice"
"""The column that `tally_slices` adds."""

_EPOCH: Final = date(1970, 1, 1)
_FAN_IN: Final = 4  # about how many partials one task of a merge adds up
_MOST_CORES: Final = 1 << 14
_FRAME_BITS: Final = 12  # there are 2^12 partitions of ids if the number of reports is not known in advance
_MOST_BITS: Final = 16


def tally(df: DataFrame, survey: Survey, *, assume_unique: bool = False, tasks: int | None = None) -> Tally:
    """The tally of a DataFrame of reports, as by `count`, without the counts."""
    return count(df, survey, assume_unique=assume_unique, tasks=tasks).tally


def count(df: DataFrame, survey: Survey, *, assume_unique: bool = False, tasks: int | None = None) -> Tallied:
    """The tally of a DataFrame of reports, and counts of what was left out.

    It is the same as in one process, bit for bit: each id counts once, of different payloads the smallest, and invalid
    reports are counted and left out. No report reaches the driver; a task takes the memory of one tally and a few
    megabytes.

    Parameters
    ----------
    df : DataFrame
        With the columns `id` and `payload`, both binary. If it has a column `survey_id` too, in hex or binary, a row of
        another survey is an error. If not, the files that it is read from may state their survey, and are checked.
    survey : Survey
        The survey that the reports answer.
    assume_unique : bool
        Do not compare ids: they are known to differ. It saves a shuffle of all reports.
    tasks : int, optional
        The number of tasks that count, and thus of partial tallies; by default the number of cores of the session.
    """
    rows, source = report_rows(df, survey), ReadRows(survey)
    wide = tasks or _cores(df.sparkSession)
    if assume_unique:
        return _collect(rows.coalesce(wide).mapInArrow(Count(source), PARTIAL), survey, wide)
    return _count_distinct(rows, source, wide, _FRAME_BITS)


def tally_slices(
    df: DataFrame,
    survey: Survey,
    time: str,
    *,
    slice_days: Literal[1, 7] = 7,
    assume_unique: bool = False,
    tasks: int | None = None,
) -> Tallies:
    """The tally of each slice of time of a DataFrame of reports, by its first day.

    A tally has the reports of one slice, each id once; if a report came in two slices, it counts in both. Rows without
    a time are left out. Each tally is a job of its own, so cache the DataFrame if it is expensive.

    Parameters
    ----------
    df, survey, assume_unique, tasks
        As for `count`.
    time : str
        The column that says when a report came: a date, or a timestamp, whose day in UTC counts.
    slice_days : int
        7 for weeks from Monday on, or 1 for days.
    """
    timed = df.withColumn(SLICE, slice_column(df, time, slice_days))
    starts = sorted(row[0] for row in timed.select(SLICE).distinct().collect() if row[0] is not None)
    parts = ((start, timed.where(col(SLICE) == lit(start))) for start in starts)
    return Tallies(
        replace(tally(part, survey, assume_unique=assume_unique, tasks=tasks), day=start) for start, part in parts
    )


def slice_column(df: DataFrame, time: str, slice_days: int) -> Column:
    """The first day of the slice of each row. A timestamp is of its day in UTC, whatever the session's time zone."""
    fields = {field.name: field.dataType for field in df.schema.fields}
    if not isinstance(fields.get(time), DateType | TimestampType | TimestampNTZType):
        kind = fields[time].simpleString() if time in fields else "none"
        raise InputError(f"time must be a column of dates or timestamps, got {time!r} of type {kind}")
    if slice_days not in (1, 7):
        raise ParameterError(f"slice_days must be 7 or 1, got slice_days={slice_days}")
    when = col(time)
    if isinstance(fields[time], TimestampType):
        when = date_add(lit(_EPOCH), floor(unix_seconds(when) / 86_400).cast("int"))
    day = to_date(when)
    return day if slice_days == 1 else date_sub(day, weekday(day))


def tally_files(
    spark: SparkSession,
    sources: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    survey: Survey,
    *,
    assume_unique: bool = False,
    skip_bad: bool = False,
    tasks: int | None = None,
) -> Tallied:
    """The tally of Parquet files of reports, and counts of what was left out.

    Tasks read row groups themselves, which is faster than a DataFrame. The driver and all executors must find the files
    under the same paths; a relative path is meant from the driver's directory. The parameters are those of
    `hubbub.tally_files`.
    """
    given = list_files([sources] if isinstance(sources, str | os.PathLike) else sources)
    files = [os.path.abspath(path) for path in given]  # executors have other directories than the driver
    stamps = stamps_of(files)
    reading, skipped, rows = plan_units(survey, files, skip_bad, BLOCK_BYTES)
    wide = tasks or _cores(spark)
    numbers, source = spark.range(0, len(rows), 1, max(1, min(wide, len(rows)))), ReadUnits(reading)
    if assume_unique:
        found = _collect(numbers.mapInArrow(Count(source), PARTIAL), survey, wide)
    else:
        bits = partition_bits(sum(rows), reading.mechanism.report_dtype.itemsize, BLOCK_BYTES, _MOST_BITS)
        found = _count_distinct(numbers, source, wide, max(_FRAME_BITS, bits))
    check_unchanged(files, stamps)
    return Tallied(found.tally, found.counts + skipped)


def hitters(df: DataFrame, survey: Survey, *, assume_unique: bool = False, **question: Any) -> Answer:
    """The values that stand out in a DataFrame of reports; the search is done on the driver.

    `question` has the keywords of `hubbub.find_hitters`: top, level, candidates, all_candidates, hitters_only.
    """
    return find_hitters(survey, tally(df, survey, assume_unique=assume_unique), **question)


def _count_distinct(rows: DataFrame, source: ReadRows | ReadUnits, wide: int, bits: int) -> Tallied:
    """Spread reports over 2^bits partitions by a secret hash of their ids, and count these one by one."""
    key = draw_key()
    spread = rows.mapInArrow(Spread(source, key, bits), SPREAD)
    places = spread.repartition(wide, "place").sortWithinPartitions("place")
    return _collect(places.mapInArrow(CountPlaces(source.survey, key), PARTIAL), source.survey, wide)


def _cores(spark: SparkSession) -> int:
    """How many tasks the session runs at once.

    A Spark Connect session has no context; there it is the number of partitions of a range, one for each core.
    """
    try:
        return int(spark.sparkContext.defaultParallelism)
    except AttributeError:
        return int(spark.range(_MOST_CORES).select(spark_partition_id()).distinct().count())


def _collect(partials: DataFrame, survey: Survey, wide: int) -> Tallied:
    """Add up partials in a tree of tasks, and the last few here."""
    while wide > _FAN_IN:
        wide = -(-wide // _FAN_IN)
        partials = partials.repartition(wide).mapInArrow(Merge(survey), PARTIAL)
    shape = mechanism_for(survey).cells_shape
    with own_errors():
        batches = partials.toArrow().to_batches()
    found, counts = sum_partials(iter(batches), survey.survey_id, shape)
    return Tallied(found, counts)
