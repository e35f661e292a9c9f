"""Settings for all tests.

Hypothesis draws the same examples each time and never fails for being slow. Statistical tests take their seed from
`--seed`: fixed in the gate, fresh and printed in `make statistical`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("gate", derandomize=True, deadline=None, database=None)
settings.load_profile("gate")

SLOW_EXAMPLES = {"hubbub.finding.find", "hubbub.analysis.answer.Answer"}

# Tests that share what takes seconds to make, by the fixture that makes it. One worker of pytest-xdist runs them all:
# spread over two workers, it would be made twice.
TOGETHER = {
    "tests/cli/test_find.py": {"found", "found_with_truth"},
    "tests/cli/test_mechanisms_and_demo.py": {"demo"},
    "tests/client/test_alone.py": {"wheel"},
    "tests/collector/test_exactly_once.py": {"forks"},
    "tests/collector/test_openapi.py": {"schema"},
    "tests/dashboard/test_dashboard.py": {"samples"},
    "tests/docs/test_site.py": {"site"},
    "tests/statistical/test_tree_sampling.py": {"real"},
    "tests/test_wheel.py": {"wheel"},
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the seed of the statistical tests."""
    parser.addoption("--seed", type=int, default=20120402, help="seed of the statistical tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever starts a PostgreSQL server is slow, and so are examples that search for texts; some stay together."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "postgresql" in fixtures or item.name in SLOW_EXAMPLES:
            item.add_marker(pytest.mark.slow)
        file = item.nodeid.partition("::")[0]
        if not TOGETHER.get(file, set()).isdisjoint(fixtures):
            item.add_marker(pytest.mark.xdist_group(file))


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the state of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


class _Impatient:
    """The module asyncio for a server that looks twenty times as often whether it is to end."""

    def __getattr__(self, name: str) -> object:
        """Everything but `sleep` is as it was."""
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(seconds: float) -> None:
        """Sleep for a twentieth of the time."""
        await asyncio.sleep(seconds / 20)


@pytest.fixture(scope="session", autouse=True)
def servers_end_at_once() -> Iterator[None]:
    """A server in this process ends within some milliseconds. uvicorn takes up to 0.2 seconds, for each test again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", _Impatient())
        yield


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of the statistical tests."""
    return int(request.config.getoption("--seed"))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A PostgreSQL server that lives as long as the run of tests."""
    from tests.databases import postgresql_server

    with postgresql_server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database: a file of SQLite, and the database of PostgreSQL that all tests use in turn."""
    from tests.databases import emptied, quick_folder

    if request.param == "sqlite":
        with quick_folder() as folder:
            yield str(folder / "hubbub.db")
    else:
        yield emptied(request.getfixturevalue("postgresql"))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def kept_database(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database for all tests of a module that ask for it."""
    from tests.databases import new_postgresql_database, quick_folder

    if request.param == "sqlite":
        with quick_folder() as folder:
            yield str(folder / "hubbub.db")
    else:
        yield new_postgresql_database(request.getfixturevalue("postgresql"))
