"""The paths and buckets of `tree`: the client and the slow twin agree on surveys that no planner made."""

from __future__ import annotations

import json
import random
from itertools import product

import pytest
from tests.client.tree_by_hand import surveys, twin_report
from tests.reference import naive

from hubbub.client import SurveyError
from hubbub.client.survey import encode_report, read_survey

KEY = bytes(range(8))
SURVEYS = list(surveys())
VALUES = ["0", "1", "4096", "192.0.2.0", "10.0.0.0", "yes", "name 7", "a", "ab", "news.example", "", None, "x" * 64]


@pytest.mark.parametrize("bits", range(1, 11))
def test_paths_are_a_permutation(bits: int) -> None:
    """The twin gives all items of a class different paths, and undoes each."""
    items = ["".join(digits) for digits in product("01", repeat=bits)]
    paths = [naive.tree_path(KEY, item, bits) for item in items]
    assert set(paths) == set(items)
    assert [naive.tree_item(KEY, path) for path in paths] == items


@pytest.mark.parametrize("bits", [33, 64, 65, 129, 512])
def test_long_paths_come_back(bits: int) -> None:
    """The twin undoes the paths of long items too, whose halves take several hashes."""
    draw = random.Random(bits)
    for _ in range(20):
        item = format(draw.getrandbits(bits), f"0{bits}b")
        assert naive.tree_item(KEY, naive.tree_path(KEY, item, bits)) == item


def test_classes_leave_out_zeros_alone() -> None:
    """The class of an item is the first that loses no digit of it but zeros at its end."""
    steps = ["2", "11", "k", "111k"]
    for item, expected in (("0" * 23, "2"), ("01" + "0" * 21, "2"), ("001" + "0" * 20, "k"), ("0" * 22 + "1", "111k")):
        assert naive.tree_class(item, steps) == expected


@pytest.mark.parametrize(("document", "bits"), SURVEYS, ids=range(len(SURVEYS)))
def test_the_client_makes_the_reports_of_the_twin(document: str, bits: int) -> None:
    """Every kind of domain, one class and many, one row and many."""
    device, draw = read_survey(document), random.Random(bits)
    numbers = [str(draw.getrandbits(bits) >> shift << shift) for shift in range(0, bits, 1 + bits // 12)]
    for number, value in enumerate([*VALUES, *numbers]):
        words = [draw.getrandbits(64), draw.getrandbits(64), (number % 7 == 6) << 63, draw.getrandbits(64)]
        item = format(device.domain.item(value), f"0{bits}b")
        assert encode_report(device, value, words) == twin_report(document, item, words)


@pytest.mark.parametrize(
    "steps",
    [
        *(None, "", "k", 7, {}, {"0": "kka"}, [], [""], [7], ["kka", 7], [["kka"]], [None], [True]),
        *(["kkb"], ["kk9"], ["kka", "kka"], ["kk", "k", "kka"], ["kka", "kk"], ["0", "kka"], ["kk", "kk0", "kka"]),
        *(["lja"], ["KKA"], ["kk a"], ["kka\n"], ["٣kka"], ["kk.a"], ["-kka"], ["0kka0"], ["0kka"], ["k" * 201]),
    ],
    ids=repr,
)
def test_wrong_steps_are_refused(steps: object) -> None:
    """Other types, digits, lengths and sums; what is right is read."""
    data = json.loads(next(document for document, bits in SURVEYS if bits == 21))
    data["domain"]["bits"] = 50
    data["parameters"] |= {"bucket_bits": 20, "ends": [1, 2, 3, 1 << 24], "steps": ["k", "kj", "k0k0", "kka"]}
    read_survey(json.dumps(data))
    data["parameters"]["steps"] = steps
    with pytest.raises(SurveyError, match=r"steps (must|of).*, got|steps must rise to 50, got"):
        read_survey(json.dumps(data))


def test_a_step_fills_a_bucket_at_most() -> None:
    """A digit above bucket_bits is refused, for every bucket_bits."""
    data = json.loads(next(document for document, bits in SURVEYS if bits == 21))
    for bits in range(1, 21):
        data["domain"]["bits"] = 2 * bits
        digit, more, less = ("0123456789abcdefghijklm"[each] for each in (bits, bits + 1, bits - 1))
        data["parameters"] |= {"bucket_bits": bits, "ends": [1, 1 << 24], "steps": [digit + digit]}
        read_survey(json.dumps(data))
        data["parameters"]["steps"] = [more + less]
        with pytest.raises(SurveyError, match="steps must"):
            read_survey(json.dumps(data))


def test_one_row_has_one_step() -> None:
    """Where there is one row, there is one class, whose one step fills the bucket."""
    data = json.loads(next(document for document, bits in SURVEYS if bits == 5))
    read_survey(json.dumps(data))
    for more in ({"steps": ["3", "5"]}, {"bucket_bits": 6}, {"masks": 6}, {"steps": ["41"]}):
        with pytest.raises(SurveyError, match="got"):
            read_survey(json.dumps(data | {"parameters": data["parameters"] | more}))
