"""The queue of a relay: nothing is released before a crowd waits, and its order does not depend on that of arrival."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import stat
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from hubbub.errors import StoreError, StoreFull, StoreUnavailable, WireError
from hubbub.relay import waiting as queue_module
from hubbub.relay.waiting import Waiting, shuffle
from hubbub.sealing.release import MOST_REQUESTS, parse_part
from hubbub.sealing.request import Queue, pack_header, parse_request

KEY = bytes(range(32))
DAY = 20_000


def request(number: int, crowd: int = 3, key: bytes = KEY) -> bytes:
    """A request that only looks like one."""
    return pack_header(Queue(key, crowd)) + b"\4" + number.to_bytes(8, "little").ljust(176, b"\7")


def parts_of(waiting: Waiting) -> list[list[bytes]]:
    """The requests of all parts on their way, which are removed."""
    found = []
    while (leaving := waiting.next_part()) is not None:
        found.append(list(parse_part(leaving.body).requests))
        waiting.remove(leaving)
    return found


def given(numbers: Sequence[int]) -> Callable[[int], int]:
    """Randomness that draws these numbers."""
    left = list(numbers)

    def below(most: int) -> int:
        """Return the next one."""
        assert 0 <= left[0] < most
        return left.pop(0)

    return below


def mutant(old: str, new: str) -> type[Waiting]:
    """The class of the queue with one change of its source."""
    source = Path(str(queue_module.__file__)).read_text(encoding="utf-8")
    assert source.count(old) == 1
    changed = ModuleType("changed")
    sys.modules["changed"] = changed
    exec(source.replace(old, new), changed.__dict__)  # noqa: S102  # our own source
    made: type[Waiting] = changed.__dict__["Waiting"]
    return made


def orders(folder: Path, arrival: list[bytes], kind: type[Waiting] = Waiting) -> Counter[tuple[bytes, ...]]:
    """How often each order is released, over all that the randomness can draw; each draw is equally likely."""
    found = Counter[tuple[bytes, ...]]()
    for draws in itertools.product(*[range(last + 1) for last in range(len(arrival) - 1, 0, -1)]):
        waiting = kind(str(folder / f"{os.urandom(8).hex()}.db"), below=given(draws))
        for one in arrival:
            waiting.add([one], DAY)
        waiting.release()
        ((*released,),) = parts_of(waiting)
        found[tuple(released)] += 1
        waiting.close()
    return found


@pytest.mark.slow
def test_the_order_of_a_release_is_independent_of_the_order_of_arrival(tmp_path: Path) -> None:
    """For each order of arrival, each order of release comes for exactly one of the 3! equally likely draws."""
    three = [request(number) for number in range(3)]
    every = Counter(itertools.permutations(three))
    for arrival in itertools.permutations(three):
        assert orders(tmp_path, list(arrival)) == every
    assert orders(tmp_path, three, mutant("shuffle(digests, self._below)", "pass")) != every


def test_a_shuffle_reaches_each_order_once() -> None:
    """Over all draws for 5 items, each of the 120 orders comes once; a shuffle that draws from too many fails this."""
    draws = itertools.product(*[range(last + 1) for last in range(4, 0, -1)])
    found = Counter[tuple[int, ...]]()
    for drawn in draws:
        items = list(range(5))
        shuffle(items, given(drawn))
        found[tuple(items)] += 1
    assert set(found.values()) == {1}
    assert len(found) == 120


def check_crowds(folder: Path, crowd: int, kind: type[Waiting] = Waiting) -> None:
    """Check that with one fewer than a crowd nothing leaves, whatever else waits, and with the last one all do."""
    waiting = kind(str(folder / "a.db"))
    try:
        for number in range(crowd - 1):
            waiting.add([request(number, crowd)], DAY)
            waiting.add([request(number, crowd + 1)], DAY)  # another crowd is another queue
            waiting.add([request(number, crowd, bytes(32))], DAY)  # and so is another key
            waiting.add([request(0, crowd)], DAY)  # the same bytes are the same request
        for _ in range(3):
            assert waiting.release() == []
            assert waiting.next_part() is None
        waiting.add([request(crowd, crowd)], DAY)
        assert waiting.release() == [crowd]
        (released,) = parts_of(waiting)
        assert sorted(released) == sorted(request(number, crowd) for number in [*range(crowd - 1), crowd])
        assert waiting.waiting == 2 * (crowd - 1)
    finally:
        waiting.close()


@pytest.mark.parametrize("crowd", [2, 3, 7])
def test_nothing_is_released_before_a_crowd_waits(tmp_path: Path, crowd: int) -> None:
    """Two, three and seven are a crowd if a survey says so, and one fewer is not."""
    check_crowds(tmp_path, crowd)


def test_one_that_releases_early_is_noticed(tmp_path: Path) -> None:
    """A queue for which one fewer is a crowd fails the check above."""
    with pytest.raises(AssertionError):
        check_crowds(tmp_path, 3, mutant("count >= queue.crowd", "count >= queue.crowd - 1"))


def killed(folder: Path, name: str) -> str:
    """The files of a queue as they are now, in another place: what a process finds after another was killed."""
    for file in folder.glob(f"{name}*"):
        shutil.copy(file, folder / file.name.replace(name, f"{name}-later"))
    return str(folder / f"{name}-later")


def test_a_release_is_fixed_before_it_is_sent(tmp_path: Path) -> None:
    """After an end in the middle of a release its id, its order and its parts are as before."""
    path, size = str(tmp_path / "a.db"), MOST_REQUESTS + 10
    waiting = Waiting(path)
    waiting.add([request(number) for number in range(size)], DAY)
    assert waiting.release() == [size]
    first = waiting.next_part()
    again = Waiting(killed(tmp_path, "a.db"))
    assert again.on_their_way == size
    assert again.next_part() == first
    assert first is not None
    again.remove(first)
    last = Waiting(killed(tmp_path, "a.db-later"))
    rest = last.next_part()
    assert rest is not None
    assert (rest.release, rest.part, last.on_their_way) == (first.release, 1, 10)
    both = [*parse_part(first.body).requests, *parse_part(rest.body).requests]
    assert sorted(both) == sorted(request(number) for number in range(size))
    assert {parse_part(each.body).size for each in (first, rest)} == {size}
    for each in (waiting, again, last):
        each.close()


def test_requests_stay_after_an_end(tmp_path: Path) -> None:
    """What was added waits in the next process, with its queue; a second one at the same time is refused."""
    path = str(tmp_path / "a.db")
    waiting = Waiting(path)
    assert waiting.add([request(1), request(2)], DAY) == 2
    with pytest.raises(StoreUnavailable, match="another relay"):
        Waiting(path)
    again = Waiting(killed(tmp_path, "a.db"))
    assert again.waiting == 2
    assert again.add([request(2), request(3)], DAY) == 1
    assert again.release() == [3]
    again.close()
    waiting.close()


def test_the_queue_is_bounded(tmp_path: Path) -> None:
    """A full queue takes nothing, and nothing of what comes together; releases on their way count."""
    waiting = Waiting(str(tmp_path / "a.db"), most=4)
    waiting.add([request(number) for number in range(3)], DAY)
    with pytest.raises(StoreFull):
        waiting.add([request(7), request(8)], DAY)
    assert waiting.waiting == 3
    waiting.release()
    waiting.add([request(9)], DAY)
    with pytest.raises(StoreFull):
        waiting.add([request(10)], DAY)
    parts_of(waiting)
    waiting.add([request(10)], DAY)
    waiting.close()


def test_a_full_disk_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With too little room to release what waits, requests are refused, and what waits can still be released."""
    waiting = Waiting(str(tmp_path / "a.db"))
    waiting.add([request(number) for number in range(3)], DAY)
    free = os.statvfs(tmp_path).f_frsize * os.statvfs(tmp_path).f_bavail
    monkeypatch.setattr(queue_module, "_ROOM_BYTES", free + 10**9)
    with pytest.raises(StoreFull, match="disk"):
        waiting.add([request(5)], DAY)
    assert waiting.release() == [3]
    waiting.close()


def test_what_finds_no_crowd_is_dropped_by_its_day(tmp_path: Path) -> None:
    """Requests that arrived before a day go, later ones stay, and the counts follow."""
    waiting = Waiting(str(tmp_path / "a.db"))
    waiting.add([request(1), request(2)], DAY)
    waiting.add([request(3, 5)], DAY + 1)
    assert waiting.drop(DAY) == 0
    assert waiting.drop(DAY + 1) == 2
    assert (waiting.waiting, waiting.release()) == (1, [])
    waiting.add([request(4), request(5)], DAY + 1)
    assert waiting.release() == []
    assert waiting.drop(DAY + 9) == 3
    assert waiting.waiting == 0
    waiting.close()


def test_the_file_tells_neither_the_order_nor_the_time_of_arrival(tmp_path: Path) -> None:
    """Rows are in the order of a hash; the columns are a queue, a hash, a day and the bytes; mode 0600."""
    path = tmp_path / "a.db"
    contents = []
    for arrival in ([1, 2, 3, 4], [4, 2, 1, 3]):
        waiting = Waiting(str(path))
        for number in arrival:
            waiting.add([request(number, 9)], DAY)
        waiting.close()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with sqlite3.connect(path) as connection:
            columns = [row[1] for row in connection.execute("PRAGMA table_info(waiting)")]
            contents.append(connection.execute("SELECT * FROM waiting").fetchall())
        connection.close()
        assert columns == ["key", "crowd", "digest", "day", "request"]
        path.unlink()
    assert contents[0] == contents[1]


def test_nothing_of_a_delivered_release_is_left(tmp_path: Path) -> None:
    """After the last part is removed, neither the file nor its log has a request of it."""
    waiting = Waiting(str(tmp_path / "a.db"))
    waiting.add([request(number) for number in range(3)], DAY)
    waiting.release()
    parts_of(waiting)
    mark = request(1)[38:46] + b"\7" * 20
    assert not [file for file in tmp_path.iterdir() if mark in file.read_bytes()]
    waiting.close()


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """A database of another program, garbage, a directory and a missing one are refused in a sentence."""
    other, garbage = tmp_path / "other.db", tmp_path / "garbage"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    garbage.write_bytes(b"x" * 5000)
    for path in (other, garbage, tmp_path, tmp_path / "none" / "a.db"):
        with pytest.raises(StoreError, match="queue"):
            Waiting(str(path))
    assert garbage.read_bytes() == b"x" * 5000


def test_malformed_requests_are_not_stored(tmp_path: Path) -> None:
    """One that is malformed takes the whole group with it, and nothing is stored."""
    waiting = Waiting(str(tmp_path / "a.db"))
    with pytest.raises(WireError):
        waiting.add([request(1), b"x"], DAY)
    assert waiting.waiting == 0
    waiting.close()
    assert parse_request(request(1)) == Queue(KEY, 3)
