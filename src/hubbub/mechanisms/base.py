"""What the registry needs to know about a mechanism before there is a survey."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hubbub.mechanisms.facts import About
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.domain_base import Domain
from hubbub.model.survey import Survey


@dataclass(frozen=True, slots=True)
class Request:
    """The author's choices, from which a mechanism derives its parameters."""

    domain: Domain
    epsilon: Decimal
    delta: Decimal
    options: Mapping[str, str]
    expected_reports: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A mechanism as the registry holds it.

    Attributes
    ----------
    about : About
        Its description for people.
    derive : function of a Request
        Returns the parameters, or raises a ParameterError that names the limit exceeded.
    build : function of a Survey
        Returns the mechanism of a survey with these parameters, which it must treat as untrusted input.
    default_delta : function of the resolved options
        Returns the delta of a survey whose author did not choose one: 0 unless the mechanism needs more.
    """

    about: About
    derive: Callable[[Request], dict[str, Any]]
    build: Callable[[Survey], SurveyMechanism]
    default_delta: Callable[[Mapping[str, str]], Decimal] = lambda _: Decimal(0)
