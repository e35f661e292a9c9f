"""Settings for all tests.

Hypothesis draws the same examples each time and never fails for being slow. Statistical tests take their seed from
`--seed`: fixed in the gate, fresh and printed in `make statistical`.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("gate", derandomize=True, deadline=None, database=None)
settings.load_profile("gate")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the seed of the statistical tests."""
    parser.addoption("--seed", type=int, default=20120402, help="seed of the statistical tests")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of the statistical tests."""
    return int(request.config.getoption("--seed"))
