"""Tallies of DataFrames and of files, on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id

from hubbub.analysis.answer import Answer
from hubbub.analysis.asking import find_hitters
from hubbub.files.job import BLOCK_BYTES
from hubbub.files.listing import check_unchanged, list_files, stamps_of
from hubbub.files.tallied import Tallied
from hubbub.files.units import partition_bits, plan_units
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import Accumulator
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.distinct import draw_key
from hubbub.spark import tasks as tasks_of
from hubbub.spark.failures import own_errors
from hubbub.spark.surveys import report_rows
from hubbub.spark.tasks import PARTIAL, SPREAD, Source, read_places, read_rows, read_units

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
    rows, mechanism = report_rows(df, survey), mechanism_for(survey)
    wide, source = tasks or _cores(df.sparkSession), partial(read_rows, mechanism)
    if assume_unique:
        return _count(rows.coalesce(wide), mechanism, source, wide)
    return _count_distinct(rows, mechanism, source, wide, _FRAME_BITS)


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
    wide, mechanism, source = tasks or _cores(spark), reading.mechanism, partial(read_units, reading)
    numbers = spark.range(0, len(rows), 1, max(1, min(wide, len(rows))))
    if assume_unique:
        found = _count(numbers, mechanism, source, wide)
    else:
        bits = partition_bits(sum(rows), mechanism.report_dtype.itemsize, BLOCK_BYTES, _MOST_BITS)
        found = _count_distinct(numbers, mechanism, source, wide, max(_FRAME_BITS, bits))
    check_unchanged(files, stamps)
    return Tallied(found.tally, found.counts + skipped)


def hitters(df: DataFrame, survey: Survey, *, assume_unique: bool = False, **question: Any) -> Answer:
    """The values that stand out in a DataFrame of reports; the search is done on the driver.

    `question` has the keywords of `hubbub.find_hitters`: top, level, candidates, all_candidates, hitters_only.
    """
    return find_hitters(survey, tally(df, survey, assume_unique=assume_unique), **question)


def _count_distinct(rows: DataFrame, accumulator: Accumulator, source: Source, wide: int, bits: int) -> Tallied:
    """Spread reports over 2^bits partitions by a secret hash of their ids, and count these one by one."""
    key = draw_key()
    spread = rows.mapInArrow(partial(tasks_of.spread, source, key, bits), SPREAD)
    places = spread.repartition(wide, "place").sortWithinPartitions("place")
    return _count(places, accumulator, partial(read_places, key, accumulator.report_dtype.itemsize), wide)


def _cores(spark: SparkSession) -> int:
    """How many tasks the session runs at once.

    A Spark Connect session has no context; there it is the number of partitions of a range, one for each core.
    """
    try:
        return int(spark.sparkContext.defaultParallelism)
    except AttributeError:
        return int(spark.range(_MOST_CORES).select(spark_partition_id()).distinct().count())


def _count(rows: DataFrame, accumulator: Accumulator, source: Source, wide: int) -> Tallied:
    """Count the reports of a source, add up the partials in a tree of tasks, and the last few here."""
    partials = rows.mapInArrow(partial(tasks_of.count, accumulator, source), PARTIAL)
    while wide > _FAN_IN:
        wide = -(-wide // _FAN_IN)
        partials = partials.repartition(wide).mapInArrow(partial(tasks_of.merge, accumulator), PARTIAL)
    with own_errors():
        batches = partials.toArrow().to_batches()
    return Tallied(*tasks_of.sum_partials(accumulator, iter(batches)))
