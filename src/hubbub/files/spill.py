"""Records on disk, by partition: each id is in one partition, so that partitions can be counted one by one.

Each unit of work writes one file of blocks, in which the records of a block are sorted by partition, its counts, and an
index: the number of blocks, and for each block where its partitions start. The index is written last: if it exists, the
unit is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import InputError
from hubbub.files.counting import blocks
from hubbub.files.tallied import Counts
from hubbub.numeric.distinct import Records, partition
from hubbub.outputs import place_whole, write_whole

_WINDOW: Final = 64  # partitions whose places are read from the indexes at once

Pieces = list[tuple[int, NDArray[np.int64]]]
"""For each block of each unit: the unit, and the starts of some partitions, in records from the start of the file."""


@dataclass(frozen=True)
class Spill:
    """A directory of records of `record_bytes` each, in 2^bits partitions; at most `block_bytes` of them are in memory.

    The secret key of this run spreads ids over partitions.
    """

    folder: str
    record_bytes: int
    bits: int
    key: NDArray[np.uint64]
    block_bytes: int
    _known: dict[int, Pieces] = field(default_factory=dict, init=False, repr=False, compare=False)

    def is_done(self, unit: int) -> bool:
        """Whether a unit has been written completely."""
        return os.path.exists(self._path(unit, "index"))

    def write(self, unit: int, parts: Iterable[Records], counts: list[Counts]) -> None:
        """Write the records of a unit, and then its index, which marks it as done.

        `counts[0]` is read after the last part, and is stored beside them.
        """
        ends: list[NDArray[np.int64]] = []

        def write(path: str) -> None:
            first = 0
            with open(path, "wb") as file:
                for block in blocks(parts, self.block_bytes):
                    records, where = partition(block, self.key, self.bits)
                    ends.append(where + first)
                    file.write(records.data)
                    first += len(records)

        place_whole(self._path(unit, "records"), write)
        write_whole(self._path(unit, "counts"), counts[0].to_bytes())
        table = np.concatenate([np.array([len(ends)]), *ends]).astype("<i8")
        place_whole(self._path(unit, "index"), table.tofile)

    def counts(self, unit: int) -> Counts:
        """The counts of a unit that is done."""
        path = self._path(unit, "counts")
        try:
            with open(path, "rb") as file:
                return Counts.from_bytes(file.read())
        except (OSError, ValueError):
            _refuse(path)

    def read(self, place: int, units: int) -> Iterator[Records]:
        """Yield all records of partition `place`; `units` is the total number of units."""
        window = place // _WINDOW
        if window not in self._known:
            self._known.clear()
            self._known[window] = self._pieces(window * _WINDOW, units)
        at, size = place % _WINDOW, self.record_bytes
        for unit, starts in self._known[window]:
            count = int(starts[at + 1] - starts[at])
            if count:
                data = self._read_at(self._path(unit, "records"), int(starts[at]) * size, count * size)
                yield np.frombuffer(data, np.uint8).reshape(count, size)

    def _pieces(self, first: int, units: int) -> Pieces:
        """The places of one window of partitions, from `first` on."""
        row = (1 << self.bits) + 1
        many = min(_WINDOW + 1, row - first)
        pieces: Pieces = []
        for unit in range(units):
            path = self._path(unit, "index")
            blocks_written = int(np.frombuffer(self._read_at(path, 0, 8), "<i8")[0])
            if os.path.getsize(path) != 8 * (1 + blocks_written * row):
                _refuse(path)
            for block in range(blocks_written):
                data = self._read_at(path, 8 * (1 + block * row + first), 8 * many)
                pieces.append((unit, np.frombuffer(data, "<i8")))
        return pieces

    def _read_at(self, path: str, start: int, size: int) -> bytes:
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(size)
        if len(data) < size:
            _refuse(path)
        return data

    def _path(self, unit: int, kind: str) -> str:
        return os.path.join(self.folder, f"unit-{unit:06d}.{kind}")


def _refuse(path: str) -> NoReturn:
    raise InputError(f"the work folder is damaged: {path!r} is not whole; remove the folder and start over") from None
