"""Add up files of reports on Spark, and print what stands out.

Run it with: spark-submit examples/spark_tally.py survey.json /shared/reports week.tally

Every executor needs hubbub, with the extra `files`, and must find the files under the same paths.
"""
# ruff: noqa: T201  # an example prints

import argparse
from pathlib import Path

from pyspark.sql import SparkSession

from hubbub import find_hitters, load_survey, write_tally
from hubbub.spark import tally_files


def main() -> None:
    """Count the reports in a folder, each id once, write the tally, and print the five largest values."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("survey", type=Path, help="the survey, a file of `hubbub survey new --out`")
    parser.add_argument("reports", help="a folder of Parquet files of reports")
    parser.add_argument("out", type=Path, help="where the tally goes")
    given = parser.parse_args()

    spark = SparkSession.builder.appName("hubbub").getOrCreate()
    survey = load_survey(given.survey.read_bytes())
    tallied = tally_files(spark, given.reports, survey)
    write_tally(given.out, tallied.tally)

    counts = tallied.counts
    print(
        f"{tallied.tally.count:,} of {counts.rows:,} rows; {counts.duplicates:,} came again, {counts.invalid:,} invalid"
    )
    for hitter in find_hitters(survey, tallied.tally, top=5).hitters:
        print(f"{hitter.value}: {hitter.count:,.0f} people, between {hitter.low:,.0f} and {hitter.high:,.0f}")


if __name__ == "__main__":
    main()
