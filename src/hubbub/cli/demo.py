"""`hubbub demo`: a simulated crowd reports to a real collector over HTTP; its answer is compared with the truth."""

from __future__ import annotations

import http.client
import itertools
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hubbub.analysis.wording import percent
from hubbub.cli.common import counted, number, parse_count, plural, progress
from hubbub.cli.hitters import ask_hitters
from hubbub.cli.login import login_link
from hubbub.cli.options import WholeNumber
from hubbub.cli.relay_demo import EPSILON, PEOPLE, QUICK, run_relayed
from hubbub.cli.service import ask, ask_json
from hubbub.cli.showing import AnswerView, show
from hubbub.errors import ParameterError, ServiceError
from hubbub.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hubbub.inputs.crowd import Crowd
    from hubbub.model.domain import Domain
    from hubbub.model.mechanism import Items
    from hubbub.model.survey import Survey

_PEOPLE: Final = "300k"
_REPORTS_AT_ONCE: Final = 10_000
_CONNECTIONS: Final = 3
_VISITORS_A_SECOND: Final = 200
_DRAWN_AT_ONCE: Final = 500
_VISITORS_A_WEEK: Final = 2_000  # of the made-up calendar
_DAYS_BEFORE: Final = 364  # the made-up calendar begins so long ago
_EXPECTED: Final = 100_000


@click.command
@click.option("--people", "-n", help="The number of simulated visitors; 300k, or 10k with --relay.")
@click.option("--epsilon", "-e", help="Privacy loss of each visitor; 1, or 6 with --relay.")
@click.option("--seed", type=WholeNumber(min=0), help="Repeat a demo exactly.")
@click.option("--live", is_flag=True, help="Serve the dashboard, and let visitors report until Ctrl-C.")
@click.option(
    "--relay", is_flag=True, help="Send sealed reports through a relay, and serve the dashboard until Ctrl-C."
)
@click.option("--quick", is_flag=True, help="With --relay: 500 visitors, and end when they are counted.")
def demo(people: str | None, epsilon: str | None, seed: int | None, live: bool, relay: bool, quick: bool) -> None:
    """Simulate a crowd of visitors, each with a referring site, and find the sites without hearing any visitor.

    A real collector is started on a free port, with SQLite in a temporary directory. Every visitor's report is sent to
    it over HTTP. When the demo ends, so does the collector, and nothing is left behind.

    With --live you can watch: the collector has its dashboard, and visitors report one by one until Ctrl-C. A week
    takes some 10 seconds there: the survey repeats, and one site is rising.

    With --relay a relay stands between visitors and collector: what each visitor tells the collector alone is then far
    less than her own ε.
    """
    require("The collector", "fastapi", "server")
    from hubbub.analysis.question import Question
    from hubbub.collector.serving import serving
    from hubbub.collector.state import Collector
    from hubbub.inputs.people import open_people
    from hubbub.mechanisms.registry import mechanism_for
    from hubbub.model.coded_domain import Hostnames
    from hubbub.model.domain import Categories
    from hubbub.model.numbers import parse_epsilon
    from hubbub.simulation.visitors import SITES, write_visitors
    from hubbub.store.store import Store
    from hubbub.store.tokens import replace_token

    if relay and live:
        raise ParameterError("--relay and --live are two demos, got both")
    if quick and not relay:
        raise ParameterError("--quick is for --relay, got it alone")
    fewer = str(QUICK) if quick else PEOPLE
    visitors = parse_count("people", people or (fewer if relay else _PEOPLE))
    epsilon = epsilon or (EPSILON if relay else "1")
    parse_epsilon(epsilon)
    if relay:
        run_relayed(visitors, epsilon, seed, quick)
        return
    if live:
        run_live(epsilon, seed)
        return
    jobs: list[tuple[str, Domain]] = [
        (f"\n1. The site owner has a list of {number(len(SITES))} sites: each of them is counted.", Categories(SITES)),
        ("\n2. She has no list: any host name may be the answer, and the largest are found by name.", Hostnames()),
    ]
    with tempfile.TemporaryDirectory(prefix="hubbub-demo-") as folder:
        file = Path(folder) / "referrers.txt"
        come = plural(visitors, "visitor comes", "visitors come")
        click.echo(f"{come} to a site. Each knows where she came from; nobody else may.")
        write_visitors(file, visitors, seed)
        with Store(str(Path(folder) / "collector.db")) as store:
            token = replace_token(store.engine)
            with serving(Collector(store)) as server:
                click.echo("A collector was started for them: their reports come over HTTP, and it keeps sums.")
                for label, domain in jobs:
                    click.echo(label)
                    with open_people(str(file)) as crowd:
                        view = ask_crowd(server, token, crowd, domain, epsilon, seed)
                    show(view, Question(top=10))
    survey = view.survey()
    symbols, lie = 1 << survey.parameters["masks"], percent(mechanism_for(survey).lie_chance or 0.0, 1)
    click.echo(f"Each visitor sent 17 bytes: a random id and one of {symbols} symbols, a lie with a chance of {lie}.")


def ask_crowd(server: str, token: str, crowd: Crowd, domain: Domain, epsilon: str, seed: int | None) -> AnswerView:
    """Create a survey, send the crowd's reports and ask for the answer, all over HTTP; return it with the truth."""
    from hubbub.analysis.question import Question
    from hubbub.inputs.encoding import Encoder
    from hubbub.mechanisms.registry import load_survey
    from hubbub.simulation.rehearsal import randomness_of

    started = time.perf_counter()
    request: dict[str, Any] = {
        "name": "referrers",
        "domain": domain.to_json(),
        "epsilon": epsilon,
        "expected_reports": crowd.count,
    }
    public_seed, _ = randomness_of(seed)
    if public_seed is not None:
        request["public_seed"] = public_seed.hex()
    created = ask_json(server, "/v1/surveys", token, "POST", request)
    survey = load_survey(ask(server, f"/v1/surveys/{created['survey_id']}"))
    encoder = Encoder(domain, crowd.missing, with_truth=True)
    with progress("Reporting", crowd.count, "people") as advance:
        send_reports(server, survey, map(encoder.encode, counted(crowd.chunks(), advance)), seed)
    url = f"{server.rstrip('/')}/v1/surveys/{created['survey_id']}"
    heading, answer = ask_hitters(url, Question(top=10), token)
    answer, seconds = replace(answer, intake=encoder.intake), time.perf_counter() - started
    return AnswerView(heading, lambda: survey, answer, encoder.truth, seconds)


def send_reports(server: str, survey: Survey, items: Iterable[Items], seed: int | None) -> None:
    """Make one report for each person, as a device does, and send them in batches, a few at the same time."""
    from hubbub.mechanisms.registry import mechanism_for
    from hubbub.simulation.rehearsal import randomness_of
    from hubbub.wire.report_batch import encode_batch

    mechanism, (_, random_words) = mechanism_for(survey), randomness_of(seed)
    path = f"/v1/surveys/{survey.survey_id.hex()}/reports"

    def send(body: bytes, reports: int) -> None:
        """Send one batch, and raise unless the collector accepts all of it."""
        accepted = ask_json(server, path, method="POST", body=body)["accepted"]
        if accepted != reports:
            raise ServiceError(f"the collector accepted only {accepted} of {reports} reports")

    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        under_way: list[Future[None]] = []
        for chunk in items:
            for start in range(0, len(chunk), _REPORTS_AT_ONCE):
                part = chunk[start : start + _REPORTS_AT_ONCE]
                reports = mechanism.randomize(part, random_words.draw(len(part), mechanism.random_words_per_report))
                under_way.append(pool.submit(send, encode_batch(survey.survey_id, reports), len(reports)))
                if len(under_way) > 2 * _CONNECTIONS:
                    under_way.pop(0).result()
        for future in under_way:
            future.result()


def run_live(epsilon: str, seed: int | None) -> None:
    """Serve a dashboard and send one upload for each visitor, about 200 a second, until Ctrl-C. Nothing is left."""
    import numpy as np

    from hubbub.collector.rates import Rates
    from hubbub.collector.serving import serving
    from hubbub.collector.state import Collector
    from hubbub.dashboard.app import create_app
    from hubbub.mechanisms.registry import create_survey, mechanism_for
    from hubbub.model.coded_domain import Hostnames
    from hubbub.model.numbers import parse_epsilon
    from hubbub.model.repeating import MOST_DAYS, fits_budget
    from hubbub.simulation.rehearsal import randomness_of
    from hubbub.simulation.visitors import draw_visitors
    from hubbub.store.keys import make_code
    from hubbub.store.slices import date_of, day_now, set_clock
    from hubbub.store.store import Store
    from hubbub.wire.report_batch import encode_batch

    first = (int(time.time()) // 86_400 - _DAYS_BEFORE - 4) // 7 * 7 + 4  # a Monday
    sent = 0
    set_clock(lambda: 86_400 * (first + 5 + 7 * sent / _VISITORS_A_WEEK))  # it begins with a weekend
    # As often as a device may answer within its budget.
    every = next((days for days in range(7, MOST_DAYS, 7) if fits_budget(parse_epsilon(epsilon), days)), None)
    opens = f"{date_of(first)}T00:00:00Z"
    survey = create_survey("Top referrers", Hostnames(), epsilon, expected_reports=_EXPECTED, opens=opens, every=every)
    mechanism = mechanism_for(survey)
    rng, (_, random_words) = np.random.default_rng(seed), randomness_of(seed)
    path = f"/v1/surveys/{survey.survey_id.hex()}/reports"
    with tempfile.TemporaryDirectory(prefix="hubbub-live-") as folder, Store(str(Path(folder) / "live.db")) as store:
        store.add_survey(survey)
        with serving(Collector(store, fold_seconds=2.0, rates=Rates(times=0)), build=create_app) as server:
            click.echo(f"Open the dashboard, by a link that works once: {login_link(server, make_code(store.engine))}")
            click.echo(f"About {_VISITORS_A_SECOND} made-up visitors a second report to it over HTTP. Ctrl-C ends it.")
            click.echo(_about_weeks(survey))
            try:
                with closing(http.client.HTTPConnection(server.removeprefix("http://"), timeout=60)) as connection:
                    begun = time.monotonic()
                    for _ in itertools.count():
                        weeks = (day_now() - first) // 7
                        items = survey.domain.encode(draw_visitors(rng, _DRAWN_AT_ONCE, weeks))
                        drawn = random_words.draw(len(items), mechanism.random_words_per_report)
                        for report in mechanism.randomize(items, drawn)[:, np.newaxis]:
                            connection.request("POST", path, encode_batch(survey.survey_id, report))
                            reply = connection.getresponse()
                            if reply.read() and reply.status != 200:
                                raise ServiceError(f"the collector refused a report with status {reply.status}")
                            sent += 1
                            time.sleep(max(0.0, begun + sent / _VISITORS_A_SECOND - time.monotonic()))
            except KeyboardInterrupt:
                click.echo(f"\n{plural(sent, 'visitor')} came. Nothing of them is kept.")
            finally:
                set_clock(None)


def _about_weeks(survey: Survey) -> str:
    """What happens in time."""
    from hubbub.simulation.visitors import RISING

    often = "" if survey.every is None else f" A period has {survey.every // 7}; then each visitor may answer again."
    rising = f"{RISING} is rising: see “values over time” of the survey."
    return f"{number(_VISITORS_A_WEEK)} visitors are a week, some 10 s.{often} {rising}"
