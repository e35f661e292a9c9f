"""How long a report takes to make says little of the value: times are filled up to few classes."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from hubbub import Survey
from hubbub.client import Client
from hubbub.client.client import padding


@pytest.mark.parametrize(
    ("seconds", "whole"),
    [(0.0, 0.005), (0.0001, 0.005), (0.0049, 0.005), (0.005, 0.005), (0.0051, 0.01), (0.03, 0.04), (1.0, 1.28)],
)
def test_times_are_filled_up(seconds: float, whole: float) -> None:
    """To 5 ms and its doubles, and never to less than was spent."""
    assert seconds + padding(seconds) == pytest.approx(whole)
    assert padding(seconds) >= 0


def test_a_report_is_filled_up_before_it_is_kept(survey: Survey, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock on which longer values take longer, all reports are in the ledger after the same time."""
    clock = [0.0]

    def sleep(seconds: float) -> None:
        assert "pending" not in ledger.with_name(name).read_text(encoding="utf-8")
        clock[0] += seconds

    from hubbub.client.survey import encode_report

    def slow(device, value, words):  # type: ignore[no-untyped-def]
        clock[0] += 0.00001 * len(value)
        return encode_report(device, value, words)

    fake = SimpleNamespace(perf_counter=lambda: clock[0], sleep=sleep, monotonic=time.monotonic)
    monkeypatch.setattr("hubbub.client.client.time", fake)
    monkeypatch.setattr("hubbub.client.client.encode_report", slow)
    url = f"http://127.0.0.1:1/v1/surveys/{survey.survey_id.hex()}"
    times = []
    for name in ("a" * 8, "a" * 62, "a" * 200):
        before = clock[0]
        with Client(survey.to_json(), url=url, ledger=ledger.with_name(name)) as client:
            assert client.report(name).status == "queued"
        times.append(round(clock[0] - before, 9))
    assert times == [0.005] * 3
