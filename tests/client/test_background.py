"""The sending thread: how long it waits between tries, and when it ends."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from hubbub.client.background import Background


def test_waits_double_up_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come after 1, 2, 4, 8, 8, … seconds, each half to one and a half times, never before Retry-After."""
    waits: list[float] = []
    ended = threading.Event()

    class Instant(threading.Condition):
        """Notes how long it should wait, and does not."""

        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            return False

    def work() -> float | None:
        if len(waits) == 6:
            ended.set()
            return None
        return 20.0 if len(waits) == 5 else 0.0

    names = SimpleNamespace(Condition=Instant, Thread=threading.Thread)
    monkeypatch.setattr("hubbub.client.background.threading", names)
    Background(work, 1, 8).wake()
    assert ended.wait(60)
    *backed_off, told = waits
    assert all(0.5 * delay <= wait <= 1.5 * delay for wait, delay in zip(backed_off, (1, 2, 4, 8, 8), strict=True))
    assert told == 20.0


def test_it_ends_when_nothing_is_left_and_begins_again() -> None:
    """The thread ends after the last try; the next `wake` starts another, and none after `close`."""
    threads: list[str] = []
    background = Background(lambda: threads.append(threading.current_thread().name), 1, 8)
    for tries in (1, 2):
        background.wake()
        with background.changed:
            assert background.changed.wait_for(lambda: not background.busy, 60)
        assert threads == ["hubbub-client"] * tries
    background.close()
    background.wake()
    assert not background.busy
    assert len(threads) == 2
