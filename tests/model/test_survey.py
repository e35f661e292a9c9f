"""The Survey: one canonical form, one id, and no way in for a field that is wrong."""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub import (
    Bytes,
    Categories,
    Integers,
    ParameterError,
    PrivacyError,
    Survey,
    create_survey,
    load_survey,
    mechanism_for,
)

SEED = bytes(range(32))


def survey(**changes) -> Survey:
    """A survey with some arguments changed."""
    arguments = {"name": "referrers", "domain": Integers(16), "epsilon": 1, "mechanism": "jl", "public_seed": SEED}
    return create_survey(**{**arguments, **changes})


def spelled(document: dict) -> str:
    """Canonical JSON of plain data."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def changed(path: str, value: object, **arguments) -> str:
    """The JSON of a good survey with one field changed; a value of ... removes it."""
    document = json.loads(survey(**arguments).to_json())
    target = document
    *parents, last = path.split(".")
    for name in parents:
        target = target[name]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return spelled(document)


def test_canonical_bytes() -> None:
    """The survey's bytes, written out: another implementation must give the same."""
    assert survey().to_json().decode() == (
        '{"closes":null,"delta":"0","domain":{"bits":16,"kind":"integers"},"epsilon":"1","expected_reports":100000,'
        '"mechanism":"jl","name":"referrers","opens":null,"options":{"calibration":"onebit","projection":"hadamard"},'
        '"parameters":{"rows":65536,"truth_threshold":"13485650502877570762"},'
        '"public_seed":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f","version":1}'
    )
    assert survey().survey_id == hashlib.sha256(survey().to_json()).digest()


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=9).filter(lambda t: t != "(other)"))
def test_json_round_trip_of_any_name(name: str, category: str) -> None:
    """Whatever Unicode is in it, a survey loads back equal, by value, id, hash and pickle."""
    one = survey(name=name, domain=Categories([category, "b" * 10]))
    again = load_survey(one.to_json())
    assert (again, hash(again), again.survey_id) == (one, hash(one), one.survey_id)
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301


def test_equal_questions_spelled_differently_have_one_id() -> None:
    """1, 1.0, "1.00" and Decimal are the same epsilon; times are in UTC."""
    forms = [1, 1.0, "1.00", Decimal("1"), "1e0"]
    assert len({survey(epsilon=form).survey_id for form in forms}) == 1
    berlin = survey(opens="2026-01-01T01:00:00+01:00", closes=datetime(2026, 2, 1, tzinfo=UTC))
    assert berlin.to_json() == survey(opens="2026-01-01T00:00:00Z", closes="2026-02-01T00:00:00Z").to_json()


def test_a_changed_copy_has_an_id_of_its_own() -> None:
    """The id is kept once it was computed, but a copy with another field computes its own."""
    one = survey()
    assert one.survey_id is one.survey_id
    other = replace(one, name="another")
    assert other.survey_id == hashlib.sha256(other.to_json()).digest() != one.survey_id


def test_the_seed_comes_from_the_system() -> None:
    """Two surveys made alike have different public seeds."""
    assert survey(public_seed=None).public_seed != survey(public_seed=None).public_seed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"epsilon": 0}, "epsilon must be above 0, got epsilon=0"),
        ({"epsilon": -1.5}, "epsilon=-1.5"),
        ({"epsilon": float("nan")}, "epsilon must be finite, got epsilon=nan"),
        ({"epsilon": float("inf")}, "epsilon=inf"),
        ({"epsilon": "one"}, "epsilon must be a number"),
        ({"epsilon": True}, "epsilon must be a number"),
        ({"epsilon": None}, "epsilon must be a number"),
        ({"epsilon": 1e-16}, "from 1e-15"),
        ({"delta": -1e-9}, "delta must be from 0 to 1/e"),
        ({"delta": 0.37}, "delta=0.37"),
        ({"delta": float("nan")}, "delta must be finite"),
        ({"delta": "x"}, "delta must be a number"),
        ({"name": ""}, "name must be a string of 1 to 200"),
        ({"name": 7}, "name=7"),
        ({"name": "\ud800"}, "valid Unicode"),
        ({"domain": "integers"}, "domain must be a Domain"),
        (
            {"mechanism": "magic"},
            "mechanism must be one of tree, subset, jl, bucket, glps, naive-laplace, got mechanism='magic'",
        ),
        ({"mechanism": 3}, "mechanism=3"),
        ({"options": {"calibraton": "tight"}}, "'calibraton'"),
        ({"options": {"calibration": "loose"}}, "one of paper, tight, onebit, got 'loose'"),
        ({"mechanism": "bucket", "options": {"beta": 1}}, "between 0 and 1"),
        ({"mechanism": "bucket", "options": {"beta": "x"}}, "must be a number"),
        ({"mechanism": "bucket", "options": {"beta": True}}, "must be a number"),
        ({"mechanism": "bucket", "options": {"beta": "1e-70"}}, "at least 1e-55"),
        ({"expected_reports": 0}, "expected_reports"),
        ({"expected_reports": 1.5}, "expected_reports"),
        ({"opens": "yesterday"}, "opens must be an RFC 3339 time"),
        ({"opens": "2026-01-01T00:00:00"}, "time zone"),
        ({"opens": "2026-01-02T00:00:00Z", "closes": "2026-01-01T00:00:00Z"}, "closes must be after opens"),
        ({"opens": 5}, "opens must be a time"),
        ({"opens": "0001-01-01T00:00:00+23:59"}, "opens must be in the years 1 to 9999"),
        ({"closes": "9999-12-31T23:59:59-23:59"}, "closes must be in the years 1 to 9999"),
        ({"public_seed": b"short"}, "32 bytes"),
        ({"mechanism": "jl", "domain": Bytes(32)}, "at most 2^24"),
        ({"mechanism": "naive-laplace", "domain": Integers(17)}, "at most 2^16"),
        ({"mechanism": "naive-laplace", "delta": 0}, "delta must be at least"),
        ({"options": {"calibration": "paper"}, "delta": 0}, "delta above 0"),
        ({"options": {"projection": "dense"}, "domain": Integers(24), "expected_reports": 10**6}, "at most 2^36"),
    ],
)
def test_create_refuses(arguments: dict, said: str) -> None:
    """A survey that cannot be is refused with one sentence: the rule, the name, the value."""
    with pytest.raises(ParameterError) as caught:
        survey(**arguments)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("colour", "red", "'colour'"),
        ("epsilon", ..., "'epsilon'"),
        ("epsilon", 1, "epsilon must be a string"),
        ("epsilon", "1.0", "canonical form"),
        ("epsilon", "NaN", "finite"),
        ("delta", "-0", "canonical form"),
        ("parameters.rows", 32768, "must be 65536"),
        ("delta", "0.9", "delta"),
        ("version", 2, "version must be 1"),
        ("version", True, "version must be 1"),
        ("name", ["x"], "name must be a string"),
        ("domain", 5, "domain must be an object"),
        ("domain.bits", "16", "bits"),
        ("domain.bits", 25, "at most 2^24"),
        ("options", [], "options must be an object"),
        ("options.calibration", 1, "options.calibration must be a string"),
        ("options.calibration", "tight", "parameters"),
        ("options.projection", ..., "every option"),
        ("parameters.rows", 2.5, "whole"),
        ("parameters.rows", "9", "parameters.rows"),
        ("parameters.rows", 0, "parameters.rows"),
        ("parameters.rows", 65537, "must be 65536"),
        ("parameters.more", 1, "'more'"),
        ("parameters.truth_threshold", ..., "'truth_threshold'"),
        ("parameters.truth_threshold", 5, "in a string"),
        ("parameters.truth_threshold", "05", "in a string"),
        ("parameters.truth_threshold", "9" * 21, "in a string"),
        ("parameters.truth_threshold", str(2**64), "bit threshold"),
        ("parameters.truth_threshold", str(2**63), "bit threshold"),
        ("public_seed", "zz", "hex"),
        ("public_seed", "00", "32 bytes"),
        ("public_seed", bytes(range(32)).hex().upper(), "canonical form"),
        ("expected_reports", "5", "expected_reports"),
        ("opens", "2026-01-01", "time zone"),
        ("opens", "2026-01-01T00:00:00+00:00", "canonical form"),
    ],
)
def test_load_refuses(path: str, value: object, said: str) -> None:
    """A field that is unknown, missing, of the wrong type or out of range is refused by name."""
    with pytest.raises(ParameterError) as caught:
        load_survey(changed(path, value))
    assert said in str(caught.value)


@pytest.mark.parametrize("document", ["", "{", "[]", "null", '{"a":1,"a":2}', "{1}", "NaN", "[" * 100_000, b"\xff"])
def test_load_refuses_what_is_not_a_survey(document) -> None:
    """Documents that are not surveys are a ParameterError, never another exception."""
    with pytest.raises(ParameterError):
        load_survey(document)


def test_load_refuses_a_loss_above_the_claim() -> None:
    """One unit more in the threshold, and the survey is refused: the claim is checked to the last bit."""
    good = survey()
    threshold = int(good.parameters["truth_threshold"])
    with pytest.raises(PrivacyError, match="no more than it states"):
        load_survey(changed("parameters.truth_threshold", str(threshold + 1)))
    assert mechanism_for(load_survey(changed("parameters.truth_threshold", str(threshold - 1)))).guarantee.epsilon < 1


@pytest.mark.parametrize("mechanism", ["naive-laplace", "jl", "bucket", "glps"])
def test_load_refuses_weak_noise(mechanism: str) -> None:
    """Less noise, by rate or by thresholds, is refused; the mutants a careless collector might send."""
    options = {} if mechanism == "naive-laplace" else {"calibration": "tight"}
    arguments = {"mechanism": mechanism, "options": options, "domain": Integers(8), "expected_reports": 1000}
    good = survey(**arguments)
    rate = Decimal(good.parameters["noise_rate"])
    thresholds = list(good.parameters["digit_thresholds"])
    for path, value in (
        ("parameters.noise_rate", str(rate * Decimal("1.01"))),
        ("parameters.noise_rate", "1E+10"),
        ("parameters.digit_thresholds", thresholds[:-1]),
        ("parameters.digit_thresholds", ["0"] * len(thresholds)),
        ("parameters.digit_thresholds", [str(int(thresholds[0]) + 2**40), *thresholds[1:]]),
        ("epsilon", "0.99"),
    ):
        with pytest.raises(PrivacyError):
            load_survey(changed(path, value, **arguments))
    for path, value in (
        ("parameters.noise_rate", "-1"),
        ("parameters.noise_rate", "x"),
        ("parameters.noise_rate", 1),
        ("parameters.digit_thresholds", []),
        ("parameters.digit_thresholds", ["1"] * 31),
        ("parameters.digit_thresholds", [str(2**64)]),
        ("parameters.digit_thresholds", "12"),
    ):
        with pytest.raises(ParameterError):
            load_survey(changed(path, value, **arguments))


def test_paper_calibration_is_refused_where_exact_composition_refutes_it() -> None:
    """At epsilon 8 and delta 1e-3 the paper's noise is not enough for replacement neighbours (oracle 15)."""
    with pytest.raises(PrivacyError, match="under exact composition"):
        survey(epsilon=8, delta=1e-3, options={"calibration": "paper"}, expected_reports=10**6)
    tight = survey(epsilon=8, delta=1e-3, options={"calibration": "tight"}, expected_reports=10**6)
    assert mechanism_for(tight).guarantee.delta <= Decimal("1e-3")


def test_early_years_are_read_as_they_are_written() -> None:
    """A year has four digits in the canonical form, also one before 1000."""
    early = survey(opens="0999-01-01T00:00:00Z")
    assert json.loads(early.to_json())["opens"] == "0999-01-01T00:00:00Z"
    assert Survey.from_json(early.to_json()) == early
