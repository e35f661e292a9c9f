"""The shared vectors: what every client must answer byte for byte, and what it must refuse."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.make_vectors import FOLDER, build, value_of

import hubbub.errors
from hubbub import ParameterError, PrivacyError, load_survey, mechanism_for
from hubbub.client import Client, SurveyError
from hubbub.client.domains import read_domain
from hubbub.client.survey import encode_report, read_survey
from hubbub.wire.report_batch import parse_batch

ADDRESS = "http://127.0.0.1:1/v1/surveys/"


def load(name: str) -> Any:
    """A file of vectors."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))


GOOD = [
    pytest.param(entry, id=f"{name} {entry['name']}")
    for name in ("tree", "subset", "jl", "bucket")
    for entry in load(name)["surveys"]
]
BAD = [pytest.param(entry, id=entry["name"]) for entry in load("bad_surveys")["surveys"]]


@pytest.mark.slow
def test_the_tool_makes_these_files() -> None:
    """`make vectors` changes nothing, and no file is large."""
    files = {path.name: path.read_text(encoding="ascii") for path in FOLDER.iterdir()}
    assert files == build()
    assert all(len(text) < 300_000 for text in files.values())


def test_there_are_vectors() -> None:
    """Widths from 1 to 512 bits and every kind of refusal, so that an empty suite cannot pass."""
    names = {param.values[0]["name"] for param in GOOD}
    assert {"integers 1", "integers 512", "hostnames", "dense 8", "hadamard 24"} <= names
    assert {param.values[0]["reason"] for param in BAD} == {"shape", "privacy", "unsupported", "max_epsilon"}
    assert len(BAD) > 150


@pytest.mark.parametrize("entry", GOOD)
def test_the_client_makes_the_same_bytes(entry: dict[str, Any]) -> None:
    """Item, report and batch are those of the bulk randomiser, and reports of one survey have one length."""
    survey = read_survey(entry["survey"])
    assert survey.survey_id.hex() == entry["survey_id"]
    for case in entry["cases"]:
        value = value_of(case["value"])
        assert f"{survey.domain.item(value):x}" == case["item"]
        report = encode_report(survey, value, [int(word, 16) for word in case["random_words"]])
        assert report.hex() == case["report"]
        assert len(report) == (17 if survey.randomizer.size == 1 else 18)
        assert (survey.batch_header + report).hex() == f"01{entry['survey_id']}{case['report']}"


@pytest.mark.parametrize("entry", load("domains")["domains"], ids=lambda entry: json.dumps(entry["domain"])[:40])
def test_the_client_makes_the_same_items(entry: dict[str, Any]) -> None:
    """A value is the same item to the client as to the library."""
    domain = read_domain(entry["domain"])
    for case in entry["cases"]:
        assert f"{domain.item(value_of(case['value'])):x}" == case["item"]


@pytest.mark.parametrize("entry", BAD)
def test_bad_surveys_are_refused(entry: dict[str, str], tmp_path: Path) -> None:
    """The client refuses each in a sentence; the library refuses what is wrong for everybody."""
    with pytest.raises(SurveyError, match=r"got "):
        Client(
            entry["survey"],
            url=ADDRESS + "0" * 64,
            max_epsilon=entry.get("max_epsilon", "1000"),
            ledger=tmp_path / "l",
        )
    if entry["reason"] in ("shape", "privacy"):
        with pytest.raises(PrivacyError if entry["reason"] == "privacy" else ParameterError):
            load_survey(entry["survey"])
    else:
        load_survey(entry["survey"])


@pytest.mark.parametrize("entry", GOOD)
def test_the_loss_is_the_one_the_library_computes(entry: dict[str, Any]) -> None:
    """The client recomputes the ε that the thresholds execute, as the library does, and it is within the claim."""
    survey, mechanism = read_survey(entry["survey"]), mechanism_for(load_survey(entry["survey"]))
    assert abs(survey.randomizer.loss - mechanism.guarantee.epsilon) <= Decimal("1e-70")
    assert survey.randomizer.loss <= survey.epsilon
    assert survey.randomizer.random_words == mechanism.random_words_per_report


def test_batches() -> None:
    """Batches give back their reports, or the named error; a report that no client sends is found invalid."""
    vectors = load("batches")
    survey = load_survey(vectors["survey"])
    mechanism = mechanism_for(survey)
    for case in vectors["good"]:
        reports = parse_batch(bytes.fromhex(case["batch"]), survey.survey_id, mechanism.report_dtype)
        assert len(reports) == case["reports"]
        assert mechanism.validate(reports).all()
    for case in vectors["bad"]:
        with pytest.raises(getattr(hubbub.errors, case["error"])):
            parse_batch(bytes.fromhex(case["batch"]), survey.survey_id, mechanism.report_dtype)
    for case in vectors["invalid_reports"]:
        reports = parse_batch(bytes.fromhex(case["batch"]), survey.survey_id, mechanism.report_dtype)
        assert not np.any(mechanism.validate(reports))
