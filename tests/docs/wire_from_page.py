"""The worked example of docs/wire-format.md from the rules that the page states, without the library."""

from __future__ import annotations

import hashlib
import json
from decimal import Context, Decimal, localcontext

from tests.reference import naive

SEED = bytes(range(32))
ID = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
LIE = 2**64 - 1
SPREAD = [(k * 0x9E3779B97F4A7C15) % 2**64 for k in range(26)]


def little(*words: int) -> str:
    """64-bit words as they are on the wire, in hex."""
    return b"".join(word.to_bytes(8, "little") for word in words).hex()


def derived(purpose: int) -> bytes:
    """The key of a purpose."""
    return naive.half_sip_hash(SEED[:8], purpose.to_bytes(4, "little") + SEED[8:])


def hashed(purpose: int, *message: int) -> int:
    """The public hash of 32-bit words."""
    raw = b"".join(word.to_bytes(4, "little") for word in message)
    return int.from_bytes(naive.half_sip_hash(derived(purpose), raw), "little")


def below(value: int, bound: int) -> int:
    """uniform_below."""
    return value * bound >> 64


def bucket_trial(trial: int) -> list[int]:
    """The 12 rows of a trial over items of 8 bits."""
    for attempt in range(100):
        drawn = [hashed(4, trial, attempt, row, 0) % 2**8 for row in range(12)]
        if all(drawn) and naive.rank(drawn) == 8:
            return drawn
    raise AssertionError("no trial of full rank")


def digit_threshold(rate: int, digit: int) -> int:
    """The chance that a binary digit of a geometric variable is 1, times 2^64, to the nearest whole number."""
    with localcontext(Context(prec=80)):
        power = Decimal(-rate * 2**digit).exp()
        return int((power / (1 + power) * 2**64).to_integral_value())


TREE = {
    "bucket_bits": 16,
    "ends": [4194304, 8388608, 12582912, 16777216],
    "keep_threshold": str(2**63),
    "masks": 3,
    "steps": ["c4", "gg1", "g8g"],
}
ITEMS = (0x1230000000, 0x1234560000, 0x123456789A)  # of 40 bits, one of each class


def tree_from_the_page() -> dict[str, str]:
    """The lines about tree."""
    paths, buckets = {}, {}
    for item in ITEMS:
        digits = f"{item:040b}"
        steps = naive.tree_class(digits, TREE["steps"])
        path = paths[f"{item:x}"] = naive.tree_path(derived(6), digits, naive.bits_of(steps))
        buckets[f"{item:x}"] = [naive.tree_bucket(derived(8), path, row, steps, 16) for row in range(4)]
    row, masks = naive.tree_coins(derived(7), bytes.fromhex(little(*ID)), TREE["ends"], 3, 16)
    own = buckets[f"{ITEMS[-1]:x}"][row]
    told, other = (naive.tree_symbol(own, masks, word, SPREAD[1], 2**63) for word in (0, LIE))
    cells = {(row << 16) + place: sign for place, sign in naive.tree_tally(told, masks).items()}
    cells[(4 << 16) + row] = 1
    return {
        **{f"tree path of {item}": path for item, path in paths.items()},
        **{f"tree buckets of {item}": " ".join(f"{each:04x}" for each in some) for item, some in buckets.items()},
        "tree row of the id": str(row),
        "tree report, third word 0": little(*ID) + bytes([told]).hex(),
        "tree report, third word 2^64-1, fourth 0x9e3779b97f4a7c15": little(*ID) + bytes([other]).hex(),
        "tree cells": " ".join(f"{place}:{added}" for place, added in sorted(cells.items())),
    }


SUBSET = {"window": 2, "keep_threshold": "3279723050338863581"}


def subset_from_the_page() -> dict[str, str]:
    """The lines about subset."""
    left, places = list(range(6)), []
    coin = hashed(13, ID[0] % 2**32, ID[0] >> 32, ID[1] % 2**32, ID[1] >> 32)
    for value in range(6):
        drawn = mixed(mixed((coin + value) % 2**32) ^ coin >> 32) * len(left) >> 32
        places.append(left[drawn])
        left[drawn] = left[-1]
        left.pop()
    size, threshold = SUBSET["window"], int(SUBSET["keep_threshold"])
    own, anyone = (places[5] - below(SPREAD[1], size)) % 6, below(SPREAD[1], 6)
    told, other = (own if word < threshold else anyone for word in (0, LIE))
    matched = [value for value in range(6) if places[value] in [(told + step) % 6 for step in range(size)]]
    return {
        "subset places of all values": " ".join(map(str, places)),
        "subset window, third word 0": str(told),
        "subset window, third word 2^64-1": str(other),
        "subset report, third word 0": little(*ID) + bytes([told]).hex(),
        "subset report, third word 2^64-1": little(*ID) + bytes([other]).hex(),
        "subset values that the former matches": " ".join(map(str, matched)),
    }


def mixed(word: int) -> int:
    """The mixer of "Places and windows"."""
    word = (word ^ word >> 16) * 0x7FEB352D % 2**32
    word = (word ^ word >> 15) * 0x846CA68B % 2**32
    return word ^ word >> 16


def glps_from_the_page() -> dict[str, str]:
    """The lines about glps."""
    slots = naive.sparse_slots([derived(purpose) for purpose in (10, 11, 12)], 8, 2, 7, [(2, 22, 4)])
    coin = hashed(1, ID[0] % 2**32, ID[0] >> 32, ID[1] % 2**32, ID[1] >> 32)
    slot = below(coin, len(slots))
    cell = sum(1 << len(rows) for rows, _ in slots[:slot]) + coin % (1 << len(slots[slot][0]))
    bit = naive.parity(naive.sparse_character(slots, cell), 5)
    column = naive.sparse_column(slots, 5)
    return {
        "glps slots and cells": f"{len(slots)} {sum(1 << len(rows) for rows, _ in slots)}",
        "glps bucket rows of block 0": " ".join(f"{row:02x}" for row in slots[0][0]),
        "sha256 of all glps sign rows": hashlib.sha256(bytes(sign for _, sign in slots)).hexdigest(),
        "glps entries of slots 0 to 3": " ".join(f"{place}:{entry}" for place, entry in list(column.items())[:4]),
        "glps cell of the id": str(cell),
        "glps report, third word 0": little(*ID) + bytes([bit]).hex(),
    }


def from_the_page() -> dict[str, str]:
    """The worked example from the rules that docs/wire-format.md states, without the library."""
    truth_threshold = 13485650502877570762
    survey = {
        "version": 1,
        "name": "referrers",
        "domain": {"kind": "integers", "bits": 16},
        "epsilon": "1",
        "delta": "0",
        "mechanism": "jl",
        "options": {"calibration": "onebit", "projection": "hadamard"},
        "parameters": {"rows": 65536, "truth_threshold": str(truth_threshold)},
        "public_seed": SEED.hex(),
        "expected_reports": 100000,
        "opens": None,
        "closes": None,
    }
    canonical = json.dumps(survey, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    survey_id = hashlib.sha256(canonical.encode()).hexdigest()
    coin = hashed(1, ID[0] % 2**32, ID[0] >> 32, ID[1] % 2**32, ID[1] >> 32)
    row = below(coin, 65536)
    sign = naive.parity(5, row)
    lie = little(*ID) + bytes([sign ^ (truth_threshold <= LIE)]).hex()
    place = below(coin, 228)
    bit = naive.parity(5, bucket_trial(place // 12)[place % 12]) ^ hashed(5, place) & 1
    thresholds = [digit_threshold(1, digit) for digit in range(6)]
    answers = naive.add_noise([0, 1], SPREAD[2:], thresholds)
    return {
        "survey": canonical,
        "survey_id": survey_id,
        **{f"key of purpose {purpose}": derived(purpose).hex() for purpose in range(1, 14)},
        "item of 5": little(5),
        "item of U+0065 U+0301, bytes:8": little(int.from_bytes("\u00e9".encode(), "little")),
        "id": little(*ID),
        "hash of the id": f"{coin:016x}",
        "jl row of the id": str(row),
        "jl sign bit": str(sign),
        "jl report, third word 0": little(*ID) + bytes([sign]).hex(),
        "jl report, third word 2^64-1": lie,
        "batch of the latter": "01" + survey_id + lie,
        "dense sign bit of row 70": str(hashed(2, 5, 0, 1) >> 6 & 1),
        "first of fewer hadamard rows": str(below(hashed(3, 0, 0), 65536)),
        "bucket trial 0": " ".join(f"{each:02x}" for each in bucket_trial(0)),
        "sha256 of all bucket rows": hashlib.sha256(
            bytes(row for trial in range(19) for row in bucket_trial(trial))
        ).hexdigest(),
        "bucket shifts of trial 0": "".join(str(hashed(5, each) & 1) for each in range(12)),
        "bucket row of the id": str(place),
        "bucket report, third word 0": little(*ID) + bytes([bit]).hex(),
        "laplace digit thresholds": " ".join(map(str, thresholds)),
        "laplace responses": " ".join(map(str, answers)),
        "laplace report": little(*SPREAD[:2]) + b"".join(a.to_bytes(1, "little", signed=True) for a in answers).hex(),
        **tree_from_the_page(),
        **subset_from_the_page(),
        **glps_from_the_page(),
    }
