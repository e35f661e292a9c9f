"""The domain that holds people's values in the fewest bits, found by trying several on a sample."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from hubbub.codes.fitting import CodeShape, fit_code
from hubbub.codes.table import MAX_BYTES
from hubbub.model.coded_domain import CodedText, Hostnames, Text, Words
from hubbub.model.domain import Bytes, Hex, Integers, IPv4, UUIDs
from hubbub.model.domain_base import Domain, as_text
from hubbub.model.plain import Value
from hubbub.numeric.bulk_items import Marked

_TRIED: Final[dict[str, Callable[[], Domain]]] = {
    "ipv4": IPv4,
    "integers:64": lambda: Integers(64),
    "uuid": UUIDs,
    "words": Words,
    "hostnames": Hostnames,
    "text": Text,
    "bytes:64": lambda: Bytes(64),
}
"""Domains that need nothing but a name, as the command line spells it."""

Mark = Callable[[Domain, Sequence[Value]], Marked]
"""Encodes values in a domain."""

_FORMS: Final = {
    "words": re.compile(r"[^\W\d_]+(?:[-'’.][^\W\d_]+)*"),
    "hostnames": re.compile(r"(?:\w[\w-]*\.)+[^\W\d_][\w-]*\.?"),
}
"""What at least half of the values must look like: these codes can write any short text, such as -5 or New York."""

_MOST = 2048  # values of a sample
_AS_GOOD = 0.01  # share of the values; domains within this of the best count as equally good
_ENOUGH = 100  # distinct values, to fit a code to half of them
_SMALL = CodeShape(tokens=20, ends=5, classes=8, seeded_ends=4)
_LONG_CODE = 40  # bits; of shorter codes there is little to gain
_FEWER_BITS = 1.3  # by what factor a domain that holds the values as well must have fewer
_ID = re.compile(r"[0-9a-f]{8,128}")  # shorter ones may be words or codes of another kind


class Better(NamedTuple):
    """A domain for some values.

    Attributes
    ----------
    name : str
        Its name on the command line.
    domain : Domain
        The domain.
    share : float
        The share of the values that it holds unchanged, except for capitals.
    bits : float
        The mean bits of these.
    """

    name: str
    domain: Domain
    share: float
    bits: float


@dataclass
class Sample:
    """A sample of a stream of values: every k-th, with k chosen so that at most 2,048 are kept.

    Attributes
    ----------
    values : list
        Those that are kept.
    step, skip : int
        k, and how many of the next values come before one that is kept.
    """

    values: list[Value] = field(default_factory=list)
    step: int = 1
    skip: int = 0

    def add(self, values: Sequence[Value]) -> None:
        """Add some more values of the stream. Only those that are kept are read."""
        while len(self.values) + len(range(self.skip, len(values), self.step)) > _MOST:
            # The next one to be kept continues the sequence.
            self.skip += self.step * (len(self.values) % 2)
            self.values = self.values[::2]
            self.step *= 2
        self.values += [values[place] for place in range(self.skip, len(values), self.step)]
        self.skip = (self.skip - len(values)) % self.step


def better_domain(values: list[Value], mark: Mark) -> Better | None:
    """The domain that holds most of some values; None if no domain holds any.

    Words and host names are tried only if most values look like them. If several domains hold about as many, it is that
    of addresses or numbers, or else the one with the fewest bits per value, in which values are found in the smallest
    crowds. `mark` encodes values in a domain. Takes about 50 ms, plus the time to load three codes.
    """
    texts = [as_text(value).strip().lower() for value in values]
    found = []
    for name, domain in _candidates(texts):
        if name in _FORMS and sum(map(bool, map(_FORMS[name].fullmatch, texts))) < len(texts) / 2:
            continue
        found.append(Better(name, domain, *held(domain, values, mark(domain, values))))
    best = max(each.share for each in found)
    as_good = [each for each in found if each.share >= best - _AS_GOOD]
    by_bits = min(as_good, key=lambda each: 0 if isinstance(each.domain, IPv4 | Integers) else each.bits)
    return by_bits if best > 0 else None


def _candidates(texts: list[str]) -> Iterator[tuple[str, Domain]]:
    """Yield the domains to try. Of hexadecimal ids it is the one for their most common number of digits."""
    yield from ((name, make()) for name, make in _TRIED.items())
    if sizes := Counter(len(text) for text in texts if _ID.fullmatch(text)):
        digits = sizes.most_common(1)[0][0]
        yield f"hex:{digits}", Hex(digits)


def held(domain: Domain, values: list[Value], marked: Marked) -> tuple[float, float]:
    """The share of the values that a domain holds unchanged (except for capitals), and the mean bits of these.

    A host name taken out of a URL does not count as held, since the rest of the URL is lost; nor does 00501 as a
    number, since it may be a code.
    """
    kept = np.flatnonzero(~(marked.cut | marked.other)).tolist()
    if isinstance(domain, Bytes):
        return len(kept) / len(values), domain.bits
    texts = [as_text(values[place]).strip().lower() for place in kept]
    shown = [str(value) for value in domain.decode(marked.items[kept])]
    is_number = isinstance(domain, Integers)  # of which 13.0 is 13
    whole = [text for text, said in zip(texts, shown, strict=True) if text == said or (is_number and "." in text)]
    if isinstance(domain, CodedText):
        lengths = [domain.code_length(text) or 0 for text in set(whole)]
        return len(whole) / len(values), sum(lengths) / max(len(lengths), 1)
    return len(whole) / len(values), domain.bits


def shorter(domain: Domain, share: float, bits: float, values: list[Value], mark: Mark) -> Better | None:
    """A domain that holds the values as well as this one, and in fewer bits; None if there is none.

    `share` and `bits` are those of this domain, by `held`.
    """
    best = better_domain(values, mark) if bits >= _LONG_CODE else None
    return best if best is not None and best.domain != domain and _saves(best, share, bits) else None


def fitted(domain: Domain, share: float, bits: float, values: list[Value], mark: Mark) -> Better | None:  # noqa: ARG001
    """The same rules with a code of their own, fitted to half of the values, if the other half then has fewer bits.

    None if this code is not much shorter, or if there are too few distinct values to tell. Takes about 0.1 s.
    """
    if not isinstance(domain, CodedText) or bits < _LONG_CODE:
        return None
    normal = {domain.normal_bytes(value) for value in values if not domain.cuts(value)}
    texts = sorted((text for text in normal if text), key=zlib.crc32)  # in an order that has nothing to do with them
    if len(texts) < _ENOUGH:
        return None
    own = CodedText(fit_code(dict.fromkeys(texts[::2], 1.0), _SMALL), domain.normalization, domain.width)
    lengths = np.array([own.code.length(text) for text in texts[1::2]])
    kind = domain.normalization[:-2]
    name = f"{'code' if kind == 'text' else kind}:FILE"
    found = Better(name, own, float((lengths <= own.width).mean()), float(lengths.mean()))
    return found if _saves(found, share, bits) else None


def _saves(better: Better, share: float, bits: float) -> bool:
    """Whether a domain holds about this share of the values or more, in much fewer bits."""
    return better.share >= share - _AS_GOOD and bits >= _FEWER_BITS * better.bits


def too_long(values: list[Value], marked: Marked) -> float:
    """The share of the values that this domain lost and that are longer than any domain can hold."""
    lost = np.flatnonzero(marked.cut | marked.other).tolist()
    return sum(len(as_text(values[place]).encode("utf-8")) > MAX_BYTES for place in lost) / len(values)
