"""The whole protocol on one screen, from values to the answer: a good place to start reading."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hubbub.analysis.answer import Answer
from hubbub.analysis.asking import answer_question
from hubbub.analysis.question import Question
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.mechanism import Accumulator, Randomizer, RandomWords, add_up


def run_protocol(
    mechanism: SurveyMechanism, values: Iterable[object], random_words: RandomWords, question: Question | None = None
) -> Answer:
    """The answer to a question about everybody's values, of which nothing but reports has left a device.

    Each role is played by the mechanism, and sees only what is passed to it here. The default question asks for the
    largest 20.
    """
    domain = mechanism.survey.domain
    asked = (question or Question()).about(domain)

    device: Randomizer = mechanism
    items = domain.encode(values)  # on each device: its value becomes an item,
    sent = device.randomize(items, random_words).tobytes()  # and its item a report; nothing else leaves it

    collector: Accumulator = mechanism
    received = np.frombuffer(sent, collector.report_dtype)
    tally = add_up(collector, [received])  # valid reports are added up, and forgotten

    return answer_question(mechanism, tally, asked)  # the analyst sees the sums
