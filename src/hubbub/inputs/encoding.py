"""From values to items, with counts of values that the domain could not keep, and of what people really hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hubbub.inputs.better_domain import Better, Sample, better_domain, fitted, held, shorter, too_long
from hubbub.inputs.columns import read_column
from hubbub.model.coded_domain import CodedText
from hubbub.model.domain import Bytes, Integers
from hubbub.model.domain_base import OTHER, Domain, normalize_text
from hubbub.model.estimates import Intake
from hubbub.model.mechanism import Items
from hubbub.model.plain import Value, whole_number
from hubbub.numeric.bulk_items import Marked, encode_marked

_MANY = 0.05  # if more of the people than this have a value outside the domain, a better domain is sought
_FEWER_PEOPLE = 1.2  # by what factor a domain must be better to be named where this one holds the values


@dataclass(frozen=True)
class Held:
    """A value, how many people hold it, and what the domain did with it: "kept", "cut" or "other"."""

    value: Value
    count: int
    fate: str


class Truth:
    """How many people hold each value, in the domain's spelling if it is in the domain.

    Texts that the domain cuts to the same item are counted separately. Memory grows with the number of distinct values.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._items: Counter[bytes] = Counter()  # of values that the domain keeps
        self._raw: dict[str, Counter[Value]] = {"cut": Counter(), "other": Counter()}

    def add(self, values: Sequence[Value], marked: Marked) -> None:
        """Count some people."""
        lost = marked.cut | marked.other
        kept = marked.items if not lost.any() else np.ascontiguousarray(marked.items[~lost])
        self._items.update(kept.view(f"V{8 * self._domain.item_limbs}").ravel().tolist())
        for fate, where in (("cut", marked.cut), ("other", marked.other)):
            self._raw[fate].update(_spelled(values[place]) for place in np.flatnonzero(where).tolist())

    def count(self, value: Value) -> int:
        """How many people hold a found value; for "(other)", how many hold a value outside the domain."""
        marked = encode_marked(self._domain, [value])
        if marked.other[0] and value == OTHER:
            return self._raw["other"].total()
        return self._items[marked.items[0].tobytes()]

    def largest(self, many: int) -> list[Held]:
        """The `many` values that most people hold, the most common first."""
        common = self._items.most_common(many)
        items = np.frombuffer(b"".join(item for item, _ in common), np.uint64).reshape(-1, self._domain.item_limbs)
        found = [
            Held(value, count, "kept")
            for value, (_, count) in zip(self._domain.decode(items), common, strict=True)
            if value is not None
        ]
        for fate, counter in self._raw.items():
            found += [Held(value, count, fate) for value, count in counter.most_common(many)]
        return sorted(found, key=lambda held: -held.count)[:many]


class Encoder:
    """Encodes everybody's values, some at a time, and counts those that were cut or are not in the domain.

    With `with_truth` it also counts what people really hold; memory then grows with the number of distinct values. The
    caller that draws slots sets `over` to the number of people with more values than slots. `seen_from` says how many
    people must hold a value of so many bits of a domain for it to be found, None if that is out of reach; with it, a
    domain is also named if this one holds the values but wastes bits.
    """

    def __init__(
        self,
        domain: Domain,
        missing: int = 0,
        with_truth: bool = False,
        over: int = 0,
        seen_from: Callable[[Domain, float], float | None] | None = None,
    ) -> None:
        self.domain = domain
        self.truth = Truth(domain) if with_truth else None
        self.over = over
        self._seen_from = seen_from
        self._missing, self._cut, self._other, self._people = missing, 0, 0, 0
        self._sample = Sample()

    def encode(self, values: Sequence[Value]) -> Items:
        """The items of some people."""
        marked = mark(self.domain, values)
        self._sample.add(values)
        self._people += len(values)
        self._cut += int(marked.cut.sum())
        self._other += int(marked.other.sum())
        if self.truth is not None:
            self.truth.add(values, marked)
        return marked.items

    @property
    def intake(self) -> Intake:
        """The counts so far, a domain that would hold the values better, and whether none can hold them."""
        plain = Intake(self._missing, self._cut, self._other, self.over)
        many = self._other > _MANY * self._people
        if not self._people or not (many or self._seen_from):
            return plain
        values = self._sample.values
        marked = mark(self.domain, values)
        long = too_long(values, marked)
        plain = replace(plain, too_long=long if long > _MANY else None)
        better, bits = None, None
        if many:
            found = better_domain(values, mark)
            better = found if found is not None and found.share > 1 - self._other / self._people else None
        elif isinstance(self.domain, CodedText | Bytes):
            share, bits = held(self.domain, values, marked)
            better = next(
                filter(None, (way(self.domain, share, bits, values, mark) for way in (shorter, fitted))), None
            )
        return plain if better is None else self._with_limits(plain, better, bits)

    def _with_limits(self, plain: Intake, better: Better, bits: float | None) -> Intake:
        """The intake with a better domain and, if this domain holds the values in so many bits, with what it gains.

        Without the better domain, if the gain is small.
        """
        told = replace(plain, better_domain=better.name, better_share=better.share)
        if bits is None or self._seen_from is None:
            return told
        now, then = self._seen_from(self.domain, bits), self._seen_from(better.domain, better.bits)
        if then is None or (now is not None and now < _FEWER_PEOPLE * then):
            return plain
        return replace(told, value_limit=now, better_limit=then)


def mark(domain: Domain, values: Sequence[Value]) -> Marked:
    """The items of some values, and which were cut or are not in the domain.

    Texts such as 13.0 count as whole numbers: many tools write numbers this way in columns with missing values.
    """
    marked = encode_marked(domain, values)
    if not isinstance(domain, Integers) or not marked.other.any():
        return marked
    numbers: dict[Value, int | None] = {}
    places, whole = [], []
    for place in np.flatnonzero(marked.other).tolist():
        value = values[place]
        if value not in numbers:
            numbers[value] = whole_number(value) if isinstance(value, str) else None
        if (number := numbers[value]) is not None:
            places.append(place)
            whole.append(number)
    if places:
        again = encode_marked(domain, whole)
        marked.items[places] = again.items
        marked.other[places] = again.other
    return marked


def encode_column(domain: Domain, column: Iterable[object]) -> tuple[Items, Intake]:
    """The items of everybody in a column, and how many values were missing, cut or not in the domain.

    Columns of numbers and texts of pandas, polars, Arrow and numpy are encoded without Python objects, in a fraction of
    a microsecond per value. Missing values (None, NaN, NaT, NA, the empty text) are skipped and have no item.

    >>> from hubbub import Integers
    >>> items, intake = encode_column(Integers(8), [7, None, 300])
    >>> items.ravel().tolist(), intake.missing, intake.other
    ([7, 255], 1, 1)
    """
    values, missing = read_column(column)
    encoder = Encoder(domain, missing)
    return encoder.encode(values), encoder.intake


def _spelled(value: Value) -> Value:
    """Text in normal form, so that it can be shown and that its spellings count as one value."""
    return normalize_text(value) if isinstance(value, str) else value
