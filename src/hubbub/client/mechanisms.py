"""The randomisers for devices: `tree`, `subset`, and the one-bit forms of `jl` and `bucket`.

Each `read_…` function checks the parameters of a survey and returns its randomizer.
"""

from __future__ import annotations

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
    TREE_FINGERPRINT,
    derive_key,
    halves,
    hash_words,
)

# For b = 1 to 20 the least odd p for which x^b + p is irreducible over GF(2); bit i of p stands for x^i.
POLYNOMIALS = (1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9)


class Randomizer(NamedTuple):
    """How a device makes reports for a survey.

    Attributes
    ----------
    random_words : int
        The number of random 64-bit words that a report takes.
    loss : Decimal
        The ε that follows from the integer thresholds, rounded up.
    respond : callable
        Maps an item and the random words to the response, the number that follows the report's id.
    size : int
        Bytes of the response.
    """

    random_words: int
    loss: Decimal
    respond: Callable[[int, Sequence[int]], int]
    size: int = 1


def log_ratio(numerator: int, denominator: int) -> Decimal:
    """Return the logarithm of a ratio of probabilities, rounded up."""
    with localcontext(Context(prec=80, rounding=ROUND_CEILING)):
        return (Decimal(numerator) / Decimal(denominator)).ln() * (1 + Decimal(10) ** -40)


def text_layout(fingerprint: int, bits: int) -> list[bool]:
    """For each bit of a path of coded text, whether it belongs to the fingerprint. The last bit is a code bit."""
    marks = {*range(min(fingerprint, 8)), *range(24, 24 + 8 * (fingerprint - 8), 8)}
    code = [place for place in range(bits + fingerprint) if place not in marks][:bits]
    return [place in marks for place in range(code[-1] + 1)] if code else []


def read_tree(seed: bytes, data: dict[str, Any], domain: Domain) -> Randomizer:
    """Return the randomizer of `tree`, tree-coded linear local hashing."""
    names = ("bucket_bits", "depths", "chunks", "ends", "masks", "keep_threshold", "beam_bits", "fingerprint_bits")
    fields(data, "parameters", names)
    bits = (domain.size - 1).bit_length()
    bucket_bits, masks = whole(data, "bucket_bits", 1, 20), whole(data, "masks", 1, 8)
    fingerprint = whole(data, "fingerprint_bits", 1 if domain.coded else 0, 20 if domain.coded else 0)
    whole(data, "beam_bits", 0, 20)
    keep = threshold(data, "keep_threshold", 0)
    for name in ("depths", "chunks", "ends"):
        listed = isinstance(data[name], list) and all(type(number) is int for number in data[name])
        require(listed and 1 <= len(data[name]) <= 200, f"{name} must be a list of whole numbers", data[name])
    depths: list[int] = data["depths"]
    chunks: list[int] = data["chunks"]
    ends: list[int] = data["ends"]
    layout = text_layout(fingerprint, bits)
    rows, length = len(depths), len(layout)
    require(len(chunks) == rows == len(ends), "depths, chunks and ends must be of one length", rows)
    require(ends == sorted(set(ends)) and ends[0] > 0 and ends[-1] == 1 << 24, "ends must rise to 2^24", ends)
    require(depths == sorted(depths) and depths[-1] == length, f"depths must descend to {length}", depths)
    require(depths[0] <= 20, "depths must begin at 20 or less", depths[0])
    fits = all(0 <= chunk <= min(bucket_bits, depth) for chunk, depth in zip(chunks, depths, strict=True))
    require(fits, "chunks must fit into their bucket and depth", chunks)
    if rows == 1:
        require(not domain.coded, "depths must have two entries or more for coded text", depths)
        require(chunks[0] == bucket_bits, "chunks must be bucket_bits where there is one row", chunks)
        require(masks <= bucket_bits, "masks must be at most bucket_bits where there is one row", masks)
    root, coins, buckets = (
        derive_key(seed, purpose)
        for purpose in (TREE_FINGERPRINT if domain.coded else TREE_BIJECTION, TREE_COINS, TREE_BUCKET)
    )
    limbs, item_limbs = -(-length // 64), -(-bits // 64)
    right, left = bits - bits // 2, bits // 2

    def mix(step: int, number: int, size: int, wanted: int) -> int:
        """Return `wanted` hashed bits of a number, for one step of the bijection."""
        message = halves(number, -(-size // 64))
        hashes = (hash_words(root, (256 * step + j, *message)) << 64 * j for j in range(-(-wanted // 64)))
        return sum(hashes) & ((1 << wanted) - 1)

    def respond(item: int, drawn: Sequence[int]) -> int:
        """Return the symbol to send: the true one, or with some chance a random one."""
        report_id = halves(drawn[0] | drawn[1] << 64, 2)
        first = hash_words(coins, report_id)
        row = next(row for row, end in enumerate(ends) if first >> 40 < end)
        # The path of the item: its code with a fingerprint, or a keyed permutation of its bits.
        if domain.coded:
            hashed = f"{hash_words(root, halves(item, item_limbs)):064b}"
            marks, code = iter(hashed), iter(f"{item:0{bits}b}")
            path = int("".join(next(marks if mark else code) for mark in layout), 2)
        else:
            high, low = item >> right, item & ((1 << right) - 1)
            if left:
                high ^= mix(1, low, right, left)
                low ^= mix(2, high, left, right)
            path = low << left | high
        # The bucket: the last bits of the path's beginning, and a hash of those before where these do not fill it.
        depth, chunk = depths[row], chunks[row]
        bucket = path >> (length - depth) & ((1 << chunk) - 1)
        if chunk < bucket_bits:
            below = length - (depth - chunk)
            parent = path >> below << (below + 64 * limbs - length)  # the first bits, at the top of the limbs
            big = halves(parent, limbs)
            message = [half for k in reversed(range(limbs)) for half in big[2 * k : 2 * k + 2]]
            bucket ^= hash_words(buckets, (*message, row)) >> (64 - bucket_bits)
        # The masks. A bucket has 20 bits at most, so that only as many of a mask count.
        if rows == 1:
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
        own = (place_of(item, halves(drawn[0] | drawn[1] << 64, 2)) - (drawn[3] * window >> 64)) % values
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
        row = hash_words(coins, halves(drawn[0] | drawn[1] << 64, 2)) * rows >> 64
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
