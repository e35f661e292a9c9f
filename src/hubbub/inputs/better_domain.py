"""Suggests a domain that holds people's values, if the chosen one does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from hubbub.model.coded_domain import CodedText, Hostnames, Text, Words
from hubbub.model.domain import Bytes, Integers, IPv4
from hubbub.model.domain_base import Domain, as_text
from hubbub.model.plain import Value
from hubbub.numeric.bulk_items import Marked

TRIED: Final[dict[str, Callable[[], Domain]]] = {
    "ipv4": IPv4,
    "integers:64": lambda: Integers(64),
    "words": Words,
    "hostnames": Hostnames,
    "text": Text,
    "bytes:64": lambda: Bytes(64),
}
"""Domains that need nothing but a name, as the command line spells it."""

_FORMS: Final = {
    "words": re.compile(r"[^\W\d_]+(?:[-'’.][^\W\d_]+)*"),
    "hostnames": re.compile(r"(?:\w[\w-]*\.)+[^\W\d_][\w-]*\.?"),
}
"""What at least half of the values must look like: these codes can write any short text, such as -5 or New York."""

_MOST = 2048  # values of a sample
_AS_GOOD = 0.01  # share of the values; domains within this of the best count as equally good


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


def better_domain(values: list[Value], mark: Callable[[Domain, Sequence[Value]], Marked]) -> tuple[str, float] | None:
    """The domain that holds most of some values, and the share that it holds; None if no domain holds any.

    Words and host names are tried only if most values look like them. If several domains hold about as many, it is that
    of addresses or numbers, or else the one with the fewest bits per value, in which values are found in the smallest
    crowds. `mark` encodes values in a domain. Takes about 50 ms, plus the time to load three codes.
    """
    found = {}
    texts = [as_text(value).strip().lower() for value in values]
    for name, make in TRIED.items():
        if name in _FORMS and sum(map(bool, map(_FORMS[name].fullmatch, texts))) < len(texts) / 2:
            continue
        domain = make()
        found[name] = _held(domain, values, mark(domain, values))
    best = max(share for share, _ in found.values())
    as_good = [name for name, (share, _) in found.items() if share >= best - _AS_GOOD]
    name = min(as_good, key=lambda name: found[name][1])
    return (name, found[name][0]) if best > 0 else None


def _held(domain: Domain, values: list[Value], marked: Marked) -> tuple[float, float]:
    """The share of the values that a domain holds unchanged (except for capitals), and the mean bits of a value.

    A host name taken out of a URL does not count as held, since the rest of the URL is lost; nor does 00501 as a
    number, since it may be a code.
    """
    kept = np.flatnonzero(~(marked.cut | marked.other)).tolist()
    texts = [as_text(values[place]).strip().lower() for place in kept]
    shown = [str(value) for value in domain.decode(marked.items[kept])]
    if isinstance(domain, CodedText):
        whole = [text for text, said in zip(texts, shown, strict=True) if text == said]
        lengths = [domain.code_length(text) or 0 for text in set(whole)]
        return len(whole) / len(values), sum(lengths) / max(len(lengths), 1)
    if isinstance(domain, Bytes):
        return len(kept) / len(values), domain.bits
    whole = [text for text, said in zip(texts, shown, strict=True) if text == said or "." in text]  # 13.0 is 13
    return len(whole) / len(values), 0.0
