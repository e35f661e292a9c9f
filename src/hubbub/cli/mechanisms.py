"""`hubbub mechanisms`: what there is to choose from."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hubbub.cli.common import command, print_json, print_table


@command
def mechanisms(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
) -> None:
    """List the mechanisms: options, guarantee, bytes per report, limits, and when to use which."""
    from hubbub.mechanisms.registry import REGISTRY

    listed = [_describe(entry.about) for entry in REGISTRY.values()]
    baseline = {
        "name": "exponential",
        "title": "The centralised exponential mechanism: NOT local, it sees every value",
        "guarantee": "pure ε, only if the curator is trusted",
        "use_when": "hubbub simulate: to see what trust would buy",
    }
    if as_json:
        print_json({"mechanisms": listed, "not_local": [baseline]})
        return
    print_table(
        "Mechanisms",
        [(heading, "left") for heading in ("name", "guarantee", "report", "limit", "server time", "use when")],
        [
            [entry[key] for key in ("name", "guarantee", "report", "limit", "server_time", "use_when")]
            for entry in listed
        ],
    )
    print_table(
        "Options (-o key=value)",
        [(heading, "left") for heading in ("mechanism", "option", "values", "default", "what")],
        [
            [entry["name"], option["name"], option["values"], option["default"], option["help"]]
            for entry in listed
            for option in entry["options"]
        ],
    )
    typer.echo(f"Baseline for simulate only: {baseline['name']}. {baseline['title']}.")


def _describe(about: Any) -> dict[str, Any]:
    return {
        "name": about.name,
        "title": about.title,
        "guarantee": about.guarantee,
        "report": about.report,
        "limit": about.limit,
        "server_time": about.server_time,
        "use_when": about.use_when,
        "options": [
            {
                "name": option.name,
                "values": option.describe(),
                "default": option.default,
                "help": option.help,
            }
            for option in about.options
        ],
    }
