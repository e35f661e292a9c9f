"""hubbub: learn what a crowd is talking about without hearing anyone.

Many people each hold one value of a huge universe and nobody is trusted with it. Each device randomises its own
value before anything leaves it; a collector keeps sums; the decoder finds the values many people hold.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hubbub.analysis.decode import find_hitters
    from hubbub.codes.text_code import TextCode
    from hubbub.errors import HubbubError, InputError, ParameterError, PrivacyError, SurveyMismatch, WireError
    from hubbub.mechanisms.registry import create_survey, load_survey, mechanism_for
    from hubbub.model.coded_domain import CodedText, Hostnames, Words
    from hubbub.model.domain import Categories, Domain, Integers, IPv4, Text
    from hubbub.model.estimates import Answer, Estimates, Hitter, Intake, Query
    from hubbub.model.mechanism import Histogram, Mechanism, run_protocol
    from hubbub.model.privacy import PrivacyGuarantee
    from hubbub.model.survey import Survey
    from hubbub.model.tally import Tally
    from hubbub.numeric.randomness import BulkWords, OSWords, ReplayedWords, SeededWords
    from hubbub.simulation.find import find

# Each public name and its home. Loaded when first used, so that `import hubbub` is quick and pulls in no compiler.
_HOMES = {
    "Answer": "model.estimates",
    "BulkWords": "numeric.randomness",
    "Categories": "model.domain",
    "CodedText": "model.coded_domain",
    "create_survey": "mechanisms.registry",
    "Domain": "model.domain",
    "Estimates": "model.estimates",
    "find": "simulation.find",
    "find_hitters": "analysis.decode",
    "Histogram": "model.mechanism",
    "Hitter": "model.estimates",
    "Hostnames": "model.coded_domain",
    "HubbubError": "errors",
    "InputError": "errors",
    "Intake": "model.estimates",
    "Integers": "model.domain",
    "IPv4": "model.domain",
    "load_survey": "mechanisms.registry",
    "Mechanism": "model.mechanism",
    "mechanism_for": "mechanisms.registry",
    "OSWords": "numeric.randomness",
    "ParameterError": "errors",
    "PrivacyError": "errors",
    "PrivacyGuarantee": "model.privacy",
    "Query": "model.estimates",
    "ReplayedWords": "numeric.randomness",
    "run_protocol": "model.mechanism",
    "SeededWords": "numeric.randomness",
    "Survey": "model.survey",
    "SurveyMismatch": "errors",
    "Tally": "model.tally",
    "Text": "model.domain",
    "TextCode": "codes.text_code",
    "WireError": "errors",
    "Words": "model.coded_domain",
}

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "BulkWords",
    "Categories",
    "CodedText",
    "Domain",
    "Estimates",
    "Histogram",
    "Hitter",
    "Hostnames",
    "HubbubError",
    "IPv4",
    "InputError",
    "Intake",
    "Integers",
    "Mechanism",
    "OSWords",
    "ParameterError",
    "PrivacyError",
    "PrivacyGuarantee",
    "Query",
    "ReplayedWords",
    "SeededWords",
    "Survey",
    "SurveyMismatch",
    "Tally",
    "Text",
    "TextCode",
    "WireError",
    "Words",
    "create_survey",
    "find",
    "find_hitters",
    "load_survey",
    "mechanism_for",
    "run_protocol",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hubbub' has no attribute {name!r}")
    return getattr(importlib.import_module(f"hubbub.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
