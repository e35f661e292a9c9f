"""The format of text codes once more, slowly and obviously: strings of "0" and "1", every alternative tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
CODES = Path(__file__).parents[2] / "src" / "hubbub" / "codes" / "tables"

SHIPPED: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text("utf-8")) for path in sorted(CODES.glob("*.json"))
}

TABLES: dict[str, dict[str, Any]] = {
    **{name: SHIPPED[name] for name in ("hostnames", "words", "words-tr", "text")},
    "nothing but END and ESC": {"bytes": "", "tokens": [], "ends": [], "class": "00", "lengths": ["11"]},
    "plain ties with a tail": {"bytes": "a", "tokens": [], "ends": [], "class": "000", "lengths": ["212"]},
    "tails tie": {
        "bytes": "".join(chr(byte) for byte in range(256) if byte not in "é".encode()),
        "tokens": [],
        "ends": [],
        "class": "0" * 256,
        "lengths": ["8" * 256],
    },
    "the class after ESC": {"bytes": "ab", "tokens": [], "ends": [], "class": "0100", "lengths": ["2222", "3312"]},
    "tokens that are ends": {
        "bytes": "abc",
        "tokens": ["ab", "abc", "ca"],
        "ends": ["abc", "c", "ca"],
        "class": "00102101201",
        "lengths": ["24445555432", "33333444444", "44333334444"],
    },
}


def code_words(lengths: str) -> list[str]:
    """Canonical: count up within a length, double from one length to the next."""
    digits = [int(digit, 16) for digit in lengths]
    words = [""] * len(digits)
    following = 0
    for length in range(1, 16):
        following *= 2
        for index, digit in enumerate(digits):
            if digit == length:
                words[index] = format(following, f"0{length}b")
                following += 1
    return words


def symbols(table: dict[str, Any]) -> list[bytes]:
    """What the symbols stand for, END and ESC for nothing."""
    texts = [*table["bytes"], *table["tokens"], *table["ends"]]
    return [b"", b"", *(text.encode("latin-1") for text in texts)]


def greedy(table: dict[str, Any], text: bytes) -> list[tuple[int, int]]:
    """Pairs (place, symbol) of the parse without a raw tail."""
    names, ends = symbols(table), len(table["ends"])
    first_end = len(names) - ends
    at, parse = 0, []
    while at < len(text):
        fits = [index for index in range(2, first_end) if text.startswith(names[index], at)]
        whole = [index for index in range(first_end, len(names)) if text[at:] == names[index]]
        symbol = whole[0] if whole else max(fits, key=lambda index: len(names[index]), default=1)
        parse.append((at, symbol))
        at += len(names[symbol]) if symbol != 1 else 1
        if whole:
            return parse
    return [*parse, (at, 0)]


def encode(table: dict[str, Any], text: bytes) -> str:
    """The bits of the code."""
    words = [code_words(row) for row in table["lengths"]]
    plain, state, tails = "", 0, []
    for at, symbol in greedy(table, text):
        raw = text[at:]
        if raw:
            bits = "".join(format(byte, "08b") for byte in raw)
            tails.append(plain + words[state][1] + "1" + format(len(raw) - 1, "06b") + bits)
        plain += words[state][symbol]
        if symbol == 1:
            plain += "0" + format(text[at], "08b")
        state = int(table["class"][symbol], 36)
    return min([plain, *tails], key=len)  # the first of the shortest: plain, then the earlier cut


def parse(table: dict[str, Any], bits: str) -> tuple[bytes, int] | None:
    """What the bits say, canonical or not, and how many of them say it; None if they stop too early."""
    names, words = symbols(table), [code_words(row) for row in table["lengths"]]
    first_end = len(names) - len(table["ends"])
    text, at, state = b"", 0, 0
    while True:
        symbol = next((index for index, word in enumerate(words[state]) if bits.startswith(word, at)), None)
        if symbol is None:
            return None
        at += len(words[state][symbol])
        text += names[symbol]
        ended = symbol == 0 or symbol >= first_end
        if symbol == 1:
            ended = bits[at : at + 1] == "1"
            count = int(bits[at + 1 : at + 7] or "0", 2) + 1 if ended else 1
            at += 7 if ended else 1
            if len(bits) < at + 8 * count:
                return None
            text += bytes(int(bits[place : place + 8], 2) for place in range(at, at + 8 * count, 8))
            at += 8 * count
        if ended:
            return text, at
        state = int(table["class"][symbol], 36)


def main() -> None:
    """Write the vectors of the shipped tables again: the same strings for each of them, see `tests/data/README.md`."""
    path = DATA / "text_code_vectors.json"
    vectors = json.loads(path.read_text("utf-8"))
    strings = [vector for vector in vectors if vector["code"] == "hostnames"]
    made = [
        {
            "name": f"{name}: {vector['name'].partition(': ')[2]}",
            "code": name,
            "text": vector["text"],
            "bits": encode(table, bytes.fromhex(vector["text"])),
            "must_fail": False,
        }
        for name, table in TABLES.items()
        if name in SHIPPED
        for vector in strings
    ]
    rest = [vector for vector in vectors if vector["code"] not in SHIPPED]
    lines = ",\n".join(json.dumps(vector, ensure_ascii=True) for vector in (*made, *rest))
    path.write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
