"""The document of an answer: what is read back from it says the same, in every form."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub import Answer, Group, Hitter, Question, Survey, Words, create_survey
from hubbub.analysis.question import MODES
from hubbub.analysis.reply import Heading
from hubbub.analysis.tables import as_csv
from hubbub.cli.showing import AnswerView, show, to_json
from hubbub.collector.documents import answer_document
from hubbub.dashboard.meaning import Explained, answer_facts
from hubbub.model.estimates import Intake
from hubbub.testing import public_seed

SURVEY = create_survey("x", Words("de"), 4, public_seed=public_seed(1))

# Finite, and not so large that no table could hold it.
figures = st.floats(-1e12, 1e12)
sizes = st.floats(0, 1e12)
limits = st.floats(1, 1e12) | st.just(math.inf)
counts = st.integers(0, 10**12)
values = st.integers(0, 2**64 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
hitters = st.builds(
    Hitter,
    value=values,
    count=figures,
    share=st.floats(-3, 3).filter(lambda share: share == 0 or abs(share) > 1e-9),
    stderr=sizes,
    low=sizes,
    high=sizes,
    confidence=st.floats(0, 1),
    listed=st.booleans(),
    uneven=st.booleans(),
    stands_out=st.booleans(),
    ahead_of=st.none() | st.integers(0, 4095),
    fake_reports=counts,
    rival=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
)
intakes = st.builds(
    Intake,
    missing=counts,
    cut=counts,
    other=counts,
    over=counts,
    better_domain=st.none() | st.just("text"),
    better_share=st.none() | st.floats(0, 1),
    value_limit=st.none() | st.floats(1, 1e9),
    better_limit=st.none() | st.floats(1, 1e9),
    too_long=st.none() | st.floats(0, 1),
)
groups = st.builds(
    Group,
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    members=counts,
    count=figures,
    share=figures,
    stderr=sizes,
    low=sizes,
    high=sizes,
)
answers = st.builds(
    Answer,
    reports=counts,
    detection_limit=limits,
    hitters=st.lists(hitters, max_size=60).map(tuple),
    candidate_limit=st.none() | limits,
    long_limit=st.none() | limits,
    intake=st.none() | intakes,
    whole_list=st.booleans(),
    values_per_person=st.integers(1, 1000),
    not_shown=st.integers(0, 10_000),
    foreign_candidates=st.integers(0, 10_000),
    post_processing=st.sampled_from(["none", "clip", "simplex"]),
    groups=st.lists(groups, max_size=30).map(tuple),
    mode=st.sampled_from(MODES),
    share=st.floats(0, 1),
)


def on_a_terminal(survey: Survey, answer: Answer) -> str:
    """What `hubbub hitters` prints."""
    printed = StringIO()
    with redirect_stdout(printed):
        show(AnswerView(Heading.of(survey), lambda: survey, answer, None, 0.0), Question())
    return printed.getvalue()


def sent(survey: Survey, answer: Answer) -> Answer:
    """The answer as it comes out of the text that a collector sends."""
    stored = SimpleNamespace(survey=survey, survey_id=survey.survey_id)
    return Answer.from_document(json.loads(answer_document(stored, answer, "").model_dump_json()))


def forms(survey: Survey, answer: Answer) -> Iterator[object]:
    """The answer in every form that does not depend on the machine."""
    yield repr(answer)
    yield answer._repr_html_()
    yield json.loads(answer.to_json())
    yield as_csv(answer)
    yield answer_facts(Explained(answer, ()))
    yield to_json(AnswerView(Heading.of(survey), lambda: survey, answer, None, 0.0))
    if any(hitter.stands_out for hitter in answer.hitters):  # otherwise a planner computes for a second
        yield on_a_terminal(survey, answer)


@settings(max_examples=150, deadline=None)
@given(answers)
def test_any_answer_comes_back(answer: Answer) -> None:
    """From its document, and from the text that a collector sends, comes an equal answer with the same words."""
    alone = json.loads(json.dumps(answer.to_document(), allow_nan=False))
    assert Answer.from_document(alone) == answer
    without = Answer(**{name: getattr(answer, name) for name in Answer.__slots__ if name not in ("intake", "limit_of")})
    assert sent(SURVEY, without) == without
    assert list(forms(SURVEY, Answer.from_document(alone))) == list(forms(SURVEY, answer))
    assert list(forms(SURVEY, sent(SURVEY, without))) == list(forms(SURVEY, without))
