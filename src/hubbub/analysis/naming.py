"""Names that an owner gives to a survey, spelled as the survey counts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from hubbub.analysis.named_values import Groups, checked_groups, typed
from hubbub.analysis.wording import plural, short
from hubbub.errors import ParameterError, shown
from hubbub.model.domain import Domain

MOST_NAMES: Final = 10_000
"""The most names that stay with a survey."""

_TOLD: Final = 3  # examples in a sentence


class Named(NamedTuple):
    """The names of a survey, each once, and sentences about those that were given in another form."""

    names: tuple[str, ...]
    sentences: tuple[str, ...]


def check_number(many: int) -> None:
    """Raise ParameterError if a survey cannot have so many names."""
    if many > MOST_NAMES:
        raise ParameterError(f"a survey must have at most {MOST_NAMES:,} names, got {many:,}")


def spell_names(domain: Domain, given: Iterable[object]) -> Named:
    """The names as the survey counts them; what cannot be an answer is left out, and told.

    >>> from hubbub import Hostnames
    >>> spell_names(Hostnames(), ["www.reddit.com", "lobste.rs"])
    Named(names=('reddit.com', 'lobste.rs'), sentences=('www.reddit.com is counted as reddit.com.',))
    """
    texts = list(dict.fromkeys(text for each in given if (text := str(each).strip())))
    check_number(len(texts))
    if texts and domain.is_list:
        raise ParameterError("names must be for values that are searched for, got a list, of which all are counted")
    spelled, sentences = _spell(domain, texts)
    return Named(tuple(dict.fromkeys(value for value in spelled.values() if value is not None)), sentences)


def spell_groups(domain: Domain, given: Mapping[str, Iterable[object]]) -> tuple[Groups, tuple[str, ...]]:
    """Groups of values as the survey counts them, and sentences about values in another form, or in none.

    >>> from hubbub import Hostnames
    >>> spell_groups(Hostnames(), {"Reddit": ["www.reddit.com", "old.reddit.com", "redd.it"]})[0]
    (('Reddit', ('reddit.com', 'redd.it')),)
    """
    if not given:
        return (), ()
    texts = {name: [text for each in values if (text := str(each).strip())] for name, values in given.items()}
    checked_groups(texts)  # their number, and their names
    spelled, sentences = _spell(domain, list(dict.fromkeys(text for some in texts.values() for text in some)))
    found = []
    for name, members in texts.items():
        values = dict.fromkeys(value for text in members if (value := spelled[text]) is not None)
        if not values:
            raise ParameterError(f"a group must have at least one value of the domain, got none in {shown(name)}")
        found.append((name.strip(), tuple(values)))
    return tuple(found), sentences


def groups_of_lines(lines: Iterable[str]) -> dict[str, list[str]]:
    """Groups that people write in a form, one on each line.

    >>> groups_of_lines(["Google: google.com, google.de", ""])
    {'Google': ['google.com', 'google.de']}
    """
    found: dict[str, list[str]] = {}
    for line in filter(None, map(str.strip, lines)):
        name, colon, values = line.partition(":")
        if not colon or not name.strip():
            raise ParameterError(f"a line of groups must be a name, a colon and values with commas, got {short(line)}")
        found.setdefault(name.strip(), []).extend(filter(None, map(str.strip, values.split(","))))
    return found


def _spell(domain: Domain, texts: Sequence[str]) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """For each text the value that it is counted as, None if it is none; and sentences about those that changed."""
    from hubbub.numeric.bulk_items import encode_marked  # it loads a compiler, which takes a while

    typed(domain, texts, "names")  # refuses what a domain would replace
    marked = encode_marked(domain, texts)
    values = [None if other else value for value, other in zip(domain.decode(marked.items), marked.other, strict=True)]
    pairs = list(zip(texts, values, strict=True))
    foreign = [text for text, value in pairs if value is None]
    changed = [
        (text, str(value)) for text, value in pairs if value is not None and str(value) not in (text, text.lower())
    ]
    said = [f"{short(text)} is counted as {short(value)}." for text, value in changed[:_TOLD]]
    if len(changed) > _TOLD:
        said.append(f"{plural(len(changed) - _TOLD, 'more name')} are counted in another spelling.")
    if foreign:
        some = ", ".join(map(short, foreign[:_TOLD])) + (", …" if len(foreign) > _TOLD else "")
        were = "was" if len(foreign) == 1 else "were"
        said.append(f"{plural(len(foreign), 'name')} cannot be an answer to this survey and {were} left out: {some}.")
    return {text: None if value is None else str(value) for text, value in pairs}, tuple(said)
