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
    """What a mechanism derives its parameters from."""

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
        What it is.
    derive : function of a Request
        The parameters, or a ParameterError naming the limit that is passed.
    build : function of a Survey
        The mechanism of a survey that carries such parameters; they are untrusted input to it.
    default_delta : function of the resolved options
        The delta of a survey whose author did not choose one: 0 unless the mechanism needs more.
    """

    about: About
    derive: Callable[[Request], dict[str, Any]]
    build: Callable[[Survey], SurveyMechanism]
    default_delta: Callable[[Mapping[str, str]], Decimal] = lambda _: Decimal(0)
