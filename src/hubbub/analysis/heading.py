"""What stands above an answer: who was asked what, and under which guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub.model.survey import Survey


@dataclass(frozen=True, slots=True)
class Heading:
    """What people need to know of a survey to read its answer, in words.

    Attributes
    ----------
    domain : str
        The values that could be held.
    mechanism : str
        The mechanism with its options.
    privacy : str
        The guarantee that was stated to every person.
    long_example : str
        A value of the domain that counts as long; empty if all values are alike.
    """

    domain: str
    mechanism: str
    privacy: str
    long_example: str

    @classmethod
    def of(cls, survey: Survey) -> Heading:
        """Return the heading of a survey's answers."""
        options = [f"{name}={value}" for name, value in sorted(survey.options.items())]
        domain = survey.domain
        return cls(
            domain.described, " ".join([survey.mechanism, *options]), str(survey.stated), domain.long_example or ""
        )
