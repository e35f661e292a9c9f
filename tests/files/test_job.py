"""Files become a tally: exact, each id once, in any number of processes, also after a kill."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.files.reports import MECHANISM, SURVEY, break_group, make_reports, sum_of, write

from hubbub import InputError, ParameterError, Tally, tally_files, tally_reports
from hubbub.files.job import TallyJob
from hubbub.files.tallied import Counts, Skipped

REPORTS = make_reports(3_000)
BLOCK = 200 * MECHANISM.report_dtype.itemsize  # 15 units and 16 partitions


def with_copies() -> tuple[list[np.ndarray], Tally, Counts]:
    """Groups with invalid reports, copies and conflicts; their tally, by a slow and obvious way; and the counts."""
    again = REPORTS[:500].copy()
    again["symbol"][:50] ^= 1  # 50 conflicts
    forged = REPORTS[100:120].copy()
    forged["symbol"] = 255  # the smallest payload is not looked for among what is invalid
    kept = {report["id"].tobytes(): report for report in REPORTS}
    for report in again:
        if report["symbol"] < kept[report["id"].tobytes()]["symbol"]:
            kept[report["id"].tobytes()] = report
    counts = Counts(rows=3_520, invalid=20, duplicates=500, conflicts=50)
    return [again, REPORTS[:1_000], forged, REPORTS[1_000:]], sum_of(np.array(list(kept.values()))), counts


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_each_id_counts_once_across_files(tmp_path: Path, jobs: int) -> None:
    """Copies in other row groups and files are left out; of different payloads the smallest counts; all is counted."""
    groups, expected, counts = with_copies()
    paths = [write(tmp_path / f"{number}.parquet", *groups[number::2]) for number in range(2)]
    for order in (paths, paths[::-1])[: 1 if jobs > 1 else 2]:  # processes take seconds to start
        tallied = TallyJob(SURVEY, order, jobs=jobs, block_bytes=BLOCK).run()
        assert tallied.tally == expected
        assert tallied.counts == counts
    assert tally_files(SURVEY, tmp_path).tally == expected
    assert tally_reports(SURVEY, paths) == expected


def test_ids_are_not_compared_if_they_are_known_to_differ(tmp_path: Path) -> None:
    """With `assume_unique` the valid reports are added as they are."""
    groups, _, _ = with_copies()
    path = write(tmp_path / "a.parquet", *groups)
    tallied = tally_files(SURVEY, path, assume_unique=True)
    assert tallied.tally == sum_of(np.concatenate([groups[0], groups[1], groups[3]]))
    assert tallied.counts == Counts(rows=3_520, invalid=20)


def test_one_id_many_times(tmp_path: Path) -> None:
    """Copies of one id are all in one partition, which is more than a block; it still counts once."""
    path = write(tmp_path / "a.parquet", *[np.repeat(REPORTS[:1], 1_000)] * 3)
    tallied = TallyJob(SURVEY, [path], block_bytes=BLOCK).run()
    assert tallied.tally == sum_of(REPORTS[:1])
    assert tallied.counts.duplicates == 2_999


@pytest.mark.parametrize(
    ("assume_unique", "jobs"), [(False, 1), (True, 1), pytest.param(False, 2, marks=pytest.mark.slow)]
)
def test_what_is_damaged_is_refused_or_skipped_whole(tmp_path: Path, assume_unique: bool, jobs: int) -> None:
    """Without `skip_bad` there is no tally; with it, damaged row groups and files are left out and named."""
    good = write(tmp_path / "good.parquet", REPORTS[:1_000])
    bad = write(tmp_path / "bad.parquet", REPORTS[1_000:2_000], REPORTS[2_000:])
    cut = write(tmp_path / "cut.parquet", REPORTS)
    break_group(bad, 0)
    with pytest.raises(InputError, match=r"row group 0 of '.*bad\.parquet'"):
        tally_files(SURVEY, [good, bad], assume_unique=assume_unique)
    cut.write_bytes(cut.read_bytes()[:-50])
    with pytest.raises(InputError, match=r"whole Parquet, got '.*cut\.parquet'"):
        tally_files(SURVEY, [good, cut], assume_unique=assume_unique)
    tallied = TallyJob(
        SURVEY, [good, bad, cut], assume_unique=assume_unique, skip_bad=True, jobs=jobs, block_bytes=BLOCK
    ).run()
    assert tallied.tally == sum_of(np.concatenate([REPORTS[:1_000], REPORTS[2_000:]]))
    (group, file) = tallied.counts.skipped
    assert group == Skipped(str(bad), 0, 1_000, group.reason)
    assert group.reason.startswith(f"row group 0 of {str(bad)!r} is damaged (")
    assert file == Skipped(str(cut), None, 0, file.reason)
    assert file.reason.startswith(f"the file of reports must be whole Parquet, got {str(cut)!r} (")
    counts = tallied.counts
    assert counts == Counts(rows=2_000, skipped=(group, file))
    assert (counts.skipped_rows, counts.skipped_groups, counts.skipped_files) == (1_000, 1, 1)


@pytest.mark.parametrize("assume_unique", [False, True])
@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("change", ["replaced", "cut", "removed", "fewer groups"])
def test_a_file_that_changes_meanwhile_is_told(
    tmp_path: Path, change: str, skip_bad: bool, assume_unique: bool
) -> None:
    """It is neither counted in part nor skipped as damaged; what was done is removed, so that it can begin anew."""
    groups = np.split(REPORTS, 3)
    path, work = write(tmp_path / "a.parquet", *groups), tmp_path / "work"
    job = TallyJob(SURVEY, [path], work=str(work), block_bytes=BLOCK, skip_bad=skip_bad, assume_unique=assume_unique)
    others = make_reports(3_000, seed=2)

    def change_it(rows: int) -> None:
        """Once, after the first unit."""
        if not rows or (tmp_path / "b.parquet").exists():
            return
        other = write(tmp_path / "b.parquet", *(np.split(others, 3) if change == "replaced" else [others]))
        if change == "cut":
            path.write_bytes(path.read_bytes()[:-40])
        elif change == "removed":
            path.unlink()
        else:
            os.replace(other, path)
            other.touch()

    with pytest.raises(InputError, match=r"the file '.*a\.parquet' changed while it was counted"):
        job.run(change_it)
    assert not work.exists()


KILLED = """
import os, signal, sys
from tests.files.reports import SURVEY
from hubbub.files.job import TallyJob

left = int(sys.argv[3])
def advance(rows):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

job = TallyJob(SURVEY, [sys.argv[1]], work=sys.argv[2], assume_unique=sys.argv[4] == "True",
               block_bytes=int(sys.argv[5]), save_seconds=0)
job.run(advance)
"""


@pytest.mark.slow
@pytest.mark.parametrize("assume_unique", [False, True])
def test_a_killed_job_goes_on_where_it_was(tmp_path: Path, assume_unique: bool) -> None:
    """Killed at several moments, in both halves of the job: it repeats little, and every report counts once."""
    path = write(tmp_path / "a.parquet", *np.split(REPORTS, 15))
    work = tmp_path / "work"
    for moment in (4, 6, 14) if not assume_unique else (4, 6):
        command = [sys.executable, "-c", KILLED, path, work, str(moment), str(assume_unique), str(BLOCK)]
        assert subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode == -9
    steps: list[int] = []
    job = TallyJob(SURVEY, [path], work=str(work), assume_unique=assume_unique, block_bytes=BLOCK)
    tallied = job.run(steps.append)
    assert tallied.tally == sum_of(REPORTS)
    assert tallied.counts == Counts(rows=3_000)
    assert sum(steps) == job.steps
    assert steps[0] >= 1_200  # six units were known to be done
    assert not work.exists()


def test_a_work_folder_belongs_to_one_job(tmp_path: Path) -> None:
    """Other files, other options, a changed file, a stranger's folder and two jobs at once are refused."""
    path = write(tmp_path / "a.parquet", REPORTS)
    work = tmp_path / "work"

    def stop(_rows: int) -> None:
        with pytest.raises(InputError, match="is in use by another job"):
            TallyJob(SURVEY, [path], work=str(work)).run()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TallyJob(SURVEY, [path], work=str(work)).run(stop)
    with pytest.raises(InputError, match="was begun with other files or options"):
        TallyJob(SURVEY, [path], work=str(work), assume_unique=True).run()
    write(path, REPORTS[:-1])
    with pytest.raises(InputError, match="was begun with other files or options"):
        TallyJob(SURVEY, [path], work=str(work)).run()
    with pytest.raises(InputError, match="other files"):
        TallyJob(SURVEY, [path], work=str(tmp_path)).run()
    with pytest.raises(ParameterError, match="jobs must be"):
        TallyJob(SURVEY, [path], jobs=0)


def test_damage_that_was_found_may_be_skipped(tmp_path: Path) -> None:
    """A job that was refused for a damaged row group goes on with `skip_bad`; it cannot go back."""
    path = write(tmp_path / "a.parquet", REPORTS[:1_000], REPORTS[1_000:])
    break_group(path, 1)
    work = str(tmp_path / "work")
    with pytest.raises(InputError, match="row group 1"):
        TallyJob(SURVEY, [path], work=work, block_bytes=BLOCK).run()

    def stop(_rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TallyJob(SURVEY, [path], work=work, block_bytes=BLOCK, skip_bad=True).run(stop)
    with pytest.raises(InputError, match="was begun with other files or options"):
        TallyJob(SURVEY, [path], work=work, block_bytes=BLOCK).run()
    tallied = TallyJob(SURVEY, [path], work=work, block_bytes=BLOCK, skip_bad=True).run()
    assert tallied.tally == sum_of(REPORTS[:1_000])


def test_the_work_folder_stays_until_the_result_is_kept(tmp_path: Path) -> None:
    """If the result cannot be written, nothing is lost: the next run has it without reading the files again."""
    path, work = write(tmp_path / "a.parquet", REPORTS), tmp_path / "work"

    def fail(_tallied: object) -> None:
        raise ParameterError("cannot write the file")

    with pytest.raises(ParameterError):
        TallyJob(SURVEY, [path], work=str(work)).run(keep=fail)
    steps: list[int] = []
    kept: list[object] = []
    tallied = TallyJob(SURVEY, [path], work=str(work)).run(steps.append, kept.append)
    assert steps[0] == len(REPORTS)  # all of the first half
    assert kept == [tallied]
    assert not work.exists()


@pytest.mark.parametrize("left", [".job.json.0123abcd", "unit-000000.index", "counted"])
def test_what_a_killed_job_left_is_not_in_the_way(tmp_path: Path, left: str) -> None:
    """A job may be killed before it has noted what it is, and as it removes its folder; the next one starts anew."""
    path, work = write(tmp_path / "a.parquet", REPORTS), tmp_path / "work"
    work.mkdir()
    (work / left).write_bytes(b"cut short")
    assert TallyJob(SURVEY, [path], work=str(work)).run().tally == sum_of(REPORTS)
    assert not work.exists()


@pytest.mark.parametrize("name", ["job.json", "unit-000000.index", "unit-000000.counts", "unit-000000.records"])
def test_a_damaged_work_folder_is_refused(tmp_path: Path, name: str) -> None:
    """What was cut short in the work folder is told in one sentence, and nothing is counted."""
    path, work = write(tmp_path / "a.parquet", REPORTS), tmp_path / "work"

    def fail(_tallied: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TallyJob(SURVEY, [path], work=str(work), block_bytes=BLOCK).run(keep=fail)
    (work / name).write_bytes((work / name).read_bytes()[:40])
    with pytest.raises(InputError, match=r"work folder.* is damaged"):
        TallyJob(SURVEY, [path], work=str(work), block_bytes=BLOCK).run()
