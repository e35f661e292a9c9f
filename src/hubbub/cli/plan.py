"""`hubbub plan`: plans a survey's people, ε and smallest share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from hubbub.cli.common import complain, number, parse_count, parse_every, plural, print_json, print_table
from hubbub.cli.options import (
    DOMAINS,
    Number,
    WholeNumber,
    json_option,
    level_option,
    mechanism_option,
    options_option,
    parse_share,
)
from hubbub.errors import ParameterError

if TYPE_CHECKING:
    from hubbub.analysis.planning import Plan
    from hubbub.analysis.relayed import ThroughRelay


@click.command
@click.option("--people", "-n", help="How many will answer: 8000, 1e6, 5m.")
@click.option("--epsilon", "-e", help="Privacy loss of each person.")
@click.option("--share", help="The smallest share of the people that must be found: 0.01, 1% or 1/100.")
@click.option("--domain", default="text", help=DOMAINS)
@click.option(
    "--candidates",
    default="0",
    metavar="NUMBER",
    help="How many values will be named in advance; the plan is about those.",
)
@click.option(
    "--values-per-person",
    type=WholeNumber(),
    default=1,
    metavar="K",
    help="Each person may have K values, and reports one slot of K.",
)
@click.option("--every", metavar="LENGTH", help="The survey repeats every so many days or weeks: 28d or 4w.")
@click.option(
    "--relay",
    metavar="CROWD",
    help="Reports go through a relay, which passes on at least so many together: what each of the two learns.",
)
@mechanism_option
@options_option
@click.option(
    "--chance", type=Number(min=0, max=1), default=0.95, help="The chance with which the share should be found."
)
@level_option
@click.option("--plot", metavar="FILE", help="Draw the chance to be seen against the share: .png, .svg, .pdf.")
@click.option("--proved", is_flag=True, help="Say what is proved of the search, without its hashed buckets.")
@json_option
def plan(
    people: str | None,
    epsilon: str | None,
    share: str | None,
    domain: str,
    candidates: str,
    values_per_person: int,
    every: str | None,
    relay: str | None,
    mechanism: str | None,
    options: dict[str, str],
    chance: float,
    level: float,
    plot: str | None,
    proved: bool,
    as_json: bool,
) -> None:
    """Plan a survey: any two of people, ε and the smallest share to be found give the third.

    Says in sentences what would be found and how private the sums are. Then it prints tables: the chance and error of
    shares, the smallest share at other ε, what an observer can learn about one person, and the total ε of several
    surveys a year.

    \b
    hubbub plan --people 8000 --epsilon 1 --domain hostnames
    hubbub plan --people 8000 --epsilon 1 --domain hostnames --candidates 1000
    hubbub plan --epsilon 2 --share 1% --domain words
    hubbub plan --people 50k --epsilon 2 --domain hostnames --values-per-person 5
    hubbub plan --people 10k --epsilon 2 --domain hostnames --every 4w
    hubbub plan --people 10k --epsilon 6 --domain hostnames --relay 10k
    hubbub plan --people 500 --share 0.2 --domain choices:yes,no,unsure
    hubbub plan --people 1m --epsilon 1 --domain integers:64 --proved
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.analysis.planning import plan as make_plan
    from hubbub.analysis.plots import check_plot_file
    from hubbub.cli.domains import domain_file, parse_domain
    from hubbub.outputs import check_outputs

    if plot is not None:
        check_plot_file(plot)
        check_outputs([plot], [domain_file(domain)])
    made = make_plan(
        parse_domain(domain),
        people=None if people is None else parse_count("people", people),
        epsilon=epsilon,
        share=None if share is None else parse_share(share),
        candidates=0 if candidates == "0" else parse_count("candidates", candidates),
        mechanism=mechanism,
        options=options,
        chance=chance,
        level=level,
        values_per_person=values_per_person,
        every=None if every is None else parse_every(every),
    )
    if plot is not None:
        _draw(made, plot)
    found = _proved(made) if proved else None
    figures = None if relay is None else _through_relay(made, parse_count("relay", relay))
    more = {"proved": found, "relay": None if figures is None else figures.to_json()}
    if as_json:
        print_json(made.to_json() | {name: value for name, value in more.items() if value is not None})
    else:
        _show(made, [*([] if found is None else found["words"]), *(() if figures is None else figures.words)])


def _through_relay(made: Plan, crowd: int) -> ThroughRelay:
    """The three figures if reports go through a relay that passes on so many together."""
    from hubbub.analysis.relayed import through_relay
    from hubbub.sealing.request import LEAST_CROWD, MOST_CROWD

    if not LEAST_CROWD <= crowd <= MOST_CROWD:
        raise ParameterError(f"relay must be a crowd from {LEAST_CROWD} to {MOST_CROWD}, got relay={crowd}")
    if made.epsilon is None:
        raise ParameterError("--relay must come with a plan that has an ε, got one for which none is enough")
    return through_relay(made.outlook.mechanism_at(made.people or crowd, made.epsilon), crowd, crowd, made.every)


def _proved(made: Plan) -> dict[str, Any]:
    """What is proved of the plan's search, or why nothing is, as JSON; its words say all of it."""
    from dataclasses import asdict, fields

    from hubbub.paper.proved_search import ProvedSearch, guarantee_of_search

    try:
        if made.people is None or made.epsilon is None:
            raise ParameterError("people and ε must be known, got a plan for which none is enough")
        if made.values_per_person > 1:
            raise ParameterError(f"everybody must have one value, got values_per_person={made.values_per_person}")
        if sys.stderr.isatty():
            complain("computing what is proved, some seconds")
        survey = made.outlook.mechanism_at(made.people, made.epsilon).survey
        found = guarantee_of_search(survey, made.people, made.level)
    except ParameterError as error:
        return {each.name: None for each in fields(ProvedSearch)} | {
            "words": [f"There is no proved bound for this plan: {error}."]
        }
    return asdict(found) | {"words": list(found.words)}


def _draw(made: Plan, plot: str) -> None:
    from hubbub.analysis.plots import draw_chances
    from hubbub.analysis.wording import what_is_seen

    if not (curves := made.curves()):
        raise ParameterError("a figure must have people and an ε with which something can be found, got none")
    named = f", {what_is_seen(made.candidates)}" if made.candidates else ""
    draw_chances(plot, f"{made.people:,} people{named}", curves, made.wanted, made.epsilon)


def _show(made: Plan, proved: list[str]) -> None:
    """Words first, also those on what is proved, then tables."""
    from hubbub.analysis.wording import at_most, at_most_percent, chance_percent, one_in, percent

    for sentence in (*made.words, *proved):
        click.echo(sentence)
    if made.rows:
        click.echo()
        rows = [
            [
                f"{100 * row.share:.3g} %",
                one_in(row.share),
                number(row.held),
                _chance(row.chance),
                f"± {number(row.stderr)}",
                f"± {percent(row.stderr / row.held, 0)}",
            ]
            for row in made.rows
        ]
        columns = ["share", "that is", "people", "chance to be seen", "error of its count", "relative"]
        print_table("A value that is held by", [(heading, "right") for heading in columns], rows)
    if made.limits:
        headings = ["ε", "smallest share seen", *(["if it is a candidate"] if made.candidates else [])]
        limits = [
            [f"{each.epsilon:g}", _share(each.share), *([_share(each.candidate_share)] if made.candidates else [])]
            for each in made.limits
        ]
        print_table(
            f"With {plural(made.people or 0, 'person', 'people')}", [(heading, "right") for heading in headings], limits
        )
    if made.beliefs:
        sure = [[chance_percent(each.before), at_most_percent(each.after)] for each in made.beliefs]
        print_table(
            "What an observer of one report can gain at most", [("sure before", "right"), ("after", "right")], sure
        )
        totals = [[str(each.surveys), f"{each.epsilon:g}", at_most(each.epsilon_composed, 3)] for each in made.years]
        headings = ["surveys a year", "total ε", "total ε at δ = 10⁻⁶"]
        print_table("Privacy loss of a person in a year", [(heading, "right") for heading in headings], totals)


def _chance(chance: float) -> str:
    """A predicted chance as text; it is only accurate to about a percentage point."""
    from hubbub.analysis.wording import rounded

    return "> 99.9 %" if chance > 0.999 else "< 0.1 %" if chance < 0.001 else f"{rounded(100 * chance, 1)} %"


def _share(share: float | None) -> str:
    from hubbub.analysis.wording import one_in

    return "nothing" if share is None else one_in(share)
