"""Real browsers answer through a real relay: the collector finds what was planted, and hears of nobody."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.browser.servers import Collector, Relay, Site, snippet
from tests.browser.visits import PLANTED, referrers, visit_all
from tests.collector.service import wait_until
from tests.relay.running import relay_process

from hubbub import Categories
from hubbub.collector.scripts import shipped
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

VISITS, CROWD = 60, 20


def test_visitors_answer_through_a_relay(
    needs_browser: None, collector: Collector, relay: Relay, site: Site, tmp_path: Path
) -> None:
    """Each browser asks the collector for script, survey and key, and tells nobody but the relay that it answered."""
    survey_id = collector.new_survey(
        "through a relay",
        epsilon="6",
        domain=Categories([host for host, _ in PLANTED]).to_json(),
        closes=(datetime.now(UTC) + timedelta(days=30)).isoformat(timespec="seconds"),
        relay={"crowd": CROWD},
        public_seed=bytes(32).hex(),
    )
    with Store(collector.database) as store:
        token = replace_token(store.engine, "relay")
    script = shipped()["hubbub-relay.js"]
    with relay_process(tmp_path, collector.url, token) as passing_on:
        attributes = f'integrity="{script.integrity}" crossorigin data-relay="{passing_on.url}"'
        site.add("/relayed", snippet(relay.url, survey_id, attributes, script.hashed_name))
        visits = visit_all(site.url, "/relayed", referrers(VISITS), seeded=True, upload_path="/v1/sealed")
        with ThreadPoolExecutor(1) as thread:  # where no other event loop runs
            thread.submit(asyncio.run, visits).result()
        wait_until(lambda: passing_on.metric("waiting") + collector.reports(survey_id) == VISITS)
        assert passing_on.metric("waiting") < CROWD
    assert {method for method, *_ in relay.seen} == {"GET"}  # what stands in front of the collector saw no report
    answer = collector.ask("GET", f"/v1/surveys/{survey_id}/hitters")
    assert answer["reports"] >= VISITS - CROWD
    assert {host for host, _ in PLANTED} <= {row["value"] for row in answer["hitters"]}
