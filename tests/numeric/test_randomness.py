"""No two reports get the same random words: across draws, threads, forks, copies and pickles."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from hubbub.errors import ParameterError
from hubbub.numeric.randomness import BulkRandomWords, Keystream, OSRandomWords, ReplayedRandomWords, SeededRandomWords

FORKING = """
import ctypes, os, sys, threading
from hubbub.numeric.randomness import BulkRandomWords

def fork_in_c():
    return ctypes.PyDLL(None).fork()

def fork_with_the_same_id():
    pid = os.getpid()
    os.getpid = lambda: pid
    return os.fork()

def fork_while_another_thread_draws():
    # The other thread draws nearly all of the time, so some of these forks come in the middle of a draw.
    threading.Thread(target=lambda: [source.draw(1, 1 << 21) for _ in iter(int, 1)], daemon=True).start()
    for _ in range(8):
        if not (child := os.fork()):
            source.draw(1, 3)
            os._exit(0)
        os.waitpid(child, 0)
    return os.fork()

source = BulkRandomWords()
source.draw(1, 3)
reader, writer = os.pipe()
child = {how}()
if not child:
    os.close(reader)
    grandchild = os.fork()
    os.write(writer, source.draw(1, 64).tobytes())
    if grandchild:
        os.waitpid(grandchild, 0)
    os._exit(0)
os.close(writer)
os.waitpid(child, 0)
told = source.draw(1, 64).tobytes()
with os.fdopen(reader, "rb") as pipe:
    told += pipe.read()
sys.stdout.write(told.hex())
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("how", ["os.fork", "fork_in_c", "fork_with_the_same_id", "fork_while_another_thread_draws"])
def test_a_forked_process_has_a_key_of_its_own(how: str) -> None:
    """Parent, child and grandchild draw differently from one source, whoever forked and whatever was going on."""
    script = FORKING.format(how=how)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    random_words = np.frombuffer(bytes.fromhex(run.stdout), np.uint64)
    assert len(random_words) == 3 * 64
    assert len(np.unique(random_words)) == len(random_words)


def unpickled(source: BulkRandomWords) -> BulkRandomWords:
    """What another process gets."""
    return pickle.loads(pickle.dumps(source))  # noqa: S301  # our own bytes


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, unpickled])
def test_a_copy_has_a_key_of_its_own(again) -> None:
    """Two sources never go on with one keystream."""
    source = BulkRandomWords()
    source.draw(1, 5)
    random_words = np.concatenate([source.draw(1, 64), again(source).draw(1, 64)], axis=None)
    assert len(np.unique(random_words)) == len(random_words)


def draw_in_threads(draw: Callable[[], np.ndarray], threads: int, draws: int) -> np.ndarray:
    """All random words that threads get which draw at once."""
    ready, drawn = threading.Barrier(threads), []

    def work() -> None:
        ready.wait()
        drawn.extend(draw() for _ in range(draws))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return np.concatenate(drawn, axis=None)


def test_threads_share_no_words() -> None:
    """Eight threads on one source get as many different random words as they asked for."""
    source = BulkRandomWords()
    random_words = draw_in_threads(lambda: source.draw(1, 3), threads=8, draws=300)
    assert len(np.unique(random_words)) == 8 * 300 * 3


class SlowCounter:
    """A cipher that another thread can overtake between reading its counter and moving it on."""

    def __init__(self) -> None:
        self.counter = 0

    def update_into(self, zeros: bytes, buffer: memoryview, /) -> None:
        """Count up in words of 8 bytes."""
        first = self.counter
        time.sleep(0.001)
        self.counter = first + len(zeros) // 8
        buffer[:] = np.arange(first, self.counter, dtype=np.uint64).tobytes()


def test_one_thread_at_a_time_moves_the_keystream() -> None:
    """Even a cipher that threads could overtake one another in gives no word twice."""
    keystream = Keystream(SlowCounter())
    random_words = draw_in_threads(lambda: keystream.draw(1, 3), threads=4, draws=5)
    assert np.array_equal(np.sort(random_words), np.arange(4 * 5 * 3, dtype=np.uint64))


@pytest.mark.parametrize("random_words", [np.ones(4), np.arange(4), [1, 2, 3, 4], np.arange(4, dtype=np.uint32)])
def test_a_replay_is_of_whole_words(random_words) -> None:
    """Random words of another type are refused: rounded or cut, they would be no noise."""
    with pytest.raises(ParameterError, match="a replay must be an array of uint64, got"):
        ReplayedRandomWords(random_words)


@pytest.mark.parametrize("sizes", [(-1, 4), (1, -4), (1.5, 4), (2, "4"), (True, 4), (None, 4)])
@pytest.mark.parametrize(
    "source", [OSRandomWords(), BulkRandomWords(), SeededRandomWords(1), ReplayedRandomWords(np.zeros(9, np.uint64))]
)
def test_sizes_are_whole_numbers(source: object, sizes: tuple) -> None:
    """What is no number of reports or random words is refused by name, by every source."""
    with pytest.raises(
        ParameterError, match=r"(reports|random_words_per_report) must be a whole number of at least 0, got"
    ):
        source.draw(*sizes)
