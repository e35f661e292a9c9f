"""A survey as a device sees it. It is read from JSON, and nothing in it is trusted."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

from .checks import ClientError, SurveyError, fields, once, require, whole
from .domains import Domain, read_domain
from .mechanisms import Randomizer, read_bucket, read_jl, read_subset, read_tree

BATCH_VERSION: Final = 1
_FIELDS: Final = (
    *("version", "name", "domain", "epsilon", "delta", "mechanism", "options", "parameters", "public_seed"),
    *("expected_reports", "opens", "closes"),
)
_RELAYED: Final = ("through", "crowd", "key")
_MOST_SEALED: Final = 63  # bytes of a report
_MOST_DAYS: Final = 366
_BUDGET: Final = ((30, 8), (365, 28))  # days, and the most ε in so many: DEFAULT_CAP, whatever a person changes
_OPTIONS: Final = {
    "tree": {"size": "auto|small|standard"},
    "subset": {},
    "jl": {"calibration": "onebit", "projection": "dense|hadamard"},
    "bucket": {"calibration": "onebit", "decoder": "hard|soft", "beta": r"0\.0{0,99}(?=[1-9])[0-9]{0,27}[1-9]"},
}
_DECIMAL: Final = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", re.ASCII)


class DeviceSurvey(NamedTuple):
    """Everything that a device needs to answer a survey.

    `batch_header` comes before the report when it is sent: version ‖ survey id. If reports go through a relay, `crowd`
    is the fewest that it passes on together, and `sealed_for` the SHA-256 of the public key, in hex.
    """

    survey_id: bytes
    batch_header: bytes
    name: str
    epsilon: Decimal
    delta: Decimal
    domain: Domain
    randomizer: Randomizer
    opens: str = ""
    every: int = 0
    crowd: int = 0
    sealed_for: str = ""

    def key(self, today: date) -> str:
        """Return the key of an answer in the ledger: the survey's id and, if it repeats, the day of the next period.

        Raises SurveyError if it repeats, and its first period has not begun.
        """
        if not self.every:
            return self.survey_id.hex()
        passed = (today - date.fromisoformat(self.opens[:10])).days
        if passed < 0:
            raise SurveyError(f"the survey opens on {self.opens[:10]}, and it is {today}")
        try:
            return f"{self.survey_id.hex()}/{today + timedelta(days=self.every - passed % self.every)}"
        except OverflowError:  # the year 10000
            raise SurveyError(f"the survey has no next period after {today}") from None


def encode_report(survey: DeviceSurvey, value: object, random_words: Sequence[int]) -> bytes:
    """Return the report of a value: a pure function of its arguments. Every value has a report of the same length.

    Random words are whole numbers below 2^64, as many as the randomizer takes; anything else is refused.
    """
    needed = survey.randomizer.random_words
    if len(random_words) != needed or not all(type(word) is int and 0 <= word < 1 << 64 for word in random_words):
        raise ClientError(f"a report must be made from {needed} whole numbers below 2^64, got others")
    response = survey.randomizer.respond(survey.domain.item(value), random_words)
    return struct.pack("<QQ", random_words[0], random_words[1]) + response.to_bytes(survey.randomizer.size, "little")


def read_survey(document: bytes | str) -> DeviceSurvey:
    """Read a survey and recompute its privacy loss. Refuse it if the loss is larger than the ε it states.

    Raises SurveyError: it is not a survey of version 1 in canonical form, its mechanism is not for devices, or its loss
    is too large.
    """
    require(isinstance(document, bytes | str), "a survey must be text or bytes", type(document).__name__)
    try:
        # Other encodings than UTF-8, which `json` would recognise, are no JSON of a survey.
        text = document.decode() if isinstance(document, bytes) else document
        data = json.loads(text, object_pairs_hook=once, parse_float=_refuse, parse_constant=_refuse)
        return _read(data)
    except (ValueError, RecursionError) as error:
        raise SurveyError(f"a survey must be JSON, got a document that is not ({type(error).__name__})") from None


def _read(data: Any) -> DeviceSurvey:
    """Return the survey in a parsed document."""
    is_repeated = isinstance(data, dict) and "every" in data
    is_relayed = isinstance(data, dict) and "through" in data
    more = (*(["every"] if is_repeated else []), *(_RELAYED if is_relayed else []))
    fields(data, "a survey", (*_FIELDS, *more))
    require(type(data["version"]) is int and data["version"] == 1, "version must be 1", data["version"])
    name, seed = data["name"], data["public_seed"]
    require(isinstance(name, str) and 1 <= len(name) <= 200, "name must be a string of 1 to 200 characters", name)
    hexadecimal = isinstance(seed, str) and re.fullmatch(r"[0-9a-f]{64}", seed, re.ASCII)
    require(bool(hexadecimal), "public_seed must be 64 hexadecimal digits", seed)
    epsilon = _decimal("epsilon", data["epsilon"], Decimal("1e-15"), Decimal(1000))
    delta = _decimal("delta", data["delta"], Decimal(0), Decimal("0.36787944117144232"))
    require(not 0 < delta < Decimal("1e-60"), "delta must be 0 or at least 1e-60", delta)
    people = data["expected_reports"]
    require(type(people) is int and 1 <= people <= 10**15, "expected_reports must be from 1 to 10^15", people)
    opens, closes = (_time(when, data[when]) for when in ("opens", "closes"))
    require(not opens or not closes or opens < closes, "closes must be after opens", closes)
    every = _every(data, opens, epsilon) if is_repeated else 0
    try:
        canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SurveyError("a survey must be valid Unicode, got a lone surrogate") from None
    domain = read_domain(data["domain"])
    randomizer = _randomizer(data, bytes.fromhex(seed), domain)
    if randomizer.loss > epsilon:
        raise SurveyError(f"a survey must keep the ε = {epsilon} that it states, got ε = {randomizer.loss:.6g}")
    survey_id = hashlib.sha256(canonical).digest()
    header = bytes([BATCH_VERSION]) + survey_id
    sealed = _relayed(data, opens, closes, randomizer) if is_relayed else (0, "")
    return DeviceSurvey(survey_id, header, name, epsilon, delta, domain, randomizer, opens, every, *sealed)


def _relayed(data: dict[str, Any], opens: str, closes: str, randomizer: Randomizer) -> tuple[int, str]:
    """Return the crowd and the key of a survey through a relay, after checks."""
    require(data["through"] == "relay", 'through must be "relay"', data["through"])
    crowd, key = whole(data, "crowd", 2, 10**6), data["key"]
    spelled = isinstance(key, str) and re.fullmatch(r"[0-9a-f]{64}", key, re.ASCII)
    require(bool(spelled), "key must be 64 lower-case hexadecimal digits", key)
    require(bool(closes), "a survey through a relay must say when it closes", closes)
    open_for = datetime.fromisoformat(closes) - datetime.fromisoformat(opens or closes)
    require(open_for <= timedelta(days=_MOST_DAYS), f"a survey through a relay must close in {_MOST_DAYS} days", closes)
    size = 16 + randomizer.size
    require(size <= _MOST_SEALED, f"a report through a relay must have at most {_MOST_SEALED} bytes", size)
    return crowd, key


def _every(data: dict[str, Any], opens: str, epsilon: Decimal) -> int:
    """Return the days of a period, after checks that periods begin with days, and fit the budget."""
    every = whole(data, "every", 1, _MOST_DAYS)
    require(opens.endswith("T00:00:00Z"), "a survey that repeats must open at 00:00:00Z", opens)
    is_monday = bool(opens) and date.fromisoformat(opens[:10]).weekday() == 0
    require(is_monday or every % 7 != 0, "a survey that repeats in whole weeks must open on a Monday", opens)
    fits = all(Fraction(epsilon) * -(-days // every) <= most for days, most in _BUDGET)
    require(fits, f"a survey every {every} days must fit the budget (ε = 8 in 30 days, 28 in 365)", f"ε = {epsilon}")
    return every


def _randomizer(data: dict[str, Any], seed: bytes, domain: Domain) -> Randomizer:
    """Return the randomizer of a survey, after checks of its mechanism and options."""
    mechanism, options, parameters = data["mechanism"], data["options"], data["parameters"]
    require(isinstance(options, dict), "options must be an object", type(options).__name__)
    known = isinstance(mechanism, str) and mechanism in _OPTIONS
    if not known or options.get("calibration", "onebit") in ("paper", "tight"):
        got = f"{mechanism!s:.20} {options.get('calibration', '')!s:.20}".strip()
        raise SurveyError(f"a device answers tree and subset, or jl and bucket with calibration=onebit, got {got!r}")
    allowed = _OPTIONS[mechanism]
    fields(options, "options", tuple(allowed))
    for name, pattern in allowed.items():
        fits = isinstance(options[name], str) and re.fullmatch(pattern, options[name], re.ASCII)
        require(bool(fits), f"option {name} must be {pattern.replace('|', ' or ')}", options[name])
    if mechanism == "jl":
        return read_jl(seed, parameters, domain, options["projection"] == "dense")
    readers = {"tree": read_tree, "subset": read_subset, "bucket": read_bucket}
    return readers[mechanism](seed, parameters, domain)


def _decimal(name: str, text: Any, low: Decimal, high: Decimal) -> Decimal:
    """Return a field that must be a decimal number in canonical form, from `low` to `high`."""
    spelled = isinstance(text, str) and len(text) <= 200 and _DECIMAL.fullmatch(text)
    fits = spelled and len(Decimal(text).as_tuple().digits) <= 60 and low <= Decimal(text) <= high
    require(bool(fits), f"{name} must be a decimal from {low} to {high:.3g} in a string", text)
    return Decimal(text)


def _time(name: str, text: Any) -> str:
    """Return a field that must be a time in UTC or null; null becomes an empty string."""
    if text is None:
        return ""
    fits = isinstance(text, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text, re.ASCII)
    try:
        datetime.fromisoformat(text if fits else "")
    except ValueError:
        raise SurveyError(f"{name} must be a time like 2030-01-31T00:00:00Z, got {str(text)[:40]!r}") from None
    return str(text)


def _refuse(text: str) -> Any:
    """Refuse a number that is not whole."""
    raise SurveyError(f"numbers in a survey must be whole, got {text[:40]}")
