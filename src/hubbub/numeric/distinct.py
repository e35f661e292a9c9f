"""Records of bytes, spread over partitions by their ids, and deduplicated by id.

A record starts with an id of 16 bytes; the rest is its payload. Ids are untrusted, so partitions and places in hash
tables come from a hash under a secret key: nobody can craft ids that all fall into one place.
"""

from __future__ import annotations

import secrets
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hubbub.jit import inlined, kernel

ID_BYTES: Final = 16

Records = NDArray[np.uint8]
"""Shape (n, size), C-contiguous: one record in each row."""


def draw_key() -> NDArray[np.uint64]:
    """Four secret random words, the key of the two functions below."""
    return np.array([secrets.randbits(64) for _ in range(4)], np.uint64)


def partition(records: Records, key: NDArray[np.uint64], bits: int) -> tuple[Records, NDArray[np.int64]]:
    """A copy of the records sorted by their partition, a number of `bits` bits; within one they keep their order.

    The second array has the start of each partition, and the end of the last: 2^bits + 1 numbers.
    """
    sorted_records = np.empty_like(records)
    ends = np.zeros((1 << bits) + 1, np.int64)
    _partition(records, _ids(records), key, np.int64(bits), sorted_records, ends)
    return sorted_records, ends


def keep_smallest(
    records: Records, conflicts: NDArray[np.bool_], key: NDArray[np.uint64]
) -> tuple[Records, NDArray[np.bool_]]:
    """One record of each id: the one with the smallest payload, compared byte by byte.

    Costs about 70 ns per record; takes the memory of two copies plus 8 to 16 bytes per record. Twin:
    tests/reference/naive.py::keep_smallest.

    Parameters
    ----------
    records : Records
        Fewer than 2^31.
    conflicts : bool array
        For each record, whether its id has already been seen with different payloads.
    key : uint64 array
        From `draw_key`.

    Returns
    -------
    Records
        The records that are kept, in their original order.
    bool array
        For each kept record, whether its id came with different payloads, now or before.
    """
    if not len(records):
        return records, conflicts
    table = np.full(1 << int(2 * len(records) - 1).bit_length(), -1, np.int32)
    keep, marks = np.zeros(len(records), np.bool_), conflicts.copy()
    _keep_smallest(_ids(records), np.ascontiguousarray(records[:, ID_BYTES:]), key, table, keep, marks)
    if keep.all():
        return records, marks
    return records[keep], marks[keep]


def copy_ids(reports: NDArray[np.void]) -> NDArray[np.uint64]:
    """A copy of the first 16 bytes of each report, as pairs of 64-bit words; costs about 3 ns per report.

    Each id is copied as one piece of 16 bytes: numpy takes five times as long to copy pairs of words.
    """
    pieces = [("id", f"V{ID_BYTES}"), ("payload", f"V{reports.dtype.itemsize - ID_BYTES}")]
    ids = np.empty(len(reports), f"V{ID_BYTES}")
    ids[:] = reports.view(pieces)["id"]
    return ids.view("<u8").reshape(-1, 2)


def _ids(records: Records) -> NDArray[np.uint64]:
    """The ids of records."""
    return copy_ids(np.ascontiguousarray(records).view(f"V{records.shape[1]}")[:, 0])


@inlined
def _hash(low, high, first, second):  # type: ignore[no-untyped-def]
    """Mix both words of an id with two words of the key."""
    word = (low ^ first) * np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(29)
    word = (word + (high ^ second)) * np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def _partition(records, ids, key, bits, sorted_records, ends):  # type: ignore[no-untyped-def]
    """A counting sort: count, add up, copy."""
    count, size = records.shape
    places = np.zeros(count, np.uint32)
    for i in range(count):
        if bits > 0:
            places[i] = np.uint32(_hash(ids[i, 0], ids[i, 1], key[0], key[1]) >> np.uint64(64 - bits))
        ends[places[i] + 1] += 1
    for p in range(ends.shape[0] - 1):
        ends[p + 1] += ends[p]
    at = ends.copy()
    for i in range(count):
        place = at[places[i]]
        at[places[i]] += 1
        for b in range(size):
            sorted_records[place, b] = records[i, b]


@kernel
def _keep_smallest(ids, payloads, key, table, keep, conflicts):  # type: ignore[no-untyped-def]
    """Keeps a hash table of the kept records, and compares each record with the kept one of the same id."""
    mask = np.uint64(table.shape[0] - 1)
    for i in range(ids.shape[0]):
        slot = _hash(ids[i, 0], ids[i, 1], key[2], key[3]) & mask
        while True:
            j = table[slot]
            if j < 0:
                table[slot] = i
                keep[i] = True
                break
            if ids[j, 0] == ids[i, 0] and ids[j, 1] == ids[i, 1]:
                b = 0
                while b < payloads.shape[1] and payloads[i, b] == payloads[j, b]:
                    b += 1
                if b == payloads.shape[1]:
                    conflicts[j] |= conflicts[i]
                elif payloads[i, b] < payloads[j, b]:
                    table[slot] = i
                    keep[j] = False
                    keep[i] = True
                    conflicts[i] = True
                else:
                    conflicts[j] = True
                break
            slot = (slot + np.uint64(1)) & mask
