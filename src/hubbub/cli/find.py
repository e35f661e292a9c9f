"""`hubbub find`: the whole protocol on a file of values."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
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
    print_json,
    print_table,
    progress,
    read_names,
)
from hubbub.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hubbub.cli.people import People
    from hubbub.model.domain import Domain
    from hubbub.model.estimates import Answer
    from hubbub.model.mechanism import Items
    from hubbub.model.survey import Survey

DEFAULT_DOMAIN = "text"
_TRUTH_SHOWN = 20


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
    checked and added up; the answer is computed from the sums alone. Lines that are empty are nobody.

    \b
    hubbub find referrers.txt --domain text:24 --epsilon 2 --truth
    hubbub find referrers.txt --candidates sites.txt --all-candidates
    hubbub find visits.csv --column country --domain categories:countries.txt --json
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.cli.people import open_people

    named = read_candidates(candidates, all_candidates)
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
    from hubbub.mechanisms.registry import DEFAULT_MECHANISM
    from hubbub.model.estimates import Query
    from hubbub.simulation.find import rehearsal_survey, run_survey, words_for

    started = time.perf_counter()
    query = Query(top=top, level=level)
    survey = rehearsal_survey(
        domain, people.count, epsilon, delta, DEFAULT_MECHANISM if mechanism is None else mechanism, options, seed
    )
    truth: Counter[Any] | None = Counter() if with_truth else None
    with progress("Reporting", people.count, "people") as advance:
        items = encoded(people, domain, truth, advance)
        answer = run_survey(survey, items, words_for(seed), query, candidates, all_candidates)
    return Found(survey, answer, truth, time.perf_counter() - started)


def read_candidates(file: str | None, everyone: bool) -> list[str] | None:
    """Values named in advance, from a file; None without one."""
    if file is None:
        if everyone:
            raise ParameterError("--all-candidates must come with --candidates, got none")
        return None
    if not (names := read_names(file)):
        raise InputError(f"the file of candidates must name at least one value, got none in {file!r}")
    return names


def encoded(
    people: People, domain: Domain, truth: Counter[Any] | None, advance: Callable[[int], None]
) -> Iterator[Items]:
    """Everybody's items, chunk by chunk; the truth is counted on the way."""
    from hubbub.numeric.bulk_items import encode_items

    for values in people.chunks():
        items = encode_items(domain, values)
        if truth is not None:
            truth.update(items.view(f"V{8 * domain.item_words}").ravel().tolist())
        yield items
        advance(len(values))


def largest_counts(found: Found) -> dict[Any, int]:
    """The people holding each of the commonest values, as the domain normalises them, most first."""
    import numpy as np

    counted = (found.truth or Counter()).most_common(_TRUTH_SHOWN)
    if not counted:
        return {}
    items = np.frombuffer(b"".join(item for item, _ in counted), np.uint64).reshape(len(counted), -1)
    return dict(zip(found.survey.domain.decode(items), (count for _, count in counted), strict=True))


def true_counts(found: Found) -> list[int]:
    """The people holding each value that was found."""
    items = found.survey.domain.encode([hitter.value for hitter in found.answer.hitters])
    return [(found.truth or Counter())[item.tobytes()] for item in items]


def to_json(found: Found) -> dict[str, Any]:
    """The documented JSON object."""
    hitters = [asdict(hitter) for hitter in found.answer.hitters]
    document = {
        "survey": json.loads(found.survey.to_json()),
        "survey_id": found.survey.survey_id.hex(),
        "reports": found.answer.reports,
        "detection_limit": found.answer.detection_limit,
        "candidate_limit": found.answer.candidate_limit,
        "hitters": hitters,
    }
    if found.truth is not None:
        for hitter, count in zip(hitters, true_counts(found), strict=True):
            hitter["true_count"] = count
        document["truth"] = [{"value": value, "count": count} for value, count in largest_counts(found).items()]
    return {**document, "seconds": found.seconds}


def show(found: Found, top: int) -> None:
    """The answer for people."""
    survey, answer = found.survey, found.answer
    largest = largest_counts(found)
    with_named = answer.candidate_limit is not None
    columns = [("value", "left"), ("people", "right"), ("share", "right"), ("between", "right"), ("sure", "right")]
    columns += [("named", "left")] if with_named else []
    columns += [("true", "right")] if largest else []
    rows = []
    for hitter, true in zip(answer.hitters, true_counts(found), strict=True):
        interval = f"{number(max(hitter.low, 0))} – {number(max(hitter.high, 0))}"
        row = [str(hitter.value), number(hitter.count), f"{hitter.share:.2%}", interval, _sure(hitter.confidence)]
        row += ["yes" if hitter.listed else "no"] if with_named else []
        rows.append([*row, number(true)] if largest else row)
    if largest:
        seen = {hitter.value for hitter in answer.hitters}
        # With a full table nobody knows what else was seen.
        missing = list(largest.items())[: 10 if len(seen) < top else 0]
        unseen = ["–", "–", "not seen", "–", *(["–"] if with_named else [])]
        rows.extend([str(value), *unseen, number(count)] for value, count in missing if value not in seen)
    options = " ".join(f"{key}={value}" for key, value in survey.options.items())
    title = f"{survey.mechanism} {options}: {number(answer.reports)} reports, {survey.stated}"
    limit = f"Values held by fewer than about {number(answer.detection_limit)} people may go unseen"
    limit += f", named ones by fewer than about {number(answer.candidate_limit)}." if answer.candidate_limit else "."
    nothing = "" if answer.hitters else "Nothing stands out. "
    print_table(title, columns, rows, f"{nothing}{limit} {found.seconds:.1f} s.")


def _sure(confidence: float) -> str:
    return "> 99.99 %" if confidence > 0.9999 else f"{confidence:.2%}"
