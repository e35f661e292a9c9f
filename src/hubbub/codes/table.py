"""The table of a text code: its limits, and the checks that an untrusted table must pass before it becomes a code.

It uses integers and the standard library only, so that a client in any language needs about a page of code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from hubbub.errors import ParameterError

MAX_BYTES: Final = 64
"""The longest string a code has a word for."""

MAX_JSON_BYTES: Final = 8192
"""The largest table, without white space."""

MAX_FILE_BYTES: Final = 4 * MAX_JSON_BYTES
"""The largest document that is read, white space included: megabytes from a stranger are not parsed."""

MAX_WORD: Final = 15
"""The longest code word of one symbol, in bits."""

END: Final = 0
ESC: Final = 1
"""The symbols that every table has: END ends a string, ESC comes before raw bytes."""

DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
"""One digit of base 36 for each class, and for each length of a code word."""

FIELDS: Final = ("bytes", "tokens", "ends", "class", "lengths")


def check_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a valid table; anything else is a ParameterError."""
    if not isinstance(table, Mapping):
        raise ParameterError(f"a code must be an object, got {type(table).__name__}")
    if set(table) != set(FIELDS):
        odd = sorted(str(name) for name in set(table) ^ set(FIELDS))[0]
        raise ParameterError(f"a code has the fields {', '.join(FIELDS)}, got {_missing(odd)}{odd[:40]!r}")
    for name in ("bytes", "class"):
        if not isinstance(table[name], str):
            raise ParameterError(f"code.{name} must be a string, got {type(table[name]).__name__}")
    for name in ("tokens", "ends", "lengths"):
        if not isinstance(table[name], list) or not all(isinstance(text, str) for text in table[name]):
            raise ParameterError(f"code.{name} must be a list of strings, got {type(table[name]).__name__}")
    size = len(json.dumps(dict(table), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    if size > MAX_JSON_BYTES:
        raise ParameterError(f"a code must be at most {MAX_JSON_BYTES} bytes of JSON, got {size}")
    for name, texts, shortest in (
        ("bytes", list(table["bytes"]), 1),
        ("tokens", table["tokens"], 2),
        ("ends", table["ends"], 1),
    ):
        # Distinct strings of bytes. A token and an end may be equal: the place in the string tells them apart.
        for text in texts:
            if not shortest <= len(text) <= MAX_BYTES or max(text) > "\xff":
                wanted = f"strings of {shortest} to {MAX_BYTES} characters up to U+00FF"
                raise ParameterError(f"code.{name} must hold {wanted}, got {text[:40]!r}")
        if len(set(texts)) < len(texts):
            twice = next(text for index, text in enumerate(texts) if text in texts[:index])
            raise ParameterError(f"code.{name} must be distinct, got {twice!r} twice")
    symbols = 2 + len(table["bytes"]) + len(table["tokens"]) + len(table["ends"])
    classes = len(table["lengths"])
    if not 1 <= classes <= len(DIGITS):
        raise ParameterError(f"code.lengths must have 1 to {len(DIGITS)} rows, got {classes}")
    for index, row in enumerate(table["lengths"]):
        if len(row) != symbols or not set(row) <= set("123456789abcdef"):
            raise ParameterError(
                f"code.lengths[{index}] must be {symbols} hex digits from 1 to f, one for each symbol, got {row[:40]!r}"
            )
        total = sum(1 << MAX_WORD - int(digit, 16) for digit in row)
        if total != 1 << MAX_WORD:
            raise ParameterError(f"code.lengths[{index}] must have a Kraft sum of 1, got {total}/{1 << MAX_WORD}")
    after = table["class"]
    if len(after) != symbols or not set(after) <= set(DIGITS[:classes]):
        raise ParameterError(
            f"code.class must be {symbols} digits of base 36 below {classes}, one for each symbol, got {after[:40]!r}"
        )
    return {name: list(table[name]) if isinstance(table[name], list) else table[name] for name in FIELDS}


def _missing(name: str) -> str:
    return "no " if name in FIELDS else "unknown "
