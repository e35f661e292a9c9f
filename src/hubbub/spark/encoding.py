"""Makes reports of a column of values, on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from hubbub.errors import InputError
from hubbub.files.report_columns import SURVEY_KEY
from hubbub.files.report_file import records_of, report_batch, report_schema
from hubbub.inputs.arrow import arrow_values
from hubbub.inputs.encoding import Encoder
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.plain import present
from hubbub.model.survey import Survey
from hubbub.numeric.randomness import KeyedRandomWords


def _encode(survey: Survey, key: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """The task that makes reports. Run again on the same rows, it makes the same reports."""
    import pyarrow as pa

    mechanism, encoder = mechanism_for(survey), Encoder(survey.domain)
    random_words = KeyedRandomWords(key, TaskContext.get().partitionId())
    schema = report_schema(survey.survey_id, mechanism.report_dtype.itemsize)
    plain = pa.schema([("id", pa.binary()), ("payload", pa.binary())])
    for batch in batches:
        items = encoder.encode(present(arrow_values(batch.column(0))))
        reports = mechanism.randomize(items, random_words.draw(len(items), mechanism.random_words_per_report))
        made = report_batch(records_of(reports), schema)
        yield pa.RecordBatch.from_arrays([column.cast(pa.binary()) for column in made.columns], schema=plain)


def encode(df: DataFrame, survey: Survey, column: str) -> DataFrame:
    """A DataFrame of reports, one for each row that has a value: the columns `id` and `payload`, both binary.

    For rehearsals, and for clusters that are trusted with all values. The noise comes from a key that is drawn here
    from the operating system. A task that Spark runs again on the same rows makes the same reports, so nobody is
    counted twice. Write the result to a table before you use it: if Spark computes the rows again in another order,
    people get new reports, and two reports of one person could be seen.

    Parameters
    ----------
    df : DataFrame
        One row for each person.
    survey : Survey
        The survey that the reports answer.
    column : str
        The column of the values; they are read by the rules of `hubbub.find`.
    """
    if column not in df.columns:
        raise InputError(f"the column must be one of {', '.join(df.columns)[:200]}, got {column!r}")
    values = df.select(col("`" + column.replace("`", "``") + "`").alias("value"))  # a name may have dots
    made = values.mapInArrow(partial(_encode, survey, os.urandom(32)), "id binary, payload binary")
    return made.withMetadata("id", {SURVEY_KEY: survey.survey_id.hex()})
