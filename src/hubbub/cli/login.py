"""`hubbub login`: a link that logs in to the dashboard."""

from __future__ import annotations

from typing import Annotated

import typer

from hubbub.cli.common import DEFAULT_DATABASE, AsJSON, Database, command, print_json
from hubbub.cli.survey import DEFAULT_SERVER


@command
def login(
    db: Database = DEFAULT_DATABASE,
    server: Annotated[
        str | None,
        typer.Option(
            envvar="HUBBUB_SERVER",
            metavar="URL",
            help="The collector's address for your browser; default: where it listened last.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the link in a browser.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Make a link that logs in to the dashboard of a collector. It works once, and for 15 minutes.

    Run it on the machine with the collector's database: anyone who can read the database may see the answers.

    \b
    hubbub login --db surveys.db
    hubbub login --db surveys.db --server https://collector.example
    """  # noqa: D301
    from hubbub.store.keys import make_code
    from hubbub.store.remembering import noted_address
    from hubbub.store.store import Store

    with Store(db, create=False) as store:  # a link to a new, empty store would be useless
        server = server or noted_address(store.engine) or DEFAULT_SERVER
        link = login_link(server, make_code(store.engine))
    if show:
        open_browser(link)
    if as_json:
        print_json({"login": link})
    else:
        typer.echo(link)


def login_link(server: str, code: str) -> str:
    """Return the link that logs in with a code. The code is in the fragment, which browsers do not send."""
    return f"{server.rstrip('/')}/login#{code}"


def open_browser(link: str) -> None:
    """Open a link in the browser of this machine, without waiting for it."""
    import webbrowser
    from threading import Thread

    Thread(target=webbrowser.open, args=(link,), daemon=True).start()
