"""The largest of many 32-bit floating-point numbers, without a sort: inner loops for kernels.

The bits of such a number are three digits. The least number that is wanted is found digit by digit, with a count of
how many numbers have each digit; only the first digit looks at all numbers. Equal numbers keep their order, so results
never depend on anything but the numbers.
"""

from __future__ import annotations

import numpy as np

from hubbub.jit import inlined, inner

_DIGIT_BITS = 11
DIGITS = 1 << _DIGIT_BITS
"""The length of the buffer `counts`. The buffer `near` must hold all numbers."""


@inlined
def _key(raw):  # type: ignore[no-untyped-def]
    """A whole number in the order of the floating-point numbers with these bits."""
    key = np.int64(raw)
    return key + (1 << 31) if key < 1 << 31 else (1 << 32) - 1 - key


@inlined
def _digit(counts, wanted):  # type: ignore[no-untyped-def]
    """The digit of the `wanted`-th largest number, given how many have each digit; and which of those it is."""
    digit = np.int64(counts.shape[0] - 1)
    while counts[digit] < wanted:
        wanted -= counts[digit]
        digit -= 1
    return digit, wanted


@inner
def _find_key(numbers, count, wanted, counts, near):  # type: ignore[no-untyped-def]
    """The key of the `wanted`-th largest of the first `count` numbers, and how many with that very key are among these.

    Found digit by digit. Only the first digit looks at every number.
    """
    raw = numbers.view(np.uint32)
    counts[:] = 0
    for j in range(count):
        counts[_key(raw[j]) >> 2 * _DIGIT_BITS] += 1
    least, equal = _digit(counts, wanted)
    few = 0
    for j in range(count):
        key = _key(raw[j])
        near[few] = key
        few += key >> 2 * _DIGIT_BITS == least
    for digit in range(1, -1, -1):
        counts[:] = 0
        for j in range(few):
            if near[j] >> ((digit + 1) * _DIGIT_BITS) == least:
                counts[(near[j] >> (digit * _DIGIT_BITS)) & (counts.shape[0] - 1)] += 1
        last, equal = _digit(counts, equal)
        least = (least << _DIGIT_BITS) | last
    return least, equal


@inner
def keep_largest(numbers, count, wanted, places, counts, near):  # type: ignore[no-untyped-def]
    """Write the places of the `wanted` largest numbers, in order; of equal ones the first. Returns how many."""
    if wanted >= count:
        for j in range(count):
            places[j] = j
        return count
    least, equal = _find_key(numbers, count, wanted, counts, near)
    raw = numbers.view(np.uint32)
    filled = 0
    for j in range(count):
        key = _key(raw[j])
        if key >= least and (key > least or equal > 0):
            equal -= key == least
            places[filled] = j
            filled += 1
    return filled


@inner
def largest(numbers, count, wanted, counts, near):  # type: ignore[no-untyped-def]
    """The `wanted`-th largest of the first `count` numbers."""
    least, _ = _find_key(numbers, count, wanted, counts, near)
    raw, found = numbers.view(np.uint32), np.float32(np.inf)
    for j in range(count):
        if _key(raw[j]) >= least:
            found = min(found, numbers[j])
    return found
