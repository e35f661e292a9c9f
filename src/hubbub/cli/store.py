"""`hubbub store`: check, copy and restore a collector's database, replace the owner's token, end sessions."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hubbub.cli.common import number, plural, print_json, print_table, tell
from hubbub.cli.options import OrderedGroup, database_option, json_option
from hubbub.errors import ParameterError, StoreError

if TYPE_CHECKING:
    from hubbub.store.store import Store


@click.group(cls=OrderedGroup)
def store() -> None:
    """Check, copy or restore a collector's database, replace the owner's token, or end sessions, on its machine."""


@store.command()
@database_option
@json_option
def check(db: str, as_json: bool) -> None:
    """Look for damage: wrong checksums or ids, and reports that were not counted once. A collector may run meanwhile.

    \b
    hubbub store check --db surveys.db
    """  # noqa: D301
    from hubbub.store.remembering import shown_database
    from hubbub.store.upkeep import check as check_store

    with _existing(db) as opened:
        found = check_store(opened)
    if as_json:
        print_json(asdict(found))
    else:
        names = {
            "surveys": "surveys",
            "reports": "reports in tallies",
            "pending": "reports not yet in a tally",
            "ids": "report ids",
        }
        rows = [[name, number(getattr(found, field))] for field, name in names.items()]
        verdict = found.problems or ["No damage was found."]
        print_table(
            f"Store {shown_database(db) if '://' in db else db}", [("what", "left"), ("count", "right")], rows, verdict
        )
    if found.problems:
        many = plural(len(found.problems), "problem")
        raise StoreError(f"the store is damaged: {many} found; the first: {found.problems[0]}")


@store.command()
@click.argument("file", metavar="FILE", help="A new file; it can be served directly.")
@database_option
@json_option
def backup(file: str, db: str, as_json: bool) -> None:
    """Copy a store, also one in PostgreSQL, to a new SQLite file. A collector may run meanwhile.

    \b
    hubbub store backup monday.db --db surveys.db
    """  # noqa: D301
    from hubbub.store.upkeep import backup as back_up

    with _existing(db) as opened:
        size = back_up(opened, Path(file))
    tell(as_json, {"file": file, "bytes": size}, f"{file}: {plural(size, 'byte')}")


@store.command()
@click.argument("file", metavar="FILE", help="A file that `hubbub store backup` made.")
@database_option
@click.option("--survey", metavar="ID", help="Restore only this survey's sums and ids, in an existing store.")
@json_option
def restore(file: str, db: str, survey: str | None, as_json: bool) -> None:
    """Restore a lost store from a copy, or one damaged survey of an existing store.

    \b
    hubbub store restore monday.db --db surveys.db
    hubbub store restore monday.db --db surveys.db --survey ID
    """  # noqa: D301
    from hubbub.store.remembering import remember
    from hubbub.store.restoring import restore as bring_back
    from hubbub.store.restoring import restore_survey

    if survey is None:
        surveys = bring_back(Path(file), db)
        remember(db)
        said, sentence = {"surveys": surveys}, f"{plural(surveys, 'survey')} restored"
    else:
        survey_id = _survey_id(survey)
        with _existing(db) as opened:
            reports = restore_survey(opened, Path(file), survey_id)
        said, sentence = {"reports": reports}, f"restored with {plural(reports, 'report')}"
    tell(as_json, {"file": file, **said}, f"{file}: {sentence}")


def _survey_id(text: str) -> bytes:
    """Return the id of a survey from its 64 hex digits, or from its address."""
    digits = text.rstrip("/").rpartition("/")[2]
    if not re.fullmatch(r"[0-9a-f]{64}", digits):
        raise ParameterError(f"survey must be an id of 64 lower-case hex digits, got survey={text!r}")
    return bytes.fromhex(digits)


@store.command()
@database_option
@json_option
def token(db: str, as_json: bool) -> None:
    """Make a new token for the owner and show it once. The old one is invalid from then on, and all sessions end.

    \b
    hubbub store token --db surveys.db
    """  # noqa: D301
    from hubbub.store.tokens import replace_token

    with _existing(db) as opened:
        made = replace_token(opened.engine)
    tell(as_json, {"token": made}, f"Owner's token, shown this once: {made}")


@store.command(name="relay-token")
@database_option
@json_option
def relay_token(db: str, as_json: bool) -> None:
    """Make a token for the relay that sends releases to this collector, and show it once. An older one is invalid.

    \b
    hubbub store relay-token --db surveys.db
    """  # noqa: D301
    from hubbub.store.tokens import replace_token

    with _existing(db) as opened:
        made = replace_token(opened.engine, "relay")
    tell(as_json, {"token": made}, f"Relay's token, shown this once: {made}")


@store.command()
@database_option
@click.option("--end", is_flag=True, help="End them all; links that were not used do not work any more.")
@json_option
def sessions(db: str, end: bool, as_json: bool) -> None:
    """Show how many browsers are logged in to the dashboard, or end all of their sessions at once.

    \b
    hubbub store sessions --db surveys.db
    hubbub store sessions --end --db surveys.db
    """  # noqa: D301
    from hubbub.store.keys import count_sessions, end_sessions

    with _existing(db) as opened:
        number_open = end_sessions(opened.engine) if end else count_sessions(opened.engine)
    tell(
        as_json,
        {"sessions": number_open, "ended": end},
        f"{plural(number_open, 'session')} {'ended' if end else 'open'}",
    )


def _existing(db: str) -> Store:
    """Open a store that exists. A mistyped name must not make a new one."""
    from hubbub.store.store import Store

    return Store(db, create=False)
