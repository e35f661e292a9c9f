"""The randomisers for devices: `tree`, `subset`, and the one-bit forms of `jl` and `bucket`.

Each `read_…` function checks the parameters of a survey and returns its randomizer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from itertools import count, takewhile
from typing import Any, NamedTuple

from .checks import fields, require, threshold, whole
from .domains import Domain
from .hashing import (
    BUCKET_MATRIX,
    BUCKET_SHIFT,
    PROJECTION_SIGNS,
    REPORT_ROW,
    SUBSET_PLACES,
    TREE_BIJECTION,
    TREE_BUCKET,
    TREE_COINS,
    derive_key,
    hash_words,
    id_words,
    padded_words,
)

# For b = 1 to 20 the least odd p for which x^b + p is irreducible over GF(2); bit i of p stands for x^i.
POLYNOMIALS = (1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9)


class Randomizer(NamedTuple):
    """How a device makes reports for a survey.

    A report takes so many `random_words` of 64 bits. `loss` is the ε that follows from the integer thresholds, rounded
    up. `respond` maps an item and the random words to the response: the number of `size` bytes that follows the
    report's id.
    """

    random_words: int
    loss: Decimal
    respond: Callable[[int, Sequence[int]], int]
    size: int = 1


def log_ratio(numerator: int, denominator: int) -> Decimal:
    """Return the logarithm of a ratio of probabilities, rounded up."""
    with localcontext(Context(prec=80, rounding=ROUND_CEILING)):
        return (Decimal(numerator) / Decimal(denominator)).ln() * (1 + Decimal(10) ** -40)


def read_steps(steps: Any, bits: int, bucket_bits: int, rows: int) -> dict[int, list[int]]:
    """Return the steps of each class of `tree`, by the number of its bits."""
    pattern = re.compile(f"(?!0)[0-9a-k]{{1,{rows}}}")
    spelled = isinstance(steps, list) and all(isinstance(text, str) and pattern.fullmatch(text) for text in steps)
    require(spelled, f"steps must be a list of strings of 1 to {rows} digits from 0 to k, the first not 0", steps)
    classes = [[int(digit, 36) for digit in text] for text in steps]
    fit = all(max(digits) <= bucket_bits for digits in classes)
    require(fit, f"steps must have no digit above bucket_bits = {bucket_bits}", steps)
    sums = [0, *map(sum, classes)]
    require(sums == sorted(set(sums)) and sums[-1] == bits, f"the sums of steps must rise to {bits}", sums[1:])
    return dict(zip(sums[1:], classes, strict=True))


def read_tree(seed: bytes, data: dict[str, Any], domain: Domain) -> Randomizer:
    """Return the randomizer of `tree`, tree-coded linear local hashing."""
    fields(data, "parameters", ("bucket_bits", "ends", "keep_threshold", "masks", "steps"))
    bits = (domain.size - 1).bit_length()
    bucket_bits, masks = whole(data, "bucket_bits", 1, 20), whole(data, "masks", 1, 8)
    keep, ends = threshold(data, "keep_threshold", 0), data["ends"]
    listed = isinstance(ends, list) and all(type(end) is int for end in ends)
    require(listed and 1 <= len(ends) <= 200, "ends must be a list of 1 to 200 whole numbers", ends)
    require(ends == sorted(set(ends)) and ends[0] > 0 and ends[-1] == 1 << 24, "ends must rise to 2^24", ends)
    classes = read_steps(data["steps"], bits, bucket_bits, len(ends))
    if len(ends) == 1:
        require(not domain.coded, "ends must have two entries or more for coded text", ends)
        one = [*classes] == [bucket_bits]
        require(one, "steps must be one step of bucket_bits where there is one row", data["steps"])
        require(masks <= bucket_bits, "masks must be at most bucket_bits where there is one row", masks)
    root, coins, buckets = (derive_key(seed, purpose) for purpose in (TREE_BIJECTION, TREE_COINS, TREE_BUCKET))

    def mix(first: int, half: int, size: int, wanted: int) -> int:
        """Return `wanted` hashed bits of half an item, for one step of the bijection."""
        message = padded_words(half, size)
        hashes = (hash_words(root, (first | j, *message)) << 64 * j for j in range(-(-wanted // 64)))
        return sum(hashes) & ((1 << wanted) - 1)

    def bucket_of(item: int, row: int) -> int:
        """Return the bucket of an item in a row."""
        # The class has all bits of the item but zeros at its end. The path is a keyed permutation of these bits.
        size = next(size for size in classes if not item & (1 << bits - size) - 1)
        left, right = size // 2, size - size // 2
        number = item >> bits - size
        high, low = number >> right, number & (1 << right) - 1
        high ^= mix(size << 16 | 1 << 8, low, right, left)
        if left:
            low ^= mix(size << 16 | 2 << 8, high, left, right)
        path = low << left | high
        # The row's bits of the path, and a hash of the bits before them.
        step = min(row, len(classes[size]) - 1)
        chunk = classes[size][step]
        after = size - sum(classes[size][:step])
        hashed = hash_words(buckets, (size << 8 | row, *padded_words(path >> after << after, size)))
        return hashed & (1 << bucket_bits) - 1 ^ path >> after - chunk & (1 << chunk) - 1

    def respond(item: int, drawn: Sequence[int]) -> int:
        """Return the symbol to send: the true one, or with some chance a random one."""
        report_id = id_words(drawn)
        first = hash_words(coins, report_id)
        bucket = bucket_of(item, next(row for row, end in enumerate(ends) if first >> 40 < end))
        # The masks. A bucket has 20 bits at most, so that only as many of a mask count.
        if len(ends) == 1:
            found = [1 + (first * ((1 << bits) - 1) >> 64)]
            for _ in range(masks - 1):
                found.append(found[-1] << 1 ^ (found[-1] >> (bits - 1)) * (1 << bits | POLYNOMIALS[bits - 1]))
        else:
            more = [hash_words(coins, (*report_id, block)) for block in (1, 2)]
            found = [first, first >> 20, *(block >> 20 * k for block in more for k in range(3))][:masks]
        symbol = sum(((mask & bucket).bit_count() & 1) << j for j, mask in enumerate(found))
        return symbol if drawn[2] < keep else drawn[3] >> (64 - masks)

    return Randomizer(4, log_ratio((1 << 64) - keep + (keep << masks), (1 << 64) - keep), respond)


def _mix(word: int) -> int:
    word = (word ^ word >> 16) * 0x7FEB352D & 0xFFFFFFFF
    word = (word ^ word >> 15) * 0x846CA68B & 0xFFFFFFFF
    return word ^ word >> 16


def read_subset(seed: bytes, data: dict[str, Any], domain: Domain) -> Randomizer:
    """Return the randomizer of `subset`, subset selection with public coins."""
    fields(data, "parameters", ("window", "keep_threshold"))
    values = domain.size
    require(values <= 4096, "subset must have at most 4096 values", f"2^{(values - 1).bit_length()}")
    window, keep = whole(data, "window", 1, values - 1), threshold(data, "keep_threshold", 0)
    key = derive_key(seed, SUBSET_PLACES)

    def place_of(item: int, report_id: Sequence[int]) -> int:
        if window == 1:
            return item
        coins = hash_words(key, report_id)
        low, high = coins & 0xFFFFFFFF, coins >> 32
        pool, places = list(range(values)), []
        for value in range(values):  # all values, so that the time does not depend on the item
            drawn = _mix(_mix(low + value & 0xFFFFFFFF) ^ high) * len(pool) >> 32
            places.append(pool[drawn])
            pool[drawn] = pool[-1]
            pool.pop()
        return places[item]

    def respond(item: int, drawn: Sequence[int]) -> int:
        own = (place_of(item, id_words(drawn)) - (drawn[3] * window >> 64)) % values
        return own if drawn[2] < keep else drawn[3] * values >> 64

    lied = ((1 << 64) - keep) * ((1 << 64) // values)
    told = keep * -(-(1 << 64) // window)
    return Randomizer(4, log_ratio(lied + told, lied), respond, 1 if values <= 256 else 2)


def one_bit(seed: bytes, data: dict[str, Any], rows: int, sign: Callable[[int, int], int]) -> Randomizer:
    """Return a randomizer that reports one bit about one row. The row follows from the report's id."""
    fits = rows <= 1 << 21 or (rows <= 1 << 24 and rows.bit_count() == 1)
    require(fits, "rows must be at most 2^21, or a power of two up to 2^24", rows)
    truth, coins = threshold(data, "truth_threshold", 1 << 63), derive_key(seed, REPORT_ROW)

    def respond(item: int, drawn: Sequence[int]) -> int:
        """Return the bit to send: the true one, or with some chance its opposite."""
        row = hash_words(coins, id_words(drawn)) * rows >> 64
        return sign(item, row) ^ (drawn[2] >= truth)

    return Randomizer(3, log_ratio(truth, (1 << 64) - truth), respond)


def read_jl(seed: bytes, data: dict[str, Any], domain: Domain, dense: bool) -> Randomizer:
    """Return the randomizer of `jl` with one bit."""
    fields(data, "parameters", ("rows", "truth_threshold"))
    bits, rows = (domain.size - 1).bit_length(), whole(data, "rows", 1, 1 << 24)
    require(bits <= 24, "jl must have at most 2^24 values", f"2^{bits}")
    require(dense or rows == 1 << bits, f"rows must be {1 << bits} for hadamard", rows)
    key = derive_key(seed, PROJECTION_SIGNS)

    def sign(item: int, row: int) -> int:
        """Return the bit of the projection for an item and a row."""
        return hash_words(key, (item, 0, row >> 6)) >> (row & 63) & 1 if dense else (item & row).bit_count() & 1

    return one_bit(seed, data, rows, sign)


def full_rank(rows: Sequence[int], bits: int) -> bool:
    """Return whether these rows of bits over GF(2) determine a number of `bits` bits."""
    basis: dict[int, int] = {}
    for row in rows:
        while row and row.bit_length() in basis:
            row ^= basis[row.bit_length()]
        basis |= {row.bit_length(): row} if row else {}
    return len(basis) == bits


def read_bucket(seed: bytes, data: dict[str, Any], domain: Domain) -> Randomizer:
    """Return the randomizer of `bucket` with one bit."""
    fields(data, "parameters", ("rows_per_trial", "trials", "truth_threshold"))
    bits, per_trial = (domain.size - 1).bit_length(), whole(data, "rows_per_trial", 1, 1 << 12)
    # With more rows, nearly every trial has a zero row, and the search below would hardly ever end.
    require(bits < per_trial <= 4 << bits, f"rows_per_trial must be from {bits + 1} to {4 << bits}", per_trial)
    matrix, shifts, limbs = derive_key(seed, BUCKET_MATRIX), derive_key(seed, BUCKET_SHIFT), -(-bits // 64)

    def draw(trial: int, attempt: int) -> Iterator[int]:
        """Yield the rows of one attempt to draw the matrix of a trial."""
        for row in range(per_trial):
            drawn = (hash_words(matrix, (trial, attempt, row, limb)) << 64 * limb for limb in range(limbs))
            yield sum(drawn) & ((1 << bits) - 1)

    def rows_of(trial: int) -> list[int]:
        """Return the rows of the matrix of a trial: the first attempt of full rank without a zero row."""
        for attempt in count():
            rows = list(takewhile(bool, draw(trial, attempt)))  # a zero row ends the attempt
            if len(rows) == per_trial and full_rank(rows, bits):
                return rows
        raise AssertionError("the attempts do not end")

    def sign(item: int, row: int) -> int:
        """Return the true bit of an item in a row."""
        ones = (rows_of(row // per_trial)[row % per_trial] & item).bit_count()
        return (ones ^ hash_words(shifts, (row,))) & 1

    return one_bit(seed, data, per_trial * whole(data, "trials", 1, 1 << 10), sign)
