"""`hubbub find`: the whole protocol on a file of values."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.common import command, number, parse_domain, parse_options, print_json, print_table, progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hubbub.cli.people import People
    from hubbub.model.domain import Domain
    from hubbub.model.estimates import Answer
    from hubbub.model.mechanism import Items
    from hubbub.model.survey import Survey

DEFAULT_DOMAIN = "text:32"


@dataclass(frozen=True)
class Found:
    """A finished rehearsal."""

    survey: Survey
    answer: Answer
    truth: Counter[Any] | None
    seconds: float


@command
def find(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Text (one value a line), CSV or Parquet; - is stdin.")],
    column: Annotated[str | None, typer.Option(help="Column of the values, in CSV and Parquet.")] = None,
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
    top: Annotated[int, typer.Option(help="At most this many values.", min=1)] = 20,
    seed: Annotated[int | None, typer.Option(help="Repeat a rehearsal exactly; undoes its privacy.", min=0)] = None,
    truth: Annotated[bool, typer.Option("--truth", help="Show the true counts beside the found ones.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """Find the values many people hold, as if nobody could be trusted with them.

    Each row is one person (with --person: each person is). Every value is encoded, randomised on its own, sent,
    checked and added up; the answer is computed from the sums alone. Lines that are empty are nobody.

    \b
    hubbub find referrers.txt --domain text:24 --epsilon 2 --truth
    hubbub find visits.csv --column country --domain categories:countries.txt --json
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.cli.people import open_people

    with open_people(file, column=column, person=person, seed=seed) as people:
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
) -> Found:
    """Run a whole survey over the people, person by person."""
    from hubbub.analysis.decode import find_hitters
    from hubbub.mechanisms.registry import DEFAULT_MECHANISM, create_survey, mechanism_for
    from hubbub.model.estimates import Query
    from hubbub.numeric.randomness import BulkWords, SeededWords
    from hubbub.simulation.rehearsal import check_draws, rehearse, seeded_public_seed

    started = time.perf_counter()
    survey = create_survey(
        "find",
        domain,
        epsilon,
        delta,
        mechanism or DEFAULT_MECHANISM,
        options,
        expected_reports=people.count,
        public_seed=None if seed is None else seeded_public_seed(seed),
    )
    built = mechanism_for(survey)
    check_draws(built, people.count, "hubbub simulate draws the sums of any crowd at once")
    truth: Counter[Any] | None = Counter() if with_truth else None
    words = BulkWords() if seed is None else SeededWords(seed)
    with progress("Reporting", people.count, "people") as advance:
        tally = rehearse(built, survey.survey_id, _encoded(people, domain, truth, advance), words)
    answer = find_hitters(survey, tally, Query(top=top), built)
    return Found(survey, answer, truth, time.perf_counter() - started)


def _encoded(
    people: People, domain: Domain, truth: Counter[Any] | None, advance: Callable[[int], None]
) -> Iterator[Items]:
    for values in people.chunks():
        items = domain.encode(values)
        if truth is not None:
            truth.update(item.tobytes() for item in items)
        yield items
        advance(len(values))


def true_counts(found: Found) -> dict[Any, int]:
    """The people holding each value, as the domain normalises it, most first."""
    import numpy as np

    counted = (found.truth or Counter()).most_common()
    if not counted:
        return {}
    items = np.frombuffer(b"".join(item for item, _ in counted), np.uint64).reshape(len(counted), -1)
    values = found.survey.domain.decode(items)
    return {value: count for value, (_, count) in zip(values, counted, strict=True)}


def to_json(found: Found) -> dict[str, Any]:
    """The documented JSON object."""
    hitters = [asdict(hitter) for hitter in found.answer.hitters]
    document = {
        "survey": json.loads(found.survey.to_json()),
        "survey_id": found.survey.survey_id.hex(),
        "reports": found.answer.reports,
        "detection_limit": found.answer.detection_limit,
        "hitters": hitters,
    }
    if found.truth is not None:
        true = true_counts(found)
        for hitter in hitters:
            hitter["true_count"] = true.get(hitter["value"], 0)
        document["truth"] = [{"value": value, "count": count} for value, count in list(true.items())[:20]]
    return {**document, "seconds": found.seconds}


def show(found: Found, top: int) -> None:
    """The answer for people."""
    survey, answer = found.survey, found.answer
    true = true_counts(found)
    columns = [("value", "left"), ("people", "right"), ("share", "right"), ("between", "right"), ("sure", "right")]
    rows = []
    for hitter in answer.hitters:
        interval = f"{number(max(hitter.low, 0))} – {number(hitter.high)}"
        row = [str(hitter.value), number(hitter.count), f"{hitter.share:.2%}", interval, _sure(hitter.confidence)]
        rows.append([*row, number(true.get(hitter.value, 0))] if true else row)
    if true:
        columns.append(("true", "right"))
        seen = {hitter.value for hitter in answer.hitters}
        # With a full table nobody knows what else was seen.
        largest = list(true.items())[: 10 if len(seen) < top else 0]
        missed = [(value, count) for value, count in largest if value not in seen]
        rows.extend([str(value), "–", "–", "not seen", "–", number(count)] for value, count in missed)
    options = " ".join(f"{key}={value}" for key, value in survey.options.items())
    title = f"{survey.mechanism} {options}: {number(answer.reports)} reports, {survey.stated}"
    limit = f"Values held by fewer than about {number(answer.detection_limit)} people cannot be seen."
    nothing = "" if answer.hitters else "Nothing stands out. "
    print_table(title, columns, rows, f"{nothing}{limit} {found.seconds:.1f} s.")


def _sure(confidence: float) -> str:
    return "> 99.99 %" if confidence > 0.9999 else f"{confidence:.2%}"
