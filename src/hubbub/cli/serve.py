"""`hubbub serve`: the collector."""

from __future__ import annotations

import logging
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import click

from hubbub.cli.common import print_json, print_table
from hubbub.cli.options import WholeNumber, database_option, env_option
from hubbub.extras import require

_SETTINGS: Final = {
    "db": str,
    "host": str,
    "port": int,
    "workers": int,
    "new": bool,
    "report_limit": int,
    "report_rate": int,
    "log_json": bool,
}
_KINDS: Final = {str: "text in quotes", int: "a whole number", bool: "true or false"}
_RANGES: Final = {"port": (0, 65535), "workers": (1, 64), "report_limit": (0, 10**9), "report_rate": (0, 10**9)}
_SOURCES: Final = {"COMMANDLINE": "command line", "ENVIRONMENT": "environment", "DEFAULT_MAP": "file"}

log = logging.getLogger("hubbub.serve")


def _read_config(ctx: click.Context, _: click.Parameter, file: str | None) -> str | None:
    """Take defaults from a TOML file, for settings that neither the command line nor the environment has."""
    if file is None:
        return None
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise click.BadParameter(f"config must be a TOML file, got {file!r} ({reason})") from None
    for name, value in found.items():
        kind = _SETTINGS.get(name)
        if kind is None:
            raise click.BadParameter(f"config must set only {', '.join(_SETTINGS)}, got {name!r}")
        if type(value) is not kind:
            raise click.BadParameter(f"{name} must be {_KINDS[kind]} in config, got {name}={value!r}")
        least, most = _RANGES.get(name, (0, 0))
        if isinstance(value, int) and name in _RANGES and not least <= value <= most:
            raise click.BadParameter(f"{name} must be from {least} to {most} in config, got {name}={value}")
    ctx.default_map = {**(ctx.default_map or {}), **found}
    return file


@click.command
@click.pass_context
@database_option
@env_option("--host", default="127.0.0.1", help="Address to listen on; 0.0.0.0 is all of them.")
@env_option("--port", type=WholeNumber(*_RANGES["port"]), default=8000, help="Port to listen on; 0 is any free port.")
@env_option("--workers", type=WholeNumber(*_RANGES["workers"]), default=1, help="Number of processes.")
@env_option("--new", is_flag=True, help="Begin an empty store after one was lost; its old surveys are gone.")
@env_option(
    "--report-limit",
    type=WholeNumber(*_RANGES["report_limit"]),
    default=20,
    metavar="TIMES",
    help="Refuse reports from this many times the expected ones of a survey on; 0 is never.",
)
@env_option(
    "--report-rate",
    type=WholeNumber(*_RANGES["report_rate"]),
    default=0,
    metavar="NUMBER",
    help="The most reports of a survey a second, in each process; 0 is any number.",
)
@env_option(
    "--log-json", is_flag=True, help="Write nothing but a log, as JSON, one object per line; it never has the token."
)
@env_option(
    "--config",
    metavar="FILE",
    is_eager=True,
    callback=_read_config,
    help="A TOML file with these settings; the environment and the command line override it.",
)
@click.option("--show-config", is_flag=True, help="Show each setting and where it comes from, and end.")
@click.option("--open", "show", is_flag=True, help="Log in to the dashboard in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when it listens.")
def serve(
    ctx: click.Context,
    db: str,
    host: str,
    port: int,
    workers: int,
    new: bool,
    report_limit: int,
    report_rate: int,
    log_json: bool,
    config: str | None,
    show_config: bool,
    show: bool,
    as_json: bool,
) -> None:
    """Run a collector with its dashboard: it takes reports over HTTP, keeps sums, and answers its owner.

    The first start makes the owner's token and shows it once, with a link that logs in to the dashboard; with
    --log-json `hubbub store token` does. Ctrl-C or SIGTERM ends it; all acknowledged reports are on the disk. SIGHUP
    starts it again without refusing anybody.

    \b
    hubbub serve --db surveys.db
    hubbub serve --db postgresql://hubbub@db.example/hubbub --workers 2 --host 0.0.0.0
    hubbub serve --config /etc/hubbub.toml --show-config
    """  # noqa: D301
    del config  # its callback has read it
    if show_config:
        _show_config(ctx, as_json)
        return
    require("The collector", "fastapi", "server")
    from hubbub.cli.login import login_link, open_browser
    from hubbub.collector.listening import address_of, listen, notify_system
    from hubbub.collector.logs import log_failures, set_up_logs
    from hubbub.collector.rates import Rates
    from hubbub.collector.serving import restart
    from hubbub.collector.serving import serve as run
    from hubbub.collector.workers import dismiss_stand_in, serve_with_workers, start_stand_in
    from hubbub.dashboard.app import create_app
    from hubbub.store.keys import make_code
    from hubbub.store.remembering import check_not_lost, note_address, remember
    from hubbub.store.reserve import with_room
    from hubbub.store.store import Store
    from hubbub.store.tokens import make_first_token, stored_hash

    set_up_logs(log_json)
    source = ctx.get_parameter_source("db")
    if source is not None and source.name == "COMMANDLINE" and _hide_password(db) != db:
        log.warning("others on this machine can read the password among the arguments: put it in HUBBUB_DB instead")
    # Listen first: if the port is taken, a token that was made before would never be shown.
    with log_failures(log_json), listen(host, port) as listener:
        check_not_lost(db, new)
        address = address_of(listener)
        # For `hubbub login`: a server that listens on all addresses is reached at the loopback address.
        reached = address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")

        def prepare() -> tuple[str | None, str | None]:
            """Make the store ready; return the owner's token, if it is the first one, and a code to log in.

            A log is kept and copied, so the token is made only if somebody sees it elsewhere.
            """
            with Store(db) as store:
                note_address(store.engine, reached)
                first = make_first_token(store.engine) if as_json or not log_json else None
                if first is None and stored_hash(store.engine) is None:
                    log.warning("the owner has no token yet: hubbub store token makes one, hubbub login makes a link")
                return first, make_code(store.engine) if first is not None or show else None

        token, code = with_room(db, prepare)
        remember(db)
        link = None if code is None else login_link(address, code)

        def announce() -> None:
            """Say the address, and the token and a link if they were made just now."""
            if link is not None and show:
                open_browser(link)
            if as_json:
                print_json({"url": address, "token": token, "login": link})
            elif log_json:
                log.info("listening on %s", address)
            else:
                if token is not None:
                    click.echo(f"Owner's token, shown this once: {token}")
                if link is not None:
                    click.echo(f"Dashboard, by a link that works once and for 15 minutes: {link}")
                click.echo(f"Listening on {address}; the API is described at {address}/docs. Ctrl-C ends it.")
            sys.stdout.flush()
            dismiss_stand_in()
            notify_system("READY=1")

        application, rates = "hubbub.dashboard.app:create_app", (report_limit, report_rate)
        if workers == 1:
            stand_in = run(
                db,
                listener,
                announce,
                create_app,
                Rates(*rates),
                lambda: start_stand_in(db, listener, log_json, application, rates),
            )
        else:
            stand_in = serve_with_workers(db, listener, workers, announce, log_json, application, rates)
        if stand_in is not None:
            restart(listener, stand_in)


def _hide_password(database: str) -> str:
    """Return the URL of a database without a password."""
    scheme, there, rest = database.partition("://")
    if not there:
        return database
    who, at, where = rest.rpartition("@")
    where = re.sub("(?i)(pass[a-z]*=)[^&]*", r"\1…", where)
    return f"{scheme}://{who.partition(':')[0]}{at}{where}"


def _show_config(ctx: click.Context, as_json: bool) -> None:
    """Print the settings and their sources. A password in the URL of the database is not shown."""
    rows: list[list[Any]] = []
    for name in _SETTINGS:
        source = ctx.get_parameter_source(name)
        value = ctx.params[name]
        value = _hide_password(value) if name == "db" else value
        rows.append([name, value, _SOURCES.get(source.name if source else "", "default")])
    if as_json:
        print_json({name: {"value": value, "source": source} for name, value, source in rows})
        return
    columns = [("setting", "left"), ("value", "left"), ("from", "left")]
    print_table("Settings of hubbub serve", columns, [[name, str(value), source] for name, value, source in rows])
