"""Slow and obvious twins of the algebra: a row of bits is a Python int, and column j is its bit j."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def to_ints(packed: NDArray[np.uint64]) -> list[int]:
    """Read every packed row as one int."""
    return [sum(int(word) << (64 * place) for place, word in enumerate(row)) for row in packed]


def to_packed(rows: Sequence[int], columns: int) -> NDArray[np.uint64]:
    """Write ints as packed rows."""
    words = -(-columns // 64)
    cut = [[row >> (64 * place) & (2**64 - 1) for place in range(words)] for row in rows]
    return np.array(cut, dtype=np.uint64).reshape(len(rows), words)


def parity(a: int, b: int) -> int:
    """Return the inner product of two rows mod 2."""
    return (a & b).bit_count() % 2


def parities(rows: Sequence[int], vectors: Sequence[int]) -> list[list[int]]:
    """Return the inner product of every vector (outer) with every row (inner)."""
    return [[parity(row, vector) for row in rows] for vector in vectors]


def independent_rows(rows: Sequence[int]) -> list[int]:
    """Take each row that is not a sum of rows taken before it."""
    taken: list[int] = []
    basis: list[int] = []
    for index, row in enumerate(rows):
        for known in sorted(basis, reverse=True):
            row = min(row, row ^ known)
        if row:
            taken.append(index)
            basis.append(row)
    return taken


def rank(rows: Sequence[int]) -> int:
    """Count the independent rows."""
    return len(independent_rows(rows))


def inverse(rows: Sequence[int]) -> list[int] | None:
    """Invert a square matrix by eliminating in [matrix | identity]; None if it is singular."""
    size = len(rows)
    work = [row | 1 << (size + index) for index, row in enumerate(rows)]
    for column in range(size):
        pivot = next((index for index in range(column, size) if work[index] >> column & 1), None)
        if pivot is None:
            return None
        work[column], work[pivot] = work[pivot], work[column]
        for index in range(size):
            if index != column and work[index] >> column & 1:
                work[index] ^= work[column]
    return [row >> size for row in work]


def solutions(rows: Sequence[int], rhs: Sequence[int], columns: int) -> list[int]:
    """Try every x and keep those with rows · x = rhs."""
    return [x for x in range(2**columns) if all(parity(row, x) == bit for row, bit in zip(rows, rhs, strict=True))]


def solve(rows: Sequence[int], rhs: Sequence[int], columns: int) -> int | None:
    """Eliminate in [matrix | rhs] of full column rank; None if a row says 0 = 1."""
    work = [row | bit << columns for row, bit in zip(rows, rhs, strict=True)]
    for column in range(columns):
        pivot = next(index for index in range(column, len(work)) if work[index] >> column & 1)
        work[column], work[pivot] = work[pivot], work[column]
        for index in range(len(work)):
            if index != column and work[index] >> column & 1:
                work[index] ^= work[column]
    if any(work[columns:]):
        return None
    return sum((work[column] >> columns) << column for column in range(columns))


def score(rows: Sequence[int], soft: Sequence[float], x: int) -> float:
    """Sum the soft values, each with the sign of its parity."""
    return sum(-value if parity(row, x) else value for row, value in zip(rows, soft, strict=True))


def best_codeword(rows: Sequence[int], columns: int, soft: Sequence[float]) -> tuple[int, float]:
    """Try every x and return the first of the best, with its score."""
    best = max(range(2**columns), key=lambda x: score(rows, soft, x))
    return best, score(rows, soft, best)


def reliable_basis(rows: Sequence[int], soft: Sequence[float]) -> list[int]:
    """Return the indices of the independent rows with the largest |soft|, the largest first."""
    ranked = sorted(range(len(rows)), key=lambda index: -abs(soft[index]))
    return [ranked[place] for place in independent_rows([rows[index] for index in ranked])]


def ordered_statistics(rows: Sequence[int], columns: int, soft: Sequence[float], order: int) -> tuple[int, float]:
    """Score every choice of at most `order` flips of the hard decisions, fewest flips first; the first best wins."""
    chosen = reliable_basis(rows, soft)
    inverted = inverse([rows[index] for index in chosen])
    assert inverted is not None
    hard = sum(1 << place for place, index in enumerate(chosen) if soft[index] < 0)
    best: tuple[int, float] | None = None
    for flips in range(order + 1):
        for places in combinations(range(columns), flips):
            decisions = hard ^ sum(1 << place for place in places)
            x = sum(parity(row, decisions) << place for place, row in enumerate(inverted))
            reached = score(rows, soft, x)
            if best is None or reached > best[1]:
                best = x, reached
    assert best is not None
    return best


def half_sip_hash(key: bytes, message: bytes) -> bytes:
    """HalfSipHash-2-4 with 8 bytes of output, on whole words, as its authors describe it."""
    mask = 0xFFFFFFFF

    def rotate(x: int, b: int) -> int:
        return ((x << b) | (x >> (32 - b))) & mask

    k0, k1 = (int.from_bytes(key[i : i + 4], "little") for i in (0, 4))
    v = [k0, k1 ^ 0xEE, 0x6C796765 ^ k0, 0x74656462 ^ k1]

    def rounds(times: int) -> None:
        for _ in range(times):
            v[0] = (v[0] + v[1]) & mask
            v[1] = rotate(v[1], 5) ^ v[0]
            v[0] = rotate(v[0], 16)
            v[2] = (v[2] + v[3]) & mask
            v[3] = rotate(v[3], 8) ^ v[2]
            v[0] = (v[0] + v[3]) & mask
            v[3] = rotate(v[3], 7) ^ v[0]
            v[2] = (v[2] + v[1]) & mask
            v[1] = rotate(v[1], 13) ^ v[2]
            v[2] = rotate(v[2], 16)

    words = [int.from_bytes(message[i : i + 4], "little") for i in range(0, len(message), 4)]
    for word in [*words, (len(message) << 24) & mask]:
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(4)
    low = v[1] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return (low | (v[1] ^ v[3]) << 32).to_bytes(8, "little")


def add_noise(answers: Sequence[int], words: Sequence[int], thresholds: Sequence[int]) -> list[int]:
    """Each answer plus the difference of two numbers whose binary digits are (word < threshold)."""
    digits = len(thresholds)
    noisy = []
    for position, answer in enumerate(answers):
        mine = words[2 * digits * position : 2 * digits * (position + 1)]
        plus = sum((mine[j] < thresholds[j]) << j for j in range(digits))
        minus = sum((mine[digits + j] < thresholds[j]) << j for j in range(digits))
        noisy.append(int(answer) + plus - minus)
    return noisy


def walsh_hadamard(values: Sequence[int]) -> list[int]:
    """The transform by its definition."""
    return [sum(v * (1 - 2 * parity(r, x)) for r, v in enumerate(values)) for x in range(len(values))]


def dense_sign(key: bytes, item: int, row: int) -> int:
    """The sign of (row, item) in the dense projection."""
    message = (item & 0xFFFFFFFF).to_bytes(4, "little") + (item >> 32).to_bytes(4, "little")
    hashed = half_sip_hash(key, message + (row // 64).to_bytes(4, "little"))
    return 1 - 2 * (int.from_bytes(hashed, "little") >> (row % 64) & 1)


def dense_scores(key: bytes, items: Sequence[int], cells: Sequence[int]) -> list[int]:
    """Signed sums of the cells for each item."""
    return [sum(dense_sign(key, item, row) * cell for row, cell in enumerate(cells)) for item in items]


def digit_hash(key: bytes, first: int, digits: str) -> str:
    """64 binary digits: the hash of a 32-bit word and of words of 32 digits each, the last one filled with zeros."""
    words = [first, *(int(digits[at : at + 32].ljust(32, "0"), 2) for at in range(0, len(digits), 32))]
    hashed = half_sip_hash(key, b"".join(word.to_bytes(4, "little") for word in words))
    return format(int.from_bytes(hashed, "little"), "064b")


def xor_digits(a: str, b: str) -> str:
    """Two strings of binary digits, of one length, XORed."""
    return "".join("01"[x != y] for x, y in zip(a, b, strict=True))


def tree_class(item: str, steps: Sequence[str]) -> str:
    """The steps of the class of an item: the first with as many bits as the item without the zeros at its end."""
    needed = len(item.rstrip("0"))
    return next(digits for digits in steps if bits_of(digits) >= needed)


def bits_of(steps_of_class: str) -> int:
    """The sum of digits of base 36."""
    return sum(int(digit, 36) for digit in steps_of_class)


def feistel_part(key: bytes, bits: int, step: int, half: str, wanted: int) -> str:
    """F_step of half an item of a class: the last digits of … H(2) H(1) H(0)."""
    blocks = [digit_hash(key, bits << 16 | step << 8 | j, half) for j in range(-(-wanted // 64))]
    joined = "".join(reversed(blocks))
    return joined[len(joined) - wanted :]


def tree_path(key: bytes, item: str, bits_of_class: int) -> str:
    """The path of an item in its class."""
    left, right = item[: bits_of_class // 2], item[bits_of_class // 2 : bits_of_class]
    left = xor_digits(left, feistel_part(key, bits_of_class, 1, right, len(left)))
    if left:
        right = xor_digits(right, feistel_part(key, bits_of_class, 2, left, len(right)))
    return right + left


def tree_item(key: bytes, path: str) -> str:
    """The item of a path, without the zeros that its class leaves out."""
    bits = len(path)
    right, left = path[: bits - bits // 2], path[bits - bits // 2 :]
    if left:
        right = xor_digits(right, feistel_part(key, bits, 2, left, len(right)))
    return xor_digits(left, feistel_part(key, bits, 1, right, len(left))) + right


def tree_coins(
    key: bytes, report_id: bytes, ends: Sequence[int], masks: int, bucket_bits: int
) -> tuple[int, list[int]]:
    """The row and the masks of a report."""
    first = int.from_bytes(half_sip_hash(key, report_id), "little")
    if len(ends) == 1:
        return 0, independent_masks(1 + (first * (2**bucket_bits - 1) >> 64), masks, bucket_bits)
    drawn = [first & (2**20 - 1), first >> 20 & (2**20 - 1)]
    for block in range(1, 4):
        more = int.from_bytes(half_sip_hash(key, report_id + block.to_bytes(4, "little")), "little")
        drawn += [more >> (20 * k) & (2**20 - 1) for k in range(3)]
    row = next(row for row, end in enumerate(ends) if first >> 40 < end)
    return row, [mask & ((1 << bucket_bits) - 1) for mask in drawn[:masks]]


def independent_masks(first: int, masks: int, bits: int) -> list[int]:
    """The products of the first mask with 1, x, x², … modulo the least irreducible polynomial with an odd number."""
    candidates = range(2**bits + 1, 2 ** (bits + 1), 2)
    polynomial = next(number for number in candidates if is_irreducible(number))
    found = [first]
    while len(found) < masks:
        found.append(remainder(2 * found[-1], polynomial))
    return found


def remainder(number: int, divisor: int) -> int:
    """What is left of a polynomial over GF(2) divided by another; bit i is the coefficient of x^i."""
    while number.bit_length() >= divisor.bit_length():
        number ^= divisor << (number.bit_length() - divisor.bit_length())
    return number


@lru_cache
def is_irreducible(number: int) -> bool:
    """Whether no polynomial of half the degree or less, but a constant, divides a polynomial over GF(2)."""
    return all(remainder(number, divisor) for divisor in range(2, 2 ** ((number.bit_length() + 1) // 2)))


def tree_bucket(key: bytes, path: str, row: int, steps_of_class: str, bucket_bits: int) -> int:
    """The bucket of a path in a row."""
    step = min(row, len(steps_of_class) - 1)
    before = bits_of(steps_of_class[:step])
    chunk = path[before : before + int(steps_of_class[step], 36)]
    hashed = digit_hash(key, len(path) << 8 | row, path[:before].ljust(len(path), "0"))
    return int(hashed[-bucket_bits:], 2) ^ int(chunk or "0", 2)


def tree_list(
    steps: Sequence[int], said: Callable[[int, str], list[float]], width: int, root: str
) -> tuple[dict[str, float], list[tuple[int, float]]]:
    """The paths under a root that stay in a list, with their scores, and the depth and score of each that left.

    `said` gives what each row of a step says of a path. Of equal scores the first paths stay.
    """
    kept, left = {root: sum(said(0, root))}, []
    for step in range(1, len(steps)):
        children = {
            path + (format(child, f"0{steps[step]}b") if steps[step] else ""): score
            for path, score in kept.items()
            for child in range(1 << steps[step])
        }
        scores = {path: score + sum(said(step, path)) for path, score in children.items()}
        best = set(sorted(scores, key=lambda path: -scores[path])[:width])
        left += [(len(path), score) for path, score in scores.items() if path not in best]
        kept = {path: score for path, score in scores.items() if path in best}
    return kept, left


def thinned(children: Sequence[tuple[int, float]], quota: int, least: Callable[[float], float]) -> list[int]:
    """The places of (root, score) that stay: the best `quota` of a root, if not below what its best one demands."""
    stay = []
    for root in dict.fromkeys(root for root, _ in children):
        own = [place for place, (its, _) in enumerate(children) if its == root]
        needed = least(max(children[place][1] for place in own))
        own = [place for place in own if children[place][1] >= needed]
        stay += sorted(own, key=lambda place: -children[place][1])[:quota]
    return sorted(stay)


def tree_symbol(bucket: int, masks: Sequence[int], keep: int, other: int, threshold: int) -> int:
    """The symbol a device answers with."""
    if keep < threshold:
        return sum(parity(mask, bucket) << j for j, mask in enumerate(masks))
    return other >> (64 - len(masks))


def tree_tally(symbol: int, masks: Sequence[int]) -> dict[int, int]:
    """What one report adds to the sums of its row."""
    added: dict[int, int] = {}
    for c in range(1, 1 << len(masks)):
        place = 0
        for j, mask in enumerate(masks):
            place ^= mask * (c >> j & 1)
        added[place] = added.get(place, 0) + 1 - 2 * parity(c, symbol)
    return added


def sparse_drawn(key: bytes, prefix: Sequence[int], rows: int, columns: int) -> list[int]:
    """Uniform rows of bits: word w of row i is the hash of (prefix, i, w)."""
    drawn = []
    for row in range(rows):
        bits = 0
        for word in range(-(-columns // 64)):
            message = b"".join(part.to_bytes(4, "little") for part in (*prefix, row, word))
            bits |= int.from_bytes(half_sip_hash(key, message), "little") << (64 * word)
        drawn.append(bits & ((1 << columns) - 1))
    return drawn


def sparse_slots(
    keys: Sequence[bytes], bits: int, repeats: int, estimates: int, stages: Sequence[tuple[int, int, int]]
) -> list[tuple[list[int], int]]:
    """For each slot, the rows whose parities are the bits of the bucket, and the row whose parity is the sign bit."""
    slots: list[tuple[list[int], int]] = []
    block = 0
    for bucket_bits, code_rows, estimate_bits in stages:
        for _ in range(repeats):
            message = bits - bucket_bits
            matrix = next(
                drawn
                for drawn in (sparse_drawn(keys[0], (block, attempt), bits, bits) for attempt in range(1000))
                if rank(drawn) == bits
            )
            code = next(
                drawn
                for drawn in (sparse_drawn(keys[1], (block, attempt), code_rows, message) for attempt in range(1000))
                if rank([row | 1 << message for row in drawn]) == message + 1
            )
            for generator in code:
                sign = 0
                for place in range(message):
                    sign ^= matrix[bucket_bits + place] * (generator >> place & 1)
                slots.append((matrix[:bucket_bits], sign))
            block += 1
        for _ in range(estimates):
            *bucket, sign = sparse_drawn(keys[2], (block,), estimate_bits + 1, bits)
            slots.append((bucket, sign))
            block += 1
    return slots


def sparse_column(slots: Sequence[tuple[list[int], int]], item: int) -> dict[int, int]:
    """The entries of a column that are not zero, by row."""
    entries, first = {}, 0
    for bucket_rows, sign_row in slots:
        bucket = sum(parity(row, item) << place for place, row in enumerate(bucket_rows))
        entries[first + bucket] = 1 - 2 * parity(sign_row, item)
        first += 1 << len(bucket_rows)
    return entries


def sparse_character(slots: Sequence[tuple[list[int], int]], cell: int) -> int:
    """The a of a cell: its slot's sign row and the bucket rows that the bits of its number in the slot choose."""
    for bucket_rows, sign_row in slots:
        if cell < 1 << len(bucket_rows):
            for place, row in enumerate(bucket_rows):
                sign_row ^= row * (cell >> place & 1)
            return sign_row
        cell -= 1 << len(bucket_rows)
    raise AssertionError("no such cell")


def keep_smallest(records: Sequence[bytes]) -> tuple[list[bytes], int]:
    """Of records with the same first 16 bytes the smallest, and how many ids came with different ones."""
    by_id: dict[bytes, set[bytes]] = {}
    for record in records:
        by_id.setdefault(record[:16], set()).add(record)
    return [min(group) for group in by_id.values()], sum(len(group) > 1 for group in by_id.values())
