"""`hubbub store`: check and copy a collector's database, and replace the owner's token."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.common import AsJSON, command, number, plural, print_json, print_table
from hubbub.cli.serve import DEFAULT_DATABASE, Database
from hubbub.errors import StoreError

if TYPE_CHECKING:
    from hubbub.store.store import Store

store = typer.Typer(
    name="store",
    help="Check or copy a collector's database, or replace the owner's token, on the machine that has the database.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@store.command()
@command
def check(db: Database = DEFAULT_DATABASE, as_json: AsJSON = False) -> None:
    """Look for damage: wrong checksums or ids, and reports that were not counted once. A collector may run meanwhile.

    \b
    hubbub store check --db surveys.db
    """  # noqa: D301
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
        print_table(f"Store {db.rpartition('@')[2]}", [("what", "left"), ("count", "right")], rows, verdict)
    if found.problems:
        many = plural(len(found.problems), "problem")
        raise StoreError(f"the store is damaged: {many} found; the first: {found.problems[0]}")


@store.command()
@command
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file; it can be served as it is.")],
    db: Database = DEFAULT_DATABASE,
    as_json: AsJSON = False,
) -> None:
    """Copy a store, also one in PostgreSQL, to a new SQLite file. A collector may run meanwhile.

    \b
    hubbub store backup monday.db --db surveys.db
    """  # noqa: D301
    from hubbub.store.upkeep import backup as back_up

    with _existing(db) as opened:
        size = back_up(opened, Path(file))
    if as_json:
        print_json({"file": file, "bytes": size})
    else:
        typer.echo(f"{file}: {plural(size, 'byte')}")


@store.command()
@command
def token(db: Database = DEFAULT_DATABASE, as_json: AsJSON = False) -> None:
    """Make a new token for the owner and show it once. The old one is invalid from then on.

    \b
    hubbub store token --db surveys.db
    """  # noqa: D301
    from hubbub.store.tokens import replace_token

    with _existing(db) as opened:
        made = replace_token(opened.engine)
    if as_json:
        print_json({"token": made})
    else:
        typer.echo(f"Owner's token, shown this once: {made}")


def _existing(db: str) -> Store:
    """Open a store that exists. A mistyped name must not make a new one."""
    from hubbub.store.store import Store

    path = db.removeprefix("sqlite:///")
    if "://" not in path and not Path(path).exists():
        raise StoreError(f"db must be a store that exists, got {db!r}")
    return Store(db)
