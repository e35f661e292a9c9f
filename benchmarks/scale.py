"""Files of reports to a tally: CPU time of one process, of two, and of Spark, beside reading the same files alone.

Reports are made on the spot: random ids, and random symbols that are valid. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from hubbub import Hostnames, create_survey, mechanism_for
from hubbub.files.job import TallyJob
from hubbub.files.writing import write_reports
from hubbub.model.survey import Survey

SEED, AT_ONCE, SMALL = 1, 1 << 16, 100_000
LARGE = 10_000_000  # reports, from which on processes and Spark are measured: what they take to start is subtracted
CASES = ("read", "one", "one-distinct", "two", "two-distinct", "spark", "spark-distinct", "spark-frame")
WORDS = {
    "read": "reading alone, with pyarrow",
    "one": "one process, unique ids",
    "one-distinct": "one process, each id once",
    "two": "two processes, unique ids",
    "two-distinct": "two processes, each id once",
    "spark": "Spark `tally_files`, unique ids",
    "spark-distinct": "Spark `tally_files`, each id once",
    "spark-frame": "Spark `tally` of a DataFrame, unique ids",
}


def make_survey(epsilon: float, reports: int) -> Survey:
    """The survey of the benchmark: host names, which any crowd may be asked for."""
    return create_survey("scale", Hostnames(), epsilon, expected_reports=reports, public_seed=bytes(32))


def made_up(survey: Survey, count: int) -> Iterator[np.ndarray]:
    """Yield reports that a collector takes, some at a time."""
    mechanism, rng = mechanism_for(survey), np.random.default_rng(SEED)
    for start in range(0, count, AT_ONCE):
        reports = np.zeros(min(AT_ONCE, count - start), mechanism.report_dtype)
        reports["id"] = rng.integers(0, 2**64, (len(reports), 2), np.uint64)
        reports["symbol"] = rng.integers(0, mechanism.law.symbols, len(reports), np.uint8)
        yield reports


def read_alone(folder: str) -> None:
    """Read every row and do nothing with it."""
    import pyarrow.parquet as pq

    for path in sorted(Path(folder).glob("*.parquet")):
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for _ in file.iter_batches(AT_ONCE, use_threads=False):
                pass


def cpu_seconds() -> float:
    """CPU time of this process and of all below it, those that have ended included."""
    mine = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = sum(each.ru_utime + each.ru_stime for each in mine)
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue
        spent += times.user + times.system + times.children_user + times.children_system
    return spent


def run_case(case: str, epsilon: float, reports: int, small: str, folder: str, repeats: int = 1) -> dict[str, float]:
    """Run a case on the small folder, to load and compile, and then on the other; the least that this took.

    What it takes to start processes and tasks is measured on the small folder and told apart.
    """
    survey = make_survey(epsilon, reports)
    if case == "read":
        work = read_alone
    elif case.startswith("spark"):
        from pyspark.sql import SparkSession

        from hubbub import spark as on_spark

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2]").config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false")
        session = builder.config("spark.driver.memory", "2g").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")

        def work(path: str) -> object:
            if case == "spark-frame" or path == small:
                # On the small folder in several partitions, so that all workers are started.
                df = session.read.parquet(path)
                unique = not case.endswith("distinct")
                return on_spark.tally(df.repartition(8) if path == small else df, survey, assume_unique=unique)
            return on_spark.tally_files(session, path, survey, assume_unique=case == "spark")
    else:
        jobs = 2 if case.startswith("two") else 1

        def work(path: str) -> object:
            # Small blocks on the small folder, so that there, too, all processes are started.
            block = 32 << 20 if path == folder else 1 << 20
            unique = not case.endswith("distinct")
            return TallyJob(survey, [path], assume_unique=unique, jobs=jobs, block_bytes=block).run()

    def least(path: str, times: int) -> float:
        """The least CPU time of some runs: other work on the machine can only add to it."""
        spent = [cpu_seconds()]
        for _ in range(times):
            work(path)
            spent.append(cpu_seconds())
        return float(np.diff(spent).min())

    work(small)
    fixed, whole = least(small, repeats), least(folder, repeats)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    if not case.startswith(("two", "spark")):
        fixed = 0.0  # nothing is started
    return {"nanoseconds": 1e9 * (whole - fixed) / reports, "fixed_seconds": fixed, "peak_mib": peak}


def measure(cases: list[str], epsilon: float, sizes: list[int], state: Path, repeats: int) -> list[dict[str, Any]]:
    """Run all cases, each in a process of its own; what is in the state already is not run again."""
    rows = [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []
    for reports in sizes:
        fitting = [case for case in cases if reports >= LARGE or not case.startswith(("two", "spark"))]
        left = [case for case in fitting if not any(_is(row, case, epsilon, reports) for row in rows)]
        if not left:
            continue
        with tempfile.TemporaryDirectory(prefix="hubbub-scale-") as folder:
            survey = make_survey(epsilon, reports)
            small, whole = os.path.join(folder, "small"), os.path.join(folder, "whole")
            write_reports(small, survey, made_up(survey, SMALL), rows_per_file=SMALL // 4)
            write_reports(whole, survey, made_up(survey, reports))
            for case in left:
                command = [sys.executable, __file__, "--case", case, "--epsilon", str(epsilon)]
                command += ["--reports", str(reports), "--folders", small, whole, "--repeats", str(repeats)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                row = {"case": case, "epsilon": epsilon, "reports": reports, **json.loads(done.stdout.splitlines()[-1])}
                rows.append(row)
                with state.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), flush=True)
            shutil.rmtree(whole)
    return rows


def _is(row: dict[str, Any], case: str, epsilon: float, reports: int) -> bool:
    return (row["case"], row["epsilon"], row["reports"]) == (case, epsilon, reports)


def table(rows: list[dict[str, Any]]) -> str:
    """The measurements as a table of Markdown; times are also given as multiples of reading alone, in the same run."""
    lines = ["| what | ε | reports | CPU ns/report | × reading | reports/s and core | peak MiB |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        alone = next((each for each in rows if _is(each, "read", row["epsilon"], row["reports"])), None)
        ratio = f"{row['nanoseconds'] / alone['nanoseconds']:.1f}" if alone else "–"
        cost = row["nanoseconds"]
        peak = "–" if row["case"].startswith("spark") else f"{row['peak_mib']:,.0f}"  # Java's is as large as it may be
        lines.append(
            f"| {WORDS[row['case']]} | {row['epsilon']:g} | {row['reports']:,} | {cost:.0f} | {ratio} "
            f"| {1e3 / cost:.1f} M | {peak} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case, of which the least time counts")
    parser.add_argument("--state", type=Path, default=Path("scale.jsonl"), help="goes on from what is in it")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--folders", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(run_case(given.case, given.epsilon, int(given.reports[0]), *given.folders, given.repeats)))
        return
    print(table(measure(given.cases, given.epsilon, [int(n) for n in given.reports], given.state, given.repeats)))


if __name__ == "__main__":
    main()
