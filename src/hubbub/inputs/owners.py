"""Who holds which value, and which of several values a person reports.

Everybody has the same number of slots. Each distinct value of a person is in one slot, the other slots are empty, and
one slot is drawn uniformly. If she has more values than slots, a random choice of them is in the slots.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.model.mechanism import Items
from hubbub.numeric.randomness import RandomWordSource


@dataclass(frozen=True)
class Owners:
    """The person of each row that holds a value, numbered from 0, and the indices of these rows.

    `people` includes those without any value; `missing` counts the rows without a value or without a person.
    """

    of_row: NDArray[np.int64]
    people: int
    missing: int
    rows: array[int]


def _is_nobody(person: object) -> bool:
    """Whether the person of a row is missing."""
    return person is None or person == ""


def number_owners(rows: Iterable[tuple[object, object]]) -> Owners:
    """Number the people of (person, value) pairs. Rows without a person, or with None as value, count as missing.

    Memory grows with the number of rows.
    """
    numbers: dict[object, int] = {}
    of_row, kept = array("q"), array("q")
    missing = 0
    for row, (person, value) in enumerate(rows):
        if _is_nobody(person):
            missing += 1
            continue
        number = numbers.setdefault(person, len(numbers))
        if value is None:
            missing += 1
        else:
            of_row.append(number)
            kept.append(row)
    return Owners(np.frombuffer(of_row, np.int64) if of_row else np.empty(0, np.int64), len(numbers), missing, kept)


class Chosen(NamedTuple):
    """The index of one row of each person, in order of rows.

    `missing` counts the rows without a value or without a person, `over` the people with several different values.
    """

    rows: array[int]
    missing: int
    over: int


def choose_rows(rows: Iterable[tuple[object, object]], seed: int | None) -> Chosen:
    """Choose one row of each person, drawn uniformly among their rows with a value."""
    rng = random.SystemRandom() if seed is None else random.Random(seed)
    slots: dict[object, int] = {}
    seen, chosen = array("q"), array("q")
    first, several = array("q"), bytearray()  # a hash of each person's first value, and whether she has another
    missing = 0
    for row, (person, value) in enumerate(rows):
        if value is None or _is_nobody(person):
            missing += 1
            continue
        slot = slots.setdefault(person, len(seen))
        if slot == len(seen):
            seen.append(1)
            chosen.append(row)
            first.append(hash(value))
            several.append(0)
        else:
            # Reservoir of one: the k-th row replaces the choice with probability 1/k.
            seen[slot] += 1
            several[slot] |= hash(value) != first[slot]
            if rng.randrange(seen[slot]) == 0:
                chosen[slot] = row
    return Chosen(array("q", sorted(chosen)), missing, sum(several))


def first_of_each(items: Items, owners: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Marks the first row of each distinct value of each person. Costs a sort."""
    keys = np.ascontiguousarray(np.column_stack([owners.astype(np.uint64), items]))
    _, first = np.unique(keys.view(f"V{8 * keys.shape[1]}").ravel(), return_index=True)
    marks = np.zeros(len(items), np.bool_)
    marks[first] = True
    return marks


def draw_slots(
    items: Items, owners: Owners, empty: Items, slots: int, random_words: RandomWordSource
) -> tuple[Items, int]:
    """The item that each person reports, and how many people have more values than slots.

    `items` are those of the rows that hold a value. Values outside the domain have the item `empty`, and fill no slot;
    an empty slot reports it, too. Draws one random word for each person.
    """
    kept = np.flatnonzero(first_of_each(items, owners.of_row) & (items != empty).any(axis=1))
    kept = kept[np.argsort(owners.of_row[kept], kind="stable")]
    held = np.bincount(owners.of_row[kept], minlength=owners.people)
    # Draw one of the person's slots or, if she has more values than slots, one of her values.
    sizes = np.maximum(held, slots).astype(np.uint64)
    drawn = (random_words.draw(owners.people, 1)[:, 0] % sizes).astype(np.int64)
    filled = drawn < held
    reported = np.repeat(empty, owners.people, axis=0)
    starts = np.cumsum(held) - held
    reported[filled] = items[kept[(starts + drawn)[filled]]]
    return reported, int(np.count_nonzero(held > slots))
