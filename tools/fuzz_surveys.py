"""Show the client and the library surveys that are wrong in many ways: each is refused, or keeps the ε that it states.

Usage: python tools/fuzz_surveys.py [COUNT [SEED]]

A good survey is changed in one to three places: its fields, or the characters of its JSON. The client must read it or
refuse it in one sentence, before anything is drawn, and the library must do the same. Of a survey that the client
reads, the chances of all responses to several values are computed by enumeration: random words fall into classes that
give the same response, and both ends of each class are tried. No two values may have odds beyond the stated ε.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any

from hubbub import Bytes, Categories, CodedText, HubbubError, Integers, TextCode, create_survey, load_survey
from hubbub.client.checks import SurveyError
from hubbub.client.survey import DeviceSurvey, encode_report, read_survey

TOP = 1 << 64
_SEED = bytes(range(32))
_TABLE = {"bytes": "ab", "tokens": ["ab"], "ends": [".b"], "class": "000000", "lengths": ["223333"]}
_ASKED: list[tuple[Any, str, str, dict[str, str]]] = [
    (Integers(16), "1", "jl", {}),
    (Integers(8), "0.5", "jl", {"projection": "dense"}),
    (Integers(8), "2", "bucket", {}),
    (Integers(3), "1", "subset", {}),
    (Categories(["yes", "no", "Ärger"], other=False), "0.7", "subset", {}),
    (Integers(5), "1", "tree", {}),
    (Integers(32), "3", "tree", {}),
    (Bytes(2), "1.5", "tree", {}),
    (CodedText(TextCode(_TABLE), "words-1", 32), "1", "tree", {}),
    # These are for the library alone.
    (Integers(2), "1", "naive-laplace", {}),
    (Integers(3), "1", "jl", {"calibration": "tight"}),
    (Integers(3), "1", "glps", {}),
]
GOOD = [
    create_survey("fuzz", domain, epsilon, mechanism=mechanism, options=options, public_seed=_SEED, expected_reports=99)
    for domain, epsilon, mechanism, options in _ASKED
]
# One that repeats, for devices like the first nine.
GOOD.insert(9, create_survey("fuzz", Integers(3), "2", public_seed=_SEED, every=28, opens="2029-12-31T00:00:00Z"))
_DOCUMENTS = [survey.to_json().decode() for survey in GOOD]
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 8, 20, 21, 255, 256, 2**24, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400),
    *("", "0", "-0", "1", "-1", "+1", " 1", "1 ", "01", "1.0", "1.", ".1", "0.1", "1e0", "1e-3", "0x1", "1_0", "NaN"),
    *("Infinity", "-Infinity", "inf", "1000", "1001", "0.000000000000001", "0.0000000000000001", "٣", "1\n", "1\0"),
    *(str(2**63), str(2**63 + 1), str(2**64 - 1), str(2**64), str(2**64 + 1), "9" * 400, "\ud800", "tree", "subset"),
    *([], {}, [1], ["1"], {"kind": "ipv4"}, [[]], "yes", ["yes", "no"]),
)
_TEXTS = (
    "-",
    "+",
    "0",
    "1",
    "9",
    ".",
    "e5",
    "e-5",
    '"',
    ",",
    "}",
    "]",
    "null",
    "true",
    "NaN",
    "Infinity",
    "\\u0000",
    "é",
)


def mutated(draw: random.Random) -> str:
    """Return a survey's JSON with one to three changes."""
    text = draw.choice(_DOCUMENTS)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if draw.random() < 0.8:
            try:
                text = json.dumps(_changed_field(json.loads(text), draw), sort_keys=True, separators=(",", ":"))
            except (ValueError, RecursionError):
                return text
        else:
            text = _changed_text(text, draw)
    return text


def _changed_field(data: Any, draw: random.Random) -> Any:
    """Return a document with one field changed, removed, doubled or moved to another place."""
    places: list[tuple[Any, Any]] = []

    def collect(inner: Any) -> None:
        for key in inner if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ():
            places.append((inner, key))
            collect(inner[key])

    collect(data)
    close = [(inner, key) for inner, key in places if key in ("epsilon", "every") or "threshold" in str(key)]
    if not places:
        return data
    inner, key = draw.choice(close if close and draw.random() < 0.4 else places)
    old, how = inner[key], draw.random()
    if how < 0.75 and isinstance(old, str) and [inner] == [each[name] for each, name in places if name == "steps"]:
        inner[key] = draw.choice(_respelled(old))
    elif how < 0.4 and _is_decimal(old):
        inner[key] = _near(str(old), draw) if isinstance(old, str) else int(old) + draw.choice((-1, 1, 7, -7))
    elif how < 0.75:
        inner[key] = draw.choice(_VALUES)
    elif how < 0.8:
        del inner[key]
    elif how < 0.9:
        other, name = draw.choice(places)
        inner[key] = json.loads(json.dumps(other[name]))
    elif isinstance(inner, dict):
        inner[draw.choice(("surprise", "keep_threshold", "truth_threshold", "epsilon", "window"))] = old
    else:
        inner.append(old)
    return data


def _respelled(steps: str) -> list[Any]:
    """Return other steps of a class: in another order, with another sum, of other digits, and of another type."""
    spellings = (steps[1:] + steps[:1], steps[:1] + steps[:0:-1], "", steps[1:], steps[:-1], steps.upper())
    around = [
        before + steps + after for before, after in (("", "0"), ("", "1"), ("0", ""), ("", "l"), ("-", ""), ("", " "))
    ]
    return [*spellings, *around, "k" + steps[1:], steps * 99, "1" * 201, len(steps), list(steps), [steps], None]


def _is_decimal(old: Any) -> bool:
    """Return whether this is a number, or a text that is one."""
    return type(old) is int or (isinstance(old, str) and old.replace(".", "", 1).isdigit() and old.isascii())


def _near(text: str, draw: random.Random) -> str:
    """Return a number near this one, or one of another size, sign or spelling."""
    number = Decimal(text[:40])
    step = 1 if number == number.to_integral_value() and len(text) > 5 else Decimal("0.001")
    changes = [number + step, number - step, number / 2, number * 2, -number, number + 2**64, Decimal(0)]
    if step == 1:
        changes += [Decimal(draw.randrange(TOP)) for _ in range(4)]
    found = format(draw.choice(changes), "f")
    return found.rstrip("0").rstrip(".") if "." in found and draw.random() < 0.9 else found


def _changed_text(text: str, draw: random.Random) -> str:
    """Return a text with some characters replaced, cut or doubled."""
    first = draw.randrange(len(text) + 1)
    last = min(len(text), first + draw.choice((0, 0, 1, 1, 2, 5, 40)))
    how = draw.random()
    if how < 0.6:
        return text[:first] + draw.choice(_TEXTS) + text[last:]
    if how < 0.7:  # a field twice
        return text[:-1] + "," + draw.choice(('"epsilon":"9"', '"version":1', '"delta":"0"')) + "}"
    if how < 0.75:  # deep
        return text[:first] + "[" * draw.choice((10, 900, 5000)) + text[first:]
    return text[:first] + text[last:] if how < 0.9 else text[:first] + text[first:last] * 2 + text[last:]


def law(device: DeviceSurvey, parameters: dict[str, Any], value: object, report_id: tuple[int, int]) -> Counter[bytes]:
    """Return how many pairs of the third and fourth random word give each response to a value, of 2^128."""
    keep = int(parameters.get("keep_threshold") or parameters["truth_threshold"])
    parts = {1 << parameters["masks"]} if "masks" in parameters else {1}
    if "window" in parameters:
        parts = {parameters["window"], device.domain.size}
    edges = sorted({-(-j * TOP // part) for part in parts for j in range(part)} | {TOP})
    chances: Counter[bytes] = Counter()
    for low, high in ((0, keep), (keep, TOP)):
        for first, last in pairwise(edges):
            ends = {
                encode_report(device, value, (*report_id, third, fourth)[: device.randomizer.random_words])[16:]
                for third in (low, high - 1)
                for fourth in (first, last - 1)
            }
            (response,) = ends  # a class has one response
            chances[response] += (high - low) * (last - first)
    return chances


def worst_odds(device: DeviceSurvey, document: str, draw: random.Random) -> Decimal:
    """Return the largest logarithm of odds between several values, for some ids of reports."""
    parameters, values = json.loads(document)["parameters"], ("0", "1", "yes", "no", "ab", "7", None, "zzz.b")
    worst = Decimal(0)
    for _ in range(2):
        report_id = draw.randrange(TOP), draw.randrange(TOP)
        laws = [law(device, parameters, value, report_id) for value in draw.sample(values, 3)]
        with localcontext(prec=60):
            for response in set().union(*laws):
                chances = [each[response] for each in laws]
                if max(chances):
                    odds = (Decimal(max(chances)) / min(chances)).ln() if min(chances) else Decimal("Infinity")
                    worst = max(worst, odds)
    return worst


def run(count: int, seed: int) -> Counter[str]:
    """Try so many surveys; return how many were refused, read and enumerated. Raises an AssertionError at a fault."""
    draw, found = random.Random(seed), Counter[str]()
    for _ in range(count):
        document = mutated(draw)
        device = None
        try:
            device = read_survey(document)
        except SurveyError as error:
            said = str(error)
            assert "\n" not in said, said
            assert 0 < len(said) < 400, said
        try:
            load_survey(document)
            loaded = True
        except HubbubError:
            loaded = False
        if loaded and device is None:  # a survey that is not for devices
            assert re.search('"mechanism":"(naive-laplace|glps)"|"calibration":"(tight|paper)"', document), document
            found["read by the library"] += 1
            continue
        assert loaded == (device is not None), f"read by the client, refused by the library: {document[:2000]}"
        found["read" if device else "refused"] += 1
        if device is not None:
            parameters = json.loads(document)["parameters"]
            assert device.epsilon > 0
            assert 0 < int(parameters.get("keep_threshold") or parameters["truth_threshold"]) < TOP
            if parameters.get("masks", 1) <= 4 and (device.domain.size <= 64 or "window" not in parameters):
                odds = worst_odds(device, document, draw)
                assert odds <= device.epsilon, f"odds of e^{odds}, ε = {device.epsilon} is stated: {document[:2000]}"
                found["enumerated"] += 1
    return found


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    tried = run(words[0] if words else 20_000, words[1] if words[1:] else 1)
    print(", ".join(f"{number:,} {name}" for name, number in sorted(tried.items())))
