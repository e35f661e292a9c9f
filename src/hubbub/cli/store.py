"""`hubbub store`: look after a collector's database."""

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
    help="Look after a collector's database, where it is: check it, copy it, replace the owner's token.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@store.command()
@command
def check(db: Database = DEFAULT_DATABASE, as_json: AsJSON = False) -> None:
    """Read everything and verify it: checksums, ids, and that each report was counted once. A collector may run on.

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
            "pending": "reports to be folded",
            "ids": "ids kept",
        }
        rows = [[name, number(getattr(found, field))] for field, name in names.items()]
        verdict = found.problems or ["Everything is whole."]
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
    """Copy a store to a new SQLite file, while a collector may run on. From PostgreSQL, too.

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
    """Make a new token for the owner and show it once; the old one is worth nothing from then on.

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
