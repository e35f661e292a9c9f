"""Texts that a browser and Python might read differently: hosts, URLs, IDN, emoji, lone surrogates, odd blanks."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Callable, Iterator

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"
BLANKS = "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u200a\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
MARKS = "\u0300\u0301\u0308\u0323\u0327\u0345\u05b0\u064b\u0f71\u0f72\u1100\u1161\u11a8\u3099\u200d\ufe0f"
CASES = "ABCXYZÄÖÜßẞÅÅΩΣσςΤΑϐIİıiĲǅǄǆŉﬁﬀΐΰᾳᾼῌꞀꭰᏸჰᲰ𐐀𐐨𞤀𞤢K𝐀"
BREAKERS = ".:/\\?#@[]%<>^`{|}\"'()&=+~!$*,;_"
CONTROLS = "\0\x01\x08\x1b\x7f\x80\x9f\xad"
WORLD = (
    "münchen",
    "日本語",
    "россия",
    "ελλάδα",
    "مصر",
    "भारत",
    "한국",
    "straße",
    "xn--mnchen-3ya",
    "faß",
    "H\u0331J\u030c",
    "T\u0308",
)


def assigned() -> list[str]:
    """All characters that the tables of this Python know, but for surrogates: newer ones may differ."""
    return [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]


def texts(count: int, seed: int) -> Iterator[str]:
    """As many texts, the same for the same seed."""
    draw = random.Random(seed)
    everything = assigned()

    def some(alphabet: str | list[str], most: int) -> str:
        return "".join(draw.choices(alphabet, k=draw.randint(0, most)))

    def host() -> str:
        labels = [draw.choice(WORLD) if draw.random() < 0.2 else some(LETTERS, 12) for _ in range(draw.randint(1, 5))]
        front = draw.choice(("", "", "www.", "WWW.", "www.www.", ".", "m.", "lm.l.", "old.www.", "amp.Mobile.", "mm."))
        text = front + ".".join(labels) + draw.choice(("", "", ".com", ".co.uk", ".", "..", ".DE", ".org"))
        return text.upper() if draw.random() < 0.1 else text

    def address() -> str:
        parts = ":".join(some("0123456789abcdefABCDEF", 4) for _ in range(draw.randint(2, 20)))
        return draw.choice(("[{}]", "[{}", "{}", "[{}]x", "[{}]:443")).format(parts)

    def url() -> str:
        scheme = draw.choice(("", "//", "http://", "https://", "HTTPS://", "a+b-c.1://", "1http://", "http:/", "://"))
        user = draw.choice(("", "", "", "user@", "user:pass@", "a@b@", "@"))
        port = draw.choice(("", "", ":80", ":", ":x", ":80:90"))
        tail = draw.choice(("", "/", "/a/b?c#d", "?q@x", "#f", "\\x", "/" + some(everything, 8)))
        return scheme + user + (host() if draw.random() < 0.8 else address()) + port + tail

    def broken() -> str:
        text = host()
        place = draw.randint(0, len(text))
        return text[:place] + draw.choice(BREAKERS + CONTROLS + BLANKS) + text[place:]

    def surrogates() -> str:
        units = [chr(draw.randint(0xD800, 0xDFFF)) if draw.random() < 0.5 else draw.choice("aA.é😀") for _ in range(9)]
        return "".join(units)

    def mixed() -> str:
        return "".join(some(alphabet, 6) for alphabet in draw.sample((LETTERS, BLANKS, MARKS, CASES, BREAKERS), 4))

    def emoji() -> str:
        return some("😀👩\u200d👩👧🏽🇩🇪❤\ufe0f☕", 20)

    kinds: tuple[Callable[[], str], ...] = (
        *(host, broken, url, url, surrogates, mixed, mixed, emoji),
        lambda: some(everything, 20),
        lambda: some(CASES + MARKS, 30),
        lambda: some(BLANKS, 3) + url() + some(BLANKS, 3),
        lambda: some("é", 70) + some(CASES, 20),
        lambda: (
            some(BLANKS, 2) + ".".join(str(draw.randint(0, 300)) for _ in range(draw.randint(3, 5))) + some(BLANKS, 2)
        ),
        lambda: some(BLANKS, 2) + some("0123456789", 160) + some(BLANKS, 2),
    )
    for index in range(count):
        text = kinds[index % len(kinds)]()
        yield text + chr(draw.randint(0xD800, 0xDFFF)) if draw.random() < 0.03 else text
