"""A survey, a ledger of its own, and a collector on the loopback interface for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.peer import Peer, serving

from hubbub import Hostnames, Integers, Survey, create_survey

SEED = bytes(range(32))


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loopback interface is reached without a proxy, whatever the environment says."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(scope="session")
def survey() -> Survey:
    """Host names at ε = 1."""
    return create_survey("referrers", Hostnames(), 1, public_seed=SEED)


@pytest.fixture(scope="session")
def other_survey() -> Survey:
    """Numbers at ε = 2."""
    return create_survey("numbers", Integers(16), 2, mechanism="jl", public_seed=SEED)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Where the ledger will be."""
    return tmp_path / "state" / "ledger.json"


@pytest.fixture
def peer(survey: Survey, other_survey: Survey) -> Iterator[Peer]:
    """A collector with both surveys."""
    with serving(Peer(survey, other_survey)) as peer:
        yield peer
