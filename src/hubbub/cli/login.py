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
            help="Where the collector is for your browser; by default, where it listened last.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the link in a browser.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Make a link that logs in to the dashboard of a collector. It works once, and for 15 minutes.

    Run it where the collector's database is: whoever can read the database may look at the answers.

    \b
    hubbub login --db surveys.db
    hubbub login --db surveys.db --server https://collector.example
    """  # noqa: D301
    from hubbub.store.keys import make_code
    from hubbub.store.remembering import noted_address
    from hubbub.store.store import Store

    with Store(db, create=False) as store:  # in another folder, a link into an empty store would lead nowhere
        server = server or noted_address(store.engine) or DEFAULT_SERVER
        link = login_link(server, make_code(store.engine))
    if show:
        open_browser(link)
    if as_json:
        print_json({"login": link})
    else:
        typer.echo(link)


def login_link(server: str, code: str) -> str:
    """Return the link that logs in with a code. It is in the fragment, which browsers send to nobody."""
    return f"{server.rstrip('/')}/login#{code}"


def open_browser(link: str) -> None:
    """Open a link in the browser of this machine, without waiting for it."""
    import webbrowser
    from threading import Thread

    Thread(target=webbrowser.open, args=(link,), daemon=True).start()
