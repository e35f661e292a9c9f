"""Domains and lists of values, as they are named on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hubbub.codes.shipped import CODE_NAMES, LANGUAGES, load_code
from hubbub.codes.table import MAX_FILE_BYTES
from hubbub.codes.text_code import TextCode
from hubbub.errors import InputError, ParameterError
from hubbub.inputs.files import read_lines
from hubbub.model.coded_domain import NEWEST, WIDTHS, CodedText
from hubbub.model.domain import MAX_BITS, Bytes, Categories, Domain, Hex, Integers, IPv4, UUIDs

_DOMAINS = (
    "text, hostnames, words, words:LANGUAGE, integers:BITS, ipv4, uuid, hex:DIGITS, choices:NAME,NAME, "
    "categories:FILE, bytes:SIZE, hostnames:FILE, words:FILE or code:FILE"
)
_SIZED: Final[dict[str, tuple[Callable[[int], Domain], int]]] = {
    "integers": (Integers, 1),
    "hex": (Hex, 4),
    "bytes": (Bytes, 8),
}
"""Domains whose name has a number, and the bits for each that it counts."""


def parse_domain(text: str) -> Domain:
    """A domain from its name.

    hostnames, words, words:de (and other languages) and text use the shipped codes; hostnames:FILE, words:FILE and
    code:FILE use the code in a file (see `hubbub code`), code:FILE with the rules of text. bytes:SIZE is raw text.
    categories:FILE has one name per line, and "(other)"; choices:yes,no is a closed list of these names.

    >>> parse_domain("integers:64"), parse_domain("hostnames")
    (Integers(bits=64), CodedText(hostnames-2, 136 bits))
    """
    kind, colon, rest = text.partition(":")
    if text == "auto":
        raise ParameterError("domain auto must look at the values, which only hubbub find does, got domain='auto'")
    if kind == "categories" and rest:
        return Categories(read_names(rest))
    if text in ("ipv4", "uuid"):
        return IPv4() if text == "ipv4" else UUIDs()
    if kind == "choices" and rest:
        names = [name.strip() for name in rest.split(",")]
        if not all(names):
            raise ParameterError(f"domain choices must be written choices:NAME,NAME, got domain={text!r}")
        return Categories(names, other=False)
    if kind == "text" and colon:
        size = rest if rest.isascii() and rest.isdigit() else "32"
        raise ParameterError(f"domain text must be written text, and raw text bytes:{size}, got domain={text!r}")
    if kind in _SIZED and colon:
        if not (rest.isascii() and rest.isdigit()) or len(rest) > 6:
            raise ParameterError(f"domain {kind} must be written {kind}:NUMBER, got domain={text!r}")
        make, bits = _SIZED[kind]
        most = MAX_BITS // bits
        if not 1 <= int(rest) <= most:
            raise ParameterError(f"domain {kind}:NUMBER must have a number from 1 to {most}, got domain={text!r}")
        return make(int(rest))
    if kind in ("hostnames", "words", "text", "code") and bool(rest) == bool(colon) and text != "code":
        rules = NEWEST["text" if kind == "code" else kind]
        return CodedText(_words_code(rest) if kind == "words" else read_code(rest or kind), rules, WIDTHS[rules])
    raise ParameterError(f"domain must be {_DOMAINS}, got domain={text!r}")


def domain_file(text: str | None) -> str | None:
    """The file that `parse_domain` would read; None if it reads none."""
    kind, _, rest = (text or "").partition(":")
    shipped = LANGUAGES if kind == "words" else () if kind == "categories" else CODE_NAMES
    return rest if kind in ("categories", "hostnames", "words", "code") and rest and rest not in shipped else None


def _words_code(name: str) -> TextCode:
    """The code for a language, or from a file, or, without a name, the code for several languages."""
    if not name or name in LANGUAGES:
        return load_code(f"words-{name}" if name else "words")
    try:
        return read_code(name)
    except InputError as error:
        raise InputError(
            f"domain words must be words:LANGUAGE ({', '.join(LANGUAGES)}) or words:FILE; {error}"
        ) from None


def read_code(name: str) -> TextCode:
    """A shipped code by its name, or a code from a file."""
    if name in CODE_NAMES:
        return load_code(name)
    try:
        with open(name, "rb") as file:
            document = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"cannot read the code {name!r}: {reason}") from None
    return TextCode.from_json(document)


def read_names(path: str) -> list[str]:
    """Public names from a file, one per line; empty lines and duplicates are skipped."""
    try:
        return list(dict.fromkeys(line for line in read_lines(path) if line))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"cannot read the names in {path!r}: {reason}") from None


def read_candidates(file: str | None) -> list[str] | None:
    """Values named in advance, from a file; None without one."""
    if file is None:
        return None
    return read_some_names(file)


def read_groups(path: str) -> dict[str, list[str]]:
    """Values to count together, from a file: on each line a value, a tab and the name of its group."""
    found: dict[str, list[str]] = {}
    for line in read_some_names(path):
        value, tab, group = line.partition("\t")
        if not tab or not group.strip():
            raise InputError(f"a line of groups must be a value, a tab and the name of its group, got {line!r:.60}")
        found.setdefault(group.strip(), []).append(value.strip())
    return found


def read_some_names(path: str) -> list[str]:
    """Public names from a file, as `read_names`, but at least one."""
    if not (names := read_names(path)):
        raise InputError(f"a file of names must name at least one value, got none in {path!r}")
    return names
