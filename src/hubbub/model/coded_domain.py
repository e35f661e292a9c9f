"""Text as the bits of a public prior code: plausible strings are short, so they are found in smaller crowds.

The code and the rules of normalisation are part of the domain's JSON, and so of the Survey: every client that reads
it maps a value to the same item, bit for bit, whatever tables later versions ship.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from hubbub.codes.shipped import CODE_NAMES, LANGUAGES, load_code
from hubbub.codes.table import MAX_BYTES
from hubbub.codes.text_code import TextCode
from hubbub.errors import ParameterError, shown
from hubbub.model.domain_base import MAX_BITS, OTHER, Domain, as_text, check_bits, normalize_text

# The characters that a browser's String.prototype.trim removes; Python's strip() removes others.
_SPACES: Final = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)
_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//", re.ASCII)
_NOT_OF_A_HOST = re.compile(r'[\x00-\x20\x7f"%<>\[\]^`{|}' + _SPACES + "]")
_IPV6 = re.compile(r"\[[0-9a-f:.]+\]", re.ASCII)
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def text_v1(value: str) -> str:
    """Any text: lone surrogates to U+FFFD, NFC, lower case, NFC, at most 64 bytes of UTF-8, cut at a character."""
    # A cut through a character leaves an incomplete sequence at the end, which "ignore" drops.
    return _lower(value).encode("utf-8")[:MAX_BYTES].decode("utf-8", "ignore")


def _lower(value: str) -> str:
    return unicodedata.normalize("NFC", normalize_text(value).lower())


def words_v1(value: str) -> str:
    """A word: strip white space at both ends, apply the rules of text, then strip white space left by a cut."""
    return text_v1(normalize_text(value).strip(_SPACES)).strip(_SPACES)


def hostnames_v1(value: str, aliases: tuple[str, ...] = ("www.",)) -> str | None:
    """The host of a URL, or a bare host; None if there is no host or if it has more than 64 bytes.

    Scheme, user, port, path and trailing dots are removed, and so is "www." at the front as long as a dot remains. Only
    A to Z are put into lower case. Punycode is neither made nor undone, since browsers and Python differ there.
    """
    text = normalize_text(value).strip(_SPACES)
    text = text[scheme.end() :] if (scheme := _SCHEME.match(text)) else text
    text = re.split(r"[/\\?#]", text, maxsplit=1)[0].rpartition("@")[2]
    host = unicodedata.normalize("NFC", text.translate(_ASCII_LOWER))
    if address := _IPV6.match(host):
        return address.group() if len(address.group()) <= MAX_BYTES else None
    host = host.partition(":")[0].rstrip(".")
    while host.startswith(aliases) and "." in (rest := host.partition(".")[2]):
        host = rest
    bad = not host or _NOT_OF_A_HOST.search(host) or len(host.encode("utf-8")) > MAX_BYTES
    return None if bad else host


ALIASES: Final = ("www.", "m.", "l.", "lm.", "mobile.", "amp.", "old.")
"""What hostnames-2 removes at the front: first labels under which a site shows the same pages."""


def hostnames_v2(value: str) -> str | None:
    """The host as in `hostnames_v1`, without any of `ALIASES` at the front as long as a dot remains.

    >>> hostnames_v2("https://m.example.org/a"), hostnames_v2("m.me")
    ('example.org', 'm.me')
    """
    return hostnames_v1(value, ALIASES)


NORMALIZATIONS: Final[dict[str, Callable[[str], str | None]]] = {
    "text-1": text_v1,
    "hostnames-1": hostnames_v1,
    "hostnames-2": hostnames_v2,
    "words-1": words_v1,
}
"""Rules by their name in the JSON. A rule never changes: a new version gets a new number."""

NEWEST: Final = {"text": "text-1", "hostnames": "hostnames-2", "words": "words-1"}
"""The rules of new surveys, by the kind of values."""

WIDTHS: Final = {"text-1": 352, "hostnames-1": 136, "hostnames-2": 136, "words-1": 160}
"""The usual width for each rule: nearly all real values fit, see docs/text-codes.md."""


class _Kind(NamedTuple):
    """The words for the values that a rule makes."""

    plural: str
    single: str


_KINDS: Final = {
    "text-1": _Kind("text, in lower case", "a text"),
    "hostnames-1": _Kind("host names", "a host name"),
    "hostnames-2": _Kind("host names", "a host name"),
    "words-1": _Kind("words", "a word"),
}
LANGUAGE_NAMES: Final = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "sv": "Swedish",
    "tr": "Turkish",
}
_LONG_EXAMPLES: Final = {
    "text": "https://example.org/articles/summer",
    "hostnames": "national-gallery.org.uk",
    "words": "thunderstorm",
    "words-de": "krankenschwester",
    "words-en": "caterpillars",
    "words-es": "rompecabezas",
    "words-fr": "chauve-souris",
    "words-it": "lavastoviglie",
    "words-nl": "verjaardagstaart",
    "words-pl": "społeczeństwo",
    "words-pt": "saca-rolhas",
    "words-sv": "sjuksköterska",
    "words-tr": "kütüphaneler",
}
"""For each shipped code, a value that is long in it."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedText(Domain):
    """Text as the bits of a code, in items of `width` bits.

    Bit i of the code, counted from 0, is bit (width − 1 − i) of the item as a number: the code is at the top, followed
    by zeros. All ones means "(other)": a value that is not text, that the rules refuse, or whose code is longer than
    `width` bits or happens to be all ones.

    Parameters
    ----------
    code : TextCode
        The public prior.
    normalization : str
        A name in `NORMALIZATIONS`: text-1, hostnames-1, hostnames-2 or words-1.
    width : int
        Bits of an item, from 16 to 512.

    Examples
    --------
    >>> domain = CodedText(load_code("text"), "text-1", 192)
    >>> domain.decode(domain.encode(["Crème Brûlée", None]))
    ['crème brûlée', '(other)']
    """

    code: TextCode
    normalization: str
    width: int

    def __post_init__(self) -> None:
        if not isinstance(self.code, TextCode):
            raise ParameterError(f"code must be a TextCode, got {type(self.code).__name__}")
        if not isinstance(self.normalization, str) or self.normalization not in NORMALIZATIONS:
            raise ParameterError(
                f"normalization must be one of {', '.join(NORMALIZATIONS)}, "
                f"got normalization={shown(self.normalization)}"
            )
        check_bits("width", self.width, 16, MAX_BITS)
        # An item that is not a padded code encodes no value. A host that is too long is "(other)", and is not cut.
        most = None if self.is_hosts else MAX_BYTES
        self._measure(1 << self.width, (1 << self.width) - 1, cut_after=most)

    def __repr__(self) -> str:
        shipped = self._shipped
        usual = self.normalization[:-2] == shipped
        code = "own code, " if shipped is None else "" if usual else f"code {shipped}, "
        return f"{type(self).__name__}({self.normalization}, {code}{self.width} bits)"

    def __eq__(self, other: object) -> bool:
        # A Survey made with Hostnames() and read back holds a CodedText: it must count as the same domain.
        return isinstance(other, CodedText) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[TextCode, str, int]:
        return (self.code, self.normalization, self.width)

    @property
    def is_hosts(self) -> bool:
        """Whether the values are host names."""
        return self.normalization.startswith("hostnames-")

    @property
    def described(self) -> str:
        """The values, in words."""
        kind, shipped = _KINDS[self.normalization].plural, self._shipped
        if shipped is None:
            return f"{kind}, in a code of their own"
        return kind if self.language is None else f"{kind}, in the code for {LANGUAGE_NAMES[self.language]}"

    @property
    def member(self) -> str:
        """One value, in words."""
        code = "code" if self.language is None else f"code for {LANGUAGE_NAMES[self.language]}"
        return f"{_KINDS[self.normalization].single} whose {code} has at most {self.width} bits"

    @property
    def long_example(self) -> str | None:
        """A long value of this kind, for words one of their language; None if the code is not a shipped one."""
        shipped = self._shipped
        return None if shipped is None else _LONG_EXAMPLES[shipped]

    @property
    def language(self) -> str | None:
        """The language whose shipped code this is, such as "de"; None for the others."""
        name = (self._shipped or "").removeprefix("words-")
        return name if name in LANGUAGES else None

    @property
    def names_list(self) -> str | None:
        """The list for host names, for words of a language, or for words of several."""
        if self.normalization.startswith("hostnames"):
            return "sites"
        return f"words:{self.language}" if self.language else "words" if self._shipped == "words" else None

    @property
    def _shipped(self) -> str | None:
        """The name of the shipped code that this is; None for a code of one's own."""
        usual = self.normalization[:-2]
        return next((name for name in (usual, *CODE_NAMES) if self.code == load_code(name)), None)

    def to_json(self) -> dict[str, Any]:
        """Plain data, the whole code included."""
        code = self.code.to_json()
        return {"kind": "coded_text", "code": code, "normalization": self.normalization, "width": self.width}

    def normal_bytes(self, value: object) -> bytes | None:
        """The bytes that the code encodes; None for a value that is "(other)" at any width. Never raises."""
        try:
            normal = NORMALIZATIONS[self.normalization](as_text(value))
        except Exception:  # a foreign object may do anything
            return None
        # The text "(other)" has no item of its own: two items would be shown alike.
        return None if normal is None or normal == OTHER else normal.encode("utf-8")

    def code_length(self, value: object) -> int | None:
        """Bits of a value's code, even if longer than `width`; None for a value that is "(other)" at any width."""
        normal = self.normal_bytes(value)
        return None if normal is None else self.code.length(normal)

    def cuts(self, value: object) -> bool:
        """Whether the text, in normal form, has more than `cut_after` bytes."""
        try:
            text = as_text(value)
            text = text.strip(_SPACES) if self.normalization == "words-1" else text
            return self.cut_after is not None and len(_lower(text).encode("utf-8")) > self.cut_after
        except Exception:  # a foreign object may do anything
            return False

    def _index(self, value: object) -> int:
        normal = self.normal_bytes(value)
        if normal is None:
            return self._fallback
        bits, length = self.code.encode(normal)
        return bits << (self.width - length) if length <= self.width else self._fallback

    def _value(self, index: int) -> int | str | None:
        if index == self._fallback:
            return OTHER
        raw = self.code.decode_padded(index, self.width)
        if raw is None:
            return None
        text = raw.decode("utf-8")
        return text if text != OTHER and NORMALIZATIONS[self.normalization](text) == text else None


class Text(CodedText):
    """Any text in the shipped code, in lower case, cut after 64 bytes.

    >>> Text().decode(Text().encode(["Crème Brûlée", "https://example.org/A", None]))
    ['crème brûlée', 'https://example.org/a', '(other)']
    """

    __slots__ = ()

    def __init__(self, width: int = WIDTHS["text-1"]) -> None:
        super().__init__(load_code("text"), "text-1", width)


class Hostnames(CodedText):
    """Hosts of the web in the shipped code: popular ones in about 38 bits. The aliases of a site are one value.

    >>> Hostnames().decode(Hostnames().encode(["https://www.Example.org:8080/a?b#c", "m.example.org", "no host"]))
    ['example.org', 'example.org', '(other)']
    """

    __slots__ = ()

    def __init__(self, width: int = WIDTHS["hostnames-2"]) -> None:
        super().__init__(load_code("hostnames"), "hostnames-2", width)


class Words(CodedText):
    """Words in a shipped code, for one language or for ten, which costs a few more bits per word.

    Parameters
    ----------
    language : str, optional
        de, en, es, fr, it, nl, pl, pt, sv or tr. By default the code is for all of them.
    width : int
        Bits of an item.

    Examples
    --------
    >>> Words("de").decode(Words("de").encode([" Frühstück ", "Straße"]))
    ['frühstück', 'straße']
    >>> Words("de").code_length("geschwindigkeit") < Words().code_length("geschwindigkeit")
    True
    """

    __slots__ = ()

    def __init__(self, language: str | None = None, width: int = WIDTHS["words-1"]) -> None:
        if language is not None and language not in LANGUAGES:
            raise ParameterError(f"language must be one of {', '.join(LANGUAGES)}, got language={shown(language)}")
        super().__init__(load_code(f"words-{language}" if language else "words"), "words-1", width)
