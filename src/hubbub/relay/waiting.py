"""The durable queue of a relay: requests that wait for a crowd, and releases that are on their way. A SQLite file.

A request is stored under a hash of its bytes, so that the file does not tell in which order they came, and the same
bytes again change nothing. A release is made in one transaction: it gets a random id, all that wait in its queue are
shuffled and cut into parts, and are no longer waiting. So whatever happens later, a part is sent as the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from hubbub.errors import StoreError, StoreFull, StoreUnavailable
from hubbub.sealing.release import Part, pack_part, parts_of, requests_of
from hubbub.sealing.request import REQUEST_BYTES, Queue, parse_request

MOST_WAITING: Final = 1_000_000
_DIGEST_BYTES: Final = 16
_COPIES: Final = 4  # a release is written to the log and to the file while its requests are still there
_ROOM_BYTES: Final = 64 << 20
_SCHEMA: Final = """
    CREATE TABLE IF NOT EXISTS hubbub_relay (version INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS waiting (key BLOB NOT NULL, crowd INTEGER NOT NULL, digest BLOB NOT NULL,
        day INTEGER NOT NULL, request BLOB NOT NULL, PRIMARY KEY (key, crowd, digest)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS parts (release BLOB NOT NULL, part INTEGER NOT NULL, requests INTEGER NOT NULL,
        body BLOB NOT NULL, PRIMARY KEY (release, part));
"""

T = TypeVar("T")


class Leaving(NamedTuple):
    """A part on its way: the id of its release, its number, how many requests it has, and its bytes."""

    release: bytes
    part: int
    requests: int
    body: bytes


def shuffle(items: MutableSequence[T], below: Callable[[int], int] = secrets.randbelow) -> None:
    """Put items into a uniformly random order; `below(n)` draws uniformly from the numbers below n."""
    for last in range(len(items) - 1, 0, -1):
        drawn = below(last + 1)
        items[last], items[drawn] = items[drawn], items[last]


class Waiting:
    """The queue in a file that only its owner may read. One thread at a time may use it, and one process.

    Attributes
    ----------
    on_their_way : int
        The requests in parts that have not been delivered.
    """

    def __init__(self, path: str, most: int = MOST_WAITING, below: Callable[[int], int] = secrets.randbelow) -> None:
        self._path, self._most, self._below = Path(path).absolute(), most, below
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            self._path.chmod(0o600)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise StoreUnavailable(f"queue must be a file that can be written, got {path!r} ({reason})") from None
        self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=0.1)
        try:
            tables = {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and "hubbub_relay" not in tables:
                raise StoreError(f"queue must be a file of a relay, got {path!r}, which is another database")
            for pragma in (
                "locking_mode = EXCLUSIVE",
                "journal_mode = WAL",
                "synchronous = FULL",  # a commit is on the disk when it returns
                "secure_delete = ON",  # what is deleted is overwritten with zeros
            ):
                self._connection.execute(f"PRAGMA {pragma}")
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            self._connection.close()
            raise _fault(error, f"the queue {path!r} cannot be used; another relay may use it") from None
        except StoreError:
            self._connection.close()
            raise
        rows = self._connection.execute("SELECT key, crowd, count(*) FROM waiting GROUP BY key, crowd")
        self._counts = Counter({Queue(key, crowd): count for key, crowd, count in rows})
        self.on_their_way = int(self._one("SELECT coalesce(sum(requests), 0) FROM parts"))

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    @property
    def waiting(self) -> int:
        """The requests that wait for a crowd."""
        return self._counts.total()

    def add(self, requests: Sequence[bytes], day: int) -> int:
        """Store requests that arrived on this day since 1970, durably; return how many are new.

        Raises WireError if one is malformed, and StoreFull, and stores none, if there is no room.
        """
        queues = [parse_request(request) for request in requests]
        if self.waiting + self.on_their_way + len(requests) > self._most:
            raise StoreFull("the queue of the relay is full")
        self._check_room()
        rows = [
            (*queue, hashlib.sha256(request).digest()[:_DIGEST_BYTES], day, request)
            for queue, request in zip(queues, requests, strict=True)
        ]
        added = Counter[Queue]()
        with self._writing():
            for queue, row in zip(queues, rows, strict=True):
                done = self._connection.execute("INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?, ?)", row)
                added[queue] += done.rowcount
        self._counts.update(added)
        return added.total()

    def release(self) -> list[int]:
        """Make a release of each queue in which a crowd waits; return how many requests each of them has."""
        due = [queue for queue, count in self._counts.items() if count >= queue.crowd]
        return [self._release(queue) for queue in due]

    def _release(self, queue: Queue) -> int:
        """Shuffle a queue and cut it into parts, in one transaction."""
        of_queue = "FROM waiting WHERE key = ? AND crowd = ?"
        with self._writing():
            digests = [row[0] for row in self._connection.execute(f"SELECT digest {of_queue}", queue)]
            shuffle(digests, self._below)
            release, size = secrets.token_bytes(16), len(digests)
            for part in range(parts_of(size)):
                start = sum(requests_of(before, size) for before in range(part))
                mine = digests[start : start + requests_of(part, size)]
                look_up = f"SELECT request {of_queue} AND digest = ?"  # our own names
                found = [self._connection.execute(look_up, (*queue, digest)).fetchone()[0] for digest in mine]
                body = pack_part(Part(release, part, parts_of(size), size, found))
                self._connection.execute("INSERT INTO parts VALUES (?, ?, ?, ?)", (release, part, len(found), body))
            self._connection.execute(f"DELETE {of_queue}", queue)
        del self._counts[queue]
        self.on_their_way += size
        self._remove_copies()
        return size

    def next_part(self) -> Leaving | None:
        """Return a part to send, or None. Parts of a release come in their order."""
        query = "SELECT release, part, requests, body FROM parts ORDER BY release, part LIMIT 1"
        row = self._connection.execute(query).fetchone()
        return None if row is None else Leaving(*row)

    def remove(self, leaving: Leaving) -> None:
        """Forget a part that was delivered, or refused for good."""
        with self._writing():
            self._connection.execute("DELETE FROM parts WHERE release = ? AND part = ?", leaving[:2])
        self.on_their_way -= leaving.requests
        self._remove_copies()

    def drop(self, before: int) -> int:
        """Drop requests that arrived before this day since 1970, and found no crowd; return how many they were."""
        dropped = Counter[Queue]()
        with self._writing():
            old = "FROM waiting WHERE day < ?"
            rows = self._connection.execute(f"SELECT key, crowd, count(*) {old} GROUP BY key, crowd", (before,))
            dropped.update({Queue(key, crowd): count for key, crowd, count in rows})
            self._connection.execute(f"DELETE {old}", (before,))
        self._counts.subtract(dropped)
        self._counts += Counter()  # without those that are empty
        if dropped:
            self._remove_copies()
        return dropped.total()

    def _check_room(self) -> None:
        """Raise StoreFull if the disk has no room to release everything that waits."""
        needed = _ROOM_BYTES + _COPIES * REQUEST_BYTES * self.waiting
        if shutil.disk_usage(self._path.parent).free < needed:
            raise StoreFull("the disk of the relay is full")

    def _remove_copies(self) -> None:
        """Empty the log, which has copies of what was deleted."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Open a transaction: at the end all of it is durable, or none of it happened."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise _fault(error, "the queue of the relay cannot be written now") from None
            raise

    def _one(self, query: str) -> int:
        """Return the number that a query asks for."""
        return int(self._connection.execute(query).fetchone()[0])


def _fault(error: sqlite3.Error, sentence: str) -> StoreUnavailable:
    """Return what an error of SQLite means. Its words hold nothing that was stored."""
    full = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
    return (StoreFull if full else StoreUnavailable)(f"{sentence} ({error})")
