"""Surveys that are wrong in many ways: refused in a sentence, or within the ε that they state. `make fuzz` has more."""

from __future__ import annotations

import json
import random
from decimal import Decimal

import pytest
from tools.fuzz_surveys import GOOD, mutated, run, worst_odds

from hubbub import ParameterError, Survey, load_survey
from hubbub.client import SurveyError
from hubbub.client.survey import read_survey

FOR_DEVICES = GOOD[:10]
DEEP = 985


@pytest.mark.slow
def test_changed_surveys_are_refused_or_keep_their_epsilon() -> None:
    """1,500 of the 20,000 that `make fuzz` tries; enough of them are read, and the odds of those are enumerated."""
    found = run(1500, seed=2)
    assert found["refused"] > 1000
    assert found["enumerated"] > 80


@pytest.mark.slow
@pytest.mark.parametrize("survey", FOR_DEVICES, ids=lambda survey: f"{survey.mechanism} {survey.domain.bits}")
def test_the_enumeration_finds_the_odds(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    """The odds of a good survey are its ε, almost; those of one that a careless client would read are beyond it."""
    document = survey.to_json().decode()
    found = max(worst_odds(read_survey(document), document, random.Random(seed)) for seed in range(6))
    assert survey.epsilon * Decimal("0.9") < found <= survey.epsilon
    data = json.loads(document)
    name = "keep_threshold" if "keep_threshold" in data["parameters"] else "truth_threshold"
    data["parameters"][name] = str(min(int(data["parameters"][name]) * 5 // 4, 2**64 - 1))
    worse = json.dumps(data)
    with pytest.raises(SurveyError, match="must keep the ε"):
        read_survey(worse)
    monkeypatch.setattr("hubbub.client.mechanisms.log_ratio", lambda *_: Decimal(0))
    found = max(worst_odds(read_survey(worse), worse, random.Random(seed)) for seed in range(6))
    assert found > survey.epsilon


def test_the_changes_are_many() -> None:
    """Different documents, most of them JSON, and of all mechanisms."""
    draw = random.Random(3)
    documents = {mutated(draw) for _ in range(500)}
    assert len(documents) > 400
    assert {survey.mechanism for survey in GOOD} == {"jl", "bucket", "subset", "tree", "naive-laplace", "glps"}


@pytest.mark.parametrize("field", ["masks", "steps", "keep_threshold", "name", "epsilon", "domain"])
@pytest.mark.parametrize("depth", [10, 400, DEEP, 100_000])
def test_deep_documents_are_refused(field: str, depth: int) -> None:
    """Lists in lists, at any depth and in any place, give a sentence and no other error."""
    data = json.loads(GOOD[5].to_json())
    (data["parameters"] if field in data["parameters"] else data)[field] = "HERE"
    document = json.dumps(data).replace('"HERE"', "[" * depth + "]" * depth)
    with pytest.raises(SurveyError, match=", got "):
        read_survey(document)
    with pytest.raises(ParameterError, match=", got "):
        load_survey(document)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "utf-16-be"])
def test_other_encodings_are_refused(encoding: str) -> None:
    """A survey is UTF-8 without a mark: in another encoding it would have two documents, one of them with no hash."""
    document = GOOD[0].to_json().decode().encode(encoding)
    with pytest.raises(SurveyError, match="must be JSON"):
        read_survey(document)
    with pytest.raises(ParameterError, match="must be JSON"):
        load_survey(document)


@pytest.mark.parametrize(
    "document",
    [None, 7, [], {}, True, 1.5, bytearray(b"{}"), memoryview(b"{}")],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_document_is_refused(document: object) -> None:
    """Another type than text or bytes gives the same kind of sentence."""
    with pytest.raises(SurveyError, match="must be text or bytes, got "):
        read_survey(document)
    with pytest.raises(ParameterError, match="must be text or bytes, got "):
        load_survey(document)
