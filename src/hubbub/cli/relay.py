"""`hubbub relay`: passes sealed reports on to a collector, without being able to read them."""

from __future__ import annotations

import os
import sys

import click

from hubbub.cli.common import print_json
from hubbub.cli.options import Number, WholeNumber, json_option
from hubbub.errors import InputError, ParameterError, system_reason


@click.command
@click.option("--to", "to", required=True, metavar="URL", help="The collector: https, unless it is on this machine.")
@click.option("--queue", "path", default="relay.db", metavar="FILE", help="The file of requests that wait.")
@click.option("--host", default="127.0.0.1", help="Address to listen on; 0.0.0.0 is all of them.")
@click.option("--port", type=WholeNumber(0, 65535), default=8100, help="Port to listen on; 0 is any free port.")
@click.option("--token-file", metavar="FILE", help="The file of the relay's token; default: HUBBUB_RELAY_TOKEN.")
@click.option("--check-seconds", type=Number(min=0.01, max=3600), default=10.0, help="Look for crowds this often.")
@click.option("--days", type=WholeNumber(1, 366), default=14, help="Drop what found no crowd within so many days.")
@click.option(
    "--peer-rate",
    type=WholeNumber(0, 10**9),
    default=60,
    metavar="NUMBER",
    help="The most requests of an address in a minute; 0 is any number. Peers on this machine have no limit.",
)
@click.option("--most", type=WholeNumber(2, 10**8), default=10**6, metavar="NUMBER", help="The most that may wait.")
@click.option("--log-json", is_flag=True, help="Write the log as JSON, one object per line.")
@json_option
def relay(
    to: str,
    path: str,
    host: str,
    port: int,
    token_file: str | None,
    check_seconds: float,
    days: int,
    peer_rate: int,
    most: int,
    log_json: bool,
    as_json: bool,
) -> None:
    """Run a relay: it takes sealed reports, and passes them on in random order when a crowd waits.

    It cannot read them, and the collector cannot tell who sent which: somebody else than the collector's owner should
    run it. The collector's owner makes the token, with `hubbub store relay-token`.

    \b
    hubbub relay --to https://collector.example --token-file relay.token
    """  # noqa: D301
    from hubbub.collector.listening import address_of, listen, notify_system
    from hubbub.collector.logs import log_failures, set_up_logs
    from hubbub.relay.app import Relay
    from hubbub.relay.sending import Collector
    from hubbub.relay.serving import serve
    from hubbub.relay.waiting import Waiting

    set_up_logs(log_json)
    with log_failures(log_json):
        collector = Collector(to, _token(token_file))
        with listen(host, port) as listener:
            waiting = Waiting(path, most)

            def announce() -> None:
                """Say the address."""
                address = address_of(listener)
                if as_json:
                    print_json({"url": address, "to": to, "queue": path})
                else:
                    click.echo(f"Listening on {address}; releases go to {to}. Ctrl-C ends it.")
                sys.stdout.flush()
                notify_system("READY=1")

            try:
                serve(Relay(waiting, collector, check_seconds, days, peer_rate), listener, announce)
            finally:
                waiting.close()


def _token(file: str | None) -> str:
    """Return the relay's token, from a file or the environment."""
    if file is None:
        if not (given := os.environ.get("HUBBUB_RELAY_TOKEN", "")):
            raise ParameterError("the relay's token must be in --token-file or HUBBUB_RELAY_TOKEN, got none")
        return given.strip()
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the token {file!r}: {system_reason(error)}") from None
