"""`hubbub demo --relay`: a collector, a relay in a process of its own, and visitors whose reports nobody can name."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from hubbub.cli.common import number, plural, progress
from hubbub.cli.login import login_link
from hubbub.errors import ServiceError

if TYPE_CHECKING:
    from hubbub.model.survey import Survey
    from hubbub.numeric.randomness import RandomWordSource

PEOPLE: Final = "10k"
EPSILON: Final = "6"
QUICK: Final = 500
_CONNECTIONS: Final = 3
_PATIENCE: Final = 300.0


def run_relayed(people: int, epsilon: str, seed: int | None, quick: bool) -> None:
    """Send a sealed report for each visitor through a relay; say what the collector knows; serve the dashboard.

    The crowd is the whole of the visitors: the relay keeps what it has until all have come. With `quick` it ends there.
    """
    import numpy as np

    from hubbub.analysis.shuffle import seen_from_outside
    from hubbub.analysis.wording import at_most
    from hubbub.collector.rates import Rates
    from hubbub.collector.serving import serving
    from hubbub.collector.state import Collector
    from hubbub.dashboard.app import create_app
    from hubbub.mechanisms.registry import create_survey, mechanism_for
    from hubbub.model.coded_domain import Hostnames
    from hubbub.sealing.hpke import PrivateKey
    from hubbub.simulation.rehearsal import randomness_of
    from hubbub.simulation.visitors import draw_visitors
    from hubbub.store.keys import make_code
    from hubbub.store.releases import released
    from hubbub.store.sealing_keys import new_key
    from hubbub.store.store import Store
    from hubbub.store.tokens import replace_token

    (public_seed, random_words), (private, facts) = randomness_of(seed), new_key(people)
    closes = _now() + timedelta(days=30)
    name, facts = "Top referrers, through a relay", {**facts, "closes": closes, "public_seed": public_seed}
    survey = create_survey(name, Hostnames(), epsilon, expected_reports=people, **facts)
    visitors = draw_visitors(np.random.default_rng(seed), people)
    with tempfile.TemporaryDirectory(prefix="hubbub-relay-") as folder, Store(str(Path(folder) / "live.db")) as store:
        stored = store.add_survey(survey, private=private)
        token = replace_token(store.engine, "relay")
        with (
            serving(Collector(store, fold_seconds=1.0, rates=Rates(times=0)), build=create_app) as server,
            _relay(Path(folder), server, token) as relay,
        ):
            click.echo(f"Open the dashboard, by a link that works once: {login_link(server, make_code(store.engine))}")
            click.echo(f"A relay listens on {relay}: a process of its own, which cannot read what it passes on.")
            _send(relay, survey, PrivateKey(private).public, visitors, random_words)
            click.echo(
                f"{plural(people, 'visitor')} came. The relay has their reports, and releases them in random order."
            )
            _wait_for(lambda: released(store.engine, stored.key).smallest >= people)
            outside = seen_from_outside(mechanism_for(survey), released(store.engine, stored.key).smallest)
            if outside is not None:
                alone = f"ε ≤ {at_most(outside.epsilon)} to the collector alone (δ = 10^-8)"
                click.echo(
                    f"{alone}, if it does not work together with the relay; to the relay alone: that somebody "
                    f"answered, and on which day; to both together: ε = {epsilon}."
                )
            if not quick:
                click.echo("The dashboard has the answer. Ctrl-C ends it.")
                try:
                    threading.Event().wait()
                except KeyboardInterrupt:
                    click.echo("")
        click.echo("Nothing of them is kept.")


def _now() -> datetime:
    """Return the time, without a part of a second."""
    return datetime.now(UTC).replace(microsecond=0)


@contextmanager
def _relay(folder: Path, collector: str, token: str) -> Iterator[str]:
    """Run `hubbub relay` in a process of its own; yield its address."""
    command = [sys.executable, "-m", "hubbub", "relay", "--to", collector, "--queue", str(folder / "relay.db")]
    command += ["--port", "0", "--check-seconds", "0.2", "--json"]
    environment = {**os.environ, "HUBBUB_RELAY_TOKEN": token}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603  # ours
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            if not line:
                raise ServiceError("the relay did not start")
            yield str(json.loads(line)["url"])
        finally:
            process.send_signal(signal.SIGTERM)


def _send(relay: str, survey: Survey, public: bytes, visitors: Sequence[str], random_words: RandomWordSource) -> None:
    """Make a report for each visitor, as a device does; seal it, and send it alone."""
    from hubbub.mechanisms.registry import mechanism_for
    from hubbub.sealing.request import Opened
    from hubbub.sealing.sealed import seal_request

    mechanism = mechanism_for(survey)
    drawn = random_words.draw(len(visitors), mechanism.random_words_per_report)
    reports = mechanism.randomize(survey.domain.encode(list(visitors)), drawn)
    crowd = survey.crowd or 0

    def send(mine: Sequence[int]) -> None:
        """Send the reports of some visitors, one after the other."""
        with closing(http.client.HTTPConnection(relay.removeprefix("http://"), timeout=60)) as connection:
            for visitor in mine:
                opened = Opened(survey.survey_id, reports[visitor].tobytes())
                connection.request("POST", "/v1/sealed", seal_request(public, crowd, opened))
                reply = connection.getresponse()
                reply.read()
                if reply.status != 202:
                    raise ServiceError(f"the relay refused a report with status {reply.status}")
                advance(1)

    with progress("Reporting", len(visitors), "people") as advance, ThreadPoolExecutor(_CONNECTIONS) as pool:
        everybody = range(len(visitors))
        for _ in pool.map(send, [everybody[start::_CONNECTIONS] for start in range(_CONNECTIONS)]):
            pass


def _wait_for(true: Callable[[], bool]) -> None:
    """Return when something is true. Raises ServiceError if it takes minutes."""
    due = time.monotonic() + _PATIENCE
    while not true():
        if time.monotonic() > due:
            raise ServiceError(f"the collector has not counted the release within {number(int(_PATIENCE))} s")
        time.sleep(0.1)
