"""Group commit: everybody gets an answer, and those who come together share a commit."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future

import numpy as np
import pytest
from tests.collector.own_cell import some_reports

from hubbub.errors import StoreUnavailable, SurveyClosed
from hubbub.store.group_commit import GroupCommit, Waiting
from hubbub.store.reports import Outcome, Upload


def submit(writer: GroupCommit, upload: Upload) -> Future:
    """Submit an upload; a future for its outcome."""
    receipt: Future = Future()
    writer.submit(upload, receipt)
    return receipt


def all_new(batches: list[Upload]) -> list[Outcome]:
    """Everything is new."""
    return [np.ones(len(batch.reports), np.bool_) for batch in batches]


def test_those_who_wait_share_a_commit() -> None:
    """What comes in during a commit is written in the next one, all of it, in order."""
    entered, go_on = threading.Event(), threading.Event()
    groups: list[list[int]] = []

    def append(batches: list[Upload]) -> list[Outcome]:
        groups.append([batch.survey for batch in batches])
        entered.set()
        go_on.wait()
        return all_new(batches)

    writer = GroupCommit(append)
    futures = [submit(writer, Upload(0, some_reports([1])))]
    entered.wait()
    futures += [submit(writer, Upload(number, some_reports([1]))) for number in range(1, 6)]
    go_on.set()
    assert [future.result().tolist() for future in futures] == [[True]] * 6
    assert groups == [[0], [1, 2, 3, 4, 5]]
    writer.close()


def test_a_group_adds_no_more_than_it_may() -> None:
    """Each report counts with its own bytes and 64 for its id; an upload that is larger is written alone."""
    entered, go_on = threading.Event(), threading.Event()
    sizes: list[list[int]] = []

    def append(batches: list[Upload]) -> list[Outcome]:
        sizes.append([len(batch.reports) for batch in batches])
        entered.set()
        go_on.wait()
        return all_new(batches)

    writer = GroupCommit(append, most_bytes=40 * 84)
    futures = [submit(writer, Upload(0, some_reports([1])))]
    entered.wait()
    counts = (20, 20, 30, 30, 100, 1)
    futures += [submit(writer, Upload(0, some_reports(list(range(count))))) for count in counts]
    go_on.set()
    assert [len(future.result()) for future in futures] == [1, 20, 20, 30, 30, 100, 1]
    assert sizes == [[1], [20, 20], [30], [30], [100], [1]]
    writer.close()


@pytest.mark.parametrize(
    ("seconds_each", "expected"),
    [(0.0, [1, 40_000, 40_000, 40_000]), (50e-6, [1, 40_000, 20_000, 20_000, 20_000, 20_000])],
    ids=["a fast disk", "a slow disk"],
)
def test_a_commit_takes_about_a_second(seconds_each: float, expected: list[int]) -> None:
    """However much waits, a commit has 50,000 reports at most, and no more than took a second before."""
    entered, go_on = threading.Event(), threading.Event()
    sizes: list[int] = []
    now = 0.0

    def append(batches: list[Upload]) -> list[Outcome]:
        nonlocal now
        sizes.append(sum(len(batch.reports) for batch in batches))
        now += seconds_each * sizes[-1]
        entered.set()
        go_on.wait()
        return all_new(batches)

    writer = GroupCommit(append, clock=lambda: now)
    many = some_reports(list(range(20_000)))
    futures = [submit(writer, Upload(0, many[:1]))]
    entered.wait()
    futures += [submit(writer, Upload(0, many)) for _ in range(6)]
    go_on.set()
    for future in futures:
        future.result()
    assert sizes == expected
    writer.close()


def test_a_refused_upload_takes_no_memory() -> None:
    """A withdrawn upload is not written, and its reports are forgotten at once, while its place is in the queue."""
    entered, go_on = threading.Event(), threading.Event()
    written: list[int] = []

    def append(batches: list[Upload]) -> list[Outcome]:
        written.extend(batch.survey for batch in batches)
        entered.set()
        go_on.wait()
        return all_new(batches)

    writer = GroupCommit(append)
    receipts = [Future(), Future()]
    writer.submit(Upload(0, some_reports([1])), receipts[0])
    entered.wait()
    reports = some_reports([1])
    kept = weakref.ref(reports)
    waiting = writer.submit(Upload(1, reports), receipts[1])
    del reports
    assert kept() is not None
    assert waiting.withdraw()
    assert kept() is None
    go_on.set()
    writer.close()
    assert written == [0]


def test_what_is_being_written_cannot_be_refused() -> None:
    """Whoever claims an upload first decides: after the writer it cannot be withdrawn, and the other way round."""
    claimed, go_on = threading.Event(), threading.Event()

    def append(batches: list[Upload]) -> list[Outcome]:
        mine = [batch.claim() for batch in batches]
        claimed.set()
        go_on.wait()
        return [outcome if won else StoreUnavailable("") for won, outcome in zip(mine, all_new(batches), strict=True)]

    writer = GroupCommit(append)
    receipt: Future = Future()
    waiting = writer.submit(Upload(0, some_reports([1])), receipt)
    claimed.wait()
    assert not waiting.withdraw()
    go_on.set()
    assert receipt.result().tolist() == [True]
    late = Waiting(Upload(0, some_reports([1])), Future())
    assert late.withdraw()
    assert not late.claim()
    writer.close()


@pytest.mark.parametrize("error", [StoreUnavailable("full"), RuntimeError("a defect")])
def test_a_failure_is_everybodys(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """When a commit fails nobody is told otherwise, whatever the reason, the log has it, and the writer goes on."""
    failing = True

    def append(batches: list[Upload]) -> list[Outcome]:
        if failing:
            raise error
        return all_new(batches)

    writer = GroupCommit(append)
    for future in [submit(writer, Upload(0, some_reports([1]))) for _ in range(3)]:
        with pytest.raises(StoreUnavailable):
            future.result()
    said = caplog.text
    assert "a commit failed" in said
    assert ("full" in said, "RuntimeError" in said, "a defect" in said) == (
        (True, False, False) if isinstance(error, StoreUnavailable) else (False, True, False)
    )
    failing = False
    assert submit(writer, Upload(0, some_reports([1]))).result().tolist() == [True]
    writer.close()


def test_a_refusal_is_for_one() -> None:
    """A batch that is refused does not trouble its neighbours."""

    def append(batches: list[Upload]) -> list[Outcome]:
        return [
            SurveyClosed("closed") if batch.survey else outcome
            for batch, outcome in zip(batches, all_new(batches), strict=True)
        ]

    writer = GroupCommit(append)
    good, bad = (submit(writer, Upload(number, some_reports([1]))) for number in range(2))
    assert good.result().tolist() == [True]
    with pytest.raises(SurveyClosed):
        bad.result()
    writer.close()


def test_those_who_have_gone_are_not_written() -> None:
    """A request that was given up before its turn is left out."""
    entered, go_on = threading.Event(), threading.Event()
    written: list[int] = []

    def append(batches: list[Upload]) -> list[Outcome]:
        written.extend(batch.survey for batch in batches)
        entered.set()
        go_on.wait()
        return all_new(batches)

    writer = GroupCommit(append)
    first = submit(writer, Upload(0, some_reports([1])))
    entered.wait()
    second, third = (submit(writer, Upload(number, some_reports([1]))) for number in (1, 2))
    assert second.cancel()
    go_on.set()
    assert first.result().tolist() == third.result().tolist() == [True]
    assert written == [0, 2]
    writer.close()


def test_the_end() -> None:
    """What was submitted before the end is written; what comes after is refused."""
    written: list[Upload] = []

    def append(batches: list[Upload]) -> list[Outcome]:
        written.extend(batches)
        return all_new(batches)

    writer = GroupCommit(append)
    futures = [submit(writer, Upload(number, some_reports([1]))) for number in range(20)]
    writer.close()
    assert all(future.done() for future in futures)
    assert [batch.survey for batch in written] == list(range(20))
    with pytest.raises(StoreUnavailable, match="stopping"):
        submit(writer, Upload(0, some_reports([1]))).result()
