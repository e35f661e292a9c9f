"""How an answer is shown: as a table with sentences below it, or as one JSON object."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

from hubbub.cli.common import number, plural, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hubbub.inputs.encoding import Truth
    from hubbub.model.domain import Domain
    from hubbub.model.estimates import Answer, Hitter
    from hubbub.model.survey import Survey

_TRUTH_SHOWN = 20
_MANY_OTHER = 0.05  # of the people, from which a hint is given
_LIST_SHOWN = 50  # rows of a list on a terminal
_COMPARED = 3  # values at the top of a list about which a sentence says whom they are ahead of
_UNSEEN = {"kept": "not seen", "cut": "was cut", "other": "is (other)"}


@dataclass(frozen=True)
class Found:
    """An answer and what it came from; with the truth where the values are at hand."""

    survey: Survey
    answer: Answer
    truth: Truth | None
    seconds: float


def to_json(found: Found) -> dict[str, Any]:
    """The answer as the JSON object that docs/commands.md describes."""
    hitters = [asdict(hitter) for hitter in found.answer.hitters]
    document = {
        "survey": json.loads(found.survey.to_json()),
        "survey_id": found.survey.survey_id.hex(),
        "reports": found.answer.reports,
        "detection_limit": finite(found.answer.detection_limit),
        "long_limit": finite(found.answer.long_limit),
        "candidate_limit": finite(found.answer.candidate_limit),
        "whole_list": found.answer.whole_list,
        **(asdict(found.answer.intake) if found.answer.intake else {}),
        "hitters": hitters,
    }
    if found.truth is not None:
        for hitter in hitters:
            hitter["true_count"] = found.truth.count(hitter["value"])
        document["truth"] = [asdict(held) for held in found.truth.largest(_TRUTH_SHOWN)]
    return {**document, "seconds": found.seconds}


def show(found: Found, top: int) -> None:
    """Print the domain, and the answer as a table with sentences below it."""
    survey, answer = found.survey, found.answer
    typer.echo(f"Domain: {_domain_words(survey.domain)}.")
    with_named = answer.candidate_limit is not None
    columns = [("value", "left"), ("people", "right"), ("share", "right"), ("between", "right"), ("sure", "right")]
    columns += [("named", "left")] if with_named else []
    columns += [("true", "right")] if found.truth else []
    rows = []
    for hitter in answer.hitters[: _LIST_SHOWN if answer.whole_list else None]:
        # An unbiased count may lie beyond 0 or all reports, where the interval ends: what is shown holds the count.
        interval = f"{number(min(hitter.low, hitter.count))} – {number(max(hitter.high, hitter.count))}"
        sure = _sure(hitter.confidence) if hitter.stands_out else "–"
        row = [str(hitter.value), number(hitter.count), f"{hitter.share:.2%}", interval, sure]
        row += ["yes" if hitter.listed else "no"] if with_named else []
        rows.append([*row, number(found.truth.count(hitter.value))] if found.truth else row)
    if found.truth:
        rows += _unseen(found.truth, answer, top, with_named)
    options = " ".join(f"{key}={value}" for key, value in survey.options.items())
    title = f"{survey.mechanism} {options}".strip() + f": {plural(answer.reports, 'report')}, {survey.stated}"
    caption = [*_about_list(answer)] if answer.whole_list else [_about_search(survey.domain, answer)]
    caption[-1] += f" {found.seconds:.1f} s."
    caption += [*_about_noise(answer), *_about_intake(survey.domain, answer)]
    print_table(title, columns, rows, caption)


def _unseen(truth: Truth, answer: Answer, top: int, with_named: bool) -> list[list[str]]:
    """Rows of the values that most people hold and that the answer does not have."""
    seen = {hitter.value for hitter in answer.hitters}
    # In a full table, a value that is not shown may have been seen all the same.
    missing = truth.largest(_TRUTH_SHOWN)[: 10 if answer.whole_list or len(seen) < top else 0]
    return [
        [str(held.value), "–", "–", _UNSEEN[held.fate], "–", *(["–"] if with_named else []), number(held.count)]
        for held in missing
        if held.value not in seen
    ]


def _about_search(domain: Domain, answer: Answer) -> str:
    """What stands out, and what could have been seen."""
    return f"{'' if answer.hitters else 'Nothing stands out. '}{about_limits(domain, answer)}"


def _about_list(answer: Answer) -> list[str]:
    """What a table of a whole list says, in sentences: what stands out, and which values are ahead of which."""
    rows = answer.hitters
    said = []
    if len(rows) > _LIST_SHOWN:
        said.append(f"The first {_LIST_SHOWN} of {plural(len(rows), 'value')}; --json has all of them.")
    standing = sum(row.stands_out for row in rows)
    said.append(f"{standing} of {plural(len(rows), 'value')} surely held by somebody; all intervals hold together.")
    ahead = [_about_rank(rows, place) for place in range(min(_COMPARED, len(rows))) if rows[place].ahead_of]
    return [*said, *(ahead or ["No value is surely ahead of another."])]


def _about_rank(rows: Sequence[Hitter], place: int) -> str:
    """Whom the value at this place of a list is surely ahead of, in a sentence."""
    value, behind, below = rows[place].value, rows[place].ahead_of or 0, len(rows) - 1 - place
    if behind < below:
        return f"{value} is surely ahead of {behind} of the {len(rows) - 1} others."
    return f"{value} is surely ahead of {rows[-1].value if below == 1 else 'all below it'}."


def finite(limit: float | None) -> float | None:
    """A limit as JSON has it, which knows no infinity: null where nothing could be seen, or where there is none."""
    return limit if limit is not None and math.isfinite(limit) else None


def about_limits(domain: Domain, answer: Answer) -> str:
    """What could have been seen, in a sentence or two."""
    usual, long, named = (finite(x) for x in (answer.detection_limit, answer.long_limit, answer.candidate_limit))
    if usual is None:
        said = "Too few people: nothing could have been found by a search."
        if named is not None:
            return f"{said} Values that were named are seen from about {number(named)} people on."
        return f"{said} More people, a larger epsilon or candidates named in advance would help."
    said = f"Values held by fewer than about {number(usual)} people may go unseen"
    if named is not None:
        said += f", named ones by fewer than about {number(named)}"
    if (example := _long_example(domain)) and answer.long_limit is not None:
        among = "cannot be found among so few people" if long is None else f"by fewer than about {number(long)}"
        said += f"; long ones, such as {example}, {among}"
    return f"{said}."


def _long_example(domain: Domain) -> str | None:
    """A value with about as many bits as those that `long_limit` speaks of."""
    from hubbub.model.coded_domain import CodedText

    if not isinstance(domain, CodedText):
        return None
    return {
        "hostnames-1": "national-gallery.org.uk",
        "words-1": "thunderstorm",
        "text-1": "https://example.org/articles/summer",
    }.get(domain.normalization)


def _about_noise(answer: Answer) -> list[str]:
    """Sentences on counts that no crowd can have, and on reports that disagree."""
    said = []
    if any(hitter.uneven for hitter in answer.hitters):
        names = ", ".join(str(hitter.value) for hitter in answer.hitters if hitter.uneven)
        said.append(f"Parts of the reports disagree about {names}: a shared sum, or forged reports.")
    if any(min(hitter.low, hitter.count) < 0 for hitter in answer.hitters):
        said.append("A count below 0 comes from the noise: read it as 0.")
    if any(hitter.share > 1 for hitter in answer.hitters):
        said.append("A share above 100 % comes from the noise: read it as 100 %.")
    return said


def _about_intake(domain: Domain, answer: Answer) -> list[str]:
    """What became of values that were missing, cut or not in the domain, in sentences."""
    intake, reports = answer.intake, answer.reports
    if intake is None:
        return []
    said = []
    if intake.missing:
        said.append(f"{plural(intake.missing, 'row has', 'rows have')} no value: skipped, and not among the reports.")
    if intake.cut:
        said.append(
            f"{_holders(intake.cut, reports)} a text of more than {domain.cut_after} bytes: "
            "it was cut there, and texts that begin alike are one."
        )
    if intake.other:
        became = '"(other)"' if domain.decode(domain.encode([None])) == ["(other)"] else "one of them, by a public rule"
        said.append(f"{_holders(intake.other, reports)} what is not {_members(domain)}: it became {became}.")
        if intake.other > _MANY_OTHER * reports:
            said.append("That is more than 5 %: --domain text holds any text, and integers:64 whole numbers.")
    return said


def _holders(count: int, reports: int) -> str:
    """The beginning of a sentence about some people: "3 people (0.10%) hold"."""
    return f"{plural(count, 'person', 'people')} ({count / reports:.2%}) {'holds' if count == 1 else 'hold'}"


def _domain_words(domain: Domain) -> str:
    """What people were asked for, in words."""
    from hubbub.model.coded_domain import CodedText
    from hubbub.model.domain import Bytes, Categories, Integers, IPv4

    if isinstance(domain, Integers):
        return f"whole numbers below 2^{domain.bits} − 1"
    if isinstance(domain, IPv4):
        return "addresses of IPv4"
    if isinstance(domain, Bytes):
        return f"text of {domain.max_bytes} bytes"
    if isinstance(domain, Categories):
        return f"{plural(len(domain.names), 'name')}{' and (other)' if domain.other else ''}"
    if isinstance(domain, CodedText):
        return {"text-1": "text, in lower case", "words-1": "words", "hostnames-1": "host names"}[domain.normalization]
    return "values of its own kind"


def _members(domain: Domain) -> str:
    """The values of a domain that has "(other)", in words."""
    from hubbub.model.coded_domain import CodedText
    from hubbub.model.domain import Categories, Integers, IPv4

    if isinstance(domain, Integers):
        return f"a whole number from 0 to 2^{domain.bits} − 2"
    if isinstance(domain, IPv4):
        return "an address such as 192.0.2.1"
    if isinstance(domain, Categories):
        return f"one of the {plural(len(domain.names), 'name')}"
    if isinstance(domain, CodedText):
        kind = domain.normalization.partition("-")[0].removesuffix("s").replace("hostname", "host name")
        return f"a {kind} whose code has at most {domain.width} bits"
    return "in the domain"


def _sure(confidence: float) -> str:
    """A confidence as a share, never rounded up to 100 %."""
    return "> 99.99 %" if confidence > 0.9999 else f"{confidence:.2%}"
