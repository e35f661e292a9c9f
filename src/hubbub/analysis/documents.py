"""An answer as plain data for JSON, and back: what is said of the one is said of the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, get_type_hints

from hubbub.analysis.post_processing import METHODS
from hubbub.analysis.tables import sentences
from hubbub.model.estimates import Hitter, Intake

if TYPE_CHECKING:
    from hubbub.analysis.results import Answer

LIMITS: Final = ("detection_limit", "long_limit", "candidate_limit")
_INTAKE: Final = tuple(field.name for field in fields(Intake))

T = TypeVar("T")


class _Facts(NamedTuple):
    """What a document has beside its limits, its rows and its intake."""

    reports: int
    whole_list: bool
    values_per_person: int
    not_shown: int
    foreign_candidates: int
    post_processing: str


def to_document(answer: Answer) -> dict[str, Any]:
    """The answer as plain data; docs/commands.md describes the fields.

    JSON has no infinity: an infinite limit is None, and `out_of_reach` names it. A limit that does not exist is None,
    too, and is not named there.
    """
    limits = {name: getattr(answer, name) for name in LIMITS}
    return {
        "reports": answer.reports,
        **{name: None if limit == math.inf else limit for name, limit in limits.items()},
        "out_of_reach": [name for name, limit in limits.items() if limit == math.inf],
        **{name: getattr(answer, name) for name in _Facts._fields[1:]},
        "sentences": sentences(answer),
        **(asdict(answer.intake) if answer.intake else {}),
        "hitters": [asdict(hitter) for hitter in answer.hitters],
    }


def read_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """What `Answer` takes, from a document of `to_document`. Other fields are ignored.

    Raises KeyError, TypeError or AttributeError if the document is something else.
    """
    facts = read(_Facts, {name: document[name] for name in _Facts._fields})
    if not isinstance(beyond := document["out_of_reach"], list) or not set(LIMITS).issuperset(beyond):
        raise TypeError("out_of_reach")
    if facts.post_processing not in METHODS:
        raise TypeError("post_processing")
    limits: dict[str, Any] = {name: math.inf if name in beyond else document[name] for name in LIMITS}
    for name, limit in limits.items():
        if name not in beyond and not fits(limit, float if name == "detection_limit" else float | None):
            raise TypeError(name)
    with_intake = "missing" in document
    return {
        "hitters": tuple(read(Hitter, hitter) for hitter in document["hitters"]),
        "intake": read(Intake, {name: document[name] for name in _INTAKE}) if with_intake else None,
        **limits,
        **facts._asdict(),
    }


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
