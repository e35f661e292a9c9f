"""`hubbub demo`: the whole thing on a crowd made for the purpose."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from hubbub.cli.common import command, number, parse_count


@command
def demo(
    people: Annotated[str, typer.Option("--people", "-n", help="Visitors to make up.")] = "1m",
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy loss of each visitor.")] = "1",
    seed: Annotated[int | None, typer.Option(help="Repeat a demo exactly.", min=0)] = None,
) -> None:
    """Make up a crowd of visitors, each with a referring site, and find the sites without hearing any visitor."""
    from hubbub.cli.find import find_in, show
    from hubbub.cli.people import open_people
    from hubbub.model.coded_domain import Hostnames
    from hubbub.model.domain import Categories, Domain
    from hubbub.model.survey import parse_epsilon
    from hubbub.simulation.visitors import SITES, write_visitors

    visitors = parse_count("people", people)
    parse_epsilon(epsilon)
    with tempfile.TemporaryDirectory(prefix="hubbub-demo-") as folder:
        file = Path(folder) / "referrers.txt"
        typer.echo(f"{number(visitors)} visitors come to a site. Each knows where she came from; nobody else may.")
        write_visitors(file, visitors, seed)
        jobs: list[tuple[str, Domain]] = [
            (
                f"\n1. The site owner has a list of {number(len(SITES))} sites: each of them is counted.",
                Categories(SITES),
            ),
            (
                "\n2. She has no list: any host name may be the answer, and the largest are found by name.",
                Hostnames(),
            ),
        ]
        for label, domain in jobs:
            typer.echo(label)
            with open_people(str(file)) as crowd:
                found = find_in(
                    crowd,
                    domain,
                    epsilon=epsilon,
                    delta=None,
                    mechanism=None,
                    options={},
                    top=10,
                    seed=seed,
                    with_truth=True,
                )
            show(found, top=10)
    symbols = 1 << found.survey.parameters["masks"]
    lie = (1 - int(found.survey.parameters["keep_threshold"]) / 2**64) * (1 - 1 / symbols)
    typer.echo(
        f"Each visitor sent 17 bytes: a random id and one of {symbols} symbols, a lie with a chance of {lie:.1%}."
    )
