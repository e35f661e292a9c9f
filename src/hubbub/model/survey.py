"""The Survey: every public fact both sides share, as frozen data with one canonical form.

`hubbub.create_survey` makes one and `hubbub.load_survey` reads one. Both check that the privacy loss of its thresholds
is at most what it states. This module only knows the shape of the data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from hubbub.errors import ParameterError, shown
from hubbub.model.domain import Domain, domain_from_json
from hubbub.model.numbers import parse_delta, parse_epsilon, parse_people
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.relayed import check_relayed
from hubbub.model.repeating import check_budget, check_every

SURVEY_VERSION: Final = 1
SEED_BYTES: Final = 32
_MAX_NAME = 200
_LEFT_OUT: Final = ("every", "through", "crowd", "key")  # where they are not used, so that such surveys keep their ids


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """One question to a crowd, asked once or every so many days. Equal surveys have equal canonical bytes and ids.

    Attributes
    ----------
    name : str
        A name for people to read. It is part of the survey's identity.
    domain : Domain
        The values that can be held.
    epsilon, delta : Decimal
        The privacy loss stated to every person. The executed loss is never above it.
    mechanism : str
        A name in the closed registry.
    options : Mapping[str, str]
        All options of the mechanism, with defaults filled in.
    parameters : Mapping[str, Any]
        Integers and strings derived from the above once, so that client and collector compute no floats.
    public_seed : bytes
        32 bytes that key every public hash of the survey.
    expected_reports : int
        The number of reports that the parameters were derived for; any number may come.
    opens, closes : datetime or None
        The first and last moment at which reports are taken, in UTC.
    every : int or None
        The days of a period, if it repeats: a device answers once in each. It must open at the start of a day, of a
        Monday for whole weeks, and fit the budget of a device.
    through : str or None
        "relay", if reports are taken through a relay only, which passes on at least `crowd` of them together.
    crowd : int or None
        The fewest reports that a relay may pass on together.
    key : str or None
        SHA-256, in hex, of the public key that reports are sealed with.
    stated : PrivacyGuarantee
        The privacy guarantee that is stated to every person: epsilon and delta.
    survey_id : bytes
        SHA-256 of the canonical JSON: the identity a client pins.
    """

    name: str
    domain: Domain
    epsilon: Decimal
    delta: Decimal
    mechanism: str
    options: Mapping[str, str]
    parameters: Mapping[str, Any]
    public_seed: bytes
    expected_reports: int
    opens: datetime | None = None
    closes: datetime | None = None
    every: int | None = None
    through: str | None = None
    crowd: int | None = None
    key: str | None = None
    stated: PrivacyGuarantee = field(init=False, repr=False)
    survey_id: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 1 <= len(self.name) <= _MAX_NAME:
            raise ParameterError(f"name must be a string of 1 to {_MAX_NAME} characters, got name={shown(self.name)}")
        try:
            self.name.encode("utf-8")
        except UnicodeEncodeError:
            raise ParameterError(f"name must be valid Unicode, got name={shown(self.name)}") from None
        if not isinstance(self.domain, Domain):
            raise ParameterError(
                f"domain must be a Domain, such as hubbub.Hostnames(), got domain={shown(self.domain)}"
            )
        object.__setattr__(self, "epsilon", parse_epsilon(self.epsilon))
        object.__setattr__(self, "delta", parse_delta(self.delta))
        if not isinstance(self.mechanism, str):
            raise ParameterError(f"mechanism must be a string, got mechanism={shown(self.mechanism)}")
        if not isinstance(self.public_seed, bytes) or len(self.public_seed) != SEED_BYTES:
            raise ParameterError(f"public_seed must be {SEED_BYTES} bytes, got {shown(self.public_seed)}")
        object.__setattr__(self, "expected_reports", parse_people("expected_reports", self.expected_reports))
        for name in ("opens", "closes"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _parse_time(name, getattr(self, name)))
        if self.opens and self.closes and self.closes <= self.opens:
            said = self.closes.replace(tzinfo=None).isoformat()
            raise ParameterError(f"closes must be after opens, got closes={said}Z")
        if self.every is not None:
            check_every(self.every, self.opens)
            check_budget(self.epsilon, self.every)
        check_relayed(self.through, self.crowd, self.key, self.opens, self.closes)
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "stated", PrivacyGuarantee(self.epsilon, self.delta))
        object.__setattr__(self, "survey_id", hashlib.sha256(self.to_json()).digest())

    def to_json(self) -> bytes:
        """The canonical form (RFC 8785): sorted keys, no white space, UTF-8, no floating-point number."""
        document = {
            "version": SURVEY_VERSION,
            "name": self.name,
            "domain": self.domain.to_json(),
            "mechanism": self.mechanism,
            "options": dict(self.options),
            "parameters": dict(self.parameters),
            "public_seed": self.public_seed.hex(),
            "expected_reports": self.expected_reports,
        }
        for name, number in (("epsilon", self.epsilon), ("delta", self.delta)):
            text = format(number, "f")
            document[name] = text.rstrip("0").rstrip(".") if "." in text else text
        for name, time in (("opens", self.opens), ("closes", self.closes)):
            document[name] = None if time is None else time.replace(tzinfo=None).isoformat() + "Z"
        document |= {name: getattr(self, name) for name in _LEFT_OUT if getattr(self, name) is not None}
        # All keys are ASCII, for which Python's order of code points is RFC 8785's order of UTF-16 units.
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8")

    @classmethod
    def from_json(cls, document: bytes | str) -> Survey:
        """Read the shape of a survey; `hubbub.load_survey` also checks its privacy."""
        if not isinstance(document, bytes | str):
            raise ParameterError(f"a survey must be text or bytes, got {type(document).__name__}")
        try:
            # Other encodings than UTF-8, which `json` would recognise, are no JSON of a survey.
            text = document.decode() if isinstance(document, bytes) else document
            data = json.loads(text, object_pairs_hook=_each_once, parse_float=_whole_only, parse_constant=_whole_only)
        except (ValueError, RecursionError) as error:
            if isinstance(error, ParameterError):
                raise
            reason = type(error).__name__
            raise ParameterError(f"a survey must be JSON, got a document that is not ({reason})") from None
        expected = {each.name for each in fields(cls) if each.init} | {"version"}
        if not isinstance(data, dict):
            raise ParameterError(f"a survey must be a JSON object, got {type(data).__name__}")
        if data.get("version") != SURVEY_VERSION or isinstance(data.get("version"), bool):
            raise ParameterError(f"version must be {SURVEY_VERSION}, got version={shown(data.get('version'))}")
        if unknown := sorted(set(data) - expected):
            raise ParameterError(f"a survey has no field of this name, got {shown(unknown[0])}")
        if missing := sorted(expected - set(data) - set(_LEFT_OUT)):
            raise ParameterError(f"a survey must have the field {shown(missing[0])}, got none")
        for name in ("epsilon", "delta", "public_seed", "options", "parameters"):
            kind, wanted = (dict, "an object") if name in ("options", "parameters") else (str, "a string")
            if not isinstance(data[name], kind):
                raise ParameterError(f"{name} must be {wanted}, got {name}={shown(data[name])}")
        for key, value in data["options"].items():
            if not isinstance(value, str):
                raise ParameterError(f"options.{key[:40]} must be a string, got options.{key[:40]}={shown(value)}")
        try:
            seed = bytes.fromhex(data["public_seed"])
        except ValueError:
            raise ParameterError(f"public_seed must be hex, got {shown(data['public_seed'])}") from None
        rest = {k: v for k, v in data.items() if k not in ("version", "domain", "public_seed")}
        try:
            survey = cls(domain=domain_from_json(data["domain"]), public_seed=seed, **rest)
            canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise ParameterError("a survey must be valid Unicode, got a lone surrogate") from None
        if survey.survey_id != hashlib.sha256(canonical).digest():
            # Two spellings of the same survey would give it two ids.
            raise ParameterError("a survey must be spelled in its canonical form, got another spelling of a field")
        return survey

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Survey) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.survey_id)

    def __reduce__(self) -> tuple[Callable[..., Survey], tuple[bytes]]:
        return (Survey.from_json, (self.to_json(),))


def _parse_time(name: str, value: object) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ParameterError(f"{name} must be an RFC 3339 time, got {name}={shown(value)}") from None
    if not isinstance(value, datetime):
        raise ParameterError(f"{name} must be a time, got {name}={shown(value)}")
    if value.tzinfo is None:
        raise ParameterError(f"{name} must name its time zone, got {name}={value.isoformat()}")
    try:
        return value.astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        raise ParameterError(f"{name} must be in the years 1 to 9999, got {name}={value.isoformat()}") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a survey's JSON, which must name each field once."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ParameterError("a survey must name each field once, got a field twice")
    return dict(pairs)


def _whole_only(text: str) -> Any:
    """Refuse a number of a survey's JSON that is not whole."""
    raise ParameterError(f"numbers in a survey must be whole, got {text[:40]}")
