"""Words for numbers, values and facts on pages."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from hubbub.analysis import wording
from hubbub.analysis.person import beliefs
from hubbub.analysis.wording import at_most, at_most_percent, plural
from hubbub.model.coded_domain import LANGUAGE_NAMES, CodedText
from hubbub.model.domain import Categories, Domain, Integers

_TRIED: Final = 100  # names of a list that are looked at for examples; lists may be long


def visible(value: object) -> str:
    r"""Return a value as text, with escapes for characters that would turn or hide text.

    >>> visible("a\u202eb")
    'a\\u202eb'
    """
    return wording.visible(str(value)) or "(empty)"


def time_left(opens: datetime | None, closes: datetime | None, state: str, now: datetime | None = None) -> str:
    """Return in words how long a survey still takes reports."""
    if state in ("closed", "earlier version"):
        return "over"
    now = now or datetime.now(UTC)
    if state == "not yet open" and opens is not None:
        return f"opens in {_span((opens - now).total_seconds())}"
    if closes is None:
        return "no end date"
    return f"{_span((closes - now).total_seconds())} left"


def _span(seconds: float) -> str:
    """Return a time in its largest unit: days, hours or minutes."""
    for unit, size in (("day", 86_400), ("hour", 3_600)):
        if seconds >= size:
            return plural(int(seconds // size), unit)
    return plural(max(1, int(seconds // 60)), "minute")


def question(domain: Domain) -> str:
    """Return the question in words; it follows "asks each browser, once" or "once every 28 days"."""
    if isinstance(domain, CodedText):
        language = "" if domain.language is None else f" in {LANGUAGE_NAMES[domain.language]}"
        return {
            "hostnames": "which site its visitor came from",
            "words": f"for a word{language} that the page gives it, such as a search",
            "text": "for a short text that the page gives it",
        }[domain.normalization[:-2]]
    if isinstance(domain, Categories):
        return f"for one of {len(domain.names):,} answers"
    return "for a value that the page gives it"


def asks_for_site(domain: Domain) -> bool:
    """Return whether people are asked which site they came from, which the script knows by itself."""
    return isinstance(domain, CodedText) and domain.is_hosts


def even_guess(epsilon: float) -> str:
    """Return how sure an observer who was 50 % sure can become at most from one report.

    >>> even_guess(1.0), even_guess(0.5)
    ('73.2 %', '62.3 %')
    """
    return at_most_percent(beliefs(epsilon)[-1].after)


def times(epsilon: float) -> str:
    """Return how many times as likely one value makes a response at most, compared with any other: e^ε, rounded up.

    >>> times(1.0), times(4.0)
    ('2.72', '54.6')
    """
    return at_most(math.exp(epsilon), 3)


def examples(domain: Domain) -> list[str]:
    """Return some values of a domain to try; of a list, some of its first names."""
    if isinstance(domain, Categories):
        return [name for name in domain.names[:_TRIED] if visible(name) == name][:6]
    if isinstance(domain, Integers):
        return ["0", "1"]
    if asks_for_site(domain):
        return ["news.example", "search.example", "direct"]
    if isinstance(domain, CodedText) and domain.language not in (None, "en") and domain.long_example:
        return [domain.long_example]
    return ["apple", "banana", "cherry"]
