"""What the registry needs to know about a mechanism before there is a survey."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hubbub.errors import ParameterError
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.domain_base import Domain
from hubbub.model.survey import Survey, parse_decimal


@dataclass(frozen=True, slots=True)
class Option:
    """One thing a mechanism lets its user choose: one of a few words, a number in an open interval, or either."""

    name: str
    default: str
    help: str
    choices: tuple[str, ...] = ()
    between: tuple[Decimal, Decimal] | None = None

    def resolve(self, value: object) -> str:
        """The value as the survey spells it, or a ParameterError."""
        if value in self.choices:
            return str(value)
        if self.between is None:
            raise ParameterError(f"option {self.name} must be one of {', '.join(self.choices)}, got {value!r:.60}")
        low, high = self.between
        try:
            number = parse_decimal(self.name, value).normalize()
        except ParameterError:
            words = "".join(f"{choice} or " for choice in self.choices)
            raise ParameterError(f"option {self.name} must be {words}a number, got {value!r:.60}") from None
        if not low < number < high:
            raise ParameterError(f"option {self.name} must be between {low} and {high}, got {value!r:.60}")
        return format(number, "f")

    def describe(self) -> str:
        """The values it takes, for a table."""
        numbers = () if self.between is None else (f"{self.between[0]} < x < {self.between[1]}",)
        return " or ".join([" / ".join(self.choices), *numbers] if self.choices else numbers)


@dataclass(frozen=True, slots=True)
class Request:
    """What a mechanism derives its parameters from."""

    domain: Domain
    epsilon: Decimal
    delta: Decimal
    options: Mapping[str, str]
    expected_reports: int

    @property
    def size(self) -> int:
        """Values of the universe."""
        return self.domain.size

    @property
    def bits(self) -> int:
        """Bits of an item."""
        return self.domain.bits


@dataclass(frozen=True, slots=True)
class About:
    """What a mechanism is, for the table of `hubbub mechanisms`."""

    name: str
    title: str
    guarantee: str
    report: str
    limit: str
    server_time: str
    use_when: str
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A mechanism as the registry holds it.

    Attributes
    ----------
    about : About
        What it is.
    default_delta : function of the resolved options
        The delta of a survey whose author did not choose one.
    derive : function of a Request
        The parameters, or a ParameterError naming the limit that is passed.
    build : function of a Survey
        The mechanism of a survey that carries such parameters; they are untrusted input to it.
    """

    about: About
    default_delta: Callable[[Mapping[str, str]], Decimal]
    derive: Callable[[Request], dict[str, Any]]
    build: Callable[[Survey], SurveyMechanism]
