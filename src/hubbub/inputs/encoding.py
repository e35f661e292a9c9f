"""From values to items, with counts of what the domain could not keep and of what people really hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hubbub.inputs.better_domain import Sample, better_domain
from hubbub.inputs.columns import read_column
from hubbub.inputs.plain import Value, present, whole_number
from hubbub.model.domain import Integers
from hubbub.model.domain_base import OTHER, Domain, normalize_text
from hubbub.model.estimates import Intake
from hubbub.model.mechanism import Items
from hubbub.numeric.bulk_items import Marked, encode_marked

_MANY_OTHER = 0.05  # of the people, from which another domain is sought


@dataclass(frozen=True)
class Held:
    """A value, how many people hold it, and what the domain made of it: "kept", "cut" or "other"."""

    value: Value
    count: int
    fate: str


class Truth:
    """How many people hold each value: their own, in the domain's spelling if it is in the domain.

    Two texts that the domain cuts to one are two here. Memory grows with the different values.
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
        """The people who hold a value that was found; for "(other)", those whose value is not in the domain."""
        marked = encode_marked(self._domain, [value])
        if marked.other[0] and value == OTHER:
            return self._raw["other"].total()
        return self._items[marked.items[0].tobytes()]

    def largest(self, many: int) -> list[Held]:
        """The values that most people hold, most first."""
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
    """Encodes everybody's values, some at a time, and counts what was cut or is not in the domain.

    With `with_truth` it also counts what people really hold, in memory that grows with the different values. `over` is
    for whoever draws slots: the people with more values than those.
    """

    def __init__(self, domain: Domain, missing: int = 0, with_truth: bool = False) -> None:
        self.domain = domain
        self.truth = Truth(domain) if with_truth else None
        self.over = 0
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
        """What became of the values so far; if many are not in the domain, which domain would hold more of them."""
        better = None
        if self._other > _MANY_OTHER * self._people:
            kept = 1 - self._other / self._people
            better = better_domain(self._sample.values, mark)
            better = better if better is not None and better[1] > kept else None
        return Intake(self._missing, self._cut, self._other, self.over, *(better or ()))


def mark(domain: Domain, values: Sequence[Value]) -> Marked:
    """The items of some values, and which were cut or are not in the domain.

    Whole numbers that were written as floats, such as 13.0, are numbers: tools write them so in columns with gaps.
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
    """The items of everybody in a column, and what was missing, cut or not in the domain.

    Columns of numbers and texts of pandas, polars, Arrow and numpy are encoded as they lie in memory: a fraction of a
    microsecond for each value. A missing value (None, NaN, NaT, NA, the empty text) is nobody's and has no item.

    >>> from hubbub import Integers
    >>> items, intake = encode_column(Integers(8), [7, None, 300])
    >>> items.ravel().tolist(), intake.missing, intake.other
    ([7, 255], 1, 1)
    """
    values, missing = read_column(column)
    encoder = Encoder(domain, missing)
    return encoder.encode(values), encoder.intake


def tidy_candidates(domain: Domain, candidates: Iterable[object]) -> list[Value]:
    """Candidates by the rules for people's values: missing ones are dropped, and 13.0 is the whole number 13."""
    named = present(list(candidates))
    if not isinstance(domain, Integers):
        return named
    numbers = (whole_number(value) if isinstance(value, str) else None for value in named)
    return [value if number is None else number for value, number in zip(named, numbers, strict=True)]


def _spelled(value: Value) -> Value:
    """Text in normal form, so that it can be shown and that two spellings of it are one."""
    return normalize_text(value) if isinstance(value, str) else value
