"""The questions of a new survey: what, from which values, how private, how often, how many people, which site."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

from hubbub.analysis.naming import groups_of_lines, spell_groups, spell_names
from hubbub.analysis.outlook import Outlook, smallest_share
from hubbub.analysis.plan_words import verdict
from hubbub.analysis.planning import plan
from hubbub.analysis.question import SurveyNames
from hubbub.analysis.shuffle import ASSUMPTION, WHY_IDS
from hubbub.analysis.wording import number, one_in
from hubbub.dashboard import words
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import create_survey
from hubbub.mechanisms.subset import MAX_VALUES
from hubbub.model.coded_domain import Hostnames, Text, Words
from hubbub.model.domain import Categories, Domain
from hubbub.model.repeating import check_budget
from hubbub.model.survey import Survey
from hubbub.store.slices import SLICE_DAYS, open_now

EPSILONS: Final = {"0.5": "Very private", "1": "Private", "2": "Less private", "4": "Weak"}
PERIODS: Final = {"0": "Once", "28": "Every 4 weeks", "7": "Every week", "84": "Every 12 weeks"}
"""How often a browser is asked: days, with words."""
MAX_NAMES: Final = MAX_VALUES - 1
"""The most answers of a list; "(other)" is one more."""
_MOST_PEOPLE: Final = 10**12
_MOST_SITES: Final = 100
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,260}")


class Wanted(NamedTuple):
    """The checked fields of the form.

    Attributes
    ----------
    name : str
        A name for people to read.
    domain : Domain
        The values that may be answered.
    epsilon : str
        The privacy loss.
    mechanism : str
        The mechanism that the script for web pages supports for this domain.
    people : int
        How many are expected.
    origins : tuple of str
        The web origins whose pages may report.
    names : SurveyNames
        The values that are looked for by name, or counted together.
    every : int or None
        The days of a period, if it repeats.
    slice_days : int
        The days of a slice of time: 7 or 1.
    """

    name: str
    domain: Domain
    epsilon: str
    mechanism: str
    people: int
    origins: tuple[str, ...]
    names: SurveyNames
    every: int | None
    slice_days: int

    def survey(self) -> Survey:
        """Derive the survey. One that repeats opens with today's slice."""
        opens = None if self.every is None else open_now(self.every)
        few = (self.name, self.domain, self.epsilon, None, self.mechanism, None, self.people)
        return create_survey(*few, opens=opens, every=self.every)


def parse_form(given: Mapping[str, str]) -> Wanted:
    """Return the checked fields of a form. Raises ParameterError with a sentence for the user."""
    name = given.get("name", "").strip()
    if not 1 <= len(name) <= 100:
        raise ParameterError("Give the survey a name of at most 100 characters.")
    epsilon = given.get("epsilon", "1")
    if epsilon not in EPSILONS:
        raise ParameterError(f"Choose how private it is: ε must be one of {', '.join(EPSILONS)}.")
    domain = _domain(given)
    mechanism = "subset" if isinstance(domain, Categories) else "tree"
    people, origins = people_of(given.get("people", "")), origins_of(given.get("site", ""))
    lines = [] if domain.is_list else given.get("named", "").splitlines()
    groups, _ = spell_groups(domain, groups_of_lines(given.get("together", "").splitlines()))
    names = SurveyNames(spell_names(domain, lines).names, groups=groups)
    every, slice_days = given.get("every", "0"), SLICE_DAYS.get(given.get("slice", "week"))
    if every not in PERIODS or slice_days is None:
        raise ParameterError("Choose how often it is asked, and whether sums are kept for weeks or days.")
    days = int(every) or None
    if days is not None:
        check_budget(Decimal(epsilon), days)
    return Wanted(name, domain, epsilon, mechanism, people, origins, names, days, slice_days)


@lru_cache(maxsize=100)
def forecast(domain: Domain, epsilon: str, mechanism: str, people: int, every: int | None = None) -> dict[str, Any]:
    """Return the planner's result, and the smallest share if a tenth of the people come, or ten times as many.

    Takes a few seconds of CPU; results are cached.
    """
    made = plan(domain, people=people, epsilon=epsilon, mechanism=mechanism, every=every)
    built = made.outlook.mechanism_at(people, float(epsilon))
    crowds = []
    for came in (max(1, people // 10), people, 10 * people):
        least = made.share if came == people and made.share is not None else smallest_share(built, came)
        seen = math.isfinite(least)
        crowds.append(
            {
                "people": number(came),
                "share": one_in(least) if seen else None,
                "count": number(least * came) if seen else None,
                "width": least if seen else 0.0,
            }
        )
    twenty = Categories(tuple(map(str, range(20))))
    of_list = smallest_share(Outlook(twenty, mechanism="subset").mechanism_at(people, float(epsilon)), people)
    sums = [] if made.outside is None else [made.outside.words, ASSUMPTION, WHY_IDS]
    said = verdict(made, of_list)
    return {"verdict": said, "crowds": crowds, "words": made.words[: len(made.words) - len(sums)], "sums": sums}


def privacy_choices() -> list[tuple[str, str, str]]:
    """Return the ε of the form, each with its name and its meaning for one person.

    >>> privacy_choices()[1]
    ('1', 'Private', 'ε = 1: who is half sure of an answer becomes at most 73.2 % sure by a report')
    """
    after = {epsilon: words.even_guess(float(epsilon)) for epsilon in EPSILONS}
    half = "who is half sure of an answer becomes at most"
    return [
        (epsilon, name, f"ε = {epsilon}: {half} {after[epsilon]} sure by a report")
        for epsilon, name in EPSILONS.items()
    ]


def _domain(given: Mapping[str, str]) -> Domain:
    """Return the domain that was chosen."""
    kind = given.get("domain", "hostnames")
    if kind == "hostnames":
        return Hostnames()
    if kind == "words":
        return Words()
    if kind == "text":
        return Text()
    if kind != "list":
        raise ParameterError("Choose what may be answered.")
    names = list(dict.fromkeys(line.strip() for line in given.get("names", "").splitlines() if line.strip()))
    if not 2 <= len(names) <= MAX_NAMES:
        raise ParameterError(f"Write 2 to {MAX_NAMES:,} different answers, one per line; you wrote {len(names):,}.")
    return Categories(names)


def people_of(text: str) -> int:
    """Return how many people are expected."""
    plain = text.strip().replace(",", "").replace(" ", "").replace(".", "")
    if not plain.isascii() or not plain.isdigit() or not 1 <= int(plain[:15]) <= _MOST_PEOPLE:
        raise ParameterError("Say how many people you expect, as a whole number such as 10000.")
    return int(plain[:15])


def origins_of(text: str) -> tuple[str, ...]:
    """Return the origins of the sites that are named, or every origin if none is.

    They are spelled as browsers do: a path and the scheme's default port are removed, and https is added.
    """
    origins = []
    for site in filter(None, (part.strip() for part in text.lower().split(","))):
        full = site if "://" in site else f"https://{site}"
        scheme, _, rest = full.partition("://")
        host = rest.partition("/")[0].removesuffix({"https": ":443", "http": ":80"}.get(scheme, ""))
        origin = f"{scheme}://{host}"
        if _ORIGIN.fullmatch(origin) is None:
            raise ParameterError(
                "Write the address of your site as https://www.example.org, several with commas, or leave it empty."
            )
        origins.append(origin)
    if len(origins) > _MOST_SITES:
        raise ParameterError(f"Name at most {_MOST_SITES} sites; you wrote {len(origins):,}.")
    return tuple(dict.fromkeys(origins)) or ("*",)
