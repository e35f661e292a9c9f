"""The closed registry: the names of mechanisms, and the way from a request to a Survey to a mechanism.

It is closed on purpose: nobody has checked the guarantee of a mechanism that is not here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from hubbub.errors import ParameterError, PrivacyError, shown
from hubbub.mechanisms import bucket, glps, jl_hh, naive_laplace, subset, tree
from hubbub.mechanisms.base import Entry, Request
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.mechanisms.tree.law import list_noise
from hubbub.mechanisms.tree.parameters import MAX_EPSILON
from hubbub.model.domain import Domain
from hubbub.model.numbers import parse_decimal, parse_delta, parse_epsilon, parse_people
from hubbub.model.relayed import check_fits
from hubbub.model.survey import SEED_BYTES, Survey

REGISTRY: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        entry.about.name: entry
        for entry in (tree.ENTRY, subset.ENTRY, jl_hh.ENTRY, bucket.ENTRY, glps.ENTRY, naive_laplace.ENTRY)
    }
)

DEFAULT_EXPECTED_REPORTS: Final = 100_000
_SHORT: Final = 64  # up to this many values `subset` costs no more than `tree`
_WORTH_IT: Final = 0.99  # for a longer list, `subset` must have at most this part of the standard error of `tree`


def create_survey(
    name: str,
    domain: Domain,
    epsilon: Decimal | float | str,
    delta: Decimal | float | str | None = None,
    mechanism: str | None = None,
    options: Mapping[str, object] | None = None,
    expected_reports: int = DEFAULT_EXPECTED_REPORTS,
    opens: datetime | str | None = None,
    closes: datetime | str | None = None,
    *,
    every: int | None = None,
    through: str | None = None,
    crowd: int | None = None,
    key: str | None = None,
    public_seed: bytes | None = None,
) -> Survey:
    """Derive everything that both sides must share, once, and check the privacy it guarantees.

    Parameters
    ----------
    name : str
        A name for people to read.
    domain : Domain
        The values that can be held.
    epsilon : number
        The privacy loss stated to every person; above 0.
    delta : number, optional
        From 0 to 1/e. Without it: 0 where the mechanism is pure, else the mechanism's default.
    mechanism : str, optional
        A name of `REGISTRY`. Without it `subset` for short lists, where it is never less accurate, and `tree` for
        everything else. A list is short if it has at most 64 values, or at most 4,096 and a standard error of its
        counts that is lower by 1 % or more. Above the largest ε of `tree`, every list of up to 4,096 values is.
    options : mapping, optional
        The mechanism's options; the rest take their defaults.
    expected_reports : int
        The crowd to derive parameters for.
    opens, closes : datetime or str, optional
        The first and last moment at which reports are taken, with a time zone.
    every : int, optional
        Ask again every so many days. Then `opens` must be the start of a day, and of a Monday for whole weeks.
    through, crowd, key : str, int, str, optional
        "relay", the fewest reports that a relay may pass on together, and the SHA-256 of the public key in hex.
    public_seed : bytes, optional
        32 bytes; drawn from the operating system unless a rehearsal must be repeatable.

    Examples
    --------
    >>> from hubbub import Integers, create_survey
    >>> survey = create_survey("ids", Integers(64), epsilon=1)
    >>> survey.mechanism, dict(survey.options)
    ('tree', {'size': 'auto'})
    """
    if not isinstance(domain, Domain):
        raise ParameterError(f"domain must be a Domain, such as hubbub.Hostnames(), got domain={shown(domain)}")
    stated_epsilon = parse_epsilon(epsilon)
    if mechanism is None:
        mechanism, loss = "tree", float(stated_epsilon)
        if domain.size <= _SHORT:
            mechanism = "subset"
        elif domain.size <= subset.MAX_VALUES:
            searched = list_noise(domain.size, loss)
            listed = subset.noise_of(domain.size, subset.best_window(domain.size, loss), loss)
            is_better = math.sqrt(listed) <= _WORTH_IT * math.sqrt(searched)
            mechanism = "subset" if is_better or loss > MAX_EPSILON else "tree"
    entry, resolved = resolve(mechanism, {} if options is None else options)
    stated_delta = entry.default_delta(resolved) if delta is None else parse_delta(delta)
    request = Request(
        domain, stated_epsilon, stated_delta, resolved, parse_people("expected_reports", expected_reports)
    )
    survey = Survey(
        name=name,
        domain=domain,
        epsilon=stated_epsilon,
        delta=stated_delta,
        mechanism=entry.about.name,
        options=resolved,
        parameters=entry.derive(request),
        public_seed=os.urandom(SEED_BYTES) if public_seed is None else public_seed,
        expected_reports=expected_reports,
        opens=opens,  # type: ignore[arg-type]  # Survey parses strings
        closes=closes,  # type: ignore[arg-type]
        every=every,
        through=through,
        crowd=crowd,
        key=key,
    )
    mechanism_for(survey)  # raises a PrivacyError if the guarantee is too weak
    return survey


def load_survey(document: bytes | str) -> Survey:
    """Read a survey that somebody else wrote, trusting nothing in it.

    Raises ParameterError if it is not a survey (a field is unknown, missing, of the wrong type or out of range), and
    PrivacyError if the privacy loss of its thresholds is above what it states.
    """
    try:
        survey = Survey.from_json(document)
        mechanism_for(survey)
    except RecursionError:
        raise ParameterError("a survey must be JSON of few levels, got lists or objects nested too deeply") from None
    return survey


def mechanism_for(survey: Survey) -> SurveyMechanism:
    """The mechanism of a survey; a PrivacyError if its executed privacy loss is above what the survey states."""
    entry, resolved = resolve(survey.mechanism, survey.options)
    if resolved != dict(survey.options):
        raise ParameterError("a survey must carry every option of its mechanism, got some missing or misspelled")
    built = entry.build(survey)
    if built.guarantee.epsilon > survey.epsilon or built.guarantee.delta > survey.delta:
        raise PrivacyError(f"a survey must execute no more than it states ({survey.stated}), got {built.guarantee}")
    check_fits(survey.through, built.report_dtype.itemsize)
    return built


def resolve(mechanism: object, options: Mapping[str, object]) -> tuple[Entry, dict[str, str]]:
    """The registry's entry of this name, and all its options, with defaults filled in, as a survey spells them."""
    if not isinstance(mechanism, str) or mechanism not in REGISTRY:
        raise ParameterError(f"mechanism must be one of {', '.join(REGISTRY)}, got mechanism={shown(mechanism)}")
    if not isinstance(options, Mapping):
        raise ParameterError(f"options must be a dict, got {type(options).__name__}")
    entry = REGISTRY[mechanism]
    known = {option.name: option for option in entry.about.options}
    if unknown := sorted(set(options) - set(known)):
        names = ", ".join(known) or "no options"
        raise ParameterError(f"mechanism {entry.about.name} has {names}, got option {shown(unknown[0])}")
    resolved = {}
    for name, option in known.items():
        value = options.get(name, option.default)
        if value in option.choices:
            resolved[name] = str(value)
            continue
        if option.between is None:
            raise ParameterError(f"option {name} must be one of {', '.join(option.choices)}, got {value!r:.60}")
        low, high = option.between
        try:
            number = parse_decimal(name, value).normalize()
        except ParameterError:
            words = "".join(f"{choice} or " for choice in option.choices)
            raise ParameterError(f"option {name} must be {words}a number, got {value!r:.60}") from None
        if not low < number < high:
            raise ParameterError(f"option {name} must be between {low} and {high}, got {value!r:.60}")
        resolved[name] = format(number, "f")
    return entry, resolved
