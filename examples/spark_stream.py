"""Reports that arrive as files: Spark counts them in batches and merges each batch into a collector's tally, once.

Run it with: HUBBUB_TOKEN=… spark-submit examples/spark_stream.py SURVEY_URL /shared/incoming /shared/checkpoint

A batch is known to the collector by the id of the query and its number, so one that is done again counts once.
Reports that come again in a later batch are dropped by Spark, which keeps the ids it has seen in its state.
"""

import argparse
import os
import urllib.request

from pyspark.sql import SparkSession

from hubbub import load_survey
from hubbub.spark import merge_into


def main() -> None:
    """Count all files that are there and have not been counted, and stop."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("survey", help="the survey's address, http(s)://…/v1/surveys/ID")
    parser.add_argument("incoming", help="a folder into which files of reports are moved")
    parser.add_argument("checkpoint", help="a folder for what Spark has done, and for the ids it has seen")
    given = parser.parse_args()

    spark = SparkSession.builder.appName("hubbub").getOrCreate()
    with urllib.request.urlopen(given.survey) as reply:  # noqa: S310  # the owner's own address
        survey = load_survey(reply.read())
    files = spark.readStream.schema("id binary, payload binary").option("maxFilesPerTrigger", 1).parquet(given.incoming)
    query = (
        files.dropDuplicates(["id"])
        .writeStream.foreachBatch(merge_into(given.survey, survey, os.environ["HUBBUB_TOKEN"]))
        .option("checkpointLocation", given.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
