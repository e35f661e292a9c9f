"""Surveys of all sorts in a store: busy, empty, too small, closed, with hostile and right-to-left values."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from sqlalchemy import delete, insert

from hubbub import Categories, Hostnames, Survey, create_survey
from hubbub.model.mechanism import Histogram
from hubbub.simulation.visitors import SITES
from hubbub.store.life_cycle import close_survey
from hubbub.store.schema import daily, writing
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.stored_tallies import replace_tally

HOSTILE_NAME = '<script>alert(1)</script> \u202eevil\u202c & "quotes"'
HOSTILE = {
    "<img src=x onerror=alert(1)>": 900,
    '=HYPERLINK("http://evil.example")': 700,
    "+1+1": 500,
    "مرحبا بالعالم": 800,
    "שלום": 600,
    "abc\u202egpj.exe": 400,
    "x" * 64: 300,
    "ordinary": 1000,
}


def fill(store: Store) -> dict[str, str]:
    """Add the surveys; their ids in hex by what they are."""
    sites = {site: round(30_000 / (rank + 1)) for rank, site in enumerate(SITES[:40])} | {"direct": 42_000}
    seeded = {"mechanism": "subset", "public_seed": bytes(32)}
    hostile = create_survey(HOSTILE_NAME, Categories(list(HOSTILE)), 2, expected_reports=5_000, **seeded)
    hundreds = Categories([f"answer number {number}" for number in range(1, 201)], other=False)
    made = {
        "empty": add(store, _survey("Newsletter readers", 1, 10_000), {}),
        "small": add(store, _survey("Too few to see", "0.5", 20_000), {"news.example": 300, "blog.example": 200}),
        "closed": add(store, _survey("Spring campaign", 2, 50_000), {"shop.example": 30_000, "direct": 9_000}),
        "many": add(
            store,
            create_survey("Two hundred answers", hundreds, 4, expected_reports=200_000, **seeded),
            {name: 5_000 - 20 * place for place, name in enumerate(hundreds.names)},
        ),
        "hostile": add(store, hostile, HOSTILE),
        "busy": add(store, _survey("Top referrers", 2, 500_000), sites, ["https://www.example.org"]),
    }
    close_survey(store, made["closed"].survey_id)
    return {name: stored.survey_id.hex() for name, stored in made.items()}


def _survey(name: str, epsilon: object, people: int) -> Survey:
    """A survey of host names, the same each time. Its tally is small, so that a search is quick."""
    small = {"mechanism": "tree", "options": {"size": "small"}}
    return create_survey(name, Hostnames(), epsilon, expected_reports=people, public_seed=bytes(32), **small)


def add(store: Store, survey: Survey, crowd: Mapping[str, int], origins: list[str] | None = None) -> StoredSurvey:
    """Add a survey with the reports of a crowd, spread over the last days."""
    stored = store.add_survey(survey, origins or ["*"])
    people = sum(crowd.values())
    if not people:
        return stored
    items, counts = survey.domain.encode(list(crowd)), np.array(list(crowd.values()))
    tally = stored.mechanism.sample_tally(Histogram(items, counts), np.random.default_rng(1))
    assert replace_tally(store.engine, stored.key, 0, tally, people)
    weights = np.array([1 + 0.5 * np.sin(day / 1.1) + day / 20 for day in range(24)])
    parts = np.diff(np.round(np.concatenate([[0], np.cumsum(weights / weights.sum())]) * people)).astype(int)
    today = int(time.time()) // 86_400
    with writing(store.engine) as connection:
        connection.execute(delete(daily).where(daily.c.survey == stored.key))
        rows = [{"survey": stored.key, "day": today - 23 + day, "reports": int(n)} for day, n in enumerate(parts)]
        connection.execute(insert(daily), rows)
    return stored
