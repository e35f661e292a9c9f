"""The exceptions hubbub raises on purpose.

    HubbubError
        ParameterError          a survey, a domain or a query that cannot be built
            PrivacyError        a survey that guarantees less privacy than it states
        WireError               bytes that are not what they claim to be
            BadVersion          another version of the format
            BadLength           shorter than a header
            LeftOverBytes       not a whole number of reports
        SurveyMismatch          reports or tallies of another survey
        InputError              a file or a column that cannot be read as people's values
        StoreError              a database that is not what it should be
            StoreUnavailable    a database that cannot be reached or written now
                StoreFull       a database whose disk is full
                StoreBroken     a database whose pages are damaged, or are none of its own
            StoreDamaged        stored bytes that are not what was written
            UnknownSurvey       no survey of this id is stored
            UnknownSite         no site of this key is stored
            SurveyClosed        a survey that takes no more reports
            KeyReused           an idempotency key that was used for another tally
        ServiceError            a collector that refuses, or cannot be reached
        MissingExtra            a package that is not installed

A message about an argument is one sentence: the rule, the name, and the value that was given. A message about an event
says what happened and what to do. No message ever holds a private value.
"""

from __future__ import annotations

__all__ = [
    "BadLength",
    "BadVersion",
    "HubbubError",
    "InputError",
    "KeyReused",
    "LeftOverBytes",
    "MissingExtra",
    "ParameterError",
    "PrivacyError",
    "ServiceError",
    "StoreBroken",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "SurveyClosed",
    "SurveyMismatch",
    "UnknownSite",
    "UnknownSurvey",
    "WireError",
]


class HubbubError(Exception):
    """The root: catch this to catch everything hubbub raises on purpose."""


class ParameterError(HubbubError, ValueError):
    """A survey, a domain or a query that cannot be built."""


class PrivacyError(ParameterError):
    """A survey whose thresholds allow a larger privacy loss than the ε and δ that it states."""


class WireError(HubbubError, ValueError):
    """Bytes that are not what they claim to be."""


class BadVersion(WireError):
    """Bytes of another version of the format."""


class BadLength(WireError):
    """Bytes that end before their header does."""


class LeftOverBytes(WireError):
    """Bytes that are not a whole number of reports."""


class SurveyMismatch(HubbubError, ValueError):
    """Reports or tallies of another survey."""


class InputError(HubbubError, ValueError):
    """A file or a column that cannot be read as people's values."""


class StoreError(HubbubError):
    """A database that is not what it should be."""


class StoreUnavailable(StoreError):
    """A database that cannot be reached or written now. It is not known whether the change was made.

    If the connection broke during the commit it may have: reports can be sent again, since each id counts once.
    """


class StoreFull(StoreUnavailable):
    """A database whose disk is full: nothing more is written until there is room."""


class StoreBroken(StoreUnavailable):
    """A database whose pages are damaged, or are none of its own; only a copy can bring it back."""


class StoreDamaged(StoreError):
    """Stored bytes that are not what was written; what else is stored is as good as before."""


class UnknownSurvey(StoreError):
    """No survey of this id is stored."""


class UnknownSite(StoreError):
    """No site of this key is stored."""


class SurveyClosed(StoreError):
    """A survey that takes no more reports."""


class KeyReused(StoreError):
    """An idempotency key that was used for another tally."""


class ServiceError(HubbubError):
    """A collector that refuses a request, or cannot be reached."""


class MissingExtra(HubbubError, ImportError):
    """A package that is not installed, since it comes with an extra of hubbub that was not asked for."""


def shown(value: object) -> str:
    """How an error message quotes what it was given: its repr, cut after 80 characters.

    >>> shown("x" * 1000)[-5:]
    'xxxx…'
    """
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def system_reason(error: Exception) -> str:
    """Why the system refused something, for the end of a sentence: "no such file or directory"."""
    return (getattr(error, "strerror", None) or type(error).__name__).lower()
