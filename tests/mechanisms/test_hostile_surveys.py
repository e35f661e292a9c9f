"""Surveys from strangers are refused with one sentence, at once, whatever their numbers are."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import pytest

from hubbub import Hostnames, Integers, ParameterError, create_survey, load_survey
from hubbub.client import SurveyError
from hubbub.client.survey import read_survey
from hubbub.mechanisms.registry import REGISTRY
from hubbub.model.numbers import parse_delta, parse_epsilon
from hubbub.testing import public_seed

NUMBERS = [
    *("9E+999999", "-9E+999999", "9." + "9" * 60 + "E+999999", "1E-999999", "1E-1000020", "1E+9999999999999999999"),
    *("sNaN", "NaN", "NaN123", "-sNaN9", "Infinity", "-Infinity", "-0", "0E+999999", "0E-999999", "-1", "0", "00", ""),
    *("1_0", " 1", "1e3", "٣", "0x1", "9" * 100_000, "0." + "3" * 100_000, "1E+400", "1E-400", "1E+99", "1E-99", "\0"),
]
CASES = {
    " ".join([name, *options.values()]): (name, options)
    for name, entry in REGISTRY.items()
    for choices in [next((option.choices for option in entry.about.options if option.name == "calibration"), ())]
    for options in [{"calibration": choice} for choice in choices] or [{}]
}


def places(data: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every string in a document, the name excepted."""
    keys = data.keys() if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    found = [above] if isinstance(data, str) and above != ("name",) else []
    return [*found, *(path for key in keys for path in places(data[key], (*above, key)))]


def changed(document: Any, path: tuple[Any, ...], value: Any) -> str:
    """The document with another value in one place."""
    document = json.loads(json.dumps(document))
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return json.dumps(document)


def test_all_mechanisms_have_a_case() -> None:
    """Nothing registered is left out."""
    assert {name for name, _ in CASES.values()} == set(REGISTRY)


@pytest.mark.parametrize("case", CASES)
def test_odd_numbers_are_refused(case: str) -> None:
    """In every field that is a string, by both readers, and where it should be a number in a short sentence."""
    name, options = CASES[case]
    survey = create_survey("odd", Integers(8), 1, None, name, options, 500, public_seed=public_seed(1))
    document = json.loads(survey.to_json())
    tried = places(document)
    assert ("epsilon",) in tried
    assert any(path[0] == "parameters" for path in tried)
    for path in tried:
        for number in NUMBERS:
            if number == "0" and (path == ("delta",) or "digit_thresholds" in path):  # may be 0
                continue
            text = changed(document, path, number)
            with pytest.raises(ParameterError) as refused:
                load_survey(text)
            assert path[0] not in ("epsilon", "delta", "options", "parameters") or len(str(refused.value)) < 300
            with pytest.raises(SurveyError):
                read_survey(text)


@pytest.mark.parametrize(
    "path",
    [
        ("parameters", "steps", 0),
        ("parameters", "steps"),
        ("parameters", "ends", 1),
        ("options",),
        ("options", "size"),
    ],
    ids=str,
)
def test_long_numbers_and_names_are_cut(path: tuple[Any, ...]) -> None:
    """Both readers refuse a number of 400 digits, a list of such and a name of 500 letters in a short sentence."""
    document = json.loads(create_survey("odd", Hostnames(), 1, public_seed=public_seed(1)).to_json())
    for value in (10**400, -(10**400), [10**400] * 50, {"k" * 500: 10**400}):
        text = changed(document, path, value)
        with pytest.raises(ParameterError) as refused:
            load_survey(text)
        assert len(str(refused.value)) < 300
        with pytest.raises(SurveyError) as refused_too:
            read_survey(text)
        assert len(str(refused_too.value)) < 300


@pytest.mark.parametrize("parse", [parse_epsilon, parse_delta])
def test_odd_arguments_are_refused(parse) -> None:
    """What is no sensible number is a ParameterError with a short sentence."""
    for number in (*NUMBERS[:12], 10**5000, -(10**5000), Decimal("sNaN"), Decimal("9E+999999"), 1e300):
        with pytest.raises(ParameterError) as refused:
            parse(number)
        assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("bucket", "beta", "1E-999999"),
        ("bucket", "beta", "sNaN"),
        ("bucket", "beta", "0." + "9" * 40),
        ("glps", "sparsity", "1E-999999"),
        ("glps", "sparsity", "9E+999999"),
    ],
)
def test_odd_options_are_refused(name: str, options: str, value: str) -> None:
    """The same for an option that is a number."""
    with pytest.raises(ParameterError) as refused:
        create_survey("odd", Integers(8), 1, None, name, {options: value})
    assert len(str(refused.value)) < 200


def test_many_rows_are_refused_at_once() -> None:
    """A claim about 2^24 rows with too little noise takes no longer to see through than any other."""
    survey = create_survey(
        "odd", Integers(24), 1, None, "jl", {"calibration": "paper"}, 500, public_seed=public_seed(1)
    )
    document = json.loads(survey.to_json())
    text = changed(document, ("parameters", "rows"), 2**24)
    started = time.process_time()
    with pytest.raises(ParameterError, match="must execute no more than it states"):
        load_survey(text)
    assert time.process_time() - started < 1
