"""`hubbub login`: a link that logs in to the dashboard."""

from __future__ import annotations

import click

from hubbub.cli.common import tell
from hubbub.cli.options import database_option, env_option, json_option
from hubbub.cli.service import DEFAULT_SERVER


@click.command
@database_option
@env_option(
    "--server", metavar="URL", help="The collector's address for your browser; default: where it listened last."
)
@click.option("--open", "show", is_flag=True, help="Open the link in a browser.")
@json_option
def login(db: str, server: str | None, show: bool, as_json: bool) -> None:
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
    tell(as_json, {"login": link}, link)


def login_link(server: str, code: str) -> str:
    """Return the link that logs in with a code. The code is in the fragment, which browsers do not send."""
    return f"{server.rstrip('/')}/login#{code}"


def open_browser(link: str) -> None:
    """Open a link in the browser of this machine, without waiting for it."""
    import webbrowser
    from threading import Thread

    Thread(target=webbrowser.open, args=(link,), daemon=True).start()
