"""Which survey a DataFrame of reports answers: by a column, by its metadata, or by the files that it is read from."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.functions import coalesce, col, lit, lower
from pyspark.sql.types import BinaryType, StringType

from hubbub.errors import InputError, ParameterError, SurveyMismatch
from hubbub.files.report_columns import SURVEY_KEY
from hubbub.model.survey import Survey

SURVEY_COLUMN: Final = "survey_id"
_AT_ONCE: Final = 16  # footers that are read at once; they may be far away


def report_rows(df: DataFrame, survey: Survey) -> DataFrame:
    """The columns of a DataFrame that are counted; a third one, if it has a survey for each row, is whether it is this.

    Raises InputError if it holds no reports, and SurveyMismatch if its column `id`, or a file that it is read from,
    states another survey.
    """
    if not isinstance(survey, Survey):
        raise ParameterError(f"survey must be a Survey, got {type(survey).__name__}")
    fields = {field.name: field for field in df.schema.fields}
    for name in ("id", "payload"):
        if name not in fields or not isinstance(fields[name].dataType, BinaryType):
            kind = fields[name].dataType.simpleString() if name in fields else "none"
            raise InputError(f"a DataFrame of reports must have a binary column {name!r}, got {kind}")
    survey_id = survey.survey_id
    if SURVEY_COLUMN in fields:
        kind = fields[SURVEY_COLUMN].dataType
        if not isinstance(kind, StringType | BinaryType):
            raise InputError(f"the column {SURVEY_COLUMN!r} must be text or binary, got {kind.simpleString()}")
        stated = col(SURVEY_COLUMN)
        own = stated == lit(survey_id) if isinstance(kind, BinaryType) else lower(stated) == lit(survey_id.hex())
        return df.select("id", "payload", coalesce(own, lit(False)).alias("own"))
    if (found := (fields["id"].metadata or {}).get(SURVEY_KEY)) is not None:
        _require(str(found), survey_id, "in its metadata")
    for path, stated_there in _footers(df):
        _require(stated_there, survey_id, f"in {path!r}")
    return df.select("id", "payload")


def _require(stated: str, survey_id: bytes, where: str) -> None:
    """Raise a SurveyMismatch if the survey that is stated, in hex, is another."""
    if stated.strip().lower() != survey_id.hex():
        raise SurveyMismatch(
            f"a DataFrame of reports must be to survey {survey_id.hex()[:8]}, got reports to {stated[:8]!r} {where}"
        )


def _footers(df: DataFrame) -> list[tuple[str, str]]:
    """The Parquet files that a DataFrame is read from and whose footers state a survey, with that survey.

    Spark shows the metadata of one file for all. The driver reads the footers with Spark's own file systems; a session
    of Spark Connect has no driver here, and gives nothing.
    """
    session: Any = df.sparkSession
    if (java := getattr(session, "_jvm", None)) is None:
        return []
    settings = session._jsparkSession.sessionState().newHadoopConf()
    parquet, address = java.org.apache.parquet.hadoop, java.java.net.URI  # each dot asks Java, so not for every file
    place, of_place, opened = java.org.apache.hadoop.fs.Path, parquet.util.HadoopInputFile, parquet.ParquetFileReader

    def stated(path: str) -> str | None:
        try:
            file = opened.open(of_place.fromPath(place(address(path)), settings))
            try:
                found = file.getFileMetaData().getKeyValueMetaData().get(SURVEY_KEY)
            finally:
                file.close()
        except Exception:  # another format, or a file that Spark will not be able to read either
            return None
        return None if found is None else str(found)

    paths = df.inputFiles()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [(path, found) for path, found in zip(paths, pool.map(stated, paths), strict=True) if found is not None]
