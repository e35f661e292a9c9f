"""Slices of time over HTTP, on the command line and in the dashboard: any range of weeks or days can be asked for."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import numpy as np
import pytest
from click.testing import CliRunner
from sqlalchemy import select
from tests.collector.service import PATIENCE, Service
from tests.dashboard.test_dashboard import Dashboard

from hubbub import Categories, Tally, create_survey, load_survey
from hubbub.cli.main import app
from hubbub.collector.bodies import Budget
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.dashboard.app import create_app
from hubbub.model.mechanism import Histogram
from hubbub.store.found_before import ended_slices
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.schema import reading, remembered
from hubbub.store.slices import date_of, day_now, slice_of
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.tokens import replace_token
from hubbub.wire.tally_file import encode_tally, parse_tally

pytestmark = pytest.mark.slow

COLORS = ["red", "green", "blue"]


@pytest.fixture
def service(database: str) -> Iterator[Dashboard]:
    """A collector with its dashboard, and somebody who is logged in."""
    with Store(database) as store:
        collector = Collector(store, Budget(commit_seconds=PATIENCE), fold_seconds=0.2)
        with serving(collector, build=create_app) as url:
            dashboard = Dashboard(url, store, collector, replace_token(store.engine))
            dashboard.log_in()
            yield dashboard


@pytest.fixture
def week() -> int:
    """The first day of this week."""
    return slice_of(day_now(), 7)


def of_color(stored: StoredSurvey, color: str, people: int) -> Tally:
    """The tally of people who all hold one color."""
    held = Histogram(stored.survey.domain.encode([color]), np.array([people]))
    return stored.mechanism.sample_tally(held, np.random.default_rng(people))


@pytest.fixture
def stored(service: Service, week: int) -> StoredSurvey:
    """A survey that was red five weeks ago, green last week, and is blue now."""
    survey = create_survey("colors", Categories(COLORS), 4, mechanism="subset", public_seed=bytes(32))
    stored = service.store.add_survey(survey)
    path = f"/v1/surveys/{stored.survey_id.hex()}/tallies"
    for color, people, day in (("red", 900, week - 35), ("green", 800, week - 3), ("blue", 700, week)):
        body = encode_tally(of_color(stored, color, people))
        reply = service.ask("POST", f"{path}?day={date_of(day)}", body, owner=True, Idempotency_Key=color)
        assert reply.json["merged"]
    return stored


def first(answer: dict) -> tuple[str, int]:
    """The value that most people hold, and how many reports were counted."""
    return max(answer["hitters"], key=lambda row: row["count"])["value"], answer["reports"]


def test_ranges_over_http(service: Service, stored: StoredSurvey, week: int) -> None:
    """Each range answers from its own reports, and says in its heading which they are; the sums are those of it."""
    path = f"/v1/surveys/{stored.survey_id.hex()}"
    for query, expected, period in (
        ("", ("red", 2400), ""),
        ("?last=1w", ("blue", 700), f"from {date_of(week)} on"),
        ("?last=2w", ("green", 1500), f"from {date_of(week - 7)} on"),
        (f"?to={date_of(week)}", ("red", 1700), f"until {date_of(week - 1)}"),
        (
            f"?from={date_of(week - 7)}&to={date_of(week)}",
            ("green", 800),
            f"{date_of(week - 7)} to {date_of(week - 1)}",
        ),
    ):
        answer = service.ask("GET", f"{path}/hitters{query}", owner=True).json
        assert (first(answer), answer["heading"]["period"]) == (expected, period)
        named = service.ask("POST", f"{path}/hitters{query}", {"candidates": COLORS}, owner=True).json
        assert named["reports"] == expected[1]
        body = service.ask("GET", f"{path}/tally{query}", owner=True).body
        assert parse_tally(body, stored.survey_id, stored.mechanism.cells_shape).count == expected[1]
    for query in ("?last=4x", "?from=yesterday", f"?from={date_of(week + 1)}", "?last=1w&to=2026-10-05"):
        refused = service.ask("GET", f"{path}/hitters{query}", owner=True)
        assert (refused.status, refused.kind) == (422, "invalid-request")
    listed = service.ask("GET", f"{path}/slices", owner=True).json["slices"]
    assert [(row["start"], row["reports"], row["open"]) for row in listed] == [
        (str(date_of(week - 35)), 900, False),
        (str(date_of(week - 7)), 800, False),
        (str(date_of(week)), 700, True),
    ]


def test_a_merge_names_a_day_that_was(service: Service, stored: StoredSurvey) -> None:
    """A day in the future would end the slice that goes on; it is refused, and nothing is added."""
    path = f"/v1/surveys/{stored.survey_id.hex()}/tallies"
    body = encode_tally(of_color(stored, "red", 5))
    for day in (str(date_of(day_now() + 2)), "1969-12-31", "soon"):
        refused = service.ask("POST", f"{path}?day={day}", body, owner=True, Idempotency_Key="x")
        assert (refused.status, refused.kind) == (422, "invalid-request")
    assert service.store.tally(stored.survey_id).count == 2400


def test_a_survey_may_have_slices_of_a_day(service: Service) -> None:
    """Its status says so; any other length is refused."""
    new = {"name": "a", "domain": {"kind": "integers", "bits": 8}, "epsilon": "1"}
    made = service.ask("POST", "/v1/surveys", {**new, "slice": "day"}, owner=True).json
    assert made["slice"] == "day"
    assert service.store.survey(bytes.fromhex(made["survey_id"])).slice_days == 1
    assert service.ask("POST", "/v1/surveys", new, owner=True).json["slice"] == "week"
    assert service.ask("POST", "/v1/surveys", {**new, "slice": "hour"}, owner=True).status == 422


def test_a_trend(service: Service, stored: StoredSurvey, week: int) -> None:
    """Over HTTP and on the command line: each week has its own counts, and the one that goes on is not whole."""
    path = f"/v1/surveys/{stored.survey_id.hex()}"
    found = service.ask("GET", f"{path}/trend", owner=True).json
    days = [str(date_of(day)) for day in (week - 35, week - 7, week)]
    assert found["periods"] == [
        {"start": day, "reports": reports, "whole": reports > 700}
        for day, reports in zip(days, (900, 800, 700), strict=True)
    ]
    assert (found["reports"], found["repeats"], found["level"]) == (2400, False, 0.05)
    most = {row["value"]: int(np.argmax([point["count"] for point in row["points"]])) for row in found["series"]}
    assert {color: most[color] for color in COLORS} == {"red": 0, "green": 1, "blue": 2}
    assert {row["change"] for row in found["series"]} == {""}
    assert any("later periods hold only new devices" in sentence for sentence in found["sentences"])
    last = service.ask("GET", f"{path}/trend?last=2w&top=1&hitters_only=true", owner=True).json
    assert ([each["start"] for each in last["periods"]], last["reports"]) == (days[1:], 1500)
    asked = ["trend", "--survey", f"{service.url}{path}", "--token", service.token]
    shown = CliRunner().invoke(app, asked)
    assert "2,400 reports in 3 periods" in shown.output
    assert f"{days[2]}, so far" in shown.output
    assert json.loads(CliRunner().invoke(app, [*asked, "--json", "--to", days[2]]).output)["reports"] == 1700
    assert service.ask("GET", f"{path}/trend?from=2020-01-06&to=2020-01-13", owner=True).json["reports"] == 0


def test_a_collector_looks_at_slices_that_have_ended(service: Service, stored: StoredSurvey, week: int) -> None:
    """By itself, once, in the thread for answers; the slice that goes on is left alone."""
    ended, patience = select(remembered.c.slice).where(remembered.c.survey == stored.key), time.monotonic() + PATIENCE
    found: list[int] = []
    while week - 7 not in found and time.monotonic() < patience:
        time.sleep(0.05)
        with reading(service.store.engine) as connection:
            found = list(connection.scalars(ended))
    assert found in ([week - 7], [week - 35, week - 7])  # it may look between the merges
    assert ended_slices(service.store) == []


def test_ranges_on_the_command_line(service: Service, stored: StoredSurvey, week: int) -> None:
    """`hitters` takes the range, the title names it, and `survey slices` lists what there is."""
    url = f"{service.url}/v1/surveys/{stored.survey_id.hex()}"
    run = CliRunner(env={"HUBBUB_TOKEN": service.token})
    shown = run.invoke(app, ["hitters", "--survey", url, "--last", "2w"])
    assert shown.exit_code == 0
    assert f"1,500 reports, ε = 4, from {date_of(week - 7)} on" in " ".join(shown.output.split())
    between = ["--from", str(date_of(week - 35)), "--to", str(date_of(week - 28)), "--json"]
    document = json.loads(run.invoke(app, ["hitters", "--survey", url, *between]).output)
    assert (first(document), document["period"]) == (("red", 900), f"{date_of(week - 35)} to {date_of(week - 29)}")
    assert load_survey(json.dumps(document["survey"], separators=(",", ":"), sort_keys=True).encode()) == stored.survey
    listed = run.invoke(app, ["survey", "slices", "--survey", url])
    rows = [line.split() for line in listed.output.splitlines() if "00" in line]
    assert rows == [
        [str(date_of(week - 35)), "900", "changed"],
        [str(date_of(week - 7)), "800", "changed"],
        [str(date_of(week)), "700", "goes", "on"],
    ]
    refused = run.invoke(app, ["hitters", "--survey", url, "--last", "4"])
    assert refused.exit_code == 2
    both = run.invoke(app, ["hitters", "--survey", url, "--last", "4w", "--tally", "a.tally"])
    assert (both.exit_code, "--last must come without --tally" in both.output) == (2, True)


def test_ranges_in_the_dashboard(service: Dashboard, stored: StoredSurvey, week: int) -> None:
    """The page links to periods; answer, CSV and JSON of a period are about its reports only."""
    page = f"/surveys/{stored.survey_id.hex()}"
    text = service.get(page).body.decode()
    assert f'href="{page}?last=1w"' in text
    assert "this week so far" in text
    text = service.get(f"{page}?last=2w").body.decode()
    assert f"Answer, from {date_of(week - 7)} on" in text
    assert 'data-reports="1500"' in text
    assert f"{page}/answer.csv?last=2w" in text
    assert 'data-reports="700"' in service.get(f"{page}/answer?last=1w").body.decode()
    assert service.get(f"{page}/answer.json?last=1w").json["reports"] == 700
    assert service.get(f"{page}/answer.csv?last=1w").body != service.get(f"{page}/answer.csv").body
    assert service.get(f"{page}?last=4x").status == 422
    # The picker: a form that needs no script, whose empty fields are no bounds.
    first, until = date_of(week - 35), date_of(week)
    assert f"<option>{first}</option>" in text
    assert f'<option value="{until}">{date_of(week - 1)}</option>' in text
    chosen = service.get(f"{page}?from={first}&to={until}").body.decode()
    assert 'data-reports="1700"' in chosen
    assert f"<option selected>{first}</option>" in chosen
    assert 'data-reports="2400"' in service.get(f"{page}?from=&to=").body.decode()
    assert 'data-reports="1500"' in service.get(f"{page}?from={date_of(week - 7)}&to=").body.decode()


def test_values_over_time_in_the_dashboard(service: Dashboard, week: int) -> None:
    """The page has a chart for each value, and each value a page; values of strangers are text."""
    names = ["<script>alert(1)</script>", "a&b=c?d#e", "green"]
    survey = create_survey("<b>", Categories(names), 4, mechanism="subset", public_seed=bytes(32))
    stored = service.store.add_survey(survey)
    for k, people in enumerate((900, 700)):
        merge_tally(
            service.store, stored.survey_id, str(k), bytes(32), of_color(stored, names[k], people), week - 7 * k
        )
    page = f"/surveys/{stored.survey_id.hex()}"
    assert f'href="{page}/trend">values over time' in service.get(page).body.decode()
    reply = service.get(f"{page}/trend")
    text = reply.body.decode()
    assert text.count("<svg") == len(names) + 1
    assert "<script>alert" not in text
    assert "style=" not in text
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    for name in names[:2]:
        alone = service.get(f"{page}/trend?{urlencode({'value': name})}").body.decode()
        assert f"?{html.escape(urlencode({'value': name}))}" in text
        assert f"<h1><bdi>{html.escape(name)}</bdi></h1>" in alone
        assert (alone.count("<svg"), alone.count('<th scope="row">')) == (1, 2)
    assert service.get(f"{page}/trend?value=nobody&last=1w").body.decode().count("<svg") == len(names) + 1
