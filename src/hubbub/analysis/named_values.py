"""Values that somebody names, one by one or in groups, as items of a domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from hubbub.errors import ParameterError, shown
from hubbub.model.domain import Categories, Domain, Integers
from hubbub.model.mechanism import Items
from hubbub.model.plain import plain, whole_number
from hubbub.name_lists import groups as public_groups

MAX_GROUPS: Final = 1_000
"""The most groups of one question."""

MAX_MEMBERS: Final = 10_000
"""The most values in all groups of a question together."""

GROUP_WORDS: Final = ("own", "auto", "none")
"""Groups without lists: those that stay with the survey, these and public ones, or none."""

_LONGEST: Final = 100  # characters of the name of a group

Groups: TypeAlias = tuple[tuple[str, tuple[object, ...]], ...]
"""The names of groups, each with its values."""


class Encoded(NamedTuple):
    """The items of some values in the domain, each once and in order, and how many values are outside of it."""

    items: Items
    foreign: int


def items_of(domain: Domain, values: Sequence[object]) -> Encoded:
    """The items of values that may be repeated or outside the domain."""
    from hubbub.numeric.bulk_items import encode_marked  # it loads a compiler, which takes a while

    marked = encode_marked(domain, values)
    inside = marked.items[~marked.other]
    _, first = np.unique(inside, axis=0, return_index=True)
    return Encoded(inside[np.sort(first)], int(marked.other.sum()))


def typed(domain: Domain, given: Iterable[object], what: str) -> list[object]:
    """Given values as a domain takes them: missing ones are dropped, and a text with a lone surrogate is refused.

    13.0 and "13.0" are the whole number 13 where values are numbers.
    """
    plainly = (value if isinstance(value, str) else plain(value) for value in given)
    values: list[object] = [value for value in plainly if value is not None]
    if broken := [value for value in values if isinstance(value, str) and _is_broken(value)]:
        raise ParameterError(f"{what} must be texts that UTF-8 can write, got {shown(broken[0])}")
    if not isinstance(domain, Integers):
        return values
    numbers = (whole_number(value) if isinstance(value, str) else None for value in values)
    return [value if number is None else number for value, number in zip(values, numbers, strict=True)]


def checked_groups(given: object) -> str | Groups:
    """Groups as a question keeps them; a ParameterError if they are something else."""
    if isinstance(given, str):
        if given not in GROUP_WORDS:
            rule = f"{', '.join(GROUP_WORDS)} or lists of values by name"
            raise ParameterError(f"groups must be {rule}, got groups={shown(given)}")
        return given
    pairs = list(given.items()) if isinstance(given, Mapping) else list(given) if isinstance(given, tuple) else None
    if pairs is None:
        raise ParameterError(f"groups must be lists of values by name, got {type(given).__name__}")
    found: list[tuple[str, tuple[object, ...]]] = []
    for pair in pairs:
        name, values = pair if isinstance(pair, tuple) and len(pair) == 2 else (pair, None)
        if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or _is_broken(name):
            raise ParameterError(f"a group must have a name of 1 to {_LONGEST} characters, got {shown(name)}")
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise ParameterError(f"a group must be a list of values, got {type(values).__name__}")
        found.append((name.strip(), tuple(values)))
    members = sum(len(values) for _, values in found)
    if not 1 <= len(found) <= MAX_GROUPS or members > MAX_MEMBERS:
        raise ParameterError(
            f"groups must be 1 to {MAX_GROUPS:,}, of at most {MAX_MEMBERS:,} values together, "
            f"got {len(found):,} of {members:,}"
        )
    if len({name for name, _ in found}) < len(found):
        raise ParameterError("groups must have different names, got one twice")
    return tuple(found)


def items_of_groups(domain: Domain, groups: str | Groups, kept: Groups = ()) -> dict[str, Items]:
    """The items of the values of each group. "own" and "auto" stand for those that stay with a survey, `kept`.

    A ParameterError if a group has no value of the domain.
    """
    if groups == "none":
        return {}
    pairs = kept if isinstance(groups, str) else groups
    items = {name: items_of(domain, typed(domain, values, "groups")).items for name, values in pairs}
    if empty := [name for name, each in items.items() if not len(each)]:
        raise ParameterError(f"a group must have at least one value of the domain, got none in {shown(empty[0])}")
    return items


def items_of_public_groups(domain: Domain) -> dict[str, Items]:
    """The items of each group of the domain's public list; none if it has no groups.

    A group has two names or more, unless it is the country of time zones.
    """
    zones = _are_zones(domain)
    public = "zones" if zones else domain.names_list
    found: dict[str, list[str]] = {}
    for name, group in (public_groups(public) if public not in (None, "words") else {}).items():
        if group:
            found.setdefault(group, []).append(name)
    items = {group: items_of(domain, each).items for group, each in found.items() if zones or len(each) > 1}
    return {group: each for group, each in items.items() if len(each)}


def _are_zones(domain: Domain) -> bool:
    """Whether a list has names of time zones only, so that its values are counted by country, too."""
    return isinstance(domain, Categories) and set(domain.names) <= public_groups("zones").keys()


def _is_broken(text: str) -> bool:
    """Whether a text has half of a surrogate pair, which a domain replaces: it would ask about another value."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
