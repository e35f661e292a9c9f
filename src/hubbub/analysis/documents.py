"""An answer as plain data for JSON, and back: what is said of the one is said of the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_type_hints

from hubbub.analysis.post_processing import METHODS
from hubbub.analysis.question import MODES
from hubbub.analysis.sentences import told
from hubbub.model.estimates import Group, Guess, Hitter, Intake

if TYPE_CHECKING:
    from hubbub.analysis.answer import Answer

_LIMITS: Final = ("detection_limit", "long_limit", "candidate_limit")
_FACTS: Final = {
    "reports": int,
    "whole_list": bool,
    "values_per_person": int,
    "not_shown": int,
    "foreign_candidates": int,
    "known_names": int,
    "own_names": int,
    "remembered_names": int,
    "post_processing": str,
    "guessed_from": float | None,
    "mode": str,
    "share": float,
    "forged": int,
}
_INTAKE: Final = tuple(field.name for field in fields(Intake))

T = TypeVar("T")


def to_document(answer: Answer) -> dict[str, Any]:
    """The answer as plain data; docs/commands.md describes the fields.

    JSON has no infinity: an infinite limit is None, and `out_of_reach` names it. A limit that does not exist is None,
    too, and is not named there.
    """
    limits = {name: getattr(answer, name) for name in _LIMITS}
    return {
        "reports": answer.reports,
        **{name: None if limit == math.inf else limit for name, limit in limits.items()},
        "out_of_reach": [name for name, limit in limits.items() if limit == math.inf],
        **{name: getattr(answer, name) for name in _FACTS if name != "reports"},
        "sentences": told(answer),
        **(asdict(answer.intake) if answer.intake else {}),
        "hitters": [asdict(hitter) for hitter in answer.hitters],
        "guesses": [asdict(guess) for guess in answer.guesses],
        "groups": [asdict(group) for group in answer.groups],
    }


def from_document(kind: type[Answer], document: Mapping[str, Any]) -> Answer:
    """The answer in a document of `to_document`; `kind` is `Answer`. Other fields are ignored.

    Raises KeyError, TypeError or AttributeError if the document is something else.
    """
    if not isinstance(beyond := document["out_of_reach"], list) or not set(_LIMITS).issuperset(beyond):
        raise TypeError("out_of_reach")
    limits = {name: float if name == "detection_limit" else float | None for name in _LIMITS if name not in beyond}
    found: dict[str, Any] = dict.fromkeys(beyond, math.inf)
    for name, hint in (*_FACTS.items(), *limits.items()):
        if not fits(document[name], hint):
            raise TypeError(name)
        found[name] = document[name]
    if found["post_processing"] not in METHODS:
        raise TypeError("post_processing")
    if found["mode"] not in MODES:
        raise TypeError("mode")
    return kind(
        hitters=tuple(read(Hitter, hitter) for hitter in document["hitters"]),
        guesses=tuple(read(Guess, guess) for guess in document["guesses"]),
        groups=tuple(read(Group, group) for group in document["groups"]),
        intake=read(Intake, {name: document[name] for name in _INTAKE}) if "missing" in document else None,
        **found,
    )


def read(kind: Callable[..., T], data: dict[str, object]) -> T:
    """Make an object of JSON. Raises TypeError if a field is missing, unknown or of another type."""
    for name, hint in get_type_hints(kind).items():
        if name in data and not fits(data[name], hint):
            raise TypeError(name)
    return kind(**data)


def fits(value: object, kind: Any) -> bool:
    """Whether a value of JSON has a type. Where a number is asked for, it must be one of 64 bits.

    >>> fits(3, float), fits(10**400, float), fits(None, int | None), fits("3", int)
    (True, False, True, False)
    """
    if isinstance(value, int | float) and kind in (int, float, int | None, float | None) and abs(value) >= 2**63:
        return False
    return isinstance(value, kind | int if kind in (float, float | None) else kind)
