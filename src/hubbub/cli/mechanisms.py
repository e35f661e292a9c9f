"""`hubbub mechanisms`: lists the mechanisms."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from hubbub.cli.common import print_json
from hubbub.cli.options import json_option

if TYPE_CHECKING:
    from hubbub.mechanisms.facts import About

_WIDTH: Final = 80  # the most columns, for narrow terminals
_FACTS: Final = {
    "guarantee": "guarantee",
    "report": "report",
    "limit": "limit",
    "server time": "server_time",
    "use when": "use_when",
}


@click.command
@json_option
def mechanisms(as_json: bool) -> None:
    """List the mechanisms: options, guarantee, bytes per report, limits, and when to use which."""
    from hubbub.mechanisms.facts import MECHANISMS

    listed = [_describe(about) for about in MECHANISMS]
    baseline = {
        "name": "exponential",
        "title": "The centralised exponential mechanism: NOT local, it sees every value",
        "guarantee": "pure ε, only if the curator is trusted",
        "use_when": "hubbub simulate: to see what trusting a server would gain",
    }
    if as_json:
        print_json({"mechanisms": listed, "not_local": [baseline]})
        return
    for entry in listed:
        _show(entry)
    last = f"Baseline for simulate only: {baseline['name']}. {baseline['title']}."
    click.echo(_filled(last))


def _show(entry: dict[str, Any]) -> None:
    """Print one mechanism: its name and title, then one fact per line, then its options."""
    click.echo(_filled(f"{entry['name']}: {entry['title']}", indent=2))
    for label, key in _FACTS.items():
        _line(label, entry[key])
    for option in entry["options"]:
        text = f"{option['name']}={option['default']}: {option['help']} ({option['values']})"
        _line("option -o", text)
    click.echo()


def _line(label: str, text: str) -> None:
    click.echo(_filled(f"  {label:<13}" + text, indent=15))


def _filled(text: str, indent: int = 0) -> str:
    width = min(_WIDTH, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _describe(about: About) -> dict[str, Any]:
    options = [
        {"name": option.name, "values": option.describe(), "default": option.default, "help": option.help}
        for option in about.options
    ]
    return {**asdict(about), "options": options}
