"""The three figures of a survey through a relay, from the smallest release that has come."""

from __future__ import annotations

from functools import lru_cache

from hubbub.analysis.relayed import ThroughRelay, through_relay
from hubbub.mechanisms.registry import load_survey, mechanism_for
from hubbub.store.releases import released
from hubbub.store.store import Store, StoredSurvey


def relay_figures(store: Store, stored: StoredSurvey) -> ThroughRelay | None:
    """Return the three figures; None if reports come directly. Costs a read, and up to a second for a new figure."""
    if stored.survey.through is None:
        return None
    return _figures(stored.document, released(store.engine, stored.key).smallest)


@lru_cache(maxsize=256)
def _figures(document: bytes, people: int) -> ThroughRelay:
    """Return the figures of a survey's document."""
    return through_relay(mechanism_for(load_survey(document)), people)
