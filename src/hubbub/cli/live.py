"""`hubbub demo --live`: a collector with its dashboard, and visitors who come one by one until Ctrl-C."""

from __future__ import annotations

import http.client
import itertools
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Final

import click

from hubbub.cli.common import plural
from hubbub.cli.login import login_link
from hubbub.errors import ServiceError

_VISITORS_A_SECOND: Final = 200
_DRAWN_AT_ONCE: Final = 1_000
_EXPECTED: Final = 100_000


def run_live(epsilon: str, seed: int | None) -> None:
    """Serve a dashboard and send one upload for each visitor, about 200 a second, until Ctrl-C. Nothing is left."""
    import numpy as np

    from hubbub.collector.rates import Rates
    from hubbub.collector.serving import serving
    from hubbub.collector.state import Collector
    from hubbub.dashboard.app import create_app
    from hubbub.mechanisms.registry import create_survey, mechanism_for
    from hubbub.model.coded_domain import Hostnames
    from hubbub.simulation.rehearsal import randomness_of
    from hubbub.simulation.visitors import draw_visitors
    from hubbub.store.keys import make_code
    from hubbub.store.store import Store
    from hubbub.wire.report_batch import encode_batch

    survey = create_survey("Top referrers", Hostnames(), epsilon, expected_reports=_EXPECTED)
    mechanism = mechanism_for(survey)
    rng, (_, random_words), sent = np.random.default_rng(seed), randomness_of(seed), 0
    path = f"/v1/surveys/{survey.survey_id.hex()}/reports"
    with tempfile.TemporaryDirectory(prefix="hubbub-live-") as folder, Store(str(Path(folder) / "live.db")) as store:
        store.add_survey(survey)
        with serving(Collector(store, fold_seconds=2.0, rates=Rates(times=0)), build=create_app) as server:
            click.echo(f"Open the dashboard, by a link that works once: {login_link(server, make_code(store.engine))}")
            click.echo(f"About {_VISITORS_A_SECOND} made-up visitors a second report to it over HTTP. Ctrl-C ends it.")
            try:
                with closing(http.client.HTTPConnection(server.removeprefix("http://"), timeout=60)) as connection:
                    started = time.monotonic()
                    for _ in itertools.count():
                        items = survey.domain.encode(draw_visitors(rng, _DRAWN_AT_ONCE))
                        drawn = random_words.draw(len(items), mechanism.random_words_per_report)
                        for report in mechanism.randomize(items, drawn)[:, np.newaxis]:
                            connection.request("POST", path, encode_batch(survey.survey_id, report))
                            reply = connection.getresponse()
                            if reply.read() and reply.status != 200:
                                raise ServiceError(f"the collector refused a report with status {reply.status}")
                            sent += 1
                            time.sleep(max(0.0, started + sent / _VISITORS_A_SECOND - time.monotonic()))
            except KeyboardInterrupt:
                click.echo(f"\n{plural(sent, 'visitor')} came. Nothing of them is kept.")
