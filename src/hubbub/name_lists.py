"""Public lists of names that everybody knows; tools/make_names.py made the files in names/, which say from what."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Final

from hubbub.codes.shipped import LANGUAGES
from hubbub.errors import ParameterError, shown

LISTS: Final = ("sites", "spam", "words", *(f"words:{language}" for language in LANGUAGES), "zones")
"""The lists: host names, hosts of spam referrers, common words of all languages together or of one, time zones."""

_OF_EACH: Final = 500  # words of each language in the list for all of them


def names(which: str) -> tuple[str, ...]:
    """The names of a public list, without duplicates; the first call reads a file of some kilobytes.

    Parameters
    ----------
    which : str
        "sites" for about 2,000 host names and "direct"; "spam" for as many hosts that appear as referrers of visits
        which never happened; "words:de" and its like for the 2,000 commonest words of a
        language; "words" for the 500 commonest of each; "zones" for the names of time zones.

    Examples
    --------
    >>> names("words:de")[:3]
    ('ich', 'ist', 'nicht')
    """
    if which == "words":
        return tuple(dict.fromkeys(word for each in LANGUAGES for word in names(f"words:{each}")[:_OF_EACH]))
    return tuple(groups(which))


@functools.cache
def groups(which: str) -> dict[str, str]:
    """The group that each name of a list is counted in, such as Google for google.de; empty for a name on its own."""
    if not isinstance(which, str) or which not in LISTS or which == "words":
        raise ParameterError(f"a list of names must be one of {', '.join(LISTS)}, got {shown(which)}")
    file = resources.files("hubbub") / "names" / f"{which.replace(':', '-')}.txt"
    lines = file.read_text(encoding="utf-8").splitlines()
    parts = (line.partition("\t") for line in lines if not line.startswith("#"))
    return {name: group for name, _, group in parts}


def is_spam(value: object) -> bool:
    """Whether a value is a host of the list "spam", or below one.

    >>> is_spam("forum.semalt.com"), is_spam("example.org")
    (True, False)
    """
    labels = str(value).split(".")
    return any(".".join(labels[place:]) in groups("spam") for place in range(len(labels) - 1))
