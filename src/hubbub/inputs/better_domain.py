"""Which domain would hold people's values, where the one that was taken does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from hubbub.inputs.plain import Value
from hubbub.model.coded_domain import CodedText, Hostnames, Text, Words
from hubbub.model.domain import Bytes, Integers, IPv4
from hubbub.model.domain_base import Domain, as_text
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

_MOST = 2048  # values of a sample
_AS_GOOD = 0.01  # of the values; domains that differ by less hold about as many


class Sample:
    """Every k-th of the values that are seen, for the k that leaves at most 2,048 of them."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._step, self._skip = 1, 0

    def add(self, values: Sequence[Value]) -> None:
        """See some more values. Looks at those that are kept only."""
        while len(self.values) + len(range(self._skip, len(values), self._step)) > _MOST:
            # The next one to be kept continues the sequence.
            self._skip += self._step * (len(self.values) % 2)
            self.values = self.values[::2]
            self._step *= 2
        self.values += [values[place] for place in range(self._skip, len(values), self._step)]
        self._skip = (self._skip - len(values)) % self._step


def better_domain(values: list[Value], mark: Callable[[Domain, Sequence[Value]], Marked]) -> tuple[str, float] | None:
    """The domain that holds most of some values, and the share that it holds; None if none holds any.

    Of domains that hold about as many it is that of numbers or of addresses, or else the one in which the values have
    the fewest bits: there they are seen from the fewest people. `mark` encodes values in a domain. Costs about 50 ms,
    and the time to load three codes.
    """
    found = {}
    for name, make in TRIED.items():
        domain = make()
        found[name] = _held(domain, values, mark(domain, values))
    best = max(share for share, _ in found.values())
    as_good = [name for name, (share, _) in found.items() if share >= best - _AS_GOOD]
    name = min(as_good, key=lambda name: found[name][1])
    return (name, found[name][0]) if best > 0 else None


def _held(domain: Domain, values: list[Value], marked: Marked) -> tuple[float, float]:
    """The share of the values that a domain holds as they are, but for capitals, and the bits of one of them.

    A host name that was taken out of an address is not held, since the rest of the address is lost; nor is 00501 as a
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
