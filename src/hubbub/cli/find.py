"""`hubbub find`: the whole protocol on a file of values."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.common import (
    AllCandidates,
    AsJSON,
    Level,
    command,
    number,
    parse_domain,
    parse_options,
    plural,
    print_json,
    print_table,
    progress,
    read_names,
    say_if_compiling,
)
from hubbub.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hubbub.inputs.encoding import Encoder, Truth
    from hubbub.inputs.people import People
    from hubbub.model.domain import Domain
    from hubbub.model.estimates import Answer
    from hubbub.model.mechanism import Items
    from hubbub.model.survey import Survey

DEFAULT_DOMAIN = "text"
_TRUTH_SHOWN = 20
_UNSEEN = {"kept": "not seen", "cut": "was cut", "other": "is (other)"}


@dataclass(frozen=True)
class Found:
    """A finished rehearsal."""

    survey: Survey
    answer: Answer
    truth: Truth | None
    seconds: float


@command
def find(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Lines, CSV, JSON lines or Parquet; - is stdin.")],
    column: Annotated[str | None, typer.Option(help="Column of the values, where there are several.")] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="lines, csv, jsonl or parquet; default: by name and first bytes.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="Between the fields of CSV; default: as in its first rows.")
    ] = None,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy loss of each person.")] = "1",
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", "-m", help="A name of `hubbub mechanisms`; default: tree.")
    ] = None,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Repeatable.")] = None,
    delta: Annotated[str | None, typer.Option(help="Default: what the mechanism needs, 0 where pure.")] = None,
    domain: Annotated[
        str, typer.Option(help="hostnames, words, text, text:BYTES, integers:BITS, ipv4, categories:FILE or code:FILE.")
    ] = DEFAULT_DOMAIN,
    person: Annotated[
        str | None, typer.Option(help="Column that names the person: one random row of each is used.")
    ] = None,
    candidates: Annotated[
        str | None, typer.Option(metavar="FILE", help="Values named in advance, one a line: seen from a smaller count.")
    ] = None,
    all_candidates: AllCandidates = False,
    top: Annotated[int, typer.Option(help="At most this many values.", min=1)] = 20,
    level: Level = 0.05,
    seed: Annotated[int | None, typer.Option(help="Repeat a rehearsal exactly; undoes its privacy.", min=0)] = None,
    truth: Annotated[bool, typer.Option("--truth", help="Show the true counts beside the found ones.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Find the values many people hold, as if nobody could be trusted with them.

    Each row is one person (with --person: each person is). Every value is encoded, randomised on its own, sent,
    checked and added up; the answer is computed from the sums alone. Rows without a value are nobody.

    \b
    hubbub find referrers.txt --domain text:24 --epsilon 2 --truth
    hubbub find referrers.txt --candidates sites.txt --all-candidates
    hubbub find visits.csv --column country --domain categories:countries.txt --json
    hubbub find visits.jsonl --column country --domain words
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.inputs.people import open_people

    named = read_candidates(candidates, all_candidates)
    opened = open_people(file, column=column, person=person, format=file_format, delimiter=delimiter, seed=seed)
    with opened as people:
        found = find_in(
            people,
            parse_domain(domain),
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            options=parse_options(option or []),
            top=top,
            seed=seed,
            with_truth=truth,
            level=level,
            candidates=named,
            all_candidates=all_candidates,
        )
    if as_json:
        print_json(to_json(found))
    else:
        show(found, top)


def find_in(
    people: People,
    domain: Domain,
    *,
    epsilon: str,
    delta: str | None,
    mechanism: str | None,
    options: dict[str, str],
    top: int,
    seed: int | None,
    with_truth: bool,
    level: float = 0.05,
    candidates: list[str] | None = None,
    all_candidates: bool = False,
) -> Found:
    """Run a whole survey over the people, person by person."""
    from hubbub.inputs.encoding import Encoder
    from hubbub.mechanisms.registry import DEFAULT_MECHANISM
    from hubbub.model.estimates import Query
    from hubbub.simulation.find import rehearsal_survey, run_survey, words_for

    started = time.perf_counter()
    query = Query(top=top, level=level)
    survey = rehearsal_survey(
        domain, people.count, epsilon, delta, DEFAULT_MECHANISM if mechanism is None else mechanism, options, seed
    )
    encoder = Encoder(domain, people.missing, with_truth)
    say_if_compiling(survey.mechanism)
    with progress("Reporting", people.count, "people") as advance:
        items = encoded(people, encoder, advance)
        answer = run_survey(survey, items, words_for(seed), query, candidates, all_candidates)
    return Found(survey, replace(answer, intake=encoder.intake), encoder.truth, time.perf_counter() - started)


def read_candidates(file: str | None, everyone: bool) -> list[str] | None:
    """Values named in advance, from a file; None without one."""
    if file is None:
        if everyone:
            raise ParameterError("--all-candidates must come with --candidates, got none")
        return None
    if not (names := read_names(file)):
        raise InputError(f"the file of candidates must name at least one value, got none in {file!r}")
    return names


def encoded(people: People, encoder: Encoder, advance: Callable[[int], None]) -> Iterator[Items]:
    """Everybody's items, chunk by chunk."""
    for values in people.chunks():
        yield encoder.encode(values)
        advance(len(values))


def to_json(found: Found) -> dict[str, Any]:
    """The documented JSON object."""
    hitters = [asdict(hitter) for hitter in found.answer.hitters]
    document = {
        "survey": json.loads(found.survey.to_json()),
        "survey_id": found.survey.survey_id.hex(),
        "reports": found.answer.reports,
        "detection_limit": finite(found.answer.detection_limit),
        "long_limit": finite(found.answer.long_limit),
        "candidate_limit": finite(found.answer.candidate_limit),
        **(asdict(found.answer.intake) if found.answer.intake else {}),
        "hitters": hitters,
    }
    if found.truth is not None:
        for hitter in hitters:
            hitter["true_count"] = found.truth.count(hitter["value"])
        document["truth"] = [asdict(held) for held in found.truth.largest(_TRUTH_SHOWN)]
    return {**document, "seconds": found.seconds}


def show(found: Found, top: int) -> None:
    """The answer for people."""
    survey, answer = found.survey, found.answer
    with_named = answer.candidate_limit is not None
    columns = [("value", "left"), ("people", "right"), ("share", "right"), ("between", "right"), ("sure", "right")]
    columns += [("named", "left")] if with_named else []
    columns += [("true", "right")] if found.truth else []
    rows = []
    for hitter in answer.hitters:
        # An interval may be known better than its estimate, which is unbiased: what is shown holds what is shown.
        interval = f"{number(min(hitter.low, hitter.count))} – {number(max(hitter.high, hitter.count))}"
        row = [str(hitter.value), number(hitter.count), f"{hitter.share:.2%}", interval, _sure(hitter.confidence)]
        row += ["yes" if hitter.listed else "no"] if with_named else []
        rows.append([*row, number(found.truth.count(hitter.value))] if found.truth else row)
    if found.truth:
        seen = {hitter.value for hitter in answer.hitters}
        # With a full table nobody knows what else was seen.
        missing = found.truth.largest(_TRUTH_SHOWN)[: 10 if len(seen) < top else 0]
        for held in missing:
            if held.value not in seen:
                row = [str(held.value), "–", "–", _UNSEEN[held.fate], "–", *(["–"] if with_named else [])]
                rows.append([*row, number(held.count)])
    options = " ".join(f"{key}={value}" for key, value in survey.options.items())
    title = f"{survey.mechanism} {options}: {plural(answer.reports, 'report')}, {survey.stated}"
    nothing = "" if answer.hitters else "Nothing stands out. "
    caption = [f"{nothing}{about_limits(survey.domain, answer)} {found.seconds:.1f} s."]
    caption += [*_about_noise(answer), *_about_intake(survey.domain, answer)]
    print_table(title, columns, rows, caption)


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
    """A word on counts that no crowd can have."""
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
    """What became of values that could not be taken as they are."""
    intake, reports = answer.intake, answer.reports
    if intake is None:
        return []
    said = []
    if intake.missing:
        said.append(f"{plural(intake.missing, 'row has', 'rows have')} no value: nobody, and not among the reports.")
    if intake.cut:
        said.append(
            f"{_holders(intake.cut, reports)} a text of more than {domain.cut_after} bytes: "
            "it was cut there, and texts that begin alike are one."
        )
    if intake.other:
        said.append(f'{_holders(intake.other, reports)} what is not {_members(domain)}: it became "(other)".')
    return said


def _holders(count: int, reports: int) -> str:
    return f"{plural(count, 'person', 'people')} ({count / reports:.2%}) {'holds' if count == 1 else 'hold'}"


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
    return "> 99.99 %" if confidence > 0.9999 else f"{confidence:.2%}"
