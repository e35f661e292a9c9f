"""Text files: UTF-8, or a sentence that says what else they are.

What is not UTF-8 is refused, since replaced bytes would make one value of several. No message holds a value.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO, Final

from hubbub.errors import InputError

HEAD: Final = 64  # bytes from which the encoding is told
MARK: Final = b"\xef\xbb\xbf"  # the byte order mark with which some programs begin UTF-8
_LEAST: Final = 8  # the fewest bytes that tell it without a byte order mark
_PART: Final = 1 << 16  # bytes read at once
_SPACE, _KANA = range(9, 14), 0x30


def not_utf_8(line: int, name: str) -> InputError:
    """The error to raise if a line of a file is not UTF-8."""
    return InputError(f"a text file must be UTF-8, got another encoding in line {line} of {name!r}: save it as UTF-8")


def refuse_wide(head: bytes, name: str) -> None:
    """Refuse a file that begins as UTF-16 or UTF-32 does, with a byte order mark or without."""
    for encoding, is_so in (("UTF-32", _is_utf_32), ("UTF-16", _is_utf_16)):
        if is_so(head):
            raise InputError(f"a text file must be UTF-8, got {encoding} in {name!r}: save it as UTF-8")


def read_blocks(raw: BinaryIO, begun: bytes, name: str) -> Iterator[list[str]]:
    """Yield lists of lines without their ends, from `begun` and what `raw` has after it; a blank line is "".

    Lines end at LF or CR LF: a value may contain CR, VT, NEL or U+2028. Only if the first 64 KiB have CR and no LF, as
    in files of old Macs, lines end at CR. In UTF-8 neither byte is part of another character, so blocks can be decoded
    separately.
    """
    part = begun + raw.read(_PART)
    end = b"\r" if b"\r" in part[:-1] and b"\n" not in part else b"\n"
    waiting: list[bytes] = []
    done = 0
    while part:
        whole, found, rest = part.rpartition(end)
        if found:
            lines = _decoded(b"".join([*waiting, whole]), end, done, name)
            done += len(lines)
            yield lines
            waiting = []
        waiting.append(rest)
        part = raw.read(_PART)
    yield _decoded(b"".join(waiting), end, done, name)


def _decoded(block: bytes, end: bytes, done: int, name: str) -> list[str]:
    """The lines of a block that comes after so many lines."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:  # it holds the bytes
        raise not_utf_8(done + block.count(end, 0, error.start) + 1, name) from None
    if end == b"\r":
        return text.replace("\r\n", "\r").replace("\n", "\r").split("\r")
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in lines] if b"\r" in block else lines


def _is_utf_32(head: bytes) -> bool:
    """Whether a file begins with the mark of UTF-32, or with text of four bytes a character."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return True
    return len(head) >= _LEAST and _is_text(head, "utf-32-le", "utf-32-be")


def _is_utf_16(head: bytes) -> bool:
    """Whether a file begins with the mark of UTF-16, or with text of two bytes a character."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    if len(head) < _LEAST:
        return False
    halves = head[::2], head[1::2]
    if any(_is_one_script(high, low) for high, low in (halves, halves[::-1])):
        return True
    # Scripts of many blocks, as Chinese: what is no UTF-8, and has the zero bytes of blanks and line ends.
    return 0 in head and _begins_as("utf-8", head) is None and _is_text(head, "utf-16-le", "utf-16-be")


def _is_one_script(high: bytes, low: bytes) -> bool:
    """Whether these are the bytes of characters of one block, such as Cyrillic, and of ASCII and punctuation."""
    blocks = set(high) - {0, 0x20}
    if not blocks:
        return not high.strip(b"\0") and 0 not in low
    if len(blocks) > 1 or any(pair == (0, 0) for pair in zip(high, low, strict=False)):
        return False
    (block,) = blocks
    # Lines of one character each have LF as every second byte: there, a zero byte must come with it.
    return 0 in high if block in _SPACE or block == _KANA else block < 0x20


def _begins_as(encoding: str, head: bytes) -> str | None:
    """The first characters of a file in an encoding, the last of which may be cut; None if it is not in it."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return None


def _is_text(head: bytes, *encodings: str) -> bool:
    """Whether these bytes are printable characters in one of the encodings."""
    texts = (_begins_as(encoding, head) for encoding in encodings)
    return any(text and all(each.isprintable() or each in "\t\r\n" for each in text) for text in texts)
