"""A collector's answer says what the same answer says on the machine that made it: every kind, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import NamedTuple

import pytest
from tests.collector.service import Service, running

from hubbub import (
    Answer,
    Categories,
    Domain,
    Hostnames,
    Integers,
    Question,
    SeededRandomWords,
    Survey,
    Words,
    create_survey,
    find_hitters,
    mechanism_for,
)
from hubbub.analysis.reply import Heading
from hubbub.analysis.tables import as_csv
from hubbub.cli.hitters import ask_hitters
from hubbub.cli.showing import AnswerView, show, to_json
from hubbub.testing import public_seed
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

POLL = Categories([f"option {number}" for number in range(60)])


class Kind(NamedTuple):
    """A survey, the values of those who answer, and a question."""

    name: str
    domain: Domain
    epsilon: float
    values: list[object]
    question: Question = Question()
    mechanism: str | None = None


KINDS = [
    Kind("empty", Hostnames(), 1, []),
    Kind("few people", Integers(32), 1, [7] * 30),
    Kind(
        "few people, candidates out of reach", Hostnames(), 0.5, ["a.example"] * 9, Question(candidates=["a.example"])
    ),
    Kind("long ones out of reach", Words("de"), 4, ["tee"] * 66),
    Kind("numbers", Integers(32), 4, [7] * 2_000 + [8] * 2_000 + list(range(1_000)), Question(top=1)),
    Kind(
        "candidates",
        Integers(32),
        4,
        [7] * 2_000 + list(range(1_000)),
        Question(candidates=[7, 8], all_candidates=True),
    ),
    Kind("forged", Categories(["a", "b"]), 2, ["a"] * 300 + ["b"] * 90, Question(forged=40)),
    Kind("a list", POLL, 2, [f"option {number % 4}" for number in range(2_000)]),
    Kind(
        "hitters of a list", POLL, 2, [f"option {number % 4}" for number in range(2_000)], Question(hitters_only=True)
    ),
    Kind("slots", POLL, 4, [f"option {number % 4}" for number in range(2_000)], Question(values_per_person=3)),
    Kind("jl", Integers(8), 2, [7] * 3_000, Question(top=1), "jl"),
    Kind("bucket", Integers(32), 4, [7] * 3_000, Question(), "bucket"),
    Kind("naive-laplace", Integers(6), 4, [7] * 900, Question(), "naive-laplace"),
    Kind("glps", Integers(12), 4, [7] * 2_000, Question(), "glps"),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector."""
    with running(str(tmp_path_factory.mktemp("answers") / "store.db")) as started:
        yield started


def said(survey: Survey, answer: Answer, question: Question) -> list[object]:
    """The answer in every form: terminal, Python, notebook, JSON, CSV."""
    view, printed = AnswerView(Heading.of(survey), lambda: survey, answer, None, 0.0), StringIO()
    with redirect_stdout(printed):
        show(view, question)
    return [printed.getvalue(), repr(answer), answer._repr_html_(), to_json(view), answer.to_json(), as_csv(answer)]


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_the_same_is_said_here_and_there(kind: Kind, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that came from a collector is equal to the one made here, and every form of it is the same text."""
    monkeypatch.setenv("no_proxy", "*")
    seed = public_seed(KINDS.index(kind))
    survey = create_survey("x", kind.domain, kind.epsilon, None, kind.mechanism, {}, 3_000, public_seed=seed)
    service.store.add_survey(survey)
    if kind.values:
        mechanism = mechanism_for(survey)
        words = SeededRandomWords(1).draw(len(kind.values), mechanism.random_words_per_report)
        reports = mechanism.randomize(survey.domain.encode(kind.values), words)
        for start in range(0, len(reports), 1_000):
            body = encode_batch(survey.survey_id, reports[start : start + 1_000])
            assert service.upload(survey.survey_id, body).status == 200
    asked = kind.question
    heading, there = ask_hitters(f"{service.url}/v1/surveys/{survey.survey_id.hex()}", asked, service.token)
    here = find_hitters(
        survey,
        service.store.tally(survey.survey_id),
        top=asked.top,
        candidates=asked.candidates,
        all_candidates=asked.all_candidates,
        hitters_only=asked.hitters_only,
        values_per_person=asked.values_per_person,
        forged=asked.forged,
    )
    assert heading == Heading.of(survey, "")
    assert there == here
    assert said(survey, there, asked) == said(survey, here, asked)
    if kind.name == "few people, candidates out of reach":
        assert "Nor could a value that was named be seen" in repr(there)
        assert json.loads(there.to_json())["out_of_reach"] == ["detection_limit", "long_limit", "candidate_limit"]
    if kind.name == "long ones out of reach":
        assert "long ones cannot be found: too few people" in repr(there)
    if kind.name == "numbers":
        assert "1 of 2 values that stand out are shown." in repr(there)
