"""Surveys from strangers: the client and the library accept the same ones, and fail in no other way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tools.make_vectors import BUCKET, CODED, DENSE, JL, TREE

from hubbub import HubbubError, load_survey
from hubbub.client import ClientError, SurveyError
from hubbub.client.survey import encode_report, read_survey

DOCUMENTS = [json.loads(survey.to_json()) for survey in (JL, TREE, BUCKET, DENSE, CODED)]


def paths(data: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, the whole excepted."""
    keys = data.keys() if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    return [path for key in keys for path in [(*above, key), *paths(data[key], (*above, key))]]


PLACES = [(index, path) for index, document in enumerate(DOCUMENTS) for path in paths(document)]
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 40),
    st.sampled_from([2**20, 2**21, 2**24, 2**53, 2**63, 2**64, -(2**63)]),
    st.integers(0, 2**64).map(str),
    st.sampled_from(
        ["", "0", "1", "0.5", "1.0", "2", "6.5", "-1", "1e3", "onebit", "tree", "jl", "bucket", "ipv4", "\ud800"]
    ),
    st.text(max_size=4),
)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["mechanism"])
def test_a_report_takes_words_of_64_bits(document: Any) -> None:
    """Words of another number, size or type are refused before they are compared with a threshold."""
    device = read_survey(json.dumps(document))
    count = device.randomizer.random_words
    good = [1 << 63, (1 << 64) - 1, *[7] * (count - 2)]
    assert len(encode_report(device, "7", good)) == 17
    for wrong in ([*good, 1], good[:-1], [], *([*good[:-1], odd] for odd in (-1, 1 << 64, 0.5, True, None, "7"))):
        with pytest.raises(ClientError, match="whole numbers below 2\\^64, got others"):
            encode_report(device, "7", wrong)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.sampled_from(PLACES), values, st.sampled_from(["replace", "remove", "add"]))
@example((0, ("version",)), True, "replace")
@example((0, ("mechanism",)), "\ud800", "replace")
@example((2, ("options", "beta")), f"0.{'0' * 99}1", "replace")
@example((2, ("options", "beta")), f"0.{'0' * 100}1", "replace")
@example((2, ("options", "beta")), f"0.{'3' * 28}", "replace")
@example((2, ("options", "beta")), f"0.{'3' * 29}", "replace")
@example((2, ("options", "beta")), f"0.00{'3' * 28}", "replace")
@example((1, ("epsilon",)), f"1.{'0' * 57}1", "replace")
@example((1, ("epsilon",)), f"1.{'0' * 59}1", "replace")
def test_client_and_library_accept_the_same_surveys(
    place: tuple[int, tuple[Any, ...]], value: Any, change: str
) -> None:
    """Any one change of any field: both read it, or both refuse it; nothing else is raised."""
    index, path = place
    document = json.loads(json.dumps(DOCUMENTS[index]))
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    if change == "remove":
        del parent[path[-1]]
    elif change == "add" and isinstance(parent, dict):
        parent["surprise"] = value
    elif change == "add":
        parent.append(value)
    else:
        parent[path[-1]] = value
    text = json.dumps(document)
    try:
        survey = load_survey(text)
    except HubbubError:
        survey = None
    try:
        device = read_survey(text)
    except SurveyError:
        device = None
    assert (survey is None) == (device is None)
    if survey is not None and device is not None:
        assert survey.survey_id == device.survey_id
        assert len(encode_report(device, "7", [1, 2, 3, 4][: device.randomizer.random_words])) == 17
