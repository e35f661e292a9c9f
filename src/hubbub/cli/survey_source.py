"""Reads the survey of a command: from a file that `hubbub survey new --out` wrote, or from a collector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hubbub.cli.service import ask, parse_survey_url
from hubbub.errors import InputError, ServiceError, system_reason

if TYPE_CHECKING:
    from hubbub.model.survey import Survey

survey_source_option = click.option(
    "--survey",
    "source",
    required=True,
    metavar="FILE|URL",
    help="The survey: a file of `survey new --out`, or its address.",
)


def read_survey(source: str, build: bool = True) -> Survey:
    """The survey of a file or an address; its privacy guarantee is recomputed and checked.

    A command that builds no mechanism, since it leaves all work to the collector, need not do that: the collector has
    done it. It saves the time to load all mechanisms.
    """
    if build:
        from hubbub.mechanisms.registry import load_survey
    else:
        from hubbub.model.survey import Survey

        load_survey = Survey.from_json
    if source.startswith(("http://", "https://")):
        address = parse_survey_url(source)
        survey = load_survey(ask(address.server, f"/v1/surveys/{address.survey_id}"))
        if survey.survey_id.hex() != address.survey_id:
            raise ServiceError("the collector sent another survey than the one in the address")
        return survey
    return load_survey(read_bytes(source, "survey"))


def read_bytes(name: str, what: str) -> bytes:
    """The content of a file; `what` is its name in messages."""
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot read the {what} {name!r}: {system_reason(error)}") from None
