"""The words of a survey's public page, each of which its owner may replace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from hubbub.analysis.wording import at_most, at_most_percent, plural
from hubbub.model.repeating import YEAR, cost_words, days_words, times_in
from hubbub.model.survey import Survey


class Text(NamedTuple):
    """A text that visitors see.

    Attributes
    ----------
    label : str
        What the owner's form calls it.
    usual : str
        hubbub's words; empty if there are none. Names in braces stand for facts of the survey.
    rows : int
        How many lines the form has for it.
    """

    label: str
    usual: str = ""
    rows: int = 1


TEXTS: Final = {
    "title": Text("What the survey is called"),
    "description": Text("What is asked, and what for", "", 3),
    "operator": Text("Who runs it, and how to reach them"),
    "tagline": Text("Below the name", "A survey that cannot hear you"),
    "state_open": Text("The state, while it takes reports", "open"),
    "state_closed": Text("The state, once it is over", "closed"),
    "asked_title": Text("Heading: what is asked", "What is asked, and by whom"),
    "asked": Text(
        "What is asked",
        "{who} each browser, {often}, {question}. The site learns which answers many people give. It cannot "
        "be sure of yours: beside this is how sure it can become.",
        4,
    ),
    "choices": Text("Before the answers of a list", "The answers are:"),
    "learn_title": Text("Heading: the consequence", "What somebody could learn from your report"),
    "learn_before": Text("The odds without a report", "Without your report: right for 50 of 100 people"),
    "learn_after": Text("The odds with a report", "With your report: right for at most {of_100} of 100"),
    "learn": Text(
        "The consequence",
        "Imagine somebody who must guess which of two answers is yours. Without your report she is right for 50 of 100 "
        "people; with it, for at most {of_100} of 100, however she computes. That is what ε = {epsilon}{and_delta} "
        "means, and your browser checks it before it answers.",
        4,
    ),
    "year": Text("What a year costs in all", "{year}", 3),
    "try_title": Text("Heading: try it", "Watch a value turn into noise"),
    "try": Text(
        "Try it",
        "This is the code that runs in visitors' browsers, on this page, on your device. Nothing is sent. A report has "
        "{bytes} bytes: 16 are a random number, and the rest is a response that {hides}.",
        3,
    ),
    "try_label": Text("Try it: the field", "Your value"),
    "try_button": Text("Try it: the button", "Randomise my value"),
    "answer_title": Text("Heading: the answer", "The answer"),
    "answer_nothing": Text("An answer without values", "Nothing stands out yet."),
    "answer_when": Text("What the answer is about", "until {until}, from {answers} answers"),
    "answer_range": Text("What the lines of the picture are", "Lines: the range of the true number."),
    "answer_by": Text("The last line of the picture", "Counted by hubbub, without hearing anyone."),
    "answer_notes": Text("Below the answer", "{notes}", 3),
    "opt_out_title": Text("Heading: opting out", "Do not want to take part?"),
    "opt_out": Text(
        "Opting out",
        "Switch on Global Privacy Control or Do Not Track in your browser: then nothing is stored and nothing is sent. "
        "A site can show you, on its own privacy page, which surveys your browser has answered, and a button to opt "
        "out. Only the site can do so: your browser keeps the record for that site alone, and this server cannot read "
        "it.",
        4,
    ),
    "kept_title": Text("Heading: what is kept", "What is kept"),
    "kept": Text(
        "What is kept",
        "This server adds each report to sums within seconds and erases it. It stores no address, no user agent and no "
        "time of a report, and sets no cookie. Your browser keeps in its localStorage, for the site that asks, that it "
        "has answered. Like every server, this one sees that a browser sent something; it cannot see the value.",
        4,
    ),
    "survey_link": Text("The link to the survey itself", "The survey itself, as your browser reads and checks it"),
    "skip": Text("The link for keyboards", "Skip to the content"),
    "foot": Text(
        "The last line",
        "Every value is randomised on the visitor's own device, before anything leaves it. This server keeps only "
        "sums.",
        2,
    ),
}
"""All texts by name, in the order of the page."""


def say(name: str, texts: Mapping[str, str], facts: Mapping[str, str]) -> str:
    """Return a text in the owner's words, or else in hubbub's, with the facts that it names in braces.

    >>> say("learn_after", {}, {"of_100": "74"}), say("tagline", {"tagline": "Ganz {privat}"}, {})
    ('With your report: right for at most 74 of 100', 'Ganz {privat}')
    """
    said = texts.get(name) or TEXTS[name].usual
    for fact, words in facts.items():
        said = said.replace(f"{{{fact}}}", words)
    return said


def right_of_100(epsilon: float, delta: float = 0.0) -> int:
    """Return how often of 100 times a guess between two answers is right at most, rounded up, after a report.

    Without it, 50 are right. A response is at most e^ε times as likely for one answer as for the other, and δ more.

    >>> right_of_100(0.0), right_of_100(0.5), right_of_100(1.0), right_of_100(4.0), right_of_100(28.0)
    (50, 63, 74, 99, 100)
    """
    share = (math.exp(min(epsilon, 700.0)) + delta) / (1 + math.exp(min(epsilon, 700.0)))
    return min(100, math.ceil(round(100 * share, 9)))


def facts_of(survey: Survey) -> dict[str, str]:
    """Return the facts that texts may name, of a survey alone: what a report and a year of them reveal."""
    epsilon, delta = float(survey.epsilon), float(survey.delta)
    hides = "is hidden by noise"
    if not survey.delta:
        hides = (
            f"any other value could have given; yours makes it at most {at_most(math.exp(epsilon), 3)} times as likely"
        )
    return {
        "epsilon": f"{survey.epsilon:f}",
        "delta": f"{survey.delta:f}",
        "and_delta": f" (and δ = {survey.delta:f})" if survey.delta else "",
        "of_100": str(right_of_100(epsilon, delta)),
        "after": at_most_percent(1 / (1 + math.exp(-epsilon))),
        "often": "once" if survey.every is None else f"once every {days_words(survey.every)}",
        "hides": hides,
        "year": _year(survey),
    }


def _year(survey: Survey) -> str:
    """Return what the reports of a year reveal together."""
    if survey.every is None:
        return "Your browser answers this once, so this is also all that a year of it costs."
    times = times_in(YEAR, survey.every)
    total = (survey.epsilon * times).normalize()
    at_worst = right_of_100(float(total), float(survey.delta) * times)
    guess = "nearly always" if at_worst == 100 else f"at most {at_worst} times of 100"
    return (
        f"{cost_words(survey.epsilon, survey.every)} Each answer has fresh noise. Somebody who knew which "
        f"{plural(times, 'report is', 'reports are')} yours would be right {guess}; nothing in "
        "a report says whose it is. Your browser keeps count: all surveys of a site together may cost "
        f"ε = {Decimal(8)} in 30 days and {Decimal(28)} in 365, and after that it stays silent."
    )
