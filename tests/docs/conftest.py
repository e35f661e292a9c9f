"""The files and the collector that documented commands work with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.docs.pages import COMMANDS, blocks

from hubbub import Hostnames, SeededRandomWords, create_survey
from hubbub.collector.bodies import Budget
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.store.reports import Upload, append
from hubbub.store.sites import add_site
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sample files, made by the block of docs/commands.md that makes them.

    New surveys have the same public seeds each time: with others, a search may find a value that nobody holds.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hubbub.mechanisms.registry.os", SimpleNamespace(urandom=random.Random(1).randbytes))
    exec(next(block.text for block in blocks(COMMANDS) if block.language == "python"), {})  # noqa: S102
    assert {path.name for path in tmp_path.iterdir()} == {
        *("referrers.txt", "visits.csv", "visits.jsonl", "countries.txt", "sites.txt", "baskets.csv")
    }
    return tmp_path


@pytest.fixture
def collector(samples: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A collector with a survey, $SURVEY, and the reports of referrers.txt; and a ledger for the device."""
    monkeypatch.setenv("XDG_STATE_HOME", str(samples.with_name(samples.name + "-state")))
    monkeypatch.setenv("no_proxy", "*")
    survey = create_survey("referrers", Hostnames(), 1, public_seed=bytes(range(32)))
    database = str(samples / "running.db")
    with Store(database) as store:
        stored = store.add_survey(survey)
        items = survey.domain.encode((samples / "referrers.txt").read_text().splitlines())
        append(
            store.engine,
            [Upload(stored.key, stored.mechanism.randomize(items, SeededRandomWords(1).draw(len(items), 4)))],
        )
        monkeypatch.setenv("SITE", add_site(store, "example.org").site)
        monkeypatch.setenv("HUBBUB_TOKEN", replace_token(store.engine))
        monkeypatch.setenv("HUBBUB_DB", database)
        with serving(Collector(store, Budget(commit_seconds=60.0))) as url:
            monkeypatch.setenv("HUBBUB_SERVER", url)
            monkeypatch.setenv("SURVEY", f"{url}/v1/surveys/{survey.survey_id.hex()}")
            yield
