"""Reports on Apache Spark: the same tally, bit for bit, as in one process.

`tally` and `count` add up a DataFrame of reports, `tally_slices` each week of one, `tally_files` Parquet files that
every executor can read, `hitters` answers from a DataFrame, `encode` makes reports of a column of values, and
`merge_into` is a sink for Structured Streaming. They need hubbub on the executors, and Java 17 or newer. See
docs/scaling.md.
"""

from __future__ import annotations

from hubbub.extras import require

require("Spark", "pyspark", "spark")

from hubbub.spark.encoding import encode  # noqa: E402
from hubbub.spark.sessions import open_session  # noqa: E402
from hubbub.spark.streaming import merge_into  # noqa: E402
from hubbub.spark.tallying import count, hitters, tally, tally_files, tally_slices  # noqa: E402

__all__ = ["count", "encode", "hitters", "merge_into", "open_session", "tally", "tally_files", "tally_slices"]
