"""Names that an owner gives to a survey, spelled as the survey counts them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.analysis.wording import plural, short
from hubbub.errors import ParameterError
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
    typed = list(dict.fromkeys(text for each in given if (text := str(each).strip())))
    check_number(len(typed))
    if typed and domain.is_list:
        raise ParameterError("names must be for values that are searched for, got a list, of which all are counted")
    from hubbub.numeric.bulk_items import encode_marked  # it loads a compiler, which takes a while

    marked = encode_marked(domain, typed)
    values = [None if other else value for value, other in zip(domain.decode(marked.items), marked.other, strict=True)]
    pairs = list(zip(typed, values, strict=True))
    foreign = [text for text, value in pairs if value is None]
    changed = [(text, str(value)) for text, value in pairs if value is not None and str(value) != text.lower()]
    said = [f"{short(text)} is counted as {short(value)}." for text, value in changed[:_TOLD]]
    if len(changed) > _TOLD:
        said.append(f"{plural(len(changed) - _TOLD, 'more name')} are counted in another spelling.")
    if foreign:
        some = ", ".join(map(short, foreign[:_TOLD])) + (", …" if len(foreign) > _TOLD else "")
        were = "was" if len(foreign) == 1 else "were"
        said.append(f"{plural(len(foreign), 'name')} cannot be an answer to this survey and {were} left out: {some}.")
    return Named(tuple(dict.fromkeys(str(value) for value in values if value is not None)), tuple(said))
