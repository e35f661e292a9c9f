"""Spark gives the tally of one process, bit for bit: whatever is killed, run twice or sent twice."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest
from click.testing import CliRunner
from pyspark.sql.functions import col, lit, to_timestamp, when
from tests.collector.service import running
from tests.files.reports import MECHANISM, SURVEY, break_group, make_reports, sum_of, write, write_own

from hubbub import (
    InputError,
    SurveyMismatch,
    Tally,
    create_survey,
    read_tally,
    tally_files,
    tally_reports,
)
from hubbub import spark as on_spark
from hubbub.cli.main import app
from hubbub.errors import ServiceError
from hubbub.files.report_file import ReportWriter
from hubbub.files.tallied import Counts
from hubbub.files.writing import write_reports

# One group, so that one process of pytest-xdist runs them all with one session, if it is asked to.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

REPORTS = make_reports(6_000)
OTHER = create_survey("other", SURVEY.domain, 2, mechanism="tree")
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with copies, conflicts and invalid reports, in different files and row groups."""
    folder = tmp_path_factory.mktemp("reports")
    changed, forged = REPORTS[:60].copy(), REPORTS[200:210].copy()
    changed["symbol"] ^= 1
    forged["symbol"] = 255
    write(folder / "a.parquet", changed, *np.split(REPORTS[:3_000], 6))
    write(folder / "b.parquet", *np.split(REPORTS[3_000:], 6), forged, REPORTS[2_900:3_100])
    return folder


COUNTS = Counts(rows=6_270, invalid=10, duplicates=260, conflicts=60)


@pytest.fixture(scope="module")
def expected(folder: Path) -> Tally:
    """The tally of one process."""
    tallied = tally_files(SURVEY, folder)
    assert tallied.counts == COUNTS
    return tallied.tally


def test_a_dataframe_is_counted_as_in_one_process(spark, folder: Path, expected: Tally) -> None:
    """Duplicates across partitions and files count once; partials merge in a tree; the bits are the same."""
    df = spark.read.parquet(str(folder)).repartition(5)
    assert on_spark.count(df, SURVEY).tally == expected
    tallied = on_spark.count(df, SURVEY, tasks=6)  # so many that partials are merged in tasks first
    assert tallied.tally == expected
    assert tallied.counts == COUNTS
    unique = on_spark.count(df, SURVEY, assume_unique=True)
    assert unique.tally == tally_reports(SURVEY, folder, assume_unique=True)
    assert unique.counts == Counts(rows=6_270, invalid=10)


def test_files_are_counted_as_in_one_process(spark, folder: Path, expected: Tally, tmp_path: Path) -> None:
    """Tasks that read row groups give the same tally and the same counts; damage is told or skipped."""
    tallied = on_spark.tally_files(spark, folder, SURVEY)
    assert tallied.tally == expected
    assert tallied.counts == COUNTS
    broken = write(tmp_path / "c.parquet", REPORTS[:100], REPORTS[100:200])
    break_group(broken, 1)
    for unique in (False, True):
        skipped = on_spark.tally_files(spark, broken, SURVEY, skip_bad=True, assume_unique=unique)
        assert skipped == tally_files(SURVEY, broken, skip_bad=True, assume_unique=unique)
        assert [(each.file, each.row_group, each.rows) for each in skipped.counts.skipped] == [(str(broken), 1, 100)]
    with pytest.raises(InputError, match=r"^row group 1 of"):
        on_spark.tally_files(spark, broken, SURVEY, assume_unique=True)


def test_a_relative_path_is_of_the_driver(spark, folder: Path, expected: Tally, monkeypatch) -> None:
    """Executors, which have directories of their own, find files that are named from the driver's."""
    monkeypatch.chdir(folder)
    assert on_spark.tally_files(spark, ["a.parquet", "b.*"], SURVEY).tally == expected
    monkeypatch.chdir(folder.parent)
    assert on_spark.tally_files(spark, folder.name, SURVEY, assume_unique=True).counts.rows == COUNTS.rows


def test_the_survey_of_a_dataframe_is_checked(spark, tmp_path: Path) -> None:
    """Files of hubbub and of others state their survey, all of them; so may a column, which then decides."""
    own, theirs = tmp_path / "own", tmp_path / "theirs ü"
    for folder, survey in ((own, SURVEY), (theirs, OTHER)):
        write_reports(folder, survey, [REPORTS[:100]])
    with pytest.raises(SurveyMismatch, match=f"must be to survey {OTHER.survey_id.hex()[:8]}, got reports to"):
        on_spark.tally(spark.read.parquet(str(own)).repartition(2), OTHER)
    for both in ((own, theirs), (theirs, own)):  # Spark shows the metadata of one of them
        with pytest.raises(SurveyMismatch, match=f"must be to survey {SURVEY.survey_id.hex()[:8]}, got reports to"):
            on_spark.tally(spark.read.parquet(*map(str, both)), SURVEY)
    polars = tmp_path / "polars.parquet"
    rows = {
        "id": [each.tobytes()[:16] for each in REPORTS[:9]],
        "payload": [each.tobytes()[16:] for each in REPORTS[:9]],
    }
    pl.DataFrame(rows).write_parquet(polars, metadata={"hubbub.survey_id": SURVEY.survey_id.hex()})
    assert on_spark.tally(spark.read.parquet(str(polars)), SURVEY) == sum_of(REPORTS[:9])
    with pytest.raises(SurveyMismatch, match=r"in 'file:.*polars\.parquet'"):
        on_spark.tally(spark.read.parquet(str(polars)), OTHER)


def test_the_survey_of_each_row_is_checked(spark, tmp_path: Path) -> None:
    """A row of another survey, or of none, is an error that says what to do; without it the rows count."""
    df = spark.read.parquet(str(write_own(tmp_path / "a.parquet", REPORTS[:90])))
    mine, other = (lit(survey.survey_id.hex().upper()) for survey in (SURVEY, OTHER))
    for no, unique in ((other, False), (lit(None).cast("string"), True)):
        mixed = df.withColumn("survey_id", when(col("id") == lit(REPORTS[7].tobytes()[:16]), no).otherwise(mine))
        with pytest.raises(SurveyMismatch, match="got others in 'survey_id': filter them before"):
            on_spark.tally(mixed, SURVEY, assume_unique=unique)
    kept = mixed.where(col("survey_id") == mine)
    assert on_spark.tally(kept, SURVEY, assume_unique=True) == sum_of(np.delete(REPORTS[:90], 7))
    raw = df.withColumn("survey_id", lit(SURVEY.survey_id))
    assert on_spark.tally(raw, SURVEY, assume_unique=True) == sum_of(REPORTS[:90])
    with pytest.raises(InputError, match="the column 'survey_id' must be text or binary, got int"):
        on_spark.tally(df.withColumn("survey_id", lit(1)), SURVEY)


def test_reports_made_on_spark(spark, tmp_path: Path) -> None:
    """Values become reports; written and read again they are known to be to this survey; they give the answer."""
    rows = [(7 if number % 3 else 9,) for number in range(3_000)] + [(None,)]
    values = spark.createDataFrame(rows, "age int")
    made = on_spark.encode(values.withColumnRenamed("age", "age.in `years`"), SURVEY, "age.in `years`")
    made.write.parquet(str(tmp_path / "made"))
    df = spark.read.parquet(str(tmp_path / "made"))
    assert [hitter.value for hitter in on_spark.hitters(df, SURVEY, top=1).hitters] == [7]
    tallied = on_spark.count(df, SURVEY)
    assert tallied.counts == Counts(rows=3_000)
    assert tallied == tally_files(SURVEY, tmp_path / "made")
    assert on_spark.tally(made, SURVEY) == on_spark.tally(made, SURVEY)  # done again, the tasks make the same reports
    other = create_survey("other", SURVEY.domain, 2, mechanism="tree")
    with pytest.raises(SurveyMismatch, match="reports to"):
        on_spark.tally(df, other)
    with pytest.raises(InputError, match="binary column 'payload'"):
        on_spark.tally(df.select("id"), SURVEY)
    with pytest.raises(InputError, match="must be one of age, got 'size'"):
        on_spark.encode(values, SURVEY, "size")


def executors() -> list[psutil.Process]:
    """The executor processes of the cluster, which are children of the driver's Java."""
    everyone = psutil.Process().children(recursive=True)
    return [each for each in everyone if "CoarseGrainedExecutorBackend" in " ".join(_command(each))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def slowly(marks: str):
    """A task that notes each of its runs in a folder, and takes its time; what it hands on is what it was given."""

    def pass_on(batches: Iterator[object]) -> Iterator[object]:
        from pyspark import TaskContext

        context = TaskContext.get()
        slow = context.partitionId() == 0 and context.attemptNumber() == 0
        Path(marks, f"{context.partitionId()}-{context.taskAttemptId()}").touch()
        for number, batch in enumerate(batches):
            if number == 0:
                time.sleep(6 if slow else 0.3)
            yield batch

    return pass_on


def test_an_executor_is_killed_and_tasks_run_twice(spark, folder: Path, expected: Tally, tmp_path: Path) -> None:
    """One executor dies by kill -9 in the middle of a job, and a slow task is run twice: the tally is the same."""
    marks = tmp_path / "marks"
    marks.mkdir()
    df = spark.read.parquet(str(folder)).repartition(8)
    slow = df.mapInArrow(slowly(str(marks)), "id binary, payload binary")
    killed: list[int] = []

    def kill() -> None:
        while len(list(marks.iterdir())) < 3:
            time.sleep(0.02)
        victim = executors()[0]
        killed.append(victim.pid)
        os.kill(victim.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    tallied = on_spark.count(slow, SURVEY)
    killer.join(60)
    assert killed
    assert not psutil.pid_exists(killed[0]) or psutil.Process(killed[0]).status() == psutil.STATUS_ZOMBIE
    assert tallied.tally == expected
    assert tallied.counts == COUNTS
    runs = [path.name.partition("-")[0] for path in marks.iterdir()]
    assert len(runs) > len(set(runs)) == 8  # some partitions were computed more than once


def test_a_stream_is_merged_once(spark, tmp_path: Path) -> None:
    """Batches go to a real collector, each under the id of the query and its number; sent again, they count once."""
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    parts = np.split(REPORTS, 2)
    for number, part in enumerate(parts):
        write_own(source / f"{number}.parquet", part)
    with running(str(tmp_path / "a.db")) as service:
        service.store.add_survey(SURVEY)
        url = f"{service.url}/v1/surveys/{SURVEY.survey_id.hex()}"
        merge = on_spark.merge_into(url, SURVEY, service.token)

        def merge_twice(batch: object, number: int) -> None:
            """Merge a batch, fail as it were before Spark has noted it, and do it again."""
            merge(batch, number)
            merge(batch, number)

        reading = spark.readStream.schema("id binary, payload binary").option("maxFilesPerTrigger", 1)
        query = (
            reading.parquet(str(source))
            .writeStream.foreachBatch(merge_twice)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        assert service.store.tally(SURVEY.survey_id) == sum_of(REPORTS)


def timed(spark, folder: Path) -> object:
    """Reports of three days in two weeks, with the time at which each came, and some without."""
    path = write_own(folder / "timed.parquet", REPORTS[:900])
    rows = spark.read.parquet(str(path)).toPandas()
    times = ["2026-10-05 00:00:01", "2026-10-11 23:59:59", "2026-10-12 00:00:00", None]
    rows["came"] = [times[0]] * 300 + [times[1]] * 300 + [times[2]] * 200 + [times[3]] * 100
    return spark.createDataFrame(rows).withColumn("came", to_timestamp("came"))


def test_slices_of_a_dataframe(spark, tmp_path: Path) -> None:
    """Each week, or day, has its reports, in UTC whatever the session's time zone is; what is no time is refused."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        df = timed(spark, tmp_path).cache()
        df.count()
        spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
        weeks = on_spark.tally_slices(df, SURVEY, "came")
        days = on_spark.tally_slices(df, SURVEY, "came", slice_days=1)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    monday = date(2026, 10, 5)
    assert {day: each.count for day, each in weeks.items()} == {monday: 600, monday + timedelta(7): 200}
    assert weeks[monday] == replace(sum_of(REPORTS[:600]), day=monday)
    assert {(day - monday).days: each.count for day, each in days.items()} == {0: 300, 6: 300, 7: 200}
    for name in ("id", "nothing"):
        with pytest.raises(InputError, match="time must be a column of dates or timestamps, got"):
            on_spark.tally_slices(df, SURVEY, name)


def test_a_stream_knows_slices(spark, tmp_path: Path) -> None:
    """With a column of times each day of a batch is merged into its slice, once, however often the batch comes."""
    df = timed(spark, tmp_path)
    with running(str(tmp_path / "a.db")) as service:
        service.store.add_survey(SURVEY)
        url = f"{service.url}/v1/surveys/{SURVEY.survey_id.hex()}"
        merge = on_spark.merge_into(url, SURVEY, service.token, query="days", time="came")
        merge(df, 0)
        merge(df, 0)
        listed = {str(each.start): each.reports for each in service.store.slices(SURVEY.survey_id)}
    assert listed == {"2026-10-05": 600, "2026-10-12": 200}


def test_a_batch_that_comes_out_differently(spark, tmp_path: Path) -> None:
    """Of two tallies for one batch of a query the first counts; under a name of one's own the second is an error."""
    first, other = (spark.read.parquet(str(write_own(tmp_path / f"{n}.parquet", REPORTS[: 100 + n]))) for n in range(2))
    with running(str(tmp_path / "a.db")) as service:
        service.store.add_survey(SURVEY)
        url = f"{service.url}/v1/surveys/{SURVEY.survey_id.hex()}"
        by_id, by_name = (on_spark.merge_into(url, SURVEY, service.token, query=name) for name in (None, "mine"))
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", "0123")  # as in a query that is running
        try:
            by_id(first, 0)
            by_id(other, 0)
        finally:
            spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)
        assert service.store.tally(SURVEY.survey_id) == sum_of(REPORTS[:100])
        by_name(first, 0)
        with pytest.raises(ServiceError, match="refused the tally 'mine-0'"):
            by_name(other, 0)


def test_the_command_counts_on_spark(spark, folder: Path, expected: Tally, tmp_path: Path) -> None:
    """`hubbub tally --spark` writes the tally of one process; what fails in a task is one sentence."""
    (tmp_path / "survey.json").write_bytes(SURVEY.to_json())
    out = tmp_path / "a.tally"
    common = ["--survey", str(tmp_path / "survey.json"), "-o", str(out), "--spark", spark.sparkContext.master]
    result = CliRunner().invoke(app, ["tally", str(folder), *common], catch_exceptions=False)
    assert result.stdout.startswith(f"{expected.count:,} reports of 6,270 rows")
    assert read_tally(out, SURVEY) == expected
    broken = write(tmp_path / "c.parquet", REPORTS[:100])
    break_group(broken, 0)
    refused = CliRunner().invoke(app, ["tally", str(broken), *common])
    assert refused.exit_code == 2
    assert len(refused.stderr.splitlines()) == 1
    assert f"row group 0 of {str(broken)!r} is damaged" in refused.stderr
    CliRunner().invoke(app, ["tally", str(folder), *common, "--jobs", "3"], catch_exceptions=False)  # tasks
    assert read_tally(out, SURVEY) == expected
    both = CliRunner().invoke(app, ["tally", str(folder), *common, "--work", "w"])
    assert (both.exit_code, "--spark must come without --work" in both.stderr) == (2, True)


CONNECTED = """
import sys
from pyspark.sql.functions import lit
from tests.files.reports import SURVEY
from hubbub import spark as on_spark, write_tally

with on_spark.open_session(sys.argv[1]) as session:
    df = session.read.parquet(sys.argv[2])
    tallied = on_spark.count(df, SURVEY)
    assert tallied == on_spark.tally_files(session, sys.argv[2], SURVEY)
    write_tally(sys.argv[3], tallied.tally)
    stated = df.withColumn("survey_id", lit(SURVEY.survey_id.hex()))
    print(on_spark.tally(stated, SURVEY, assume_unique=True).count)
    values = session.createDataFrame([(7 if number % 3 else 9,) for number in range(3_000)], "age int")
    print(on_spark.hitters(on_spark.encode(values, SURVEY, "age"), SURVEY, top=1).hitters[0].value)
"""


def test_a_session_of_spark_connect(spark, folder: Path, expected: Tally, tmp_path: Path) -> None:
    """A process without Java, which has the cluster by Spark Connect only, gets the same bits."""
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect], which the extra dev brings")
    address = f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"
    command = [sys.executable, "-c", CONNECTED, address, folder, tmp_path / "a.tally"]
    environment = {**os.environ, "no_proxy": "*"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert (done.returncode, done.stdout) == (0, "6260\n7\n"), done.stderr[-2_000:]
    assert read_tally(tmp_path / "a.tally", SURVEY) == expected


def test_a_master_that_is_not_there(folder: Path, tmp_path: Path) -> None:
    """An address of Spark Connect at which nobody listens is told at once."""
    (tmp_path / "survey.json").write_bytes(SURVEY.to_json())
    command = [sys.executable, "-m", "hubbub", "tally", folder, "--survey", tmp_path / "survey.json", "-o"]
    command += [tmp_path / "a.tally", "--spark", "sc://127.0.0.1:1"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (refused.returncode, "must be a master that can be reached" in refused.stderr) == (2, True)


def test_one_id_many_times(spark, tmp_path: Path) -> None:
    """Copies of one id are all in one partition, and more than a row of the shuffle holds; the id counts once."""
    path = write_own(tmp_path / "a.parquet", np.repeat(REPORTS[:2], 50_000))
    tallied = on_spark.tally_files(spark, path, SURVEY)
    assert tallied.tally == sum_of(REPORTS[:2])
    assert tallied.counts == Counts(rows=100_000, duplicates=99_998)


def test_ten_million_reports_in_bounded_memory(spark, tmp_path: Path) -> None:
    """Each id counts once, in executors of 1 GiB whose Python may not have more than the session allows."""
    rng, held = np.random.default_rng(1), []
    with ReportWriter(str(tmp_path / "a.parquet"), SURVEY) as writer:
        for _ in range(20):
            reports = np.zeros(500_000, MECHANISM.report_dtype)
            reports["id"] = rng.integers(0, 2**64, (len(reports), 2), np.uint64)
            reports["symbol"] = rng.integers(0, MECHANISM.law.symbols, len(reports), np.uint8)
            held = held or [reports]
            writer.write(reports)
    unique = tally_files(SURVEY, tmp_path, assume_unique=True).tally
    assert unique.count == 10_000_000
    write_own(tmp_path / "b.parquet", held[0])
    tallied = on_spark.count(spark.read.parquet(str(tmp_path)), SURVEY)
    assert tallied.tally == unique
    assert tallied.counts == Counts(rows=10_500_000, duplicates=500_000)
    files = on_spark.tally_files(spark, tmp_path, SURVEY)
    assert files == tallied


def test_the_notebook_runs(spark, capsys: pytest.CaptureFixture[str]) -> None:
    """Every cell of the notebook runs, in order, and the last one prints both sites first."""
    cells = json.loads((EXAMPLES / "spark_notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    namespace: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "spark_notebook.ipynb", "exec"), namespace)  # noqa: S102
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "20000 reports; 20000 came again"
    assert [line.partition(":")[0] for line in lines[1:3]] == ["search.example", "news.example"]


def run_example(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    """Run an example as spark-submit does, but in the session of the tests."""
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_the_example_of_files_runs(spark, folder, expected, tmp_path, monkeypatch, capsys) -> None:
    """examples/spark_tally.py writes the tally of one process."""
    (tmp_path / "survey.json").write_bytes(SURVEY.to_json())
    run_example("spark_tally.py", monkeypatch, tmp_path / "survey.json", folder, tmp_path / "a.tally")
    assert read_tally(tmp_path / "a.tally", SURVEY) == expected
    assert capsys.readouterr().out.startswith("6,000 of 6,270 rows; 260 came again, 10 invalid")


def test_the_example_of_a_stream_runs(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """examples/spark_stream.py: reports that come again in a later batch count once; run again, it adds nothing."""
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    write_own(incoming / "a.parquet", REPORTS[:400])
    write_own(incoming / "b.parquet", REPORTS[200:600])
    with running(str(tmp_path / "a.db")) as service:
        service.store.add_survey(SURVEY)
        monkeypatch.setenv("HUBBUB_TOKEN", service.token)
        monkeypatch.setenv("no_proxy", "*")
        url = f"{service.url}/v1/surveys/{SURVEY.survey_id.hex()}"
        for _ in range(2):
            run_example("spark_stream.py", monkeypatch, url, incoming, tmp_path / "checkpoint")
        assert service.store.tally(SURVEY.survey_id) == sum_of(REPORTS[:600])
