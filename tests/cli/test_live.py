"""`hubbub demo --live` and `hubbub login`: a dashboard that one can log in to, and visitors who report."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from hubbub import Categories, create_survey, mechanism_for, trend
from hubbub.simulation.rehearsal import randomness_of, rehearse
from hubbub.simulation.visitors import RISING, SITES, draw_visitors
from hubbub.store.keys import is_session, open_session
from hubbub.store.remembering import note_address
from hubbub.store.store import Store

pytestmark = pytest.mark.slow


def ask(link: str, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, str, bytes]:
    """One request to the server of a link: status, cookie, body."""
    host = link.removeprefix("http://").partition("/")[0]
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.request(method, path, body, {"Origin": f"http://{host}", **headers})
        reply = connection.getresponse()
        return reply.status, reply.getheader("Set-Cookie", "").partition(";")[0], reply.read()
    finally:
        connection.close()


def test_visitors_come_until_ctrl_c(start_hubbub: Callable[..., subprocess.Popen[str]], temporary: Path) -> None:
    """The link logs in, the number of reports rises, Ctrl-C ends it with 0, and nothing is left behind."""
    process = start_hubbub("demo", "--live", "--epsilon", "4")
    assert process.stdout is not None
    link = process.stdout.readline().split()[-1]
    status, cookie, _ = ask(link, "POST", "/login", json.dumps({"code": link.partition("#")[2]}))
    assert status == 204
    seen = ""
    while "today" not in seen or ">0<" in seen.partition('class="big"')[2][:20]:
        seen = ask(link, "GET", "/", Accept="text/html", Cookie=cookie)[2].decode()
        time.sleep(0.2)
    assert "Top referrers" in seen
    survey = re.search(r'href="(/surveys/[0-9a-f]{64})"', seen)
    assert survey is not None
    while "this week so far" not in seen:  # a second week has begun, in which more come from one site
        seen = ask(link, "GET", survey[1], Accept="text/html", Cookie=cookie)[2].decode()
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert "came. Nothing of them is kept." in printed
    assert not list(temporary.glob("hubbub-live-*"))


def test_login_makes_a_link(hubbub_cli: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """Each link has a code of its own, which opens one session in the database that was named."""
    database = str(tmp_path / "a.db")
    refused = hubbub_cli("login", "--db", database)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("hubbub: ")
    Store(database).close()
    plain = hubbub_cli("login", "--db", database, "--server", "https://collector.example/")
    assert plain.stdout.startswith("https://collector.example/login#")
    link = json.loads(hubbub_cli("login", "--db", database, "--json").stdout)["login"]
    assert link.startswith("http://127.0.0.1:8000/login#")  # no collector has listened yet
    with Store(database) as store:
        note_address(store.engine, "http://127.0.0.1:8123")
        note_address(store.engine, "http://127.0.0.1:8234")
    assert hubbub_cli("login", "--db", database).stdout.startswith("http://127.0.0.1:8234/login#")
    with Store(database) as store:
        for each in (plain.stdout.strip(), link):
            code = each.partition("#")[2]
            key = open_session(store.engine, code)
            assert key is not None
            assert is_session(store.engine, key)
            assert open_session(store.engine, code) is None


def test_the_rising_site_is_told_as_rising() -> None:
    """From the second period on: visitors of eight made-up weeks, 2,000 in each, in periods of four weeks."""
    domain, opens = Categories(SITES[:60]), date(2026, 1, 5)
    survey = create_survey("live", domain, 2, every=28, opens=f"{opens}T00:00:00Z", public_seed=bytes(32))
    built, rng, words = mechanism_for(survey), np.random.default_rng(29), randomness_of(29)[1]
    weeks = {opens + timedelta(weeks=week): draw_visitors(rng, 2_000, week) for week in range(8)}
    tallies = {day: rehearse(built, [domain.encode(each)], words) for day, each in weeks.items()}
    said = {each.value: each.change for each in trend(survey, tallies).series}
    assert said.pop(RISING) == "rising"
    assert not {"rising", "new", "highest"}.intersection(said.values())
