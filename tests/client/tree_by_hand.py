"""Surveys of `tree` that no planner made, and the reports of the slow twin to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.reference import naive

from hubbub.codes.shipped import load_code

SEED = bytes(range(32))
KEEP = 1 << 63
MANY = [f"name {number}" for number in range(3000)]


def equal_steps(bits: int, rows: int, bucket_bits: int) -> str:
    """Steps of a class: as equal as they can be, the first the longest."""
    digits = "0123456789abcdefghijk"
    parts = [(bits + row) // rows for row in reversed(range(rows))]
    assert max(parts) <= bucket_bits
    return "".join(digits[part] for part in parts)


def tree_survey(domain: dict[str, Any], steps: list[str], bucket_bits: int, rows: int, masks: int) -> str:
    """The canonical JSON of a survey."""
    ends = [((row + 1) << 24) // rows for row in range(rows)]
    data = {
        "version": 1,
        "name": "by hand",
        "domain": domain,
        "epsilon": "6",
        "delta": "0",
        "mechanism": "tree",
        "options": {"size": "auto"},
        "parameters": {
            "bucket_bits": bucket_bits,
            "ends": ends,
            "keep_threshold": str(KEEP),
            "masks": masks,
            "steps": steps,
        },
        "public_seed": SEED.hex(),
        "expected_reports": 1000,
        "opens": None,
        "closes": None,
    }
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def surveys() -> Iterator[tuple[str, int]]:
    """Surveys and the bits of their items: every kind of domain, one class and many, one row and many."""

    def made(domain: dict[str, Any], bits: int, sums: list[int], bucket_bits: int, rows: int, masks: int) -> str:
        few = [min(rows, size) for size in sums]  # short classes have fewer steps than there are rows
        steps = [equal_steps(size, number, bucket_bits) for size, number in zip(sums, few, strict=True)]
        assert sums[-1] == bits
        return tree_survey(domain, steps, bucket_bits, rows, masks)

    for place, bits in enumerate((1, 2, 5, 20, 21, 31, 32, 33, 63, 64, 65, 100, 129, 512)):
        domain = {"kind": "integers", "bits": bits}
        if bits <= 20:
            yield made(domain, bits, [bits], bits, 1, min(bits, 1 + place)), bits
        rows, bucket_bits = max(3, bits // 8), 9 + place % 12
        yield made(domain, bits, [bits], bucket_bits, rows, 1 + place % 8), bits
        yield made(domain, bits, [*range(1, bits, 1 + bits // 9), bits], bucket_bits, rows, 8 - place % 8), bits
    yield made({"kind": "ipv4"}, 32, [8, 16, 24, 32], 17, 6, 4), 32
    for size in (1, 8, 64):
        sums = [*range(8, 8 * size, 24), 8 * size]
        yield made({"kind": "bytes", "max_bytes": size, "normalization": 1}, 8 * size, sums, 20, 40, 8), 8 * size
    for names, bits in ((["yes", "no"], 1), (MANY, 12), ([f"{n:x}" for n in range(1 << 14)], 14)):
        domain = {"kind": "categories", "names": names, "normalization": 1, "other": False}
        yield made(domain, bits, [bits], bits, 1, 1), bits
        yield made(domain, bits, [bits], 13, 5, 2), bits
    for name, width in (("hostnames", 136), ("text", 352), ("words", 64)):
        domain = {"kind": "coded_text", "code": load_code(name).to_json(), "normalization": f"{name}-1", "width": width}
        yield made(domain, width, [*range(20, width, 2), width], 20, 40, 4), width
        yield made(domain, width, [width], 14, 40, 2), width


def twin_report(document: str, item: str, random_words: list[int]) -> bytes:
    """The report of an item, as binary digits, by the slow twin."""
    data = json.loads(document)
    plan = data["parameters"]
    keys = [naive.half_sip_hash(SEED[:8], purpose.to_bytes(4, "little") + SEED[8:]) for purpose in (6, 7, 8)]
    report_id = b"".join(word.to_bytes(8, "little") for word in random_words[:2])
    row, masks = naive.tree_coins(keys[1], report_id, plan["ends"], plan["masks"], plan["bucket_bits"])
    steps = naive.tree_class(item, plan["steps"])
    path = naive.tree_path(keys[0], item, naive.bits_of(steps))
    bucket = naive.tree_bucket(keys[2], path, row, steps, plan["bucket_bits"])
    symbol = naive.tree_symbol(bucket, masks, *random_words[2:], int(plan["keep_threshold"]))
    return report_id + bytes([symbol])
