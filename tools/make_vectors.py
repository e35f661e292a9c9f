"""Write tests/vectors: what every client must answer, byte for byte, and what every client must refuse.

Usage: python tools/make_vectors.py [FOLDER]

Made by the bulk randomisers, from fixed seeds and random words; the same files come out every time. 64-bit integers are
strings. Random words, items, ids and reports are hexadecimal: the first two as numbers, the others as bytes in order.
A value is {"type": "integer" | "float" | "boolean" | "text" | "null", "value": …}, the first three in a string. A
survey is the text of its JSON, since in a bad one the text itself may be what is wrong.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hubbub import (
    Bytes,
    Categories,
    CodedText,
    Domain,
    Hex,
    Hostnames,
    Integers,
    IPv4,
    Survey,
    Text,
    TextCode,
    UUIDs,
    Words,
    create_survey,
    mechanism_for,
)
from hubbub.codes.shipped import load_code
from hubbub.wire.report_batch import encode_batch

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "vectors"
SEED = bytes(range(32))
TOP = 2**64 - 1
HOSTS_1 = CodedText(load_code("hostnames"), "hostnames-1", 136)
NAMES = Categories.stated(["red", "green", "blue", "Ärger", "日本", "", " padded "], other=True)
CLOSED = Categories(["yes", "no", "Ärger"], other=False)
TEXTS = (
    *("", "a", "news.example", "https://www.News.Example:8080/a?b#c", "//user@host.example/", "[2001:db8::1]:443"),
    *("naïve", "nai\u0308ve", "Straße", "ΣΊΣΥΦΟΣ", "日本語のテキスト", "\U0001f600", "\ud83d\ude00"),
    *("\ud800", "x\udc00y", "x" * 64, "x" * 65, "ä" * 40, "tab\tnew\nline", "\u3000 padded \ufeff", "nul\0", "\0"),
    *("(other)", "www.a", "www.www.a.b", "red", "RED", "a b", "%41.example", "e" + "\u0301" * 40, "\ufdfa", "ﬁ", "İ"),
    *("q" * 30, "\x7f", "https://M.example.org/a", "m.me", "lm.m.l.example.org"),
    *("amp.old.mobile.www.a.b", "old.b", "my.a.b"),
)  # fmt: skip


# Numbers whose text differs between languages, and those at the edges of JavaScript's notations.
NUMBERS: list[object] = [
    *(7, 2.5, 3.0, -3.0, 0.0, -0.0, 1e15, 1e16, 1e20, 1e21, 1.5e21, 1e22, 1e23, 123456789012345680000.0, -1e21),
    *(1e-5, 1e-6, 1.5e-6, 1e-7, 1.25e-7, 0.1, 0.3, 2 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308),
    *(2.0**53, 2.0**53 + 2, 2.0**60, 2.0**64, 0.10000000149011612, float("nan"), float("inf"), float("-inf")),
    *(2**53, 2**53 + 1, 2**60, 10**21, 10**23, -5, 10**80, True, False, None),
]


def value_of(data: dict[str, str]) -> object:
    """The value that a vector speaks of."""
    kind, value = data["type"], data.get("value", "")
    readers = {"integer": int, "float": float, "boolean": "true".__eq__, "text": str, "null": lambda _: None}
    return readers[kind](value)


def described(value: object) -> dict[str, str]:
    """A value as the vectors spell it."""
    if value is None:
        return {"type": "null"}
    kind = {int: "integer", float: "float", bool: "boolean", str: "text"}[type(value)]
    spelled = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "True": "true", "False": "false"}
    text = repr(value) if kind == "float" else str(value)
    return {"type": kind, "value": text if kind == "text" else spelled.get(text, text)}


def random_words_for(name: str, index: int, count: int, threshold: int) -> list[int]:
    """Words without a pattern, but for the one that decides on the truth: it visits both sides of the threshold."""
    drawn = hashlib.sha256(f"{name}/{index}".encode()).digest()
    random_words = [int.from_bytes(drawn[8 * k : 8 * k + 8], "little") for k in range(count)]
    edges = (0, threshold - 1, threshold, TOP, random_words[2])
    return [*random_words[:2], edges[index % len(edges)], *random_words[3:]]


def item_of(domain: Domain, value: object) -> str:
    """The item of a value, as a number in hex."""
    return f"{int.from_bytes(domain.encode([value]).astype('<u8').tobytes(), 'little'):x}"


def integers(bits: int) -> list[object]:
    """Values at the edges of a domain of whole numbers."""
    size = 1 << bits
    return [
        0,
        1,
        size - 2,
        size - 1,
        size,
        -1,
        "7",
        " 5 ",
        "seven",
        3.0,
        2.5,
        None,
        0x0123456789ABCDEF << 448 >> (512 - bits),
    ]


ADDRESSES: list[object] = [
    "192.0.2.1",
    " 10.0.0.1 ",
    "256.1.1.1",
    "01.2.3.4",
    "1.2.3",
    0,
    3221225985,
    2**32 - 1,
    2**32,
    None,
]


HASHES: list[object] = [
    "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "\u2003F81D4FAE7DEC11D0A76500A0C91E6BF6\n",
    "f8:1d:4f:ae:7d:ec:11:d0:a7:65:00:a0:c9:1e:6b:f6",
    *("-f81d4fae7dec11d0a76500a0c91e6bf6", "f81d4fae--7dec-11d0-a765-00a0c91e6bf6", "f81d4fae7dec11d0a76500a0c91e6bf"),
    *("0" * 32, "0" * 31 + "1", "f" * 31 + "e", "f" * 32, "f" * 33, "g" * 32, "\uff46" * 32, "3" * 32, 10**31),
    *("", "-", "0", "a", "F", "7", " 7 ", "\ufeff7", "٧", 7, -7, 7.0, True, False, None, 10**127, "ab" * 64, "e" * 129),
]


def values_for(domain: Domain) -> list[object]:
    """Values in, at the edge of, and outside a domain."""
    if isinstance(domain, Integers):
        return [*integers(domain.bits), *NUMBERS]
    if isinstance(domain, Hex):
        return HASHES
    return [*(ADDRESSES if isinstance(domain, IPv4) else TEXTS), *NUMBERS]


def good(name: str, survey: Survey, values: list[object]) -> dict[str, Any]:
    """A survey and the reports of some values."""
    mechanism = mechanism_for(survey)
    threshold = int(survey.parameters.get("keep_threshold") or survey.parameters["truth_threshold"])
    cases = []
    for index, value in enumerate(values):
        random_words = random_words_for(name, index, mechanism.random_words_per_report, threshold)
        report = mechanism.randomize(survey.domain.encode([value]), np.array([random_words], np.uint64))
        item, spelled = item_of(survey.domain, value), [f"{word:016x}" for word in random_words]
        cases.append(
            {"value": described(value), "item": item, "random_words": spelled, "report": report.tobytes().hex()}
        )
    return {"name": name, "survey": survey.to_json().decode(), "survey_id": survey.survey_id.hex(), "cases": cases}


def ask(domain: Domain, epsilon: str, mechanism: str = "tree", **more: Any) -> Survey:
    """A survey with a fixed seed."""
    return create_survey("vectors", domain, epsilon, mechanism=mechanism, public_seed=SEED, **more)


def with_classes(survey: Survey, sizes: list[int], rows: int, bucket_bits: int) -> Survey:
    """The survey with classes of so many bits, whose steps are as equal as they can be, and rows of equal shares."""
    steps = []
    for size in sizes:
        parts = [(size + step) // min(size, rows) for step in reversed(range(min(size, rows)))]
        steps.append("".join("0123456789abcdefghijk"[part] for part in parts))
    ends = [((row + 1) << 24) // rows for row in range(rows)]
    more = {"bucket_bits": bucket_bits, "ends": ends, "steps": steps}
    return replace(survey, parameters={**survey.parameters, **more})


def tree_vectors() -> Iterator[dict[str, Any]]:
    """Every width at which something changes, every number of masks, every kind of domain."""
    widths = (1, 2, 3, 7, 19, 20, 21, 24, 32, 33, 63, 64, 65, 100, 127, 128, 129, 191, 255, 256, 257, 384, 511, 512)
    for place, bits in enumerate(widths):
        epsilon = ("0.1", "1", "1.5", "2", "2.7", "3.3", "4", "4.5", "5.2", "6")[place % 10]
        yield good(f"integers {bits}", ask(Integers(bits), epsilon), integers(bits))
    for bits in range(2, 21):  # each has a polynomial of its own; many masks use it
        yield good(f"one row of {bits} bits", ask(Integers(bits), "6"), integers(bits)[:4])
    yield good("standard size", ask(Integers(48), "1", options={"size": "standard"}), integers(48)[:5])
    yield good("addresses", ask(IPv4(), "1"), ADDRESSES)
    yield good("uuids", ask(UUIDs(), "1"), HASHES[:4])
    yield good("categories", ask(NAMES, "2"), [*NAMES.names, *TEXTS[:12], None])
    for size in (1, 8, 64):
        yield good(f"bytes {size}", ask(Bytes(size), "1"), list(TEXTS[:24]))
    yield good("hostnames", ask(Hostnames(), "1.5"), list(TEXTS))
    yield good("hostnames-1", ask(HOSTS_1, "1.5"), list(TEXTS))
    yield good("words", ask(Words(), "1"), list(TEXTS[:20]))
    yield good("coded text", ask(Text(), "3"), list(TEXTS[:20]))
    for width in (16, 512):
        yield good(f"coded text {width}", ask(Text(width), "2"), list(TEXTS[:8]))
    for bits, sizes in ((5, [1, 2, 5]), (64, [1, 31, 32, 33, 64]), (512, [*range(1, 512, 63), 512])):
        name, survey = f"{len(sizes)} classes of integers {bits}", ask(Integers(bits), "5")
        high = [1 << (bits - size) for size in sizes]  # each is the least of its class
        yield good(name, with_classes(survey, sizes, max(3, bits // 8), 9), [*integers(bits), *high])
    texts = with_classes(ask(Text(64), "2"), [*range(1, 65)], 7, 10)
    yield good("64 classes of coded text 64", texts, list(TEXTS[:8]))
    yield good("every 28 days", REPEATING, list(TEXTS[:8]))


def subset_vectors() -> Iterator[dict[str, Any]]:
    """Two values and many, windows of one value and of several, and windows that take two bytes to name."""
    yield good("categories", ask(NAMES, "1", "subset"), [*NAMES.names, *TEXTS[:12], None])
    for epsilon in ("0.1", "2"):
        yield good(f"closed, {epsilon}", ask(CLOSED, epsilon, "subset"), [*CLOSED.names, *TEXTS[:12], 7, None])
    for every, opens in ((1, "2029-01-02"), (366, "2024-02-29")):
        repeating = ask(CLOSED, "0.07", "subset", every=every, opens=f"{opens}T00:00:00Z")
        yield good(f"closed, every {every}", repeating, [*CLOSED.names, None])
    for bits, epsilon in ((1, "1"), (2, "0.5"), (3, "1"), (5, "2"), (6, "0.7"), (8, "4"), (10, "1"), (12, "5")):
        yield good(f"integers {bits}", ask(Integers(bits), epsilon, "subset"), integers(bits))
    long = Categories([f"name {number}" for number in range(700)])
    yield good("700 names", ask(long, "6", "subset"), ["name 0", "name 699", "name 350", "elsewhere"])


def jl_vectors() -> Iterator[dict[str, Any]]:
    """Both projections, up to the largest universe."""
    for projection in ("hadamard", "dense"):
        for bits in (1, 2, 8, 16, 21) if projection == "dense" else (1, 2, 8, 16, 21, 24):
            survey = ask(Integers(bits), "1", "jl", options={"projection": projection}, expected_reports=1000)
            yield good(f"{projection} {bits}", survey, integers(bits))
    yield good("categories", ask(NAMES, "0.3", "jl"), [*NAMES.names, *TEXTS[:12], None])


def bucket_vectors() -> Iterator[dict[str, Any]]:
    """Widths around whole limbs, and the largest."""
    for bits in (1, 2, 8, 32, 63, 64, 65, 128, 129, 512):
        yield good(f"integers {bits}", ask(Integers(bits), "1", "bucket"), integers(bits)[: 13 if bits < 100 else 3])
    yield good("beta", ask(Integers(16), "2", "bucket", options={"beta": "0.001", "decoder": "hard"}), integers(16))
    yield good("bytes 4", ask(Bytes(4), "1", "bucket"), list(TEXTS[:12]))
    yield good("hostnames 48", ask(Hostnames(48), "1", "bucket"), list(TEXTS[:8]))


def domain_vectors() -> Iterator[dict[str, Any]]:
    """Items of many values, without a mechanism."""
    domains = [
        Integers(1),
        Integers(8),
        Integers(53),
        Integers(64),
        Integers(512),
        IPv4(),
        Hex(1),
        Hex(128),
        UUIDs(),
        NAMES,
        CLOSED,
        Bytes(1),
        Bytes(3),
        Bytes(64),
    ]
    coded = [Hostnames(), Hostnames(16), HOSTS_1, Words(), Words("de"), Text(512)]
    for domain in (*domains, *coded):
        cases = [{"value": described(value), "item": item_of(domain, value)} for value in values_for(domain)]
        yield {"domain": domain.to_json(), "cases": cases}


# What must be refused.

JL, TREE, BUCKET = ask(Integers(16), "1", "jl"), ask(Integers(32), "1"), ask(Integers(8), "1", "bucket")
SUBSET = ask(Integers(8), "1", "subset")
DENSE = ask(Integers(8), "1", "jl", options={"projection": "dense"}, expected_reports=1000)
_TABLE = {"bytes": "ab", "tokens": ["ab"], "ends": [".b"], "class": "000000", "lengths": ["223333"]}
CODED = ask(CodedText(TextCode(_TABLE), "words-1", 32), "1")
REPEATING = ask(CodedText(TextCode(_TABLE), "words-1", 32), "2", every=28, opens="2029-12-31T00:00:00Z")
SHORT_TEXT = ask(CodedText(TextCode(_TABLE), "words-1", 16), "1")
ONE_ROW = ask(Integers(5), "1")


def changed(survey: Survey, path: str, value: Any) -> str:
    """The survey's JSON with one field changed, or taken away where the value is `...`."""
    document = json.loads(survey.to_json())
    *above, name = path.split(".")
    place = document
    for step in above:
        place = place[step]
    if value is ...:
        del place[name]
    else:
        place[name] = value
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


_CATEGORIES = {"kind": "categories", "normalization": 1, "other": True}
_BAD_FIELDS: dict[tuple[str, str], tuple[Survey, tuple[Any, ...]]] = {
    ("a survey", "version"): (JL, (..., 0, 2, "1", True, None)),
    ("a survey", "surprise"): (JL, (1,)),
    ("a survey", "name"): (JL, (..., "", "n" * 201, 7, None)),
    ("a survey", "epsilon"): (JL, (..., "0", "-1", "1.0", "01", "1e0", "+1", "1001", "NaN", "", " 1", 1, None)),
    ("a survey", "delta"): (JL, (..., "0.0", "0.5", "-0", "1e-6", 0, None)),
    ("a survey", "mechanism"): (JL, (..., "best", "", 3, None, ["jl"])),
    ("a survey", "public_seed"): (JL, (..., "00" * 31, "AB" * 32, "zz" * 32, 7)),
    ("a survey", "expected_reports"): (JL, (..., 0, -1, 10**15 + 1, "100", True)),
    ("a survey", "opens"): (JL, (..., "2030-01-01", "2030-01-01T00:00:00+00:00", "2030-13-01T00:00:00Z", 0)),
    ("a survey", "every"): (JL, (28,)),  # it does not say when it opens
    ("every 28 days", "every"): (
        REPEATING,
        (None, 0, -1, -28, 367, 10**20, "28", "", True, False, [28], {}, 7, 26),  # the last two exceed the budget
    ),
    ("every 28 days", "opens"): (
        REPEATING,
        (None, "", 0, "2030-01-01T00:00:00Z", "2029-12-31T00:00:01Z", "2029-12-31T12:00:00Z"),
    ),
    ("every 28 days", "epsilon"): (REPEATING, ("2.000000000000000000000000000001", "2.1", "8")),
    ("a survey", "domain"): (JL, (..., None, [], "integers", {"kind": "floats"}, {"kind": ["ipv4"]})),
    ("integers", "domain.bits"): (JL, (..., 0, 513, "16", True)),
    ("integers", "domain.surprise"): (JL, (1,)),
    ("ids", "domain"): (
        ask(Hex(8), "1"),
        (*({"kind": "hex", "digits": digits} for digits in (0, 129, "8", True)), {"kind": "uuid", "digits": 32}),
    ),
    ("a list", "domain"): (
        JL,
        tuple(_CATEGORIES | {"names": names} for names in ([], "red", [1], ["a", "a"], ["(other)"], ["nai\u0308ve"])),
    ),
    ("a closed list", "domain"): (
        JL,
        tuple(_CATEGORIES | {"names": names, "other": other} for names, other in ((["a"], False), (["a", "b"], 0))),
    ),
    ("a list without other", "domain"): (JL, ({"kind": "categories", "normalization": 1, "names": ["a", "b"]},)),
    ("bytes", "domain"): (
        TREE,
        tuple(
            {"kind": "bytes", "max_bytes": size, "normalization": rule}
            for size, rule in ((0, 1), (65, 1), ("8", 1), (8, 2), (8, "1"), (8, True))
        ),
    ),
    ("coded text", "domain.width"): (CODED, (..., 15, 513, "96", True)),
    ("coded text", "domain.normalization"): (CODED, (..., "words-2", "hostnames-3", "hostnames-", 1, None)),
    ("coded text", "domain.code.class"): (CODED, (..., "", "z00000", 7)),
    ("coded text", "domain.code.lengths"): (CODED, (..., [], "1", ["223343"], ["22333"], ["023333"], ["223333"] * 37)),
    ("coded text", "domain.code.bytes"): (CODED, (..., "aa", [], "\u0100")),
    ("coded text", "domain.code.tokens"): (CODED, (..., ["a"], "er", ["er", "er"], ["x" * 65], [7])),
    ("coded text", "domain.code.surprise"): (CODED, (1,)),
    ("jl", "options.projection"): (JL, (..., "sparse", 7)),
    ("jl", "options.calibration"): (JL, (..., "loose")),
    ("jl", "options.surprise"): (JL, ("yes",)),
    ("jl", "options"): (JL, ([], None)),
    ("jl", "parameters"): (JL, (..., [], None)),
    ("jl", "parameters.rows"): (JL, (..., 0, 65535, 2**24, "65536", True)),
    ("jl", "parameters.surprise"): (JL, (1,)),
    ("jl", "parameters.truth_threshold"): (JL, (..., "0", str(2**63), str(2**64), "013", "-1", "", 2**53 - 1, None)),
    ("dense jl", "parameters.rows"): (DENSE, (0, 2**21 + 1, 2**25)),
    ("bucket", "options.beta"): (BUCKET, (..., "0", "1", "0.10", ".1", "-0.1", 0.5)),
    ("bucket", "parameters.rows_per_trial"): (BUCKET, (..., 8, 1025, 4097, "12")),
    ("bucket", "parameters.trials"): (BUCKET, (..., 0, 1025)),
    ("subset", "options.surprise"): (SUBSET, ("yes",)),
    ("subset", "domain.bits"): (SUBSET, (13, 64)),
    ("subset", "parameters.window"): (SUBSET, (..., 0, -1, 256, "4", True)),
    ("subset", "parameters.keep_threshold"): (SUBSET, (..., "0", str(2**64), 5, "05")),
    ("subset", "parameters.surprise"): (SUBSET, (1,)),
    ("tree", "options.size"): (TREE, (..., "large")),
    ("tree", "parameters.masks"): (TREE, (..., 0, 9, "2")),
    ("tree", "parameters.bucket_bits"): (TREE, (..., 0, 21)),
    ("tree", "parameters.keep_threshold"): (TREE, (..., "0", str(2**64), 5, "05")),
    ("tree", "parameters.ends"): (TREE, (..., [], [0, 2**24], "16777216")),
    ("tree", "parameters.steps"): (
        TREE,
        (..., [], "", "gg", 32, {}, [32], [True], [None], [""], [["gg"]], ["gf"], ["gh"], ["GG"], ["g g"], ["gg\n"]),
    ),
    ("tree", "parameters.surprise"): (TREE, (1,)),
    ("coded tree", "parameters.steps"): (CODED, (["g"], ["g", "gf"], ["gg", "g"], ["g", "g", "gg"], ["g", 16, "gg"])),
}  # fmt: skip


def tree_lists() -> Iterator[tuple[str, str]]:
    """A plan that is wrong as a whole."""
    parameters = json.loads(TREE.to_json())["parameters"] | {"bucket_bits": 16, "steps": ["e42", "gg"]}
    ends, rows = parameters["ends"], len(parameters["ends"])
    plans = {
        "sums that fall": {"steps": ["gg", "e42"]},
        "sums that stand still": {"steps": ["e42", "c44", "gg"]},
        "sums that end too early": {"steps": ["e42", "gf"]},
        "sums beyond the item": {"steps": ["e42", "gg", "gg1"]},
        "a class without bits": {"steps": ["0", "gg"]},
        "a root without bits": {"steps": ["e42", "0gg"]},
        "a step wider than a bucket": {"steps": ["e42", "hf"]},
        "digits in capitals": {"steps": ["E42", "gg"]},
        "a digit beyond 20": {"bucket_bits": 20, "steps": ["e42", "lb"]},
        "a sign": {"steps": ["+e42", "gg"]},
        "a digit that is none": {"steps": ["e4٢", "gg"]},
        "more steps than rows": {"steps": ["e42", "gg" + "0" * rows]},
        "ends that stand still": {"ends": [*ends[:-2], ends[-1], ends[-1]]},
        "ends below 2^24": {"ends": [*ends[:-1], ends[-1] - 1]},
        "an end of nobody": {"ends": [0, *ends[1:]]},
        "201 rows": {"ends": [*range(1, 201), 2**24]},
        "too few rows": {"ends": ends[-1:]},
    }
    for name, plan in plans.items():
        yield f"tree: {name}", changed(TREE, "parameters", parameters | plan)
    one_row = json.loads(ONE_ROW.to_json())["parameters"]
    for name, plan in {
        "two steps": {"steps": ["41"]},
        "two classes": {"steps": ["4", "5"]},
        "wide": {"bucket_bits": 6},
        "with too many masks": {"masks": 6},
    }.items():
        yield f"tree: one row, {name}", changed(ONE_ROW, "parameters", one_row | plan)
    of_text = {"bucket_bits": 16, "ends": [2**24], "steps": ["g"]}
    yield "tree: one row of text", changed(SHORT_TEXT, "parameters", {**SHORT_TEXT.parameters, **of_text})


def bad_surveys() -> Iterator[dict[str, str]]:
    """Each with the reason: shape, privacy, unsupported (a good survey, but none for devices) or max_epsilon."""
    text = JL.to_json().decode()
    broken = {
        "nothing": "",
        "no JSON": "survey",
        "a list": "[]",
        "a number": "1",
        "cut short": text[:-1],
        "left-over bytes": text + "{}",
        "a field twice": text[:-1] + ',"version":1}',
        "a fraction": text.replace('"expected_reports":100000', '"expected_reports":100000.0'),
        "an exponent": text.replace('"expected_reports":100000', '"expected_reports":1e5'),
        "a lone surrogate": changed(JL, "name", "x").replace('"name":"x"', '"name":"\\ud800"'),
        "a lone surrogate in an option": text.replace('"calibration":"onebit"', '"calibration":"\\udfff"'),
        "61 digits": text.replace('"epsilon":"1"', f'"epsilon":"1.{"0" * 59}1"'),
        "every with a fraction": REPEATING.to_json().decode().replace('"every":28', '"every":28.0'),
        "every with an exponent": REPEATING.to_json().decode().replace('"every":28', '"every":2.8e1'),
        "every twice": REPEATING.to_json().decode()[:-1] + ',"every":28}',
        "every, huge": REPEATING.to_json().decode().replace('"every":28', f'"every":{"9" * 400}'),
        "closes before it opens": changed(JL, "opens", "2031-01-01T00:00:00Z").replace(
            '"closes":null', '"closes":"2030-01-01T00:00:00Z"'
        ),
    }
    for name, document in broken.items():
        yield {"name": name, "reason": "shape", "survey": document}
    for (where, path), (survey, values) in _BAD_FIELDS.items():
        for value in values:
            shown = "missing" if value is ... else json.dumps(value)
            name = f"{where}: {path} {shown if len(shown) < 60 else shown[:60] + '…'}"
            yield {"name": name, "reason": "shape", "survey": changed(survey, path, value)}
    for name, document in tree_lists():
        yield {"name": name, "reason": "shape", "survey": document}
    for survey, parameter in (
        (JL, "truth_threshold"),
        (BUCKET, "truth_threshold"),
        (TREE, "keep_threshold"),
        (SUBSET, "keep_threshold"),
    ):
        threshold = int(survey.parameters[parameter])
        for more in (threshold + 1, TOP):
            name = f"{survey.mechanism}: {parameter} above the claim, {more}"
            yield {"name": name, "reason": "privacy", "survey": changed(survey, f"parameters.{parameter}", str(more))}
        name = f"{survey.mechanism}: a claim below the threshold"
        yield {"name": name, "reason": "privacy", "survey": changed(survey, "epsilon", "0.999999")}
    yield {"name": "a smaller window", "reason": "privacy", "survey": changed(SUBSET, "parameters.window", 2)}
    yield {"name": "more masks", "reason": "privacy", "survey": changed(TREE, "parameters.masks", 8)}
    few = {"expected_reports": 100}
    for name, survey in (
        ("naive-laplace", ask(Integers(4), "1", "naive-laplace")),
        ("jl tight", ask(Integers(8), "1", "jl", options={"calibration": "tight"}, **few)),
        ("jl paper", ask(Integers(8), "1", "jl", options={"calibration": "paper"}, **few)),
        ("bucket tight", ask(Integers(2), "1", "bucket", options={"calibration": "tight", "beta": "0.5"}, **few)),
    ):
        yield {"name": name, "reason": "unsupported", "survey": survey.to_json().decode()}
    for epsilon, limit in (("2.000001", "2"), ("6", "5.9")):
        survey = ask(Integers(16), epsilon)
        name = f"states {epsilon}"
        yield {"name": name, "reason": "max_epsilon", "max_epsilon": limit, "survey": survey.to_json().decode()}


def batches() -> dict[str, Any]:
    """Batches of a survey whose reports have 17 bytes: what they hold, or why they are refused."""
    mechanism = mechanism_for(JL)
    random_words = np.array([random_words_for("batch", index, 3, 2**63) for index in range(3)], np.uint64)
    reports = mechanism.randomize(JL.domain.encode([5, 7, -1]), random_words)
    whole = encode_batch(JL.survey_id, reports)
    good_batches = [{"batch": encode_batch(JL.survey_id, reports[:n]).hex(), "reports": n} for n in range(4)]
    bad = {
        "no bytes": (b"", "BadLength"),
        "version 0": (b"\0" + whole[1:], "BadVersion"),
        "version 2": (b"\2" + whole[1:], "BadVersion"),
        "half a header": (whole[:20], "BadLength"),
        "a byte short of a header": (whole[:32], "BadLength"),
        "another survey": (whole[:1] + bytes(32) + whole[33:], "SurveyMismatch"),
        "a byte left over": (whole + b"\0", "LeftOverBytes"),
        "a byte missing": (whole[:-1], "LeftOverBytes"),
    }
    invalid = whole[:33] + whole[33:49] + b"\2"
    return {
        "survey": JL.to_json().decode(),
        "good": good_batches,
        "bad": [{"name": name, "batch": data.hex(), "error": error} for name, (data, error) in bad.items()],
        "invalid_reports": [{"name": "an answer of 2", "batch": invalid.hex()}],
    }


def build() -> dict[str, str]:
    """The text of each file, by its name."""
    files: dict[str, Any] = {
        "tree": {"surveys": list(tree_vectors())},
        "subset": {"surveys": list(subset_vectors())},
        "jl": {"surveys": list(jl_vectors())},
        "bucket": {"surveys": list(bucket_vectors())},
        "domains": {"domains": list(domain_vectors())},
        "bad_surveys": {"surveys": list(bad_surveys())},
        "batches": batches(),
    }
    # ASCII, so that a lone surrogate in a value can be written at all.
    return {f"{name}.json": json.dumps(data, indent=0) + "\n" for name, data in files.items()}


def main() -> None:
    """Write the files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in build().items():
        (folder / name).write_text(text, encoding="ascii")
        print(f"{folder / name}: {len(text):,} bytes")


if __name__ == "__main__":
    main()
