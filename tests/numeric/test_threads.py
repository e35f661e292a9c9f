"""Work on several cores: results in order, and failures that are not lost."""

from __future__ import annotations

import threading

import pytest

from hubbub.numeric import threads


@pytest.mark.parametrize("cores", [1, 2, 5])
@pytest.mark.parametrize("jobs", [0, 1, 20])
def test_results_are_in_the_order_of_the_jobs(jobs: int, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever thread has done each."""
    monkeypatch.setattr(threads, "cores", lambda: cores)
    assert threads.in_threads(lambda job: job * job, range(jobs)) == [job * job for job in range(jobs)]


def test_jobs_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three jobs that wait for one another all end, each in a thread of its own."""
    monkeypatch.setattr(threads, "cores", lambda: 3)
    together = threading.Barrier(3, timeout=10)

    def wait(job: int) -> int:
        together.wait()
        return threading.get_ident()

    assert len(set(threads.in_threads(wait, range(3)))) == 3


@pytest.mark.parametrize("cores", [1, 3])
def test_the_first_failure_is_raised(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the first job that fails."""
    monkeypatch.setattr(threads, "cores", lambda: cores)
    with pytest.raises(ValueError, match="'b'"):
        threads.in_threads(int, ["1", "b", "2", "c"])


def test_there_is_a_core() -> None:
    """At least one is left to a process."""
    assert threads.cores() >= 1
