"""The exceptions hubbub raises on purpose.

* HubbubError
  x ParameterError     a Survey, a domain or a query that cannot be built
  x PrivacyError       a Survey whose executed privacy loss is above its claim
  x WireError          bytes that are not what they claim to be
    . BadVersion       another version of the format
    . BadLength        shorter than a header
    . LeftOverBytes    not a whole number of reports
  x SurveyMismatch     reports or tallies of another survey
  x InputError         a file or a column that cannot be read as people's values
  x StoreError         a database that is not what it should be
    . StoreUnavailable a database that cannot be reached or written now
    . UnknownSurvey    no survey of this id is stored
    . SurveyClosed     a survey that takes no more reports
  x ServiceError       a collector that refuses, or cannot be reached
  x MissingExtra       a package that is not installed

Every message is one sentence: the rule, the name and the value got. No message ever holds a private value.
"""

from __future__ import annotations

__all__ = [
    "BadLength",
    "BadVersion",
    "HubbubError",
    "InputError",
    "LeftOverBytes",
    "MissingExtra",
    "ParameterError",
    "PrivacyError",
    "ServiceError",
    "StoreError",
    "StoreUnavailable",
    "SurveyClosed",
    "SurveyMismatch",
    "UnknownSurvey",
    "WireError",
]


class HubbubError(Exception):
    """The root: catch this to catch everything hubbub raises on purpose."""


class ParameterError(HubbubError, ValueError):
    """A Survey, a domain or a query that cannot be built."""


class PrivacyError(ParameterError):
    """A Survey whose thresholds execute a larger privacy loss than it states."""


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
    """A database that cannot be reached or written now; what was asked for is not known to have happened.

    If the connection broke during the commit it may have: reports can be sent again, since each id counts once.
    """


class UnknownSurvey(StoreError):
    """No survey of this id is stored."""


class SurveyClosed(StoreError):
    """A survey that takes no more reports."""


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
