"""`hubbub serve`: the collector."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hubbub.cli.common import command, print_json

DEFAULT_DATABASE = "hubbub.db"
Database = Annotated[
    str,
    typer.Option("--db", envvar="HUBBUB_DB", metavar="URL", help="A SQLite file, or postgresql://USER@HOST/NAME."),
]


@command
def serve(
    db: Database = DEFAULT_DATABASE,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is all of them.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 is any free port.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Number of processes.", min=1, max=64)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object when it listens.")] = False,
) -> None:
    """Run a collector: it takes reports over HTTP, keeps sums, and answers its owner.

    The first start makes the owner's token and shows it once. Ctrl-C or SIGTERM ends it; all acknowledged reports are
    on the disk.

    \b
    hubbub serve --db surveys.db
    hubbub serve --db postgresql://hubbub@db.example/hubbub --workers 2 --host 0.0.0.0
    """  # noqa: D301
    from hubbub.collector.serving import address_of, bind
    from hubbub.collector.serving import serve as run
    from hubbub.store.store import Store
    from hubbub.store.tokens import make_first_token

    with bind(host, port) as listener:  # before the token is made: if this failed, the token would never be shown
        with Store(db) as store:
            token = make_first_token(store.engine)
        address = address_of(listener)

        def announce() -> None:
            """Print the address, and the token if it was made just now."""
            if as_json:
                print_json({"url": address, "token": token})
            else:
                if token is not None:
                    typer.echo(f"Owner's token, shown this once: {token}")
                typer.echo(f"Listening on {address}; the API is described at {address}/docs. Ctrl-C ends it.")
            sys.stdout.flush()

        run(db, listener, workers, announce)
